"""Calls that end without having returned: cancelled, unknown, settled by the person.

ToolCall rows -> settled rows.  Touches: ToolCall (a part of the writer, record.py).
"""

from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from chat import approvals
from chat.models import Approval, Iteration, ToolCall
from chat.tools.contract import Tier
from planning import plans
from planning.acceptance import CONFIRMED

Status = ToolCall.Status
WRITES = (Tier.WRITE, Tier.EXPENSIVE)


def cancel_open(turn_id: UUID) -> None:
    """A stopped turn leaves no call open; a write that was under way has an unknown outcome."""
    open_calls = ToolCall.objects.filter(turn_id=turn_id, status__in=[Status.INTENDED, Status.WAITING, Status.RUNNING])
    open_calls.filter(status=Status.RUNNING, tier__in=WRITES).update(
        status=Status.UNKNOWN, ended_at=timezone.now(), summary=_("It was cut off; nobody knows whether it happened.")
    )
    open_calls.update(status=Status.CANCELLED, ended_at=timezone.now(), text="Cancelled: the turn was stopped.")


def cancel_left_out(turn_id: UUID) -> list[UUID]:
    """Calls of steps that the person took out of the plan, or skipped, are not made. What runs already is not cut off."""
    plan = plans.current(turn_id)
    running = [step.key for step in plan.steps if step.status == "running"] if plan else []
    waiting = ToolCall.objects.filter(turn_id=turn_id, status__in=[Status.INTENDED, Status.WAITING])
    gone = waiting.exclude(step_key__in=["", *running])
    ids = list(gone.values_list("id", flat=True))
    gone.update(
        status=Status.CANCELLED,
        ended_at=timezone.now(),
        summary=_("You took the step out of the plan."),
        text="Cancelled: the person took the step out of the plan.",
    )
    return ids


def cut_off(turn_id: UUID) -> str:
    """A worker died or shut down: reads are simply made again, writes under way become UNKNOWN. Returns what was seen."""
    running = ToolCall.objects.filter(turn_id=turn_id, status=Status.RUNNING)
    seen = _seen(turn_id, list(running.values_list("tool", flat=True)))
    running.filter(tier__in=WRITES).update(
        status=Status.UNKNOWN, summary=_("It was cut off; nobody knows whether it happened.")
    )
    running.update(status=Status.INTENDED)
    return seen


def _seen(turn_id: UUID, tools: list[str]) -> str:
    """Where the worker stood, as the rows tell."""
    last = Iteration.objects.filter(turn_id=turn_id).order_by("-number").first()
    number = last.number if last else 0
    if tools:
        values = {"tools": ", ".join(tools), "number": number}
        return _("The last time %(tools)s was running, in iteration %(number)s.") % values
    if last and not last.outcome:
        return _("The last time the decision of iteration %(number)s was written.") % {"number": number}
    return _("The last time the model was to reply, in iteration %(number)s.") % {"number": number + 1}


def again(call: ToolCall) -> None:
    """Put the very same call before the person once more; it carries the same idempotency key."""
    ToolCall.objects.filter(id=call.id).update(status=Status.WAITING, summary="", ended_at=None)
    if approval := Approval.objects.filter(call=call).first():
        approvals.reask(approval)
    else:
        approvals.ask(call, why=_("It was cut off; you chose to try again."), because={})


def by_person(call: ToolCall, *, happened: bool) -> None:
    """The person looked: the write happened, or it did not."""
    status = Status.SUCCEEDED if happened else Status.FAILED
    said = "happened" if happened else "did not happen"
    ToolCall.objects.filter(id=call.id).update(
        status=status,
        ended_at=timezone.now(),
        result=CONFIRMED if happened else None,
        error=None
        if happened
        else {"what": "It was cut off and did not happen.", "cause": "", "next": "", "retry": True},
        text=f"The call was cut off. The person checked: it {said}.",
        summary=_("You confirmed that it happened.") if happened else _("You confirmed that it did not happen."),
    )
