"""The answer of a turn that could not finish: built from state, not from hope, and without another model call.

Turn -> answer.  Touches: reads.
"""

from typing import Any
from uuid import UUID

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from chat.models import Message, ToolCall
from planning import plans


def fallback(turn_id: UUID, why: str) -> dict[str, Any]:
    """What was achieved, what was not, and what to do next."""
    plan = plans.current(turn_id)
    steps = plan.steps if plan else ()
    done = [f"{step.title}: {step.found}" if step.found else step.title for step in steps if step.status == "done"]
    left = [
        f"{step.title}" + (f" ({step.note})" if step.note else "")
        for step in steps
        if step.status not in {"done", "skipped"}
    ]
    if not plan:
        ran = ToolCall.objects.filter(turn_id=turn_id, status=ToolCall.Status.SUCCEEDED).exclude(tier="local")
        done = [f"{call.tool}: {call.summary}" for call in ran[:10]]
    values = {
        "why": why,
        "done": done,
        "open": left,
        "next": _("You can continue with a larger budget, change the task, or try again."),
    }
    text = render_to_string("fallback.txt", values, using="prompts").strip()
    return {"answer": text, "mark": Message.Mark.FALLBACK, "open_points": left}
