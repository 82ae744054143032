"""From the rows to the index: what is pending is put in, what is gone is taken out, what was forgotten is erased.

pending rows -> the index.  Touches: *writer* of the columns vector, vector_key, tokens and index_state; the index.

Idempotent and interruptible: a crash between SQL and the index leaves rows pending, and the next round puts them in.
"""

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Max, Q

from memory import documents, near, records, removals
from memory.embed import embedder, from_blob
from memory.errors import EmbedderDown, IndexDown
from memory.index import OWN_FROM, Index, Row, collection_name, index, names
from memory.models import Chunk, IndexRemoval, MemoryRecord

BATCH = 200  # rows of one round
EMBED_BATCH = 32  # texts embedded in one round, so that a re-embedding does not hold up the chat
SMALL = 5_000  # rows up to which an erasure rewrites the index at once
ERASE_EVERY = 3_600.0  # seconds between rewrites of a larger one
CHECK_EVERY = 300.0  # seconds between comparisons of the index with the rows
SPACES: tuple[tuple[str, type[MemoryRecord] | type[Chunk]], ...] = (("mem", MemoryRecord), ("doc", Chunk))
State = MemoryRecord.Index
log = logging.getLogger(__name__)
_round = threading.Lock()
_noticed: dict[str, str] = {}  # table -> the embedder its rows were last compared with


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What one round did and what is left."""

    embedded: int = 0
    indexed: int = 0
    removed: int = 0
    rebuilt: bool = False
    fault: str = ""  # why the index was not reached; empty: it was


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How the index differs from the rows."""

    rows: int  # that should be in the index
    indexed: int  # vectors in the index
    pending: int
    missing: int = 0  # in SQL said to be indexed, not in the index
    surplus: int = 0  # in the index without a row in force
    to_embed: int = 0  # made by another embedder, or not yet embedded
    fault: str = ""

    @property
    def in_step(self) -> bool:
        return not (self.missing or self.surplus or self.to_embed or self.fault or self.pending)


def drain() -> Drained:
    """One round; cheap when there is nothing to do. Never raises for an index or embedder that cannot be used."""
    if not _round.acquire(blocking=False):
        return Drained(fault="another round is running")
    try:
        return _drain()
    finally:
        _round.release()


def drain_all(most: int = 100_000) -> Drained:
    """Rounds until nothing is left that can be done now."""
    total = Drained()
    for _round_number in range(most // EMBED_BATCH + 1):
        done = drain()
        total = Drained(
            embedded=total.embedded + done.embedded,
            indexed=total.indexed + done.indexed,
            removed=total.removed + done.removed,
            rebuilt=total.rebuilt or done.rebuilt,
            fault=done.fault,
        )
        if done.fault or not (done.embedded or done.indexed or done.removed):
            break
    return total


def drift() -> Drift:
    """Compare the index with the rows, id by id."""
    key = _key()
    wanted = [rows_wanted(model) for _space, model in SPACES]
    count = sum(rows.count() for rows in wanted)
    pending = sum(rows.filter(index_state=State.PENDING).count() for rows in wanted) + IndexRemoval.objects.count()
    to_embed = sum(rows.exclude(vector_key=key).count() for rows in wanted)
    found = Drift(rows=count, indexed=0, pending=pending, to_embed=to_embed)
    try:
        chroma = index()
        counts = chroma.counts()
        missing = surplus = held = 0
        for (space, _model), rows in zip(SPACES, wanted, strict=True):
            ids = {id_ for name in names(counts, space, key) for id_ in chroma.ids(name)}
            live = {str(id_) for id_ in rows.filter(vector_key=key).values_list("id", flat=True)}
            waits = {str(id_) for id_ in rows.filter(index_state=State.PENDING).values_list("id", flat=True)}
            held += len(ids)
            missing += len(live - ids - waits)
            surplus += len(ids - live)
        return replace(found, indexed=held, missing=missing, surplus=surplus)
    except IndexDown as fault:
        return replace(found, fault=str(fault))


def mend() -> Drained:
    """Rebuild the index from the rows in a new folder and erase the old one. Raises IndexDown."""
    with _round:
        rebuild()
    return Drained(rebuilt=True)


def mend_soon() -> bool:
    """Rebuild now when that takes a moment; else have the background do it. Raises IndexDown."""
    if sum(rows_wanted(model).count() for _space, model in SPACES) <= SMALL:
        mend()
        return True
    index().suspect = True
    return False


def waiting() -> int:
    """How many rows and removals the index has not taken in yet."""
    states = [State.PENDING, State.REMOVE]
    rows = sum(model.objects.filter(index_state__in=states).count() for _space, model in SPACES)
    return rows + IndexRemoval.objects.count()


def order_rebuild() -> None:
    """For a process that may not open the index: mark every row, so that the process that holds it does the work."""
    for _space, model in SPACES:
        rows_wanted(model).update(index_state=State.PENDING)


def forget_vectors() -> None:
    """Have every row embedded anew; until then it is found by its words."""
    for _space, model in SPACES:
        rows_wanted(model).update(vector_key="", index_state=State.PENDING)


def re_embed(most: int = EMBED_BATCH) -> int:
    """Embed rows that have no vector of the embedder in use. Raises EmbedderDown."""
    done = 0
    for _space, model in SPACES:
        key = embedder().key
        _notice(model, key)
        waiting = rows_wanted(model).filter(index_state=State.PENDING).exclude(vector_key=key)
        rows = list(waiting.order_by()[: most - done])
        if not rows:
            continue
        made = _surfaces(rows)
        if made[0].blob is None:
            raise EmbedderDown("The embedder cannot be used now.")
        with transaction.atomic():
            for row, surface in zip(rows, made, strict=True):
                # Guarded: a row edited meanwhile has a newer revision, and its own vector.
                model.objects.filter(id=row.id, revision=row.revision).update(
                    tokens=surface.tokens, vector=surface.blob, vector_key=surface.key, index_state=State.PENDING
                )
            _tell_shelves(model, rows)
        done += len(rows)
    return done


def _notice(model: type[MemoryRecord] | type[Chunk], key: str) -> None:
    """At the first round, and when the embedder is another one: all rows of other embedders wait to be made anew."""
    if _noticed.get(model.__name__) != key:
        rows_wanted(model).exclude(vector_key=key).update(index_state=State.PENDING)
        _noticed[model.__name__] = key


def _surfaces(rows: Sequence[Any]) -> list[near.Surface]:
    """A passage of a document is found by its heading too, and by no date."""
    if isinstance(rows[0], MemoryRecord):
        return near.surfaces([(row.text, row.created_at) for row in rows])
    return near.bare_surfaces([documents.surface_text(row.heading, row.text) for row in rows])


def progress() -> tuple[int, int]:
    """How many of the rows in force are embedded by the embedder in use: (done, all)."""
    key = _key()
    rows = [rows_wanted(model) for _space, model in SPACES]
    return sum(r.filter(vector_key=key).count() for r in rows), sum(r.count() for r in rows)


def rows_wanted(model: type[MemoryRecord] | type[Chunk]) -> Any:
    """The rows that belong in the index."""
    return (
        MemoryRecord.objects.filter(status=MemoryRecord.Status.LIVE) if model is MemoryRecord else Chunk.objects.all()
    )


# ---- one round -------------------------------------------------------------------------------------

_checked = 0.0
_erased = 0.0


def _drain() -> Drained:
    try:
        embedded = re_embed()
    except EmbedderDown as fault:
        log.warning("Not embedded: %s", fault)
        embedded = 0
    if not _has_work():
        return Drained(embedded=embedded)
    try:
        chroma = index()
        rebuilt = _heal(chroma)
        removed = _take_out(chroma)
        indexed = _put_in(chroma)
        erased = _erase_traces()
        return Drained(embedded=embedded, indexed=indexed, removed=removed, rebuilt=rebuilt or erased)
    except IndexDown as fault:
        log.warning("The index is behind: %s", fault)
        return Drained(embedded=embedded, fault=str(fault))


def _has_work() -> bool:
    waits = Q(index_state__in=[State.PENDING, State.REMOVE])
    if index().suspect:
        return True
    due = not _checked or time.monotonic() - _checked > CHECK_EVERY
    if due and any(rows_wanted(model).exists() for _space, model in SPACES):
        return True
    return IndexRemoval.objects.exists() or any(model.objects.filter(waits).exists() for _s, model in SPACES)


def _heal(chroma: Index) -> bool:
    """Rebuild an index that failed, or whose size is not what the rows say: a lost folder, a restored backup."""
    global _checked
    if not chroma.suspect and _checked and time.monotonic() - _checked < CHECK_EVERY:
        return False
    key = _key()
    if not key:
        return False
    if chroma.suspect and chroma.rests:
        raise IndexDown("The index failed and waits to be rebuilt.")
    stale: list[str] = []
    broken = chroma.suspect
    if not broken:
        try:
            counts = chroma.counts()
        except IndexDown:
            if not chroma.suspect:  # held by another process, or a server that cannot be reached
                raise
            broken = True
        else:
            broken, stale = _differs(counts, key)
    if broken:
        log.warning("The index does not match the rows; it is rebuilt.")
        rebuild()
    elif stale and progress()[0] == progress()[1]:
        for name in stale:  # made by an embedder that is no longer in use
            chroma.drop(name)
    _checked = time.monotonic()
    return broken


def _differs(counts: Mapping[str, int], key: str) -> tuple[bool, list[str]]:
    """Whether the index is not of the size the rows say, and which collections are of no use any more."""
    held = sum(counts[name] for space, _model in SPACES for name in names(counts, space, key))
    said = sum(rows_wanted(model).filter(vector_key=key, index_state=State.INDEXED).count() for _s, model in SPACES)
    out = sum(model.objects.filter(index_state=State.REMOVE).count() for _s, model in SPACES)
    stale = [name for name in counts if not any(name in names(counts, space, key) for space, _m in SPACES)]
    return not said <= held <= said + out + IndexRemoval.objects.count() + BATCH, stale


def _take_out(chroma: Index) -> int:
    gone = list(IndexRemoval.objects.order_by("at").values_list("id", "erase")[: BATCH * 5])
    retired = {model: list(model.objects.filter(index_state=State.REMOVE)[:BATCH]) for _s, model in SPACES}
    ids = [str(id_) for id_, _erase in gone] + [str(row.id) for rows in retired.values() for row in rows]
    if not ids:
        return 0
    chroma.remove(ids)
    # Those to be erased stay on the list until their traces are out of the files too.
    removals.done(id_ for id_, erase in gone if not erase)
    for model, rows in retired.items():
        for row in rows:
            model.objects.filter(id=row.id, revision=row.revision).update(index_state=State.OUT)
    return len([1 for _id, erase in gone if not erase]) + sum(len(rows) for rows in retired.values())


def _put_in(chroma: Index) -> int:
    key, done = _key(), 0
    for space, model in SPACES:
        rows = list(
            rows_wanted(model)
            .filter(index_state=State.PENDING, vector_key=key)
            .order_by()
            .values_list("id", "user_id", "vector", "revision")[:BATCH]
        )
        if not rows:
            continue
        _upsert(chroma, space, model, key, [(str(r[0]), r[1], from_blob(r[2])) for r in rows if r[2]])
        newest: dict[int, int] = {}
        for _id, user_id, _vector, revision in rows:
            newest[user_id] = max(newest.get(user_id, 0), revision)
        with transaction.atomic():
            for user_id, revision in newest.items():
                # A row changed since it was read has a greater revision, and stays pending.
                mine = [row[0] for row in rows if row[1] == user_id]
                model.objects.filter(
                    user_id=user_id, id__in=mine, revision__lte=revision, index_state=State.PENDING
                ).update(index_state=State.INDEXED)
        done += len(rows)
    return done


def _upsert(chroma: Index, space: str, model: type[MemoryRecord] | type[Chunk], key: str, rows: Sequence[Row]) -> None:
    """Into the shared collection, or into the person's own when they have many."""
    users = {row[1] for row in rows}
    large = set(_large(model, users))
    shared = collection_name(space, key)
    for user_id in large:
        own = collection_name(space, key, user_id)
        if not chroma.has(own):
            _move_to_own(chroma, model, user_id, key, shared, own)
        chroma.upsert(own, [row for row in rows if row[1] == user_id])
    chroma.upsert(shared, [row for row in rows if row[1] not in large])


def _move_to_own(
    chroma: Index, model: type[MemoryRecord] | type[Chunk], user_id: int, key: str, shared: str, own: str
) -> None:
    """A person who now has many memories gets a collection, filled at once: it answers as soon as it exists."""
    rows = rows_wanted(model).filter(user_id=user_id, vector_key=key, index_state=State.INDEXED)
    held = [(str(id_), user_id, from_blob(blob)) for id_, blob in rows.values_list("id", "vector") if blob]
    chroma.upsert(own, held)
    chroma.remove_user(shared, user_id)


def _large(model: type[MemoryRecord] | type[Chunk], users: Iterable[int]) -> list[int]:
    counted = rows_wanted(model).filter(user_id__in=list(users)).order_by().values("user_id").annotate(n=Count("id"))
    return [row["user_id"] for row in counted if row["n"] >= OWN_FROM]


def _erase_traces() -> bool:
    """Chroma's files keep what was deleted, and so does the database's log: rewrite the one, empty the other."""
    global _erased
    marked = list(IndexRemoval.objects.filter(erase=True).values_list("id", flat=True))
    if not marked:
        return False
    size = sum(rows_wanted(model).count() for _space, model in SPACES)
    if size > SMALL and time.monotonic() - _erased < ERASE_EVERY and _erased:
        return False
    rebuild()
    _erased = time.monotonic()
    if empty_log():
        removals.done(marked)
    return True


def empty_log() -> bool:
    """SQLite: move the write-ahead log into the database and cut it to nothing; old pages in it hold old text."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return True
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        row = cursor.fetchone()
    return not row or row[0] == 0


def rebuild() -> None:
    """A new index from the rows' vectors; nothing is embedded again."""
    key = _key()
    newest = {model: dict(_newest(model)) for _space, model in SPACES}

    def fill(fresh: Index) -> None:
        for space, model in SPACES:
            large = set(_large(model, newest[model]))
            rows = rows_wanted(model).filter(vector_key=key).order_by("user_id")
            batches: dict[str, list[Row]] = {}
            for id_, user_id, blob in rows.values_list("id", "user_id", "vector").iterator(2_000):
                if blob:
                    name = collection_name(space, key, user_id if user_id in large else None)
                    batch = batches.setdefault(name, [])
                    batch.append((str(id_), user_id, from_blob(blob)))
                    if len(batch) == 1_000:
                        fresh.upsert(name, batch)
                        batch.clear()
            for name, batch in batches.items():
                fresh.upsert(name, batch)

    index().rebuild(fill)
    for _space, model in SPACES:
        for user_id, revision in newest[model].items():
            rows_wanted(model).filter(
                user_id=user_id, revision__lte=revision, vector_key=key, index_state=State.PENDING
            ).update(index_state=State.INDEXED)


def _newest(model: type[MemoryRecord] | type[Chunk]) -> list[tuple[int, int]]:
    rows = rows_wanted(model).order_by().values("user_id").annotate(newest=Max("revision"))
    return [(row["user_id"], row["newest"]) for row in rows]


def _key() -> str:
    """The key of the embedder in use; empty when it cannot be used."""
    try:
        return embedder().key
    except EmbedderDown:
        return ""


def _tell_shelves(model: type[MemoryRecord] | type[Chunk], rows: Sequence[Any]) -> None:
    """New vectors are a change like any other: raise the revisions, so that each process takes them in."""
    for user_id in {row.user_id for row in rows}:
        revision = records.next_revision(user_id)
        ids = [row.id for row in rows if row.user_id == user_id]
        model.objects.filter(user_id=user_id, id__in=ids).update(revision=revision)


def reset_clocks() -> None:
    """Check and erase at the next round, as after a start."""
    global _checked, _erased
    _checked = _erased = 0.0
    _noticed.clear()
