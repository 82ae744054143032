"""Ask the person one question; the turn waits for the answer. Control tool.

question -> a pause.  Touches: nothing; the loop pauses the turn.
"""

from pydantic import Field

from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext


class AskUserArgs(Args):
    question: str = Field(min_length=1, max_length=1_000)


async def run(args: AskUserArgs, ctx: ToolContext) -> Done:
    return Done(
        data=args.model_dump(), summary=args.question[:120], text="Asked. The answer stands among the person's words."
    )


CONTRACT = Contract(
    name="ask_user",
    purpose="Ask for a value that no tool can find.",
    not_for="permission to act (writes ask by themselves)",
    args=AskUserArgs,
    run=run,
    tier=Tier.LOCAL,
    returns={"type": "object", "required": ["question"], "properties": {"question": {"type": "string"}}},
    returns_empty="never empty",
    failures=(FailureMode(when="the person does not know", advice="go on with what is known"),),
    cost="free",
    latency="waits for the person",
    repeatable=True,
    quota=5,
    pack="control",
)
