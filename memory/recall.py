"""A question to ranked memories, each with its score split, its source and its fate.

user, question -> Recalled.  Touches: MemoryRecord, UserMemory (reads); counts what was shown.

Two queries when nothing changed, whatever other users have: the person's revision, and the rows to be shown, reloaded
under the person's scope. What is retired, expired, forgotten or somebody else's can cost recall, never appear.
"""

import logging
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import F, Q
from django.utils import formats, timezone
from django.utils.translation import gettext as _

from memory import index, lexical
from memory.embed import Vectors, embedder, from_blob
from memory.errors import EmbedderDown, IndexDown
from memory.kinds import registry
from memory.models import MemoryRecord, UserMemory
from memory.shelf import Parts, Shelf, shelf
from memory.types import Recall, Recalled

KEPT = 20  # candidates on the receipt
OVERFETCH = 50  # from the index, some of which may be stale
MOST_PENDING = 300  # rows not yet in the index that are scored beside it; more of them means it is not ready
MOST_PINNED = 10
WORDS_ALONE = 0.6  # of the floor, when there are no vectors: only the smaller half of the score is left
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hit:
    id: UUID
    semantic: float
    lexical: float
    recency: float
    confidence: float
    total: float


def recall(
    user_id: int,
    query: str,
    *,
    kinds: Collection[str] | None = None,
    limit: int,
    floor: float,
    pinned: bool = True,
    vector: Vectors | None = None,
) -> Recalled:
    """Bring back what fits the question. Never raises for an index or embedder that cannot be used."""
    started = time.perf_counter()
    state = UserMemory.objects.filter(user_id=user_id).first()
    if state is None:  # nothing has ever been written for this person
        return Recalled()
    notices: list[str] = []
    vector, key = _vector(query, vector, notices)
    hits = _hits(state, query, vector, key, kinds, max(limit * 3, KEPT), notices)
    rows = _reload(user_id, hits, kinds, pinned)
    least = floor if vector is not None else floor * WORDS_ALONE
    recalls = _fates(rows, {hit.id: hit for hit in hits}, limit, least, pinned)
    ms = (time.perf_counter() - started) * 1000
    return Recalled(recalls=tuple(recalls[: max(KEPT, limit)]), notice=" ".join(notices), ms=ms)


def count_recalled(user_id: int, ids: Iterable[str | UUID]) -> None:
    """Note that these were put in front of the model. Never changes what is recalled."""
    MemoryRecord.objects.filter(user_id=user_id, id__in=list(ids)).update(
        recalled=F("recalled") + 1, recalled_at=timezone.now()
    )


def _vector(query: str, given: Vectors | None, notices: list[str]) -> tuple[Vectors | None, str]:
    try:
        maker = embedder()
        if given is None and query.strip():
            given = maker.embed_queries([query])[0]
        return given, maker.key
    except EmbedderDown as fault:
        log.warning("Recall by words alone: %s", fault)
        notices.append(_("Memories were searched by their words only: the embedder cannot be used now."))
        return None, ""


def _hits(
    state: UserMemory,
    query: str,
    vector: Vectors | None,
    key: str,
    kinds: Collection[str] | None,
    count: int,
    notices: list[str],
) -> list[_Hit]:
    """The best rows, unfiltered by floor or status: SQL decides on those."""
    held = shelf(MemoryRecord, state, key)
    with held.lock:
        near = _near(held, vector, key, notices) if vector is not None else None
        if near is None and vector is not None:
            held.load_vectors()
        lives = {name: kind.half_life for name, kind in registry.all_kinds().items()}
        parts = held.parts(vector, lexical.query_terms(query), lives, time.time(), kinds)
        if near is not None and vector is not None:
            parts = _with_semantic(held, parts, vector, near)
        return _best(held, parts, count)


def _near(held: Shelf, vector: Vectors, key: str, notices: list[str]) -> set[UUID] | None:
    """For a large set the ids worth scoring by meaning, from the index; None: search exactly."""
    if held.live <= settings.AGENT_EXACT_LIMIT:
        return None
    pending = held.model.objects.filter(user_id=held.user_id, index_state="pending")
    ids = set(pending.values_list("id", flat=True)[: MOST_PENDING + 1])
    if len(ids) > MOST_PENDING:
        return None
    space = "mem" if held.model is MemoryRecord else "doc"
    own = index.collection_name(space, key, held.user_id)
    try:
        chroma = index.index()
        if chroma.has(own):
            found = chroma.nearest(own, vector, OVERFETCH, None)
        else:
            found = chroma.nearest(index.collection_name(space, key), vector, OVERFETCH, held.user_id)
    except IndexDown as fault:
        log.warning("Exact search: %s", fault)
        return None
    if not found and not ids:  # an empty index beside a full table: it is being rebuilt, or its folder was lost
        notices.append(_("The memory index is empty and is being rebuilt; memories were searched without it."))
        return None
    return ids | {UUID(text) for text in found if _is_uuid(text)}


def _with_semantic(held: Shelf, parts: Parts, vector: Vectors, near: set[UUID]) -> Parts:
    """Score by meaning what the index named and what words found; all else keeps its lexical score and stays out."""
    words = np.argsort(-parts.total)[:OVERFETCH]
    wanted = near | {held.ids[position] for position in words if np.isfinite(parts.total[position])}
    rows = held.model.objects.filter(user_id=held.user_id, id__in=wanted, vector_key=held.key)
    semantic = parts.semantic.copy()
    total = np.full_like(parts.total, -np.inf)
    for id_, blob in rows.values_list("id", "vector"):
        position = held.position.get(id_)
        if position is not None and blob is not None and len(blob) == len(vector) * 2:
            semantic[position] = float(from_blob(blob) @ vector)
    for id_ in wanted:
        position = held.position.get(id_)
        if position is not None:
            total[position] = parts.total[position] + semantic[position]
    return replace(parts, semantic=semantic, total=total)


def _best(held: Shelf, parts: Parts, count: int) -> list[_Hit]:
    many = min(count, len(parts.total))
    if not many:
        return []
    top = np.argpartition(-parts.total, many - 1)[:many]
    top = top[np.argsort(-parts.total[top], kind="stable")]
    return [
        _Hit(
            id=held.ids[position],
            semantic=float(parts.semantic[position]),
            lexical=float(parts.lexical[position]),
            recency=float(parts.recency[position]),
            confidence=float(parts.confidence[position]),
            total=float(parts.total[position]),
        )
        for position in top
        if np.isfinite(parts.total[position])
    ]


def _reload(user_id: int, hits: Sequence[_Hit], kinds: Collection[str] | None, pinned: bool) -> list[MemoryRecord]:
    """The rows in force of this person, whatever was found: the one place that decides what may be shown."""
    wanted = Q(id__in=[hit.id for hit in hits])
    if pinned:
        wanted |= Q(pinned=True)
    rows = MemoryRecord.objects.filter(wanted, user_id=user_id, status=MemoryRecord.Status.LIVE)
    rows = rows.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    if kinds is not None:
        rows = rows.filter(kind__in=kinds)
    return list(rows.defer("tokens", "vector", "digest"))


def _fates(
    rows: Sequence[MemoryRecord], hits: dict[UUID, _Hit], limit: int, floor: float, pinned: bool
) -> list[Recall]:
    """Pinned ones first, then by score; what is not shown says why."""
    blank = _Hit(id=UUID(int=0), semantic=0, lexical=0, recency=0, confidence=0, total=0)
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
        elif hit.total < floor + kind.floor_extra:
            fate = "not_fitting"
        else:
            fate = "shown" if len(shown) < limit else "over_limit"
        (shown if fate == "shown" else cut).append(_recall(row, hit, fate))
    return shown + cut


def _recall(row: MemoryRecord, hit: _Hit, fate: str) -> Recall:
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


def source_words(source: dict[str, Any], when: Any) -> str:
    """Where a memory is from, in plain words."""
    day = formats.date_format(timezone.localtime(when), "DATE_FORMAT")
    by = str(source.get("by", ""))
    if source.get("merged"):
        return _("put together from several memories on %(day)s") % {"day": day}
    if by == "person":
        return _("you said so on %(day)s") % {"day": day}
    if by == "tool":
        return _("from %(tool)s on %(day)s") % {"tool": source.get("tool") or _("a tool"), "day": day}
    if by == "staff":
        return _("written by the operator on %(day)s") % {"day": day}
    return _("noted by the agent on %(day)s") % {"day": day}


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
