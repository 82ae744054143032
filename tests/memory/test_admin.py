"""Upkeep of memories by staff: through the writers, in the index too, and seen by the person.

Touches: the admin, rows, the index.
"""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memory import outbox, records
from memory.models import MemoryAccess, MemoryRecord
from memory.recall import recall

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def kept(alice: User) -> MemoryRecord:
    receipt = records.remember(alice.pk, "I have a cat.", source={"by": "person"})
    outbox.drain()
    return MemoryRecord.objects.get(id=receipt.record_id)


def shown(user: User, question: str) -> list[str]:
    return [item.text for item in recall(user.pk, question, limit=5, floor=0.2).recalls if item.fate == "shown"]


def test_an_edit_embeds_anew_keeps_history_and_is_what_recall_brings(
    admin_client: Client, alice: User, kept: MemoryRecord
) -> None:
    before = bytes(kept.vector or b"")
    page = reverse("admin:memory_memoryrecord_change", args=[kept.id])
    answer = admin_client.post(page, {"text": "I have a dog.", "edits-TOTAL_FORMS": 0, "edits-INITIAL_FORMS": 0})
    assert answer.status_code == 302
    kept.refresh_from_db()
    assert kept.text == "I have a dog." and bytes(kept.vector or b"") != before
    assert [edit.before for edit in kept.edits.all()] == ["I have a cat."]
    assert shown(alice, "dog") == ["I have a dog."] and shown(alice, "cat") == []


def test_delete_selected_is_a_forgetting_and_leaves_the_index(
    admin_client: Client, alice: User, kept: MemoryRecord
) -> None:
    page = reverse("admin:memory_memoryrecord_changelist")
    chosen = {"action": "delete_selected", "_selected_action": [str(kept.id)], "post": "yes"}
    admin_client.post(page, chosen)
    outbox.drain()
    assert not MemoryRecord.objects.filter(user=alice).exists()
    assert shown(alice, "cat") == [] and outbox.drift().surplus == 0
    assert records.remember(alice.pk, "I have a cat.", source={"by": "person", "turn": "x"}).status == "refused"


@pytest.mark.parametrize(("action", "status"), [("retire", "retired"), ("forget_selected", None)])
def test_bulk_actions_go_through_the_writers(
    admin_client: Client, kept: MemoryRecord, action: str, status: str | None
) -> None:
    page = reverse("admin:memory_memoryrecord_changelist")
    admin_client.post(page, {"action": action, "_selected_action": [str(kept.id)]})
    left = MemoryRecord.objects.filter(id=kept.id).first()
    assert (left.status if left else None) == status


def test_each_access_is_logged_for_the_person(admin_client: Client, alice: User, kept: MemoryRecord) -> None:
    admin_client.get(reverse("admin:memory_memoryrecord_changelist"))
    admin_client.get(reverse("admin:memory_memoryrecord_change", args=[kept.id]))
    assert {row.action for row in MemoryAccess.objects.filter(user=alice)} == {"listed", "opened"}


def test_search_by_words_and_filters_and_hygiene_answer(admin_client: Client, alice: User, kept: MemoryRecord) -> None:
    page = reverse("admin:memory_memoryrecord_changelist")
    assert b"I have a cat." in admin_client.get(page, {"q": "cat"}).content
    assert b"I have a cat." not in admin_client.get(page, {"q": "zebra"}).content
    assert (
        b"I have a cat."
        in admin_client.get(page, {"recalled": "never", "user__id__exact": alice.pk, "q": "cat"}).content
    )
    assert admin_client.get(reverse("admin:memory_hygiene")).status_code == 200


def test_a_user_who_is_not_staff_gets_nothing(client: Client, alice: User, kept: MemoryRecord) -> None:
    client.force_login(alice)
    assert client.get(reverse("admin:memory_memoryrecord_changelist")).status_code in {302, 403}
