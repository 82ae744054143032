"""Say that the current step cannot be done. Control tool: the model can fail a step, never complete one.

note -> a failed Step.  Touches: planning.plans.
"""

from pydantic import Field

from chat.db import in_db
from chat.errors import ToolFailed
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext
from planning import plans


class MarkStepFailedArgs(Args):
    note: str = Field(min_length=1, max_length=300)


async def run(args: MarkStepFailedArgs, ctx: ToolContext) -> Done:
    return await in_db(_run, args, ctx)


def _run(args: MarkStepFailedArgs, ctx: ToolContext) -> Done:
    plan = plans.current(ctx.turn_id)
    step = next((step for step in plan.steps if step.status == "running"), None) if plan else None
    if step is None:
        raise ToolFailed("No step is running.", next="Go on with what is offered.")
    plans.fail_step(ctx.turn_id, step.key, args.note)
    return Done(data={"step": step.index, "note": args.note}, summary=args.note)


CONTRACT = Contract(
    name="mark_step_failed",
    purpose="No call can do the step.",
    not_for="a step that is done (its check says so) or a wrong argument",
    args=MarkStepFailedArgs,
    run=run,
    tier=Tier.LOCAL,
    returns={"type": "object", "required": ["step"], "properties": {"step": {"type": "integer"}}},
    returns_empty="never empty",
    failures=(FailureMode(when="no step is running", advice="go on with what is offered"),),
    cost="free",
    latency="milliseconds",
    repeatable=True,
    pack="control",
)
