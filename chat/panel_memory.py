"""What the Memory panel draws: what was recalled for this step and why, what was written, what waits for review.

Conversation, newest Turn -> context.  Touches: rows (reads; recall only when the person searches).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from chat import words
from chat.models import Conversation, Iteration, Turn
from memory import forget, recall
from memory.kinds import registry
from memory.models import MemoryRecord
from memory.text import digest

PARTS = ("semantic", "lexical", "recency", "confidence")
REVIEWED = 20  # in the tray at once
FOUND = 20  # by one search
SEARCH_FLOOR = 0.15  # lower than for a step: a person looks at what is found, and knows what they meant


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One piece of the score bar, in percent of its length."""

    name: str
    value: str
    x: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRow:
    id: str
    text: str
    kind: str
    score: str
    parts: tuple[Part, ...]
    shown: bool
    fate: str  # in words; empty for the ones shown
    source: str
    link: str  # to the message it is from
    record: MemoryRecord | None  # as it is now; None: gone since
    pinned: bool

    @property
    def kind_label(self) -> str:
        return str(registry.find(self.kind).label)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRow:
    status: str
    label: str
    text: str
    reason: str
    iteration: int | None
    record: MemoryRecord | None
    retired: tuple[str, ...] = ()  # what it put out of force
    may_confirm: bool = False  # forgotten once: only the person may have it kept again


def read(conversation: Conversation, turn: Turn | None, options: Mapping[str, str]) -> dict[str, Any]:
    user_id = conversation.user_id
    query = options.get("q", "").strip()[:300]
    tray = MemoryRecord.objects.filter(user_id=user_id, status=MemoryRecord.Status.REVIEW).order_by("created_at")
    return {
        "iteration": newest_iteration(turn),
        "recalls": newest_recalls(user_id, turn) if turn else (),
        "written": written(user_id, turn) if turn else (),
        "asked_tokens": asked_tokens(turn) if turn else 0,
        "tray": [record_row(record) for record in tray[:REVIEWED]],
        "parts": PARTS,
        "editing": options.get("edit", ""),
        "edited": edited(user_id, options.get("edit", "")),
        "forgetting": forget.preview(user_id, [asked]) if is_uuid(asked := options.get("forget", "")) else None,
        "query": query,
        "found": search(user_id, query) if query else (),
    }


def edited(user_id: int, record_id: str) -> RecallRow | None:
    """The memory that is being corrected, wherever in the panel it stands."""
    record = records_of(user_id, [record_id]).get(record_id)
    return record_row(record) if record else None


def search(user_id: int, query: str) -> tuple[RecallRow, ...]:
    """All memories that fit the person's words, ranked and explained as for a step."""
    found = recall.recall(user_id, query, limit=FOUND, floor=SEARCH_FLOOR, unasked=False)
    return recall_rows(user_id, [asdict(item) for item in found.recalls if item.fate == "shown"])


def newest_iteration(turn: Turn | None) -> Iteration | None:
    return turn.iterations.order_by("-number").only("id", "number", "receipt", "turn").first() if turn else None


def newest_recalls(user_id: int, turn: Turn, *, only_shown: bool = False) -> tuple[RecallRow, ...]:
    """The receipt of the newest iteration, the memories as they are now beside it."""
    iteration = newest_iteration(turn)
    receipt = [entry for entry in (iteration.receipt if iteration else []) if isinstance(entry, dict)]
    return recall_rows(user_id, [entry for entry in receipt if not only_shown or entry.get("fate") == "shown"])


def recall_rows(user_id: int, receipt: Sequence[Mapping[str, Any]]) -> tuple[RecallRow, ...]:
    records = records_of(user_id, [str(entry.get("id", "")) for entry in receipt])
    return tuple(recall_row(entry, records.get(str(entry.get("id", "")))) for entry in receipt)


def records_of(user_id: int, ids: Iterable[str]) -> dict[str, MemoryRecord]:
    """Only the person's own: a receipt never opens the way to somebody else's memory."""
    wanted = [text for text in ids if is_uuid(text)]
    rows = MemoryRecord.objects.filter(user_id=user_id, pk__in=wanted).defer("vector", "tokens") if wanted else ()
    return {str(record.pk): record for record in rows}


def recall_row(entry: Mapping[str, Any], record: MemoryRecord | None) -> RecallRow:
    score, fate = number(entry.get("score")), str(entry.get("fate", ""))
    return RecallRow(
        id=str(entry.get("id", "")),
        text=str(entry.get("text") or _("forgotten")),
        kind=str(entry.get("kind", "")),
        score=f"{score:.2f}",
        parts=split(score, entry),
        shown=fate == "shown",
        fate="" if fate == "shown" else str(words.FATES.get(fate, fate)),
        source=str(entry.get("source", "")),
        link=source_link(record),
        record=record,
        pinned=record.pinned if record else bool(entry.get("pinned")),
    )


def record_row(record: MemoryRecord) -> RecallRow:
    """A memory without a search behind it, drawn like the others."""
    return RecallRow(
        id=str(record.pk),
        text=record.text,
        kind=record.kind,
        score="",
        parts=(),
        shown=True,
        fate="",
        source=recall.source_words(record.source, record.created_at),
        link=source_link(record),
        record=record,
        pinned=record.pinned,
    )


def split(score: float, entry: Mapping[str, Any]) -> tuple[Part, ...]:
    """The score bar: as long as the score, cut in proportion to what each part gave."""
    values = {name: max(number(entry.get(name)), 0.0) for name in PARTS}
    total = sum(values.values())
    length, x, parts = min(max(score, 0.0), 1.0) * 100, 0.0, []
    for name, value in values.items():
        width = length * value / total if total else 0.0
        parts.append(Part(name=name, value=f"{value:.2f}", x=round(x, 2), width=round(width, 2)))
        x += width
    return tuple(parts)


def written(user_id: int, turn: Turn) -> tuple[WrittenRow, ...]:
    """What this turn did to memory, the dropped ones included: by the agent's calls, and learnt at its end."""
    called = turn.calls.filter(tool="remember", status="succeeded").values_list("iteration__number", "result")
    learnt = turn.iterations.values_list("number", "changes")
    receipts = [(number, entry) for number, entry in called.order_by("iteration__number") if isinstance(entry, dict)]
    receipts += [
        (number, entry)
        for number, changes in learnt
        for entry in (changes.get("memory") or [] if isinstance(changes, dict) else [])
        if isinstance(entry, dict)
    ]
    records = records_of(user_id, [str(entry.get("record_id", "")) for _number, entry in receipts])
    refused = [digest(user_id, str(entry.get("text", ""))) for _number, entry in receipts if entry.get("may_confirm")]
    known = set(MemoryRecord.objects.filter(user_id=user_id, digest__in=refused).values_list("digest", flat=True))
    rows = [written_row(entry, number, records) for number, entry in receipts]
    return tuple(replace(row, may_confirm=row.may_confirm and digest(user_id, row.text) not in known) for row in rows)


def asked_tokens(turn: Turn) -> int:
    """What it cost to ask the model which of the person's words are worth keeping."""
    changes = turn.iterations.filter(changes__has_key="memory_tokens").values_list("changes", flat=True)
    return sum(int(entry["memory_tokens"]) for entry in changes)


def written_row(entry: Mapping[str, Any], iteration: int, records: Mapping[str, MemoryRecord]) -> WrittenRow:
    status = str(entry.get("status", ""))
    record = records.get(str(entry.get("record_id", "")))
    return WrittenRow(
        status=status,
        label=str(words.WRITTEN.get(status, status)),
        text=record.text if record else str(entry.get("text", "")),
        reason=str(entry.get("reason", "")),
        iteration=iteration,
        record=record,
        retired=tuple(str(item.get("text", "")) for item in entry.get("retired") or () if isinstance(item, dict)),
        may_confirm=bool(entry.get("may_confirm")) and record is None,
    )


def source_link(record: MemoryRecord | None) -> str:
    """Where the memory was said: the message in its conversation."""
    if record is None or record.conversation_id is None:
        return ""
    message = record.source.get("message")
    return f"/c/{record.conversation_id}/" + (f"#message-{message}" if isinstance(message, int) else "")


def number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
