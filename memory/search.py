"""The best rows of one person for a question, by meaning and words: exactly, or through the index when there are many.

question, one person's shelf -> Hits.  Touches: rows (reads), the index.

Hits are candidates: who shows one reloads its row from SQL, under the person's scope, and decides there.
"""

import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from uuid import UUID

import numpy as np
from django.conf import settings
from django.utils.translation import gettext as _

from memory import index, lexical
from memory.embed import Vectors, embedder, from_blob
from memory.errors import EmbedderDown, IndexDown
from memory.ids import uuids
from memory.models import Chunk, MemoryRecord, UserMemory
from memory.rows import of_ids
from memory.shelf import Parts, Shelf, shelf

OVERFETCH = 50  # from the index, some of which may be stale
MOST_PENDING = 300  # rows not yet in the index that are scored beside it; more of them means it is not ready
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A row worth looking at, with its score parts."""

    id: UUID
    semantic: float
    lexical: float
    recency: float
    confidence: float
    total: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    best: tuple[Hit, ...]  # by score
    pinned: frozenset[UUID]  # rows the person pinned, whatever they score


def vector_of(query: str, given: Vectors | None, notices: list[str]) -> tuple[Vectors | None, str]:
    """The question's vector and the embedder's key; without an embedder, none and a notice."""
    try:
        maker = embedder()
        if given is None and query.strip():
            given = _vector(query, maker.key)
        return given, maker.key
    except EmbedderDown as fault:
        log.warning("Recall by words alone: %s", fault)
        notices.append(_("Memories were searched by their words only: the embedder cannot be used now."))
        return None, ""


@lru_cache(maxsize=256)
def _vector(query: str, key: str) -> Vectors:
    """Of a question: a step asks the same one in each of its iterations. key: of the embedder, whichever that is now."""
    vector: Vectors = embedder().embed_queries([query])[0]
    vector.flags.writeable = False
    return vector


def hits(
    model: type[MemoryRecord] | type[Chunk],
    state: UserMemory,
    query: str,
    *,
    vector: Vectors | None,
    key: str,
    lives: Mapping[str, float],
    groups: Collection[str] | None,
    count: int,
    notices: list[str],
) -> Hits:
    """The best rows, unfiltered by floor or status: SQL decides on those."""
    held = shelf(model, state, key)
    with held.lock:
        near = _near(held, vector, key, notices) if vector is not None else None
        if near is None and vector is not None:
            held.load_vectors()
        parts = held.parts(vector, lexical.query_terms(query), lives, time.time(), groups)
        if near is not None and vector is not None:
            parts = _with_semantic(held, parts, vector, near)
        return Hits(best=tuple(_best(held, parts, count)), pinned=frozenset(held.pinned))


def _near(held: Shelf, vector: Vectors, key: str, notices: list[str]) -> set[UUID] | None:
    """For a large set the ids worth scoring by meaning, from the index; None: search exactly."""
    if held.live <= settings.AGENT_EXACT_LIMIT:
        return None
    pending = held.model.objects.filter(user_id=held.user_id, index_state=MemoryRecord.Index.PENDING).order_by()
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
    return ids | set(uuids(found))


def _with_semantic(held: Shelf, parts: Parts, vector: Vectors, near: set[UUID]) -> Parts:
    """Score by meaning what the index named and what words found; all else keeps its lexical score and stays out."""
    words = np.argsort(-parts.total)[:OVERFETCH]
    wanted = near | {held.ids[position] for position in words if np.isfinite(parts.total[position])}
    rows = of_ids(held.model, held.user_id, wanted).filter(vector_key=held.key)
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


def _best(held: Shelf, parts: Parts, count: int) -> list[Hit]:
    many = min(count, len(parts.total))
    if not many:
        return []
    top = np.argpartition(-parts.total, many - 1)[:many]
    top = top[np.argsort(-parts.total[top], kind="stable")]
    return [
        Hit(
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
