"""Keep a number, a date, an id or a constraint in the state of the conversation. Control tool.

patch -> StateSlots.  Touches: memory.slots.
"""

from pydantic import Field

from chat.db import in_db
from chat.errors import ModelMistake
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext
from memory import slots
from memory.errors import SlotRefused


class UpdateSlotsArgs(Args):
    name: str = Field(max_length=80)
    value: str = Field(max_length=500)


async def run(args: UpdateSlotsArgs, ctx: ToolContext) -> Done:
    return await in_db(_run, args, ctx)


def _run(args: UpdateSlotsArgs, ctx: ToolContext) -> Done:
    change = {"op": "set", "name": args.name, "kind": "fact", "value": args.value}
    try:
        slots.patch(ctx.conversation_id, [change], by="agent", turn_id=ctx.turn_id, iteration=ctx.iteration)
    except SlotRefused as refusal:
        raise ModelMistake("; ".join(refusal.faults)) from refusal
    return Done(data=change, summary=f"{args.name} = {args.value}", text="Kept.")


CONTRACT = Contract(
    name="update_slots",
    purpose="Keep a value for later steps.",
    not_for="doing the step itself; lasting facts about the person (remember)",
    args=UpdateSlotsArgs,
    run=run,
    tier=Tier.LOCAL,
    returns={"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
    returns_empty="never empty",
    failures=(FailureMode(when="the value is too long or of the wrong kind", advice="keep the bare value"),),
    cost="free",
    latency="milliseconds",
    repeatable=True,
    quota=60,
    pack="control",
)
