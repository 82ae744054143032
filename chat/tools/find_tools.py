"""Look for a tool that is not among those shown. Control tool for instances with many tools.

query -> names and purposes.  Touches: nothing (pure).
"""

from pydantic import Field

from chat.tools import describe, offer, registry
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext

FOUND = 10


class FindToolsArgs(Args):
    query: str = Field(description="what the tool should do", min_length=2, max_length=300)


async def run(args: FindToolsArgs, ctx: ToolContext) -> Done:
    tools = registry.business()
    names = offer.fitting(tools, args.query, limit=FOUND)
    lines = [describe.line(tools[name]) for name in names]
    return Done(data={"tools": list(names)}, summary=", ".join(names), text="\n".join(lines))


CONTRACT = Contract(
    name="find_tools",
    purpose="Find tools by what they do, when none of the listed ones fits.",
    not_for="looking things up (web_search, search_memory)",
    args=FindToolsArgs,
    run=run,
    tier=Tier.LOCAL,
    returns={"type": "object", "required": ["tools"]},
    returns_empty='{"tools": []}: none fits',
    failures=(FailureMode(when="no tool fits", advice="go on with the listed ones"),),
    cost="free",
    latency="milliseconds",
    repeatable=True,
    pack="control",
)
