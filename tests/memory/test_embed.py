"""Embedders: languages meet, an endpoint may fail or change its model, and no chat breaks on it.

texts -> vectors.  Touches: a small endpoint on this machine; the sentence encoder that ships.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from memory import embed, outbox
from memory.errors import EmbedderDown
from memory.models import MemoryRecord
from memory.recall import recall
from tests.memory.conftest import Ask, Tell


class Odd(BaseHTTPRequestHandler):
    """An embeddings endpoint that does what its server was told to."""

    def do_POST(self) -> None:
        server: Any = self.server
        server.asked += 1
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        if server.fails:
            self.send_error(500)
            return
        vectors = embed.Hashed().embed_passages(texts)[:, : server.size]
        rows = [{"index": i, "embedding": server.bent(vector).tolist()} for i, vector in enumerate(vectors)]
        body = json.dumps({"object": "list", "model": "m", "data": rows[::-1], "usage": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def endpoint(settings: Any) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    server.fails, server.size, server.asked, server.bent = False, 384, 0, lambda vector: vector
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings.AGENT_EMBEDDER, settings.AGENT_ALLOW_LLM = "openai", True
    settings.OPENAI_BASE_URL = f"http://127.0.0.1:{server.server_port}/v1"
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.django_db
def test_a_dead_endpoint_costs_recall_by_meaning_and_no_memory(alice: Any, tell: Tell, ask: Ask, endpoint: Any) -> None:
    endpoint.fails = True
    assert tell("I like oolong tea").status == "kept"
    found = recall(alice.id, "oolong tea", limit=5, floor=0.27)
    assert ([item.text for item in found.shown], "words" in found.notice) == (["I like oolong tea"], True)
    assert endpoint.asked == 1  # left alone for a while after a failure, and not tried again by the client


@pytest.mark.django_db
def test_another_size_of_vectors_is_another_model_and_all_is_embedded_anew(
    alice: Any, tell: Tell, ask: Ask, endpoint: Any
) -> None:
    tell("I like oolong tea")
    outbox.drain_all()
    assert MemoryRecord.objects.get().vector_key.endswith("-384-lc1")
    endpoint.size = 768
    tell("My boat is called Nina")
    assert set(ask("oolong tea", floor=0.2)) == {"I like oolong tea"}
    outbox.drain_all()
    outbox.drain_all()
    assert {row.vector_key.rsplit("-", 2)[1] for row in MemoryRecord.objects.all()} == {"768"}
    outbox.reset_clocks()
    outbox.drain_all()
    assert outbox.drift().in_step


@pytest.mark.parametrize("bend", [lambda v: v * np.nan, lambda v: v[:0]])
def test_vectors_that_cannot_be_used_are_refused(endpoint: Any, bend: Any) -> None:
    endpoint.bent = bend
    with pytest.raises(EmbedderDown):
        embed.embedder().embed_queries(["x"])


def test_tests_reach_no_endpoint(settings: Any) -> None:
    settings.AGENT_EMBEDDER, settings.OPENAI_BASE_URL = "openai", "http://127.0.0.1:9/v1"
    with pytest.raises(EmbedderDown, match="AGENT_ALLOW_LLM"):
        embed.embedder().embed_queries(["x"])


def test_an_unknown_embedder_is_refused_by_name(settings: Any) -> None:
    settings.AGENT_EMBEDDER = "magic"
    with pytest.raises(ValueError, match="magic"):
        embed.embedder()


# ---- the one that ships -------------------------------------------------------------------------------


@pytest.fixture
def use(settings: Any) -> None:
    settings.AGENT_EMBEDDER = "use"


@pytest.mark.usefixtures("use")
def test_languages_meet_in_the_vectors_that_ship() -> None:
    maker = embed.embedder()
    english, chinese, other = maker.embed_passages(["I live in Paris", "我住在巴黎", "The printer is broken"])
    assert english @ chinese > 0.8
    assert english @ other < 0.3


@pytest.mark.usefixtures("use")
def test_the_means_of_the_languages_are_measured_once_and_kept(settings: Any) -> None:
    embed._make.cache_clear()
    first = embed.embedder().embed_queries(["我住在巴黎"])
    (file,) = (settings.AGENT_DATA_DIR / "means").glob("*query*")
    embed._make.cache_clear()
    before = file.stat().st_mtime_ns
    assert embed.embedder().embed_queries(["我住在巴黎"]) == pytest.approx(first, abs=1e-4)
    assert file.stat().st_mtime_ns == before


@pytest.mark.django_db
@pytest.mark.usefixtures("use")
@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("My sister lives in Berlin", "我姐姐住在哪里？"),
        ("用户对花生过敏", "Is the user allergic to any nuts?"),
        ("I prefer window seats on planes", "订机票选座有什么要求？"),
        ("我的车牌号是沪A12345", "沪A12345"),
        ("Invoice INV-2026-0417 was paid in April", "INV-2026-0417"),
    ],
)
def test_found_across_languages_and_by_exact_ids(tell: Tell, ask: Ask, said: str, asked: str) -> None:
    for noise in ("The cellar has a red door", "我喜欢爵士乐", "The meeting was moved to Friday", "会议改到了星期五"):
        tell(noise)
    tell(said)
    assert ask(asked)[0] == said


@pytest.mark.django_db
@pytest.mark.usefixtures("use")
@pytest.mark.parametrize(
    "asked", ["What is the capital of Mongolia?", "帮我写一首关于秋天的诗", "Convert 20 miles to kilometres"]
)
def test_nothing_is_recalled_for_what_nothing_known_answers(tell: Tell, ask: Ask, asked: str) -> None:
    for said in ("My sister lives in Berlin", "用户对花生过敏", "I prefer window seats on planes"):
        tell(said)
    assert ask(asked) == []
