"""A question to ranked memories, each with its score split, its source and its fate.

user, question -> Recalled.  Touches: MemoryRecord, UserMemory (reads); counts what was shown.

Two queries when nothing changed, whatever other users have: the person's revision, and the rows to be shown, reloaded
under the person's scope. What is retired, expired, forgotten or somebody else's can cost recall, never appear.
"""

import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import F, Q
from django.utils import formats, timezone
from django.utils.translation import gettext as _

from memory import search
from memory.embed import Vectors
from memory.kinds import registry
from memory.models import MemoryRecord, UserMemory
from memory.rows import of_ids
from memory.search import Hit
from memory.types import Recall, Recalled

KEPT = 20  # candidates on the receipt
MOST_PINNED = 10
SHOWN = ("id", "kind", "text", "source", "created_at", "pinned")  # columns of a row that is shown
WORDS_ALONE = 0.6  # of the floor, when there are no vectors: only the smaller half of the score is left


def recall(
    user_id: int,
    query: str,
    *,
    kinds: Collection[str] | None = None,
    limit: int,
    floor: float,
    unasked: bool = True,
    vector: Vectors | None = None,
    state: UserMemory | None = None,
) -> Recalled:
    """Bring back what fits the question. Never raises for an index or embedder that cannot be used.

    `unasked`: nobody searched; what is pinned comes along, and a kind may hold back what the question does not call for.
    `state`: as `known` has just read it.
    """
    started = time.perf_counter()
    state = state or known(user_id)
    if state is None:  # nothing has ever been written for this person
        return Recalled()
    notices: list[str] = []
    vector, key = search.vector_of(query, vector, notices)
    lives = {name: kind.half_life for name, kind in registry.all_kinds().items()}
    found = search.hits(
        MemoryRecord,
        state,
        query,
        vector=vector,
        key=key,
        lives=lives,
        groups=kinds,
        count=max(limit * 3, KEPT),
        notices=notices,
    )
    hits = found.best
    rows = _reload(user_id, [hit.id for hit in hits] + (list(found.pinned) if unasked else []), kinds)
    least = floor if vector is not None else floor * WORDS_ALONE
    held_back = {kind.name for kind in registry.all_kinds().values() if unasked and not kind.unasked(query)}
    recalls = _fates(rows, {hit.id: hit for hit in hits}, limit, least, unasked, held_back)
    ms = (time.perf_counter() - started) * 1000
    return Recalled(recalls=tuple(recalls[: max(KEPT, limit)]), notice=" ".join(notices), ms=ms)


def known(user_id: int) -> UserMemory | None:
    """How far the person's memory has come: its revision moves with every change, its epoch with every forgetting."""
    return UserMemory.objects.filter(user_id=user_id).first()


def count_recalled(user_id: int, ids: Iterable[str | UUID]) -> None:
    """Note that these were put in front of the model. Never changes what is recalled."""
    MemoryRecord.objects.filter(user_id=user_id, id__in=list(ids)).update(
        recalled=F("recalled") + 1, recalled_at=timezone.now()
    )


def _reload(user_id: int, ids: Collection[UUID], kinds: Collection[str] | None) -> list[MemoryRecord]:
    """The rows in force of this person, whatever was found: the one place that decides what may be shown."""
    rows = of_ids(MemoryRecord, user_id, ids).filter(status=MemoryRecord.Status.LIVE)
    rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    if kinds is not None:
        rows = rows.filter(kind__in=kinds)
    return list(rows.only(*SHOWN))


def _fates(
    rows: Sequence[MemoryRecord],
    hits: dict[UUID, Hit],
    limit: int,
    floor: float,
    pinned: bool,
    held_back: Collection[str],
) -> list[Recall]:
    """Pinned ones first, then by score; what is not shown says why."""
    blank = Hit(id=UUID(int=0), semantic=0, lexical=0, recency=0, confidence=0, total=0)
    ordered = sorted(rows, key=lambda row: (not (pinned and row.pinned), -hits.get(row.id, blank).total))
    shown: list[Recall] = []
    cut: list[Recall] = []
    for row in ordered:
        hit = hits.get(row.id, blank)
        kind = registry.find(row.kind)
        if pinned and row.pinned and len(shown) < MOST_PINNED:
            fate = "shown"
        elif hit.total < floor:
            fate = "below_floor"
        elif kind.name in held_back or hit.total < floor + kind.floor_extra:
            fate = "not_fitting"
        else:
            fate = "shown" if len(shown) < limit else "over_limit"
        (shown if fate == "shown" else cut).append(_recall(row, hit, fate))
    return shown + cut


def _recall(row: MemoryRecord, hit: Hit, fate: str) -> Recall:
    return Recall(
        id=str(row.id),
        kind=row.kind,
        text=registry.find(row.kind).shown(row.text, row.created_at),
        score=round(hit.total, 4),
        semantic=round(hit.semantic, 4),
        lexical=round(hit.lexical, 4),
        recency=round(hit.recency, 4),
        confidence=round(hit.confidence, 4),
        fate=fate,
        source=source_words(row.source, row.created_at),
        pinned=row.pinned,
    )


def source_words(source: dict[str, Any], when: Any, *, of_staff: bool = False) -> str:
    """Where a memory is from, in plain words; `of_staff`: for the eyes of somebody else."""
    day = formats.date_format(timezone.localtime(when), "DATE_FORMAT")
    by = str(source.get("by", ""))
    if source.get("merged"):
        return _("put together from several memories on %(day)s") % {"day": day}
    if by == "person" and of_staff:
        return _("the person said so on %(day)s") % {"day": day}
    if by == "person":
        return _("you said so on %(day)s") % {"day": day}
    if by == "tool":
        return _("from %(tool)s on %(day)s") % {"tool": source.get("tool") or _("a tool"), "day": day}
    if by == "staff":
        return _("written by the operator on %(day)s") % {"day": day}
    return _("noted by the agent on %(day)s") % {"day": day}
