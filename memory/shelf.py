"""One person's searchable rows, held in process in the form a search needs, and kept current by revision numbers.

rows of one user -> scores.  Touches: MemoryRecord, Chunk, UserMemory (reads).

A shelf is only a copy to rank with: whoever uses it reloads the rows it names from SQL, under the user's scope. Rows
changed since are fetched by revision, so that a write in another process is seen by the next search in this one.
"""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import BinaryField, Case, F, Value, When
from numpy.typing import NDArray

from memory import score
from memory.embed import Vectors, from_blob
from memory.models import Chunk, MemoryRecord, UserMemory

Floats = NDArray[np.float32]
MOST_ROWS = 50_000  # held in one process; the least recently used shelves are dropped beyond that
DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The score parts of every row of a shelf, by position; rows that may not be shown have a score of -inf."""

    semantic: Floats
    lexical: Floats
    recency: Floats
    confidence: Floats
    total: Floats


class Shelf:
    def __init__(self, model: type[MemoryRecord] | type[Chunk], user_id: int, key: str) -> None:
        self.model, self.user_id, self.key = model, user_id, key
        self.lock = threading.RLock()
        self.vectors_wanted = False
        self._empty()

    def _empty(self) -> None:
        self.revision = 0
        self.ids: list[UUID] = []
        self.position: dict[UUID, int] = {}
        self.groups: dict[str, int] = {}  # the kind of a memory, the document of a chunk -> its number
        self.group: NDArray[np.int32] = np.zeros(0, dtype=np.int32)  # of each row
        self.pinned: set[UUID] = set()
        self.postings: dict[str, array[int]] = {}
        self.dead = 0
        self.with_vectors = True  # a large set is loaded without them while the index answers for it
        self.alive: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self.created: NDArray[np.float64] = np.zeros(0)
        self.confidence: Floats = np.zeros(0, dtype=np.float32)
        self.matrix: Vectors = np.zeros((0, 0), dtype=np.float32)

    def refresh(self, state: UserMemory) -> None:
        """Take in what changed since; start over after a forgetting, or when too many rows are stale."""
        with self.lock:
            stale = self.dead > 1000 + len(self.ids) // 3
            if self.revision > state.revision or self.revision < state.epoch or stale:
                self._empty()
            if self.revision < state.revision:
                self._take(self.rows(since=self.revision))
                self.revision = state.revision

    def rows(self, since: int) -> list[tuple[Any, ...]]:
        """id, tokens, created, group, confidence, live, pinned, vector: of all live rows, or all that changed since."""
        changed = self.model.objects.filter(user_id=self.user_id, revision__gt=since).order_by("created_at")
        if self.model is Chunk:
            fields = ["id", "tokens", "created_at", "document_id"]
        else:
            changed = changed if since else changed.filter(status=MemoryRecord.Status.LIVE)  # type: ignore[misc]
            fields = ["id", "tokens", "created_at", "kind", "confidence", "status", "pinned"]
        if not since:
            self.with_vectors = self.vectors_wanted or changed.count() <= settings.AGENT_EXACT_LIMIT
        # A vector of another embedder is not comparable: the row is found by its words until it is made anew.
        mine = (
            Case(When(vector_key=self.key, then=F("vector")))
            if self.with_vectors
            else Value(None, output_field=BinaryField())
        )
        rows = changed.annotate(mine=mine).values_list(*fields, "mine")
        if self.model is Chunk:
            return [(*row[:4], 0.5, True, False, row[4]) for row in rows]
        return [(*row[:5], row[5] == MemoryRecord.Status.LIVE, *row[6:]) for row in rows]

    def load_vectors(self) -> None:
        """Have all vectors here after all: the index cannot be used."""
        if not self.with_vectors:
            revision = self.revision
            self._empty()
            self.vectors_wanted = True
            self._take(self.rows(since=0))
            self.revision = revision

    def _take(self, rows: list[tuple[Any, ...]]) -> None:
        for row in rows:
            self.pinned.discard(row[0])
            known = self.position.pop(row[0], None)
            if known is not None and self.alive[known]:
                self.alive[known] = False
                self.dead += 1
        fresh = [row for row in rows if row[5]]
        if not fresh:
            return
        first = len(self.ids)
        numbers = [self.groups.setdefault(str(row[3]), len(self.groups)) for row in fresh]
        for offset, (id_, tokens, _created, _group, _confidence, _live, pinned, _vector) in enumerate(fresh):
            self.position[id_] = first + offset
            self.ids.append(id_)
            if pinned:
                self.pinned.add(id_)
            for token in set(tokens.split()):
                self.postings.setdefault(token, array("I")).append(first + offset)
        self.group = np.concatenate([self.group, np.asarray(numbers, dtype=np.int32)])
        self.alive = np.concatenate([self.alive, np.ones(len(fresh), dtype=np.bool_)])
        self.created = np.concatenate([self.created, [row[2].timestamp() / DAY for row in fresh]])
        self.confidence = np.concatenate([self.confidence, np.asarray([row[4] for row in fresh], dtype=np.float32)])
        self._take_vectors([row[7] for row in fresh])

    def _take_vectors(self, blobs: list[bytes | memoryview | None]) -> None:
        size = self.matrix.shape[1] or next((len(blob) // 2 for blob in blobs if blob), 0)
        fresh = np.zeros((len(blobs), size), dtype=np.float32)
        for row, blob in enumerate(blobs):
            if blob is not None and len(blob) == size * 2:
                fresh[row] = from_blob(blob)
        if self.matrix.shape[1] != size:  # the first vectors come after rows that had none
            self.matrix = np.zeros((len(self.matrix), size), dtype=np.float32)
        self.matrix = np.concatenate([self.matrix, fresh])

    @property
    def live(self) -> int:
        return len(self.ids) - self.dead

    def coverage(self, terms: Mapping[str, float]) -> Floats:
        """How much of the question each row holds, 0 to 1."""
        found = np.zeros(len(self.ids), dtype=np.float32)
        whole = 0.0
        for term, weight in terms.items():
            held = self.postings.get(term)
            value = weight * score.idf(self.live, min(len(held), self.live) if held else 0)
            whole += value
            if held:
                found[np.frombuffer(held, dtype=np.uint32)] += value
        return found / whole if whole else found

    def parts(
        self,
        vector: Vectors | None,
        terms: Mapping[str, float],
        half_lives: Mapping[str, float],
        now: float,
        groups: Collection[str] | None = None,
    ) -> Parts:
        """Score every row. Without a vector, by words alone."""
        count = len(self.ids)
        semantic = np.zeros(count, dtype=np.float32)
        if vector is not None and self.matrix.shape[1] == len(vector):
            semantic = self.matrix @ vector
        lexical = score.LEXICAL * self.coverage(terms)
        lives = np.asarray([half_lives.get(name, 365.0) for name in self.groups], dtype=np.float32)
        age = np.maximum(now / DAY - self.created, 0).astype(np.float32)
        recency = (score.RECENCY * np.exp2(-age / lives[self.group])).astype(np.float32) if count else semantic
        confidence = score.CONFIDENCE * (self.confidence - 0.5)
        total = semantic + lexical + recency + confidence
        allowed = self.alive
        if groups is not None and count:
            allowed = allowed & np.asarray([name in groups for name in self.groups], dtype=np.bool_)[self.group]
        total = np.where(allowed, total, -np.inf).astype(np.float32)
        return Parts(semantic=semantic, lexical=lexical, recency=recency, confidence=confidence, total=total)


_shelves: OrderedDict[tuple[str, int, str], Shelf] = OrderedDict()
_lock = threading.Lock()


def shelf(model: type[MemoryRecord] | type[Chunk], state: UserMemory, key: str) -> Shelf:
    """The person's shelf, current as of `state`. The caller holds `shelf.lock` while it reads."""
    name = (model.__name__, state.user_id, key)
    with _lock:
        held = _shelves.setdefault(name, Shelf(model, state.user_id, key))
        _shelves.move_to_end(name)
    held.refresh(state)
    with _lock:
        while len(_shelves) > 1 and sum(len(item.ids) for item in _shelves.values()) > MOST_ROWS:
            _shelves.popitem(last=False)
    return held


def drop(user_id: int) -> None:
    """Let go of all copies of one person's rows in this process."""
    with _lock:
        for name in [name for name in _shelves if name[1] == user_id]:
            del _shelves[name]
