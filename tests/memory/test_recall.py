"""Recall: ranked, explained, isolated; SQL decides what may be shown, whatever the index holds.

question -> Recalled.  Touches: rows, the index.
"""

import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import embed, index, outbox, records, shelf
from memory.errors import EmbedderDown
from memory.models import MemoryRecord
from memory.recall import count_recalled, recall
from tests.memory.conftest import Ask, Tell, best

pytestmark = pytest.mark.django_db
DEEDS = ["sails a boat", "repairs clocks", "bakes bread", "keeps bees", "paints walls", "climbs rocks", "sings bass"]


def many(user: Any, count: int, *, start: int = 0) -> list[MemoryRecord]:
    """Rows as a bulk import writes them: with words and vectors, pending for the index."""
    from memory import near

    state = records.next_revision(user.id)
    words = [f"Person {i} {DEEDS[i % len(DEEDS)]} in street {i * 7 % 101}" for i in range(start, start + count)]
    made = near.surfaces([(text, timezone.now()) for text in words])
    rows = [
        MemoryRecord(
            user=user, kind="fact", text=text, tokens=s.tokens, vector=s.blob, vector_key=s.key, revision=state
        )
        for text, s in zip(words, made, strict=True)
    ]
    return MemoryRecord.objects.bulk_create(rows, batch_size=1_000)


def test_every_candidate_says_how_it_scored_and_why_it_was_cut(alice: Any, tell: Tell) -> None:
    for text in ("I like oolong tea", "The cellar has a red door", "My boat is called Nina"):
        tell(text)
    found = recall(alice.id, "which tea do I like", limit=1, floor=0.27)
    assert next((item.text, item.fate) for item in found.recalls) == ("I like oolong tea", "shown")
    assert {item.fate for item in found.recalls[1:]} == {"below_floor"}
    first = found.recalls[0]
    assert first.score == pytest.approx(first.semantic + first.lexical + first.recency + first.confidence, abs=2e-4)
    assert first.source.startswith("you said so on ")


def test_more_than_fit_are_cut_with_the_reason(alice: Any, tell: Tell) -> None:
    for colour in ("green", "black", "white"):
        tell(f"I like {colour} tea")
    fates = [item.fate for item in recall(alice.id, "tea", limit=2, floor=0.1).recalls]
    assert fates == ["shown", "shown", "over_limit"]


def test_pinned_memories_are_always_shown_first(alice: Any, tell: Tell, ask: Ask) -> None:
    pinned = tell("Answer in short sentences")
    tell("I like oolong tea")
    records.pin(alice.id, pinned.record_id)
    assert ask("oolong tea") == ["Answer in short sentences", "I like oolong tea"]
    assert ask("oolong tea", unasked=False) == ["I like oolong tea"]


@pytest.mark.parametrize(
    ("question", "comes_up"),
    [
        ("Book a suite in Xi'an for two nights", False),
        ("西安10月1日住两晚，下雨订suite", False),
        ("Book the suite in Xi'an that I had last time", True),
        ("Did we book a suite in Xi'an?", True),
        ("上次在西安订的suite是哪家？", True),
    ],
)
def test_an_episode_comes_up_by_itself_only_where_the_past_is_meant(
    alice: Any, tell: Tell, question: str, comes_up: bool
) -> None:
    tell("Book a suite in Xi'an 西安 for two nights 住两晚 — Finished. book_hotel: Bell Tower Hotel", kind="episode")
    fates = [item.fate for item in recall(alice.id, question, limit=5, floor=0.0).recalls]
    assert fates == ["shown" if comes_up else "not_fitting"]
    searched = recall(alice.id, question, limit=5, floor=0.0, unasked=False).recalls
    assert [item.fate for item in searched] == ["shown"]


def test_only_the_kinds_asked_for_come_back(tell: Tell, ask: Ask) -> None:
    tell("I like oolong tea", kind="preference")
    tell("When tea is ordered then ask for oolong", kind="howto")
    assert ask("oolong tea", kinds={"howto"}) == ["When tea is ordered then ask for oolong"]


def test_bob_never_sees_what_alice_said(alice: Any, bob: Any, tell: Tell, ask: Ask) -> None:
    tell("My locker code is zebra-42")
    assert ask("locker code zebra-42", user=bob, floor=-5.0) == []
    tell("I like cake", user=bob)
    assert ask("locker code zebra-42", user=bob, floor=-5.0) == ["I like cake"]


def test_nothing_can_be_asked_without_a_user() -> None:
    with pytest.raises(TypeError):
        recall("tea", limit=5, floor=0.0)  # type: ignore[call-arg, arg-type]
    assert recall(None, "tea", limit=5, floor=-5.0).recalls == ()  # type: ignore[arg-type]


def test_an_expired_memory_is_not_recalled_even_before_it_is_swept(tell: Tell, ask: Ask) -> None:
    tell("The gate code is blue-77", expires_at=timezone.now() - timedelta(seconds=1))
    assert ask("gate code blue-77") == []


def test_recall_counts_only_what_was_shown(alice: Any, bob: Any, tell: Tell) -> None:
    receipt = tell("I like tea")
    count_recalled(bob.id, [receipt.record_id])
    count_recalled(alice.id, [receipt.record_id])
    assert MemoryRecord.objects.get(id=receipt.record_id).recalled == 1


def queries_of(user: Any) -> int:
    recall(user.id, "boat in street 14", limit=6, floor=0.0)
    with CaptureQueriesContext(
        connection,
    ) as seen:
        recall(user.id, "boat in street 14", limit=6, floor=0.0)
    return len(seen)


def test_recall_costs_two_queries_whatever_there_is(alice: Any, bob: Any) -> None:
    many(alice, 10)
    few = queries_of(alice)
    many(alice, 300, start=10)
    many(bob, 500)
    assert (few, queries_of(alice)) == (2, 2)


def test_a_write_of_another_process_is_found_at_once(alice: Any, tell: Tell, ask: Ask) -> None:
    tell("I like oolong tea")
    assert ask("tea") == ["I like oolong tea"]
    held = list(shelf._shelves.values())
    # The other process writes; this one's copy knows nothing of it but the revision.
    tell("Tea is bought at the harbour")
    assert all(len(item.ids) <= 2 for item in held)
    assert "Tea is bought at the harbour" in ask("tea bought harbour")


def test_a_copy_made_before_a_forgetting_is_thrown_away(alice: Any, tell: Tell) -> None:
    receipt = tell("My boat is called Nina")
    recall(alice.id, "boat", limit=5, floor=0.0)
    kept = shelf._shelves["MemoryRecord", alice.id, "hashed-3"]
    records.erase(alice.id, [UUID(receipt.record_id)])
    recall(alice.id, "boat", limit=5, floor=0.0)
    assert kept.ids == []


# ---- the embedder fails -----------------------------------------------------------------------


class Broken:
    key = "broken"

    def embed_queries(self, texts: Any) -> Any:
        raise EmbedderDown("unreachable")

    embed_passages = embed_queries


def test_without_an_embedder_words_still_find_it_and_the_person_is_told(
    alice: Any, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell("I like oolong tea")
    monkeypatch.setattr("memory.search.embedder", Broken)
    found = recall(alice.id, "oolong tea", limit=5, floor=0.27)
    assert [item.text for item in found.shown] == ["I like oolong tea"]
    assert "words" in found.notice


def test_what_was_written_without_an_embedder_is_found_and_embedded_later(
    alice: Any, tell: Tell, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("memory.near.embedder", Broken)
        receipt = tell("I like oolong tea")
    assert MemoryRecord.objects.get(id=receipt.record_id).vector is None
    assert ask("oolong tea") == ["I like oolong tea"]
    outbox.drain_all()
    record = MemoryRecord.objects.get(id=receipt.record_id)
    assert (record.vector is not None, record.index_state) == (True, "indexed")


@pytest.mark.parametrize(
    "text", ["ﷺ" * 5000, "a\x00b", "\ud800", "", " ", "👩‍👩‍👧" * 500, "\u202e" * 100, "x" * 100_000]
)
@pytest.mark.parametrize("name", ["hashed", "use"])
def test_no_text_breaks_an_embedder(settings: Any, name: str, text: str) -> None:
    settings.AGENT_EMBEDDER = name
    vectors = embed.embedder().embed_passages([text, "plain"])
    assert np.isfinite(vectors).all()
    assert np.isfinite(embed.embedder().embed_queries([text])).all()


def test_any_question_is_survived(alice: Any, tell: Tell) -> None:
    tell("I like tea")
    for query in ("ﷺ" * 5000, "\x00", "\ud800", "", "?" * 1000, "的的的", "'; DROP TABLE"):
        recall(alice.id, query, limit=5, floor=0.27)


# ---- the index: a copy, never the truth ---------------------------------------------------------


@pytest.fixture
def through_chroma(settings: Any) -> None:
    """Every set counts as large: the index is asked."""
    settings.AGENT_EXACT_LIMIT = 0


def test_index_and_exact_search_give_the_same_ten(alice: Any, bob: Any, settings: Any) -> None:
    many(alice, 400)
    many(bob, 400)
    outbox.drain_all()
    for query in ("who keeps bees", "street 35", "Person 17 sings", "clocks"):
        settings.AGENT_EXACT_LIMIT = 10_000
        shelf.drop(alice.id)
        exact = [(item.id, item.score) for item in best(alice, query)[:10]]
        settings.AGENT_EXACT_LIMIT = 0
        shelf.drop(alice.id)
        found = [(item.id, item.score) for item in best(alice, query)[:10]]
        assert [score for _id, score in found] == pytest.approx([score for _id, score in exact], abs=1e-3)


def test_a_person_with_many_gets_a_collection_of_their_own(
    alice: Any, bob: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "OWN_FROM", 300)
    many(alice, 250)
    many(bob, 50)
    outbox.drain_all()
    many(alice, 100, start=250)
    outbox.drain_all()
    shared = index.collection_name("mem", "hashed-3")
    assert index.index().counts() == {shared: 50, f"{shared}-u{alice.id}": 350}
    settings.AGENT_EXACT_LIMIT = 0
    assert best(alice, "Person 300 sings bass")[0].text.startswith("Person 300 ")


@pytest.mark.usefixtures("through_chroma")
def test_what_is_not_yet_indexed_is_found_all_the_same(tell: Tell, ask: Ask) -> None:
    tell("I like oolong tea")
    outbox.drain_all()
    tell("My boat is called Nina")
    assert ask("what is the boat called") == ["My boat is called Nina"]


@pytest.mark.usefixtures("through_chroma")
def test_a_foreign_id_in_the_index_is_never_recalled(alice: Any, bob: Any, tell: Tell, ask: Ask) -> None:
    tell("I like oolong tea")
    secret = tell("The vault is behind the mirror", user=bob)
    outbox.drain_all()
    key = embed.embedder().key
    vector = embed.embedder().embed_queries(["vault mirror"])[0]
    rows = [(secret.record_id, alice.id, vector), (str(uuid4()), alice.id, vector), ("no-uuid", alice.id, vector)]
    index.index().upsert(index.collection_name("mem", key), rows)
    assert ask("vault mirror", floor=-5.0) == ["I like oolong tea"]


@pytest.mark.usefixtures("through_chroma")
def test_retired_and_superseded_memories_still_in_the_index_are_never_recalled(
    alice: Any, tell: Tell, ask: Ask
) -> None:
    tell("I live in Paris")
    outbox.drain_all()
    tell("I moved to Rome")  # the index still holds Paris: no round has run since
    assert ask("where do I live? Paris?", floor=-5.0) == ["I moved to Rome"]


@pytest.mark.usefixtures("through_chroma")
def test_an_index_wiped_while_it_is_closed_gives_the_same_answers_and_heals(
    alice: Any, tell: Tell, ask: Ask, settings: Any
) -> None:
    for text in ("I like oolong tea", "My boat is called Nina", "The cellar has a red door"):
        tell(text)
    outbox.drain_all()
    before = ask("what is the boat called")
    index.index().close()
    shutil.rmtree(Path(settings.AGENT_DATA_DIR) / "chroma")
    found = recall(alice.id, "what is the boat called", limit=6, floor=0.27)
    assert [item.text for item in found.shown] == before == ["My boat is called Nina"]
    assert "index" in found.notice
    outbox.reset_clocks()
    assert outbox.drain_all().rebuilt
    assert outbox.drift().in_step


@pytest.mark.usefixtures("through_chroma")
def test_a_corrupt_index_breaks_no_chat_and_is_rebuilt(alice: Any, tell: Tell, ask: Ask, settings: Any) -> None:
    tell("I like oolong tea")
    outbox.drain_all()
    index.index().close()
    for file in (Path(settings.AGENT_DATA_DIR) / "chroma").rglob("*"):
        if file.is_file() and file.name not in {"lock", "current"}:
            file.write_bytes(b"\x00garbage" * 500)
    assert ask("oolong tea") == ["I like oolong tea"]
    outbox.reset_clocks()
    index.index()._down_until = 0.0
    outbox.drain_all()
    assert outbox.drift().in_step


@pytest.mark.usefixtures("through_chroma")
def test_an_index_held_by_another_process_is_left_alone(tell: Tell, ask: Ask, settings: Any) -> None:
    tell("I like oolong tea")
    folder = Path(settings.AGENT_DATA_DIR) / "chroma"
    folder.mkdir()
    hold = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
    other = subprocess.Popen(
        [sys.executable, "-c", hold, str(folder / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        assert "process" in outbox.drain_all().fault
        assert ask("oolong tea") == ["I like oolong tea"]
        assert [path.name for path in folder.iterdir()] == ["lock"]
    finally:
        other.communicate()
    index.index()._down_until = 0.0
    assert outbox.drain_all().indexed == 1


def test_a_kill_between_rows_and_index_is_healed_by_the_next_round(tell: Tell) -> None:
    tell("I like oolong tea")  # committed, and the process is gone before the index hears of it
    assert outbox.drift().pending == 1
    assert outbox.drain().indexed == 1
    assert outbox.drain().indexed == 0
    assert outbox.drift().in_step


def test_a_row_changed_while_it_was_being_indexed_stays_pending(
    alice: Any, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = tell("The pet is a cat")
    real = index.Index.upsert

    def edit_meanwhile(self: index.Index, collection: str, rows: Any) -> None:
        real(self, collection, rows)
        records.edit(alice.id, receipt.record_id, "The pet is a dog", by=alice.id)

    with monkeypatch.context() as patch:
        patch.setattr(index.Index, "upsert", edit_meanwhile)
        outbox.drain()
    assert MemoryRecord.objects.get(id=receipt.record_id).index_state == "pending"
    outbox.drain()
    assert outbox.drift().in_step


def test_another_embedder_is_noticed_and_everything_embedded_anew(
    alice: Any, tell: Tell, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell("I like oolong tea")
    tell("My boat is called Nina")
    outbox.drain_all()

    class Smaller(embed.Hashed):
        key = "hashed-small"
        size = 64

    for module in ("memory.search", "memory.near", "memory.outbox"):
        monkeypatch.setattr(f"{module}.embedder", Smaller)
    assert ask("oolong tea", floor=0.2) == ["I like oolong tea"]  # by its words, and nothing is lost
    assert outbox.progress() == (0, 2)
    outbox.reset_clocks()
    outbox.drain_all()
    assert outbox.progress() == (2, 2)
    outbox.reset_clocks()
    outbox.drain_all()
    assert index.index().counts() == {"mem-hashed-small": 2}
    assert outbox.drift().in_step


def test_a_nearly_full_disk_keeps_the_rows_and_is_said(tell: Tell, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    tell("I like oolong tea")
    with monkeypatch.context() as patch:
        patch.setattr("memory.index.free_bytes", lambda _folder: 1_000_000)
        assert "full" in outbox.drain().fault
        assert ask("oolong tea") == ["I like oolong tea"]
    assert outbox.drain().indexed == 1


@pytest.mark.usefixtures("through_chroma")
def test_a_client_that_failed_is_never_called_again(tell: Tell, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    tell("I like oolong tea")
    outbox.drain_all()
    failed = index.index()._client

    def hang(*args: Any, **more: Any) -> Any:
        raise AssertionError("called again")

    with monkeypatch.context() as patch:
        patch.setattr(index.Index, "_collection", lambda *args: (_ for _ in ()).throw(OSError("I/O error")))
        assert ask("oolong tea") == ["I like oolong tea"]
    monkeypatch.setattr(failed, "list_collections", hang)
    monkeypatch.setattr(failed, "close", hang)
    assert ask("oolong tea") == ["I like oolong tea"]
    assert "rebuilt" in outbox.drain().fault
    index.index()._down_until = 0.0
    assert outbox.drain().rebuilt
    assert outbox.drift().in_step
