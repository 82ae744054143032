"""How a conversation or a turn stands, in the words a person uses.

Turn columns, plan steps -> Standing.  Touches: rows (reads).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from chat.models import Turn
from planning.models import Step

Status = Turn.Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    words: str
    tone: str = ""  # warm: the person is needed; busy: something runs; bad: it went wrong
    waits: bool = False  # nothing goes on until the person does something


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    step: int  # the step in focus, 1, 2, …
    steps: int


def standing(status: str | None, end: str = "", progress: Progress | None = None) -> Standing:
    """The standing of a turn; of a conversation without one when status is None."""
    if status is None:
        return Standing(words="")
    if status == Status.ENDED:
        return Standing(words=str(Turn.End(end).label), tone="bad" if end == Turn.End.FAILED else "")
    if status in {Status.WAITING_APPROVAL, Status.WAITING_USER}:
        return Standing(words=str(Status(status).label), tone="warm", waits=True)
    if status == Status.RUNNING and progress:
        words = _("Running · step %(step)d of %(steps)d") % {"step": progress.step, "steps": progress.steps}
        return Standing(words=words, tone="busy")
    return Standing(words=str(Status(status).label), tone="busy")


def progress_of(turn_ids: Iterable[UUID]) -> dict[UUID, Progress]:
    """Where the newest plan of each turn is; turns without a plan are left out. One query."""
    rows = (
        Step.objects.filter(plan__turn_id__in=list(turn_ids))
        .order_by("plan__turn_id", "-plan__revision", "index")
        .values_list("plan__turn_id", "plan__revision", "status")
    )
    newest: dict[UUID, tuple[int, list[str]]] = {}
    for turn_id, revision, status in rows:
        kept, statuses = newest.setdefault(turn_id, (revision, []))
        if revision == kept:
            statuses.append(status)
    return {turn_id: _progress(statuses) for turn_id, (_revision, statuses) in newest.items()}


def _progress(statuses: list[str]) -> Progress:
    closed = {Step.Status.DONE, Step.Status.SKIPPED}
    running = [index for index, status in enumerate(statuses, 1) if status == Step.Status.RUNNING]
    focus = running[0] if running else sum(status in closed for status in statuses) + 1
    return Progress(step=min(focus, len(statuses)), steps=len(statuses))
