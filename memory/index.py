"""The vector index: Chroma, in process or as a server. A copy of the vectors in SQL, disposable and rebuilt from them.

ids and vectors -> the nearest ids.  Touches: Chroma (the only importer); the folder `chroma` in the data directory.

Two processes on one folder corrupt it for good, so that a file lock is taken first; whoever does not get it searches
exactly. Chroma keeps a deleted vector in its files: erasing is a rebuild in a new folder. No text is ever put in it.
Every fault becomes IndexDown, panics of its native half included: no chat may break on the index. A client that
failed is never called again, for its next call may hang with the whole process (seen after a full disk); only a rebuild
in a new folder brings it back, and nothing is written while the disk is nearly full.
"""

import fcntl
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from django.conf import settings

from memory.embed import Vectors
from memory.errors import IndexDown

# From so many rows on a person's vectors have a collection of their own: a filter makes Chroma slow (64 ms at 10,000
# rows against 1.4), but a collection for each of many small users costs memory and open files.
OWN_FROM = 5_000
BATCH = 1_000
RETRY_AFTER = 30.0  # seconds between attempts to open or rebuild an index that failed
LEAST_ROOM = 64_000_000  # bytes that must be free before anything is written
Row = tuple[str, int, Vectors]  # id, user, vector


class Index:
    """One process's way to the index; opened at its first use, after fork."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self._lock = threading.RLock()
        self._client: Any = None
        self._file: IO[str] | None = None
        self._pid = 0
        self._collections: dict[str, Any] = {}
        self._down_until = 0.0
        self._generation = 0  # the last folder made; a number is never used twice in one process
        self.suspect = False  # it failed: only a rebuild brings it back

    # ---- what others use -----------------------------------------------------------------------

    def upsert(self, collection: str, rows: Sequence[Row]) -> None:
        def put() -> None:
            self._need_room(LEAST_ROOM)
            held = self._collection(collection)
            for start in range(0, len(rows), BATCH):
                batch = rows[start : start + BATCH]
                held.upsert(
                    ids=[row[0] for row in batch],
                    embeddings=[row[2] for row in batch],
                    metadatas=[{"user_id": row[1]} for row in batch],
                )

        self._guarded(put)

    def remove(self, ids: Sequence[str]) -> None:
        """Take ids out of every collection; unknown ones are no fault."""

        def take() -> None:
            for name in self._names():
                for start in range(0, len(ids), BATCH):
                    self._collection(name).delete(ids=list(ids[start : start + BATCH]))

        if ids:
            self._guarded(take)

    def remove_user(self, collection: str, user_id: int) -> None:
        self._guarded(lambda: self._collection(collection).delete(where={"user_id": user_id}))

    def nearest(self, collection: str, vector: Vectors, count: int, user_id: int | None) -> list[str]:
        """The nearest ids; `user_id` filters a shared collection, None is for a person's own one."""

        def ask() -> list[str]:
            where = None if user_id is None else {"user_id": user_id}
            found = self._collection(collection).query(
                query_embeddings=[vector], n_results=count, where=where, include=["distances"]
            )
            return [str(id_) for id_ in found["ids"][0]]

        return self._guarded(ask)

    def counts(self) -> dict[str, int]:
        """Collection -> number of vectors."""
        return self._guarded(lambda: {name: self._collection(name).count() for name in self._names()})

    def ids(self, collection: str) -> set[str]:
        return self._guarded(lambda: set(self._collection(collection).get(include=[])["ids"]))

    def has(self, collection: str) -> bool:
        # Listing costs more than the search itself; a collection that was seen once is there until it is dropped.
        return self._guarded(lambda: collection in self._collections or collection in self._names())

    def drop(self, collection: str) -> None:
        def away() -> None:
            self._collections.pop(collection, None)
            self._client.delete_collection(collection)

        self._guarded(away)

    def rebuild(self, fill: Callable[["Index"], None]) -> None:
        """Make the index anew with what `fill` puts into it, in a new folder, and erase the old one.

        Other threads of this process search exactly meanwhile. An interrupted rebuild leaves the old one in force.
        """
        if self.url:
            self._rebuild_on_server(fill)
            return
        with self._lock:
            self._take_file_lock()
            old = self._current()
            self._need_room(LEAST_ROOM + 2 * sum(path.stat().st_size for path in old.rglob("*") if path.is_file()))
            fresh = Index(self.folder, "")
            known = [int(path.name[1:]) for path in self._generations()]
            self._generation = 1 + max([*known, self._generation])
            target = self.folder / f"g{self._generation}"
        try:
            fresh._file, fresh._pid, fresh._client = self._file, os.getpid(), _open(target)
            fill(fresh)
        except BaseException as fault:
            fresh._close_client()
            shutil.rmtree(target, ignore_errors=True)
            if isinstance(fault, Exception) or _is_panic(fault):
                self._give_up()
                raise IndexDown(f"The index could not be rebuilt: {fault}") from fault
            raise
        with self._lock:
            mark = self.folder / "current.new"
            mark.write_text(target.name)
            mark.replace(self.folder / "current")
            self._close_client()
            self._client, self._collections, self._pid = fresh._client, fresh._collections, os.getpid()
            self.suspect, self._down_until = False, 0.0
            for path in self._generations():
                if path != target:
                    shutil.rmtree(path, ignore_errors=True)
        if old.exists() and old != target:
            raise IndexDown("The old index files could not be erased.")

    def close(self) -> None:
        """Let go of the files and of the lock."""
        with self._lock:
            self._close_client()
            if self._file is not None and self._pid == os.getpid():
                self._file.close()
            self._file = None

    # ---- opening -------------------------------------------------------------------------------

    def _guarded[T](self, work: Callable[[], T]) -> T:
        with self._lock:
            self._open_once()
            try:
                return work()
            except BaseException as fault:
                if isinstance(fault, IndexDown) or not (isinstance(fault, Exception) or _is_panic(fault)):
                    raise
                self._give_up()
                raise IndexDown(f"The index failed: {type(fault).__name__}: {str(fault)[:200]}") from fault

    def _open_once(self) -> None:
        if self._client is not None and self._pid == os.getpid():
            return
        if time.monotonic() < self._down_until or self.suspect:
            raise IndexDown("The index failed and waits to be rebuilt.")
        # A client inherited through fork hangs: forget it, never close it.
        if self._pid and self._pid != os.getpid():
            self._client, self._file, self._collections = None, None, {}
        try:
            if self.url:
                self._client = _connect(self.url)
            else:
                self._take_file_lock()
                self._client = _open(self._current())
            self._pid = os.getpid()
        except BaseException as fault:
            if not isinstance(fault, Exception) and not _is_panic(fault):
                raise
            self._down_until = time.monotonic() + RETRY_AFTER
            if isinstance(fault, IndexDown):
                raise
            self.suspect = not self.url
            raise IndexDown(f"The index cannot be opened: {type(fault).__name__}: {str(fault)[:200]}") from fault

    def _give_up(self) -> None:
        """Leave the client alone for good, without closing it: it may be hanging already."""
        with self._lock:
            self._client, self._collections = None, {}
            self.suspect, self._down_until = not self.url, time.monotonic() + RETRY_AFTER

    @property
    def rests(self) -> bool:
        """It failed a moment ago; a rebuild would fail again."""
        return time.monotonic() < self._down_until

    def _need_room(self, most: int) -> None:
        if not self.url and free_bytes(self.folder) < most:
            raise IndexDown("The disk is nearly full: nothing is written to the index.")

    def _take_file_lock(self) -> None:
        if self._file is not None and self._pid in {0, os.getpid()}:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        file = (self.folder / "lock").open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            file.close()
            raise IndexDown("Another process holds the index.") from fault
        self._file, self._pid = file, os.getpid()

    def _current(self) -> Path:
        try:
            name = (self.folder / "current").read_text().strip()
        except OSError:
            name = ""
        return self.folder / (name if re.fullmatch(r"g\d+", name) else "g1")

    def _generations(self) -> list[Path]:
        return [path for path in self.folder.glob("g*") if re.fullmatch(r"g\d+", path.name)]

    def _close_client(self) -> None:
        client, self._client, self._collections = self._client, None, {}
        if client is not None and self._pid == os.getpid():
            try:
                client.close()
            except Exception:
                pass

    def _rebuild_on_server(self, fill: Callable[["Index"], None]) -> None:
        """A server's folder is not ours: make the collections anew. Erasing its files is the operator's part."""
        with self._lock:
            for name in self._guarded(self._names):
                self.drop(name)
            fill(self)
            self.suspect = False

    def _names(self) -> list[str]:
        return [str(collection.name) for collection in self._client.list_collections()]

    def _collection(self, name: str) -> Any:
        if name not in self._collections:
            self._collections[name] = self._client.get_or_create_collection(
                name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
            )
        return self._collections[name]


def collection_name(space: str, key: str, user_id: int | None = None) -> str:
    """`mem` or `doc`, the embedder, and the person for a collection of their own."""
    slug = re.sub(r"[^a-zA-Z0-9.-]+", "-", key)[:80].strip("-.")
    return f"{space}-{slug}" if user_id is None else f"{space}-{slug}-u{user_id}"


_index: Index | None = None
_made = threading.Lock()


def index() -> Index:
    """The index of this process."""
    global _index
    folder, url = Path(settings.AGENT_DATA_DIR) / "chroma", settings.AGENT_CHROMA_URL
    with _made:
        if _index is None or (_index.folder, _index.url) != (folder, url):
            if _index is not None:
                _index.close()
            _index = Index(folder, url)
        return _index


def names(found: Iterable[str], space: str, key: str) -> list[str]:
    """Of some collections those of one space and embedder, the persons' own ones included."""
    shared = collection_name(space, key)
    return [name for name in found if name == shared or name.startswith(f"{shared}-u")]


def free_bytes(folder: Path) -> int:
    """Room on the disk that holds the index."""
    return shutil.disk_usage(folder if folder.exists() else folder.parent).free


def _open(folder: Path) -> Any:
    import chromadb
    from chromadb.config import Settings

    folder.mkdir(parents=True, exist_ok=True)
    return chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))


def _connect(url: str) -> Any:
    import chromadb
    from chromadb.config import Settings

    parts = urlsplit(url)
    client = chromadb.HttpClient(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or (443 if parts.scheme == "https" else 8000),
        ssl=parts.scheme == "https",
        settings=Settings(anonymized_telemetry=False),
    )
    # Its own default waits for ever, and a chat waits with it.
    session = getattr(getattr(client, "_server", None), "_session", None)
    if session is not None:
        session.timeout = 5.0
    return client


def _is_panic(fault: BaseException) -> bool:
    """The native half reports its own faults outside of Exception."""
    return type(fault).__name__ == "PanicException"
