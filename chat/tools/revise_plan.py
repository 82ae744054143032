"""Replace what is still to do in the plan. Control tool: done steps stay, the old revision is kept.

PlanDraft, reason -> Plan.  Touches: planning.plans, planning.exclusions.
"""

from django.db.models import Q
from pydantic import Field

from chat.db import in_db
from chat.models import ToolCall, Turn
from chat.tools import planned
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext
from chat.tools.set_plan import SCHEMA, PlannedStep
from planning import exclusions

FAILED = (ToolCall.Status.FAILED, ToolCall.Status.REJECTED, ToolCall.Status.EXPIRED)


class RevisePlanArgs(Args):
    reason: str = Field(description="why the old plan cannot work", max_length=500)
    ruled_out: str = Field("", description="what turned out not to work, if anything", max_length=300)
    steps: list[PlannedStep] = Field(description="only what is still to do", min_length=1)


async def run(args: RevisePlanArgs, ctx: ToolContext) -> Done:
    return await in_db(_run, args, ctx)


def _run(args: RevisePlanArgs, ctx: ToolContext) -> Done:
    turn = Turn.objects.select_related("conversation").get(id=ctx.turn_id)
    proposal = args.model_dump(include={"steps"}, exclude_none=True)
    ruled_out = [args.ruled_out] if args.ruled_out else []
    approved = not turn.conversation.approve_plans
    done = planned.store(turn, proposal, approved=approved, reason=args.reason, ruled_out=ruled_out)
    for text in ruled_out:
        exclusions.rule_out(
            turn.conversation_id, text, args.reason, evidence=_what_failed(turn), iteration=ctx.iteration
        )
    return done


def _what_failed(turn: Turn) -> str:
    """The last call that came to nothing, or the note of the step that was given up, beside what was ruled out."""
    tried = turn.calls.filter(Q(status__in=FAILED) | Q(tool="mark_step_failed", status=ToolCall.Status.SUCCEEDED))
    call = tried.exclude(tool="revise_plan").order_by("-iteration__number", "-index").first()
    return f"{call.tool}: {call.summary}" if call else ""


CONTRACT = Contract(
    name="revise_plan",
    purpose="Replace the steps that are still to do by others. Done steps stay and are not run again.",
    not_for="a wrong argument (make the call again with the right one)",
    args=RevisePlanArgs,
    run=run,
    tier=Tier.LOCAL,
    returns=SCHEMA,
    returns_empty="never empty: a plan without steps is refused",
    failures=(FailureMode(when="the new plan repeats the failed one", advice="choose other steps or other tools"),),
    cost="free",
    latency="milliseconds",
    repeatable=True,
    pack="control",
)
