"""What a person does to their memories: in the panel and on the page of all.

request -> fragment or page.  Touches: rows.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.models import Conversation
from memory import near, records
from memory.models import MemoryRecord
from memory.text import digest

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def page(alice: User) -> Iterator[Client]:
    client = Client()
    client.force_login(alice)
    yield client


@pytest.fixture
def conversation(alice: User) -> Conversation:
    return Conversation.objects.create(user=alice)


def remember(user: User, text: str, **fields: Any) -> MemoryRecord:
    receipt = records.remember(
        user.pk, text, kind=fields.pop("kind", "preference"), source={"by": "person", "turn": "t"}
    )
    MemoryRecord.objects.filter(pk=receipt.record_id).update(**fields)
    return MemoryRecord.objects.get(pk=receipt.record_id)


def act(client: Client, conversation: Conversation, op: str, record: MemoryRecord, **fields: str) -> Any:
    url = reverse("memory-act", args=[conversation.pk])
    return client.post(url, {"op": op, "id": str(record.pk)} | fields, headers=HTMX)


def panel(client: Client, conversation: Conversation, **query: str) -> str:
    return client.get(reverse("panel", args=[conversation.pk, "memory"]), query, headers=HTMX).content.decode()


def test_a_memory_is_corrected_in_place(page: Client, alice: User, conversation: Conversation) -> None:
    record = remember(alice, "Prefers quiet rooms")
    assert "Prefers quiet rooms</textarea>" in panel(page, conversation, edit=str(record.pk))
    answer = act(page, conversation, "correct", record, text="Prefers loud rooms")
    record.refresh_from_db()
    assert answer.status_code == 200
    assert record.text == "Prefers loud rooms"


@pytest.mark.parametrize("text", ["", "   ", "x" * 3000])
def test_a_correction_that_cannot_be_says_why(page: Client, alice: User, conversation: Conversation, text: str) -> None:
    record = remember(alice, "Prefers quiet rooms")
    answer = act(page, conversation, "correct", record, text=text)
    assert answer.status_code == 422
    assert "Refused." in answer.content.decode()
    record.refresh_from_db()
    assert record.text == "Prefers quiet rooms"


def test_forgetting_first_shows_what_goes_then_a_receipt(page: Client, alice: User, conversation: Conversation) -> None:
    record = remember(alice, "Prefers quiet rooms")
    asked = panel(page, conversation, forget=str(record.pk))
    assert "Forget this?" in asked
    assert "1 memories" in asked
    assert MemoryRecord.objects.filter(pk=record.pk).exists()
    html = act(page, conversation, "forget", record).content.decode()
    assert "Forgotten." in html
    assert "Prefers quiet rooms" not in html
    assert not MemoryRecord.objects.filter(pk=record.pk).exists()


def test_pinning_is_shown(page: Client, alice: User, conversation: Conversation) -> None:
    record = remember(alice, "Prefers quiet rooms")
    act(page, conversation, "pin", record)
    record.refresh_from_db()
    assert record.pinned
    assert "Pinned:" in panel(page, conversation, q="quiet rooms")


def test_what_waits_for_review_is_kept_or_not(page: Client, alice: User, conversation: Conversation) -> None:
    kept = remember(alice, "When it rains, look for a suite", status="review")
    dropped = remember(alice, "Likes the number nine", status="review")
    assert "Likes the number nine" in panel(page, conversation)
    act(page, conversation, "accept", kept)
    html = act(page, conversation, "drop", dropped).content.decode()
    assert "Likes the number nine" not in html
    kept.refresh_from_db()
    assert kept.status == "live"
    assert not MemoryRecord.objects.filter(pk=dropped.pk).exists()


def test_a_search_finds_my_memories_and_nobody_elses(
    page: Client, alice: User, bob: User, conversation: Conversation
) -> None:
    remember(alice, "The tax number is DE-4711")
    remember(bob, "The tax number is FR-0815")
    html = panel(page, conversation, q="tax number")
    assert "DE-4711" in html
    assert "FR-0815" not in html


@pytest.mark.parametrize("op", ["correct", "forget", "pin", "drop", "accept", "retire", "restore", "unmerge"])
def test_nothing_is_done_to_somebody_elses_memory(page: Client, bob: User, conversation: Conversation, op: str) -> None:
    theirs = remember(bob, "Bob's own")
    before = MemoryRecord.objects.filter(pk=theirs.pk).values().get()
    assert act(page, conversation, op, theirs, text="taken").status_code == 409
    assert page.post(reverse("memories-act"), {"op": op, "id": str(theirs.pk), "text": "taken"}).status_code == 409
    assert MemoryRecord.objects.filter(pk=theirs.pk).values().get() == before


def test_an_id_that_is_none_does_nothing(page: Client, conversation: Conversation) -> None:
    url = reverse("memory-act", args=[conversation.pk])
    assert page.post(url, {"op": "forget", "id": "1 OR 1=1"}, headers=HTMX).status_code == 409


# ---- the page of all ------------------------------------------------------------------------------------


def test_every_memory_is_reached_by_paging(page: Client, alice: User) -> None:
    MemoryRecord.objects.bulk_create(MemoryRecord(user=alice, kind="fact", text=f"memory-{n}-") for n in range(60))
    pages = "".join(page.get(reverse("memories"), {"page": n}).content.decode() for n in (1, 2, 3))
    assert all(f"memory-{n}-" in pages for n in range(60))


def test_filters_and_words_narrow_the_list(page: Client, alice: User) -> None:
    remember(alice, "Prefers tea", kind="preference")
    remember(alice, "Was in Rome", kind="fact", status="retired")
    html = page.get(reverse("memories"), {"status": "retired"}).content.decode()
    assert "Was in Rome" in html
    assert "Prefers tea" not in html
    html = page.get(reverse("memories"), {"q": "TEA", "kind": "preference"}).content.decode()
    assert "Prefers tea" in html
    assert "Was in Rome" not in html


def test_an_act_answers_with_the_list_and_keeps_the_filter(page: Client, alice: User) -> None:
    record = remember(alice, "Prefers tea")
    remember(alice, "Was in Rome", kind="fact")
    html = page.post(
        reverse("memories-act"), {"op": "retire", "id": record.pk, "kind": "preference"}, headers=HTMX
    ).content.decode()
    assert html.lstrip().startswith('<div id="memories"')
    assert "Retired" in html
    assert "Was in Rome" not in html


def test_what_fits_some_words_is_forgotten_together(page: Client, alice: User) -> None:
    remember(alice, "My old job was at Initech")
    remember(alice, "Initech paid on the fifth")
    remember(alice, "Prefers tea")
    html = page.get(reverse("memories"), {"q": "Initech", "forget": "found"}).content.decode()
    ids = MemoryRecord.objects.filter(user=alice, text__contains="Initech").values_list("pk", flat=True)
    assert "Forget these" in html
    assert all(f'name="id" value="{pk}"' in html for pk in ids)
    page.post(reverse("memories-act"), {"op": "forget", "id": list(ids)}, headers=HTMX)
    assert [record.text for record in MemoryRecord.objects.filter(user=alice)] == ["Prefers tea"]


def test_everything_is_exported_for_its_owner_alone(page: Client, alice: User, bob: User) -> None:
    remember(alice, "喜欢安静的房间")
    remember(bob, "Bob's own")
    answer = page.get(reverse("memories-export"))
    assert answer["Content-Disposition"].startswith("attachment")
    assert [memory["text"] for memory in json.loads(answer.content)["memories"]] == ["喜欢安静的房间"]
    assert "喜欢" in answer.content.decode()


def test_forget_everything_asks_first_and_spares_others(page: Client, alice: User, bob: User) -> None:
    remember(alice, "Prefers tea")
    theirs = remember(bob, "Prefers coffee")
    url = reverse("memories-forget")
    assert "1 memory would be forgotten" in page.get(url).content.decode()
    page.post(url)
    assert MemoryRecord.objects.filter(user=alice).exists()  # not without the word "yes"
    assert "Forgotten." in page.post(url, {"sure": "yes"}).content.decode()
    assert list(MemoryRecord.objects.all()) == [theirs]


def test_a_person_adds_a_memory_whatever_the_mode(page: Client, alice: User) -> None:
    records.set_mode(alice.pk, "off")
    shown = page.post(reverse("memories-act"), {"op": "add", "text": "My locker is in hall four"}, headers=HTMX)
    assert "My locker is in hall four" in shown.content.decode()
    assert MemoryRecord.objects.get(user=alice).source["by"] == "person"


def test_a_person_chooses_how_the_agent_learns(page: Client, alice: User) -> None:
    page.post(reverse("memories-mode"), {"mode": "off"})
    assert records.mode(alice.pk) == "off"
    page.post(reverse("memories-mode"), {"mode": "everything"})
    assert records.mode(alice.pk) == "off"


def test_hostile_memories_are_text(page: Client, alice: User, conversation: Conversation) -> None:
    MemoryRecord.objects.create(
        user=alice, kind="<img src=x>"[:20], text="<script>alert(1)</script>" + "A" * 5000, status="review"
    )
    html = page.get(reverse("memories")).content.decode() + panel(page, conversation)
    assert "<script>alert" not in html
    assert "<img" not in html


@pytest.mark.parametrize("name", ["memories", "memories-export", "memories-forget"])
def test_a_stranger_must_sign_in(name: str) -> None:
    answer = Client().get(reverse(name))
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("login"))


@pytest.mark.parametrize(
    ("day", "place"), [("2026-05-15", "Paris"), ("2026-06-01", "Rome"), ("2026-11-30", "Rome"), ("nonsense", "Rome")]
)
def test_what_was_true_in_may_is_answered(page: Client, alice: User, bob: User, day: str, place: str) -> None:
    moved = {"I live in Paris": datetime(2026, 4, 1, tzinfo=UTC), "I moved to Rome": datetime(2026, 6, 1, tzinfo=UTC)}
    for text, when in moved.items():
        records.remember(alice.pk, text, source={"by": "person", "turn": "t"}, when=when)
    records.remember(bob.pk, "I live in Oslo", source={"by": "person"}, when=moved["I live in Paris"])
    shown = page.get(reverse("memories-then"), {"on": day, "q": "where do I live"}).content.decode()
    assert f"The user lives in {place}" in shown
    assert set(re.findall(r"lives in (\w+)", shown)) == {place}


def test_before_anything_was_said_nothing_is_known(page: Client, alice: User) -> None:
    records.remember(alice.pk, "I live in Paris", source={"by": "person"})
    assert (
        "Nothing is known about that day" in page.get(reverse("memories-then"), {"on": "2001-01-01"}).content.decode()
    )


def raw(user: User, text: str) -> MemoryRecord:
    """A row that the write path would have folded: as an older version of the product left it."""
    surface = near.surface(text, timezone.now())
    return MemoryRecord.objects.create(
        user=user, kind="fact", text=text, tokens=surface.tokens, vector=surface.blob, vector_key=surface.key,
        digest=digest(user.pk, text), source={"by": "person"}, revision=records.next_revision(user.pk),
    )  # fmt: skip


def test_a_person_sees_what_is_doubled_and_merges_it(page: Client, alice: User, bob: User) -> None:
    one, two = raw(alice, "I drink green tea"), raw(alice, "I drink green tea!")
    raw(bob, "I drink gunpowder"), raw(bob, "I drink gunpowder.")
    shown = page.get(reverse("memories-hygiene")).content.decode()
    assert "The same twice (1)" in shown and "gunpowder" not in shown
    done = page.post(reverse("memories-hygiene"), {"op": "merge", "id": [str(one.pk), str(two.pk)]}).content.decode()
    assert "The same twice (0)" in done
    assert MemoryRecord.objects.filter(user=alice, status="live").count() == 1


def test_of_two_that_contradict_the_person_says_which_is_right(page: Client, alice: User) -> None:
    yes, no = raw(alice, "The cellar door is locked at night"), raw(alice, "The cellar door is not locked at night")
    assert "Contradict each other (1)" in page.get(reverse("memories-hygiene")).content.decode()
    page.post(reverse("memories-hygiene"), {"op": "retire", "id": str(yes.pk)})
    assert list(MemoryRecord.objects.filter(user=alice, status="live")) == [no]


def test_nobody_tidies_up_for_somebody_else(page: Client, bob: User) -> None:
    one, two = raw(bob, "I drink green tea"), raw(bob, "I drink green tea!")
    page.post(reverse("memories-hygiene"), {"op": "merge", "id": [str(one.pk), str(two.pk)]})
    assert MemoryRecord.objects.filter(user=bob, status="live").count() == 2
