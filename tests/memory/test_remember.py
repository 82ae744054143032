"""Writing: what is kept, known already, merged, refused, or waits for the person.

text -> Receipt.  Touches: rows.
"""

import unicodedata
from typing import Any

import pytest

from memory import records
from memory.models import MemoryRecord, UserMemory
from tests.memory.conftest import Ask, Tell

pytestmark = pytest.mark.django_db


def live(user: Any) -> list[str]:
    rows = MemoryRecord.objects.filter(user=user, status="live").order_by("created_at")
    return list(rows.values_list("text", flat=True))


@pytest.mark.parametrize(
    "again",
    [
        "I like oolong tea",
        "i like  OOLONG tea!!",
        "Ｉ ｌｉｋｅ ｏｏｌｏｎｇ ｔｅａ",
        "I like oolong tea   ",
        "Remember that I like oolong tea.",
        "I like oo\u200blong tea",
    ],
)
def test_the_same_text_in_another_dress_is_one_memory(alice: Any, tell: Tell, again: str) -> None:
    tell("I like oolong tea")
    assert tell(again).status == "duplicate"
    assert live(alice) == ["I like oolong tea"]


def test_accents_in_two_encodings_are_one_memory(alice: Any, tell: Tell) -> None:
    tell(unicodedata.normalize("NFC", "My café is Café Résumé"))
    assert tell(unicodedata.normalize("NFD", "My café is Café Résumé")).status == "duplicate"


def test_a_known_memory_gains_its_new_source_and_a_little_confidence(alice: Any, tell: Tell) -> None:
    first = tell("I like oolong tea")
    before = MemoryRecord.objects.get(id=first.record_id).confidence
    tell("I like oolong tea", source={"by": "person", "turn": "t2", "message": 7})
    record = MemoryRecord.objects.get(id=first.record_id)
    assert record.confidence > before
    assert record.source["also"][0]["message"] == 7


def test_distinct_wishes_are_both_kept(alice: Any, tell: Tell) -> None:
    tell("记住我想周游世界")
    tell("记住我周末吃夜宵")
    assert live(alice) == ["我想周游世界", "我周末吃夜宵"]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("My order is SF20260314-8872", "My order is SF20260314-8873"),
        ("I like meetings on Monday", "I do not like meetings on Monday"),
        ("The invoice was 300 euros", "The invoice was 400 euros"),
        ("我喜欢吃辣", "我不喜欢吃辣"),
    ],
)
def test_what_differs_in_a_number_or_a_not_is_never_folded(alice: Any, tell: Tell, one: str, two: str) -> None:
    tell(one)
    assert tell(two).status != "duplicate"
    assert two in live(alice)


def test_a_fuller_statement_takes_the_place_of_its_part_and_can_be_undone(alice: Any, tell: Tell) -> None:
    tell("I like oolong tea")
    fuller = tell("I like oolong tea in the afternoon")
    assert fuller.status == "merged"
    assert live(alice) == ["I like oolong tea in the afternoon"]
    assert records.unmerge(alice.id, fuller.record_id) == 1
    assert sorted(live(alice)) == ["I like oolong tea", "I like oolong tea in the afternoon"]


@pytest.mark.parametrize(
    "secret",
    [
        "My password is hunter22",
        "my OpenAI key is sk-abcdefghijklmnop1234567890",
        "my card is 4111 1111 1111 1111",
        "我的密码是 abc12345",
        "AKIAIOSFODNN7EXAMPLE is my access key",
        "-----BEGIN RSA PRIVATE KEY-----",
        "token: ghp_abcdefghijklmnopqrstuvwxyz0123",
    ],
)
def test_secrets_are_refused_with_the_reason(alice: Any, tell: Tell, secret: str) -> None:
    receipt = tell(secret)
    assert receipt.status == "refused"
    assert "secret" in receipt.reason or "card" in receipt.reason or "key" in receipt.reason
    assert not MemoryRecord.objects.filter(user=alice).exists()


@pytest.mark.parametrize(
    "harmless",
    [
        "My order number is 4111 1111 1111 1112",
        "I forgot where my password manager is installed",
        "My phone number is +49 170 1234567",
        "My parcel is 2026112912345678",
    ],
)
def test_what_only_resembles_a_secret_is_kept(tell: Tell, harmless: str) -> None:
    assert tell(harmless).status == "kept"


def test_empty_and_endless_texts_are_refused(tell: Tell) -> None:
    assert tell(" \x00\u200b ").status == "refused"
    assert tell("x" * 2001).status == "refused"


def test_an_unknown_kind_is_refused(tell: Tell) -> None:
    assert tell("something", kind="mood").status == "refused"


def test_switched_off_nothing_is_learnt_but_the_persons_own_entry(alice: Any, tell: Tell) -> None:
    records.set_mode(alice.id, "off")
    assert tell("I like tea").status == "refused"
    assert tell("I like tea", source={"by": "person"}).status == "kept"


def test_in_ask_mode_a_memory_waits_and_takes_effect_when_accepted(alice: Any, tell: Tell, ask: Ask) -> None:
    tell("I live in Paris", source={"by": "person"})
    records.set_mode(alice.id, UserMemory.Mode.ASK)
    receipt = tell("I moved to Rome")
    assert receipt.status == "review"
    assert live(alice) == ["I live in Paris"]
    assert ask("where do I live?") == ["I live in Paris"]
    accepted = records.accept(alice.id, receipt.record_id)
    assert accepted.status == "superseded"
    assert live(alice) == ["I moved to Rome"]


def test_what_was_declined_is_not_proposed_again(alice: Any, tell: Tell) -> None:
    records.set_mode(alice.id, "ask")
    receipt = tell("I like tea with milk")
    records.decline(alice.id, receipt.record_id)
    assert tell("I like tea with milk").status == "refused"
    assert not MemoryRecord.objects.filter(user=alice).exists()


def test_the_longest_memory_can_be_shortened(alice: Any, tell: Tell) -> None:
    receipt = tell("word " * 399 + "end")
    assert records.edit(alice.id, receipt.record_id, "short", by=alice.id).status == "kept"
    assert live(alice) == ["short"]


def test_an_episode_may_happen_twice(alice: Any, tell: Tell) -> None:
    tell("Booked a suite in Xi'an", kind="episode", source={"by": "code"})
    assert tell("Booked a suite in Xi'an", kind="episode", source={"by": "code"}).status == "kept"


def test_a_memory_of_somebody_else_cannot_be_changed(alice: Any, bob: Any, tell: Tell) -> None:
    receipt = tell("I like tea")
    for act in (
        lambda: records.edit(bob.id, receipt.record_id, "x", by=bob.id),
        lambda: records.retire(bob.id, receipt.record_id),
        lambda: records.restore(bob.id, receipt.record_id),
        lambda: records.pin(bob.id, receipt.record_id),
        lambda: records.accept(bob.id, receipt.record_id),
        lambda: records.unmerge(bob.id, receipt.record_id),
    ):
        with pytest.raises(MemoryRecord.DoesNotExist):
            act()
    assert live(alice) == ["I like tea"]


def test_an_unknown_id_changes_nothing(alice: Any, tell: Tell) -> None:
    tell("I like tea")
    with pytest.raises(MemoryRecord.DoesNotExist):
        records.edit(alice.id, "00000000-0000-4000-8000-000000000000", "x", by=alice.id)
    assert live(alice) == ["I like tea"]


def test_merged_memories_keep_all_sources_and_come_back_by_undo(alice: Any, tell: Tell) -> None:
    one = tell("My boat is called Nina", source={"by": "person", "turn": "t1", "message": 1})
    two = tell("The boat lies in Kiel", source={"by": "person", "turn": "t2", "message": 2})
    merged = records.merge(alice.id, [one.record_id, two.record_id], "My boat Nina lies in Kiel")
    record = MemoryRecord.objects.get(id=merged.record_id)
    assert {entry["message"] for entry in record.source["also"]} == {1, 2}
    assert live(alice) == ["My boat Nina lies in Kiel"]
    assert records.unmerge(alice.id, merged.record_id) == 2
    assert live(alice) == ["My boat is called Nina", "The boat lies in Kiel"]


def test_memories_of_two_people_are_never_merged(alice: Any, bob: Any, tell: Tell) -> None:
    one = tell("I like tea")
    two = tell("I like cake", user=bob)
    assert records.merge(alice.id, [one.record_id, two.record_id]).status == "refused"
    assert live(bob) == ["I like cake"]


def test_the_same_text_of_two_people_is_two_memories(alice: Any, bob: Any, tell: Tell) -> None:
    tell("I like tea")
    assert tell("I like tea", user=bob).status == "kept"


def test_a_retired_memory_is_not_recalled_and_can_be_restored(alice: Any, tell: Tell, ask: Ask) -> None:
    receipt = tell("I like oolong tea")
    records.retire(alice.id, receipt.record_id)
    assert ask("oolong tea") == []
    records.restore(alice.id, receipt.record_id)
    assert ask("oolong tea") == ["I like oolong tea"]


def test_editing_changes_what_it_is_found_by(alice: Any, tell: Tell, ask: Ask) -> None:
    receipt = tell("We keep a hamster")
    records.edit(alice.id, receipt.record_id, "We keep a parrot", by=alice.id)
    assert ask("parrot") == ["We keep a parrot"]
    assert ask("hamster") == []
    record = MemoryRecord.objects.get(id=receipt.record_id)
    assert [edit.before for edit in record.edits.all()] == ["We keep a hamster"]


def test_ten_thousand_memories_are_listed_page_by_page(alice: Any, django_assert_max_num_queries: Any) -> None:
    rows = [MemoryRecord(user=alice, kind="fact", text=f"memory {i}") for i in range(10_000)]
    MemoryRecord.objects.bulk_create(rows, batch_size=2_000)
    with django_assert_max_num_queries(2):
        page, count = records.page(alice.id, start=9_950, count=50)
    assert (len(page), count) == (50, 10_000)
    found, many = records.page(alice.id, "memory 77", count=5)
    assert (len(found), many) == (5, 280)


@pytest.mark.parametrize(
    ("one", "two"),
    [("I like tea", "I like green tea"), ("I like green tea", "I like tea"), ("I like tea", "I like tea ceremonies")],
)
def test_a_wider_or_narrower_liking_is_another_memory(alice: Any, tell: Tell, one: str, two: str) -> None:
    tell(one)
    tell(two)
    assert live(alice) == [one, two]


def test_the_same_said_shorter_is_known_already(alice: Any, tell: Tell) -> None:
    tell("I'm living in Lyon now.")
    assert tell("By the way, I live in Lyon.").status == "duplicate"
    assert live(alice) == ["I'm living in Lyon now."]


def test_every_memory_that_states_a_fact_is_retired_with_it(alice: Any, tell: Tell) -> None:
    for text in ("My employer is Acme", "I work at Acme in the sales office", "I like tea"):
        tell(text)
    tell("I now work for Initech")
    assert live(alice) == ["I like tea", "I now work for Initech"]
