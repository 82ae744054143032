"""End the turn with a structured conclusion. Control tool.

answer -> the end of the turn.  Touches: nothing; the loop ends the turn.
"""

from pydantic import Field

from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext


class FinishArgs(Args):
    answer: str = Field(description="Markdown", min_length=1, max_length=50_000)
    sources: list[str] = Field(default_factory=list, description="links")
    open_points: list[str] = Field(default_factory=list, description="what is not done or not known")


async def run(args: FinishArgs, ctx: ToolContext) -> Done:
    return Done(data=args.model_dump(), summary=args.answer[:120])


CONTRACT = Contract(
    name="finish",
    purpose="End the turn with the answer for the person.",
    not_for="asking something (ask_user)",
    args=FinishArgs,
    run=run,
    tier=Tier.LOCAL,
    returns={"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}},
    returns_empty="never empty",
    failures=(FailureMode(when="steps are still open", advice="do them first"),),
    cost="free",
    latency="milliseconds",
    repeatable=True,
    pack="control",
)
