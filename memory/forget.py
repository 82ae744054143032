"""Forget for real: rows, history, facts, vectors, what was built on them, and every stored copy of the words.

ids or a question -> what would go; ids -> what has gone.  Touches: records, facts, tombstones, slots; *writer* of Forgetting.

Conversations belong to another room: it registers in REDACTORS how it blots its own rows, so that imports still point
away from it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import facts, records, shelf, slots, tombstones
from memory.models import Document, EntityFact, Forgetting, MemoryAccess, MemoryRecord, RecordEdit, StateSlot
from memory.names import attribute_name
from memory.recall import recall
from memory.redaction import Blotter
from memory.types import FactDraft, Forgotten

MOST_FOUND = 200  # memories one question may propose to forget


@dataclass(frozen=True, slots=True, kw_only=True)
class Redactor:
    """How another room blots its rows; both take the person and what is forgotten, and say how much of what."""

    count: Callable[[int, Forgotten], dict[str, int]]  # what would be touched
    redact: Callable[[int, Forgotten], dict[str, int]]  # touches it


REDACTORS: list[Redactor] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What forgetting would take with it."""

    records: tuple[MemoryRecord, ...]  # asked for
    built_on: tuple[MemoryRecord, ...]  # merged from them, or merged into them: they go too
    restored: tuple[MemoryRecord, ...]  # other sources of a merged memory: they come back
    counts: dict[str, int]

    @property
    def ids(self) -> list[str]:
        return [str(row.id) for row in self.records]

    @property
    def lines(self) -> list[str]:
        return in_words(self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReceipt:
    """What has gone."""

    counts: dict[str, int]
    at: datetime

    @property
    def lines(self) -> list[str]:
        return in_words(self.counts)


def preview(user_id: int, ids: Sequence[UUID | str] = (), query: str = "") -> Preview:
    """Everything that forgetting these memories, or all that fits a question, would touch. Changes nothing."""
    asked = _asked(user_id, ids, query)
    built_on, back = _closure(user_id, asked)
    forgotten = _forgotten([*asked, *built_on])
    counts = _counts(user_id, [*asked, *built_on])
    for redactor in REDACTORS if asked else ():
        _add(counts, redactor.count(user_id, forgotten))
    return Preview(records=tuple(asked), built_on=tuple(built_on), restored=tuple(back), counts=counts)


def forget(user_id: int, ids: Sequence[UUID | str], *, by: str = "person") -> ForgetReceipt:
    """Forget these memories of this very person; ids of others are as good as none."""
    with transaction.atomic():
        records.locked(user_id)
        asked = _asked(user_id, ids, "")
        built_on, back = _closure(user_id, asked)
        gone = [*asked, *built_on]
        forgotten = _forgotten(gone)
        counts = _counts(user_id, gone)
        tombstones.lay(user_id, forgotten.texts, _drafts(gone))
        records.restore_sources(user_id, [row.id for row in back])
        records.erase(user_id, [row.id for row in gone])
        blotter = Blotter(forgotten)
        records.blot(user_id, blotter)
        facts.blot(user_id, blotter)
        _add(counts, {"state": slots.blot(user_id, blotter)})
        for redactor in REDACTORS if gone else ():
            _add(counts, redactor.redact(user_id, forgotten))
        row = Forgetting.objects.create(user_id=user_id, counts=counts, by=by)
    shelf.drop(user_id)
    return ForgetReceipt(counts=counts, at=row.at)


def forget_all(user_id: int, *, by: str = "person") -> ForgetReceipt:
    """Forget everything known about this person, and nobody else."""
    ids = list(MemoryRecord.objects.filter(user_id=user_id).values_list("id", flat=True))
    with transaction.atomic():
        loose = facts.erase_loose(user_id)
        receipt = forget(user_id, ids, by=by)
        if loose:
            receipt.counts["facts"] = receipt.counts.get("facts", 0) + loose
    return receipt


def forgettings(user_id: int) -> list[ForgetReceipt]:
    rows = Forgetting.objects.filter(user_id=user_id)[:100]
    return [ForgetReceipt(counts=row.counts, at=row.at) for row in rows]


def export(user_id: int) -> dict[str, Any]:
    """Everything kept about the person, as JSON values."""
    rows = MemoryRecord.objects.filter(user_id=user_id).order_by("created_at").prefetch_related("edits")
    fields = (
        "id",
        "kind",
        "text",
        "confidence",
        "status",
        "pinned",
        "source",
        "retired_because",
        "expires_at",
        "recalled",
    )
    held = EntityFact.objects.filter(user_id=user_id).order_by("valid_from", "id")
    fact_fields = ("subject", "attribute", "value", "many", "valid_from", "valid_to", "source")
    return {
        "exported_at": timezone.now().isoformat(),
        "mode": records.mode(user_id),
        "memories": [
            {
                **{
                    name: _plain(getattr(row, name))
                    for name in (*fields, "created_at", "updated_at", "superseded_by_id")
                },
                "earlier_texts": [{"text": edit.before, "at": edit.at.isoformat()} for edit in row.edits.all()],
            }
            for row in rows.defer("vector", "tokens")
        ],
        "facts": [{name: _plain(getattr(fact, name)) for name in fact_fields} for fact in held],
        "state": [
            {"conversation": str(slot.conversation_id), "name": slot.name, "kind": slot.kind, "value": slot.value}
            for slot in StateSlot.objects.filter(conversation__user_id=user_id)
        ],
        "documents": [
            {"name": row.name, "size": row.size, "pages": row.pages, "at": row.created_at.isoformat()}
            for row in Document.objects.filter(user_id=user_id)
        ],
        "seen_by_operators": [
            {"who": row.staff_name, "action": row.action, "count": row.count, "at": row.at.isoformat()}
            for row in MemoryAccess.objects.filter(user_id=user_id)
        ],
        "forgotten": [{"at": item.at.isoformat(), "counts": item.counts} for item in forgettings(user_id)],
        "not_to_be_learnt_again": tombstones.count(user_id),
    }


def in_words(counts: dict[str, int]) -> list[str]:
    """A receipt's lines, as a person reads them."""
    return [f"{number} {name_of(name)}" for name, number in counts.items() if number]


def name_of(name: str) -> str:
    """What is counted under this name, in words."""
    words = {
        "memories": _("memories"),
        "merged": _("memories built on them"),
        "facts": _("facts"),
        "history": _("earlier wordings"),
        "vectors": _("vectors in the search index"),
        "state": _("values in conversation states"),
        "messages": _("sentences in messages"),
        "summaries": _("sentences in titles and summaries"),
        "contexts": _("passages in stored contexts and receipts"),
        "calls": _("passages in tool calls and approvals"),
        "plans": _("passages in plans"),
    }
    return words.get(name, name)


# ---- inside ------------------------------------------------------------------------------------------


def _asked(user_id: int, ids: Sequence[UUID | str], query: str) -> list[MemoryRecord]:
    rows = MemoryRecord.objects.filter(user_id=user_id)
    if ids:
        return list(rows.filter(id__in=list(ids)).defer("vector"))
    if not query.strip():
        return []
    fitting = recall(user_id, query, limit=MOST_FOUND, floor=settings.AGENT_RECALL_FLOOR, unasked=False)
    wanted = Q(id__in=[item.id for item in fitting.shown]) | Q(text__icontains=query.strip())
    wanted |= Q(facts__value__icontains=query.strip()) | Q(facts__attribute__iexact=attribute_name(query))
    return list(rows.filter(wanted).distinct().defer("vector"))


def _closure(user_id: int, asked: Sequence[MemoryRecord]) -> tuple[list[MemoryRecord], list[MemoryRecord]]:
    """What else must go, for it holds the words of what goes; and what comes back, for only its merged form goes."""
    mine = {
        row.id: row for row in MemoryRecord.objects.filter(user_id=user_id).exclude(source__merged=None).defer("vector")
    }
    going = {row.id for row in asked}
    sources = {str(row.id) for row in asked}
    grown = True
    while grown:
        fresh = [row for row in mine.values() if row.id not in going and sources & set(row.source.get("merged", []))]
        going |= {row.id for row in fresh}
        sources |= {str(row.id) for row in fresh}
        grown = bool(fresh)
    # Asked to forget a merged memory, a person means what it says: its sources say the same.
    merged = [source for row in asked for source in row.source.get("merged", [])]
    going |= {UUID(text) for text in merged}
    extra = going - {row.id for row in asked}
    rows = list(MemoryRecord.objects.filter(user_id=user_id, id__in=extra).defer("vector"))
    backs = {source for row in rows for source in row.source.get("merged", [])} - {str(id_) for id_ in going}
    back = MemoryRecord.objects.filter(user_id=user_id, id__in=backs, superseded_by_id__in=going).defer("vector")
    return rows, list(back)


def _forgotten(rows: Sequence[MemoryRecord]) -> Forgotten:
    ids = [row.id for row in rows]
    edits = RecordEdit.objects.filter(record_id__in=ids).values_list("before", flat=True)
    stated = EntityFact.objects.filter(records__in=ids).distinct()
    origins = [entry for row in rows for entry in [row.source, *row.source.get("also", [])]]
    texts = [*(row.text for row in rows), *edits, *(str(entry.get("quote") or "") for entry in origins)]
    places = [str(entry[name]) for entry in origins for name in ("turn", "conversation") if entry.get(name)]
    return Forgotten(
        ids=tuple(str(id_) for id_ in ids),
        texts=tuple(dict.fromkeys(text for text in texts if text.strip())),
        values=tuple(dict.fromkeys(fact.value for fact in stated)),
        messages=tuple(entry["message"] for entry in origins if isinstance(entry.get("message"), int)),
        places=tuple(dict.fromkeys(places)),
    )


def _drafts(rows: Sequence[MemoryRecord]) -> list[FactDraft]:
    stated = EntityFact.objects.filter(records__in=[row.id for row in rows]).distinct()
    return [FactDraft(subject=fact.subject, attribute=fact.attribute, value=fact.value) for fact in stated]


def _counts(user_id: int, rows: Sequence[MemoryRecord]) -> dict[str, int]:
    ids = [row.id for row in rows]
    return {
        "memories": sum(1 for row in rows if not row.source.get("merged")),
        "merged": sum(1 for row in rows if row.source.get("merged")),
        "facts": EntityFact.objects.filter(user_id=user_id, records__in=ids).distinct().count(),
        "history": RecordEdit.objects.filter(record_id__in=ids).count(),
        "vectors": sum(1 for row in rows if row.index_state in {"indexed", "remove"}),
    }


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for name, number in more.items():
        counts[name] = counts.get(name, 0) + number


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
