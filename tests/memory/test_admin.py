"""Upkeep of memories by staff: through the writers, in the index too, and seen by the person.

Touches: the admin, rows, the index.
"""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memory import documents, hygiene, index, outbox, reading, records
from memory.models import Chunk, MemoryAccess, MemoryRecord
from memory.recall import recall

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def kept(alice: User) -> MemoryRecord:
    receipt = records.remember(alice.pk, "I have a cat.", source={"by": "person"})
    outbox.drain()
    return MemoryRecord.objects.get(id=receipt.record_id)


def shown(user: User, question: str) -> list[str]:
    return [item.text for item in recall(user.pk, question, limit=5, floor=0.2).recalls if item.fate == "shown"]


def form(**more: Any) -> dict[str, Any]:
    counts = {f"{name}-{what}_FORMS": 0 for name in ("facts", "edits") for what in ("TOTAL", "INITIAL")}
    return {**counts, **more}


def test_an_edit_embeds_anew_keeps_history_and_is_what_recall_brings(
    admin_client: Client, alice: User, kept: MemoryRecord
) -> None:
    before = bytes(kept.vector or b"")
    page = reverse("admin:memory_memoryrecord_change", args=[kept.id])
    answer = admin_client.post(page, form(text="I have a dog."))
    assert answer.status_code == 302
    kept.refresh_from_db()
    assert (kept.text, bytes(kept.vector or b"") != before) == ("I have a dog.", True)
    assert [edit.before for edit in kept.edits.all()] == ["I have a cat."]
    assert shown(alice, "dog") == ["I have a dog."]
    assert shown(alice, "cat") == []


def test_an_edit_that_is_refused_says_why_and_changes_nothing(admin_client: Client, kept: MemoryRecord) -> None:
    page = reverse("admin:memory_memoryrecord_change", args=[kept.id])
    answer = admin_client.post(page, form(text="My password is hunter22"), follow=True)
    assert "secrets are not kept" in answer.content.decode()
    kept.refresh_from_db()
    assert kept.text == "I have a cat."


def test_the_history_of_the_admin_holds_no_words_of_the_person(admin_client: Client, kept: MemoryRecord) -> None:
    admin_client.post(reverse("admin:memory_memoryrecord_change", args=[kept.id]), form(text="I have a dog."))
    admin_client.post(reverse("admin:memory_memoryrecord_delete", args=[kept.id]), {"post": "yes"})
    logged = " ".join(f"{row.object_repr} {row.change_message}" for row in LogEntry.objects.all())
    assert LogEntry.objects.count() == 2
    assert "cat" not in logged
    assert "dog" not in logged


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


def test_a_bulk_action_goes_through_the_writer(admin_client: Client, kept: MemoryRecord) -> None:
    page = reverse("admin:memory_memoryrecord_changelist")
    admin_client.post(page, {"action": "retire", "_selected_action": [str(kept.id)]})
    kept.refresh_from_db()
    assert kept.status == "retired"


def test_forgetting_many_asks_first_and_shows_what_goes(admin_client: Client, kept: MemoryRecord) -> None:
    page = reverse("admin:memory_memoryrecord_changelist")
    assert "Forget for good, everywhere" in admin_client.get(page).content.decode()
    asked = admin_client.post(page, {"action": "delete_selected", "_selected_action": [str(kept.id)]})
    assert "I have a cat." in asked.content.decode()
    assert MemoryRecord.objects.filter(id=kept.id).exists()


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
        in admin_client.get(page, {"recalled": "never", "user__id__exact": str(alice.pk), "q": "cat"}).content
    )
    assert admin_client.get(reverse("admin:memory_hygiene")).status_code == 200


def test_a_search_by_meaning_looks_into_each_persons_memories_by_itself(
    admin_client: Client, alice: User, bob: User, kept: MemoryRecord
) -> None:
    records.remember(bob.pk, "Cats make bob sneeze", source={"by": "person"})
    page = reverse("admin:memory_memoryrecord_changelist")
    found = admin_client.get(page, {"q": "cats"}).content.decode()
    assert ("I have a cat." in found, "make bob sneeze" in found) == (True, True)
    assert {(row.user_id, row.action) for row in MemoryAccess.objects.all()} == {
        (alice.pk, "searched"),
        (bob.pk, "searched"),
    }


def test_staff_may_be_given_upkeep_without_seeing_conversations(
    client: Client, alice: User, kept: MemoryRecord
) -> None:
    keeper = User.objects.create_user("keeper", is_staff=True)
    keeper.user_permissions.set(Permission.objects.filter(codename__endswith="_memoryrecord"))
    client.force_login(keeper)
    assert client.get(reverse("admin:memory_memoryrecord_changelist")).status_code == 200
    assert client.get(reverse("admin:memory_hygiene")).status_code == 200
    assert client.get(reverse("admin:chat_conversation_changelist")).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [str(kept.id)], "post": "yes"}
    client.post(reverse("admin:memory_memoryrecord_changelist"), chosen)
    assert not MemoryRecord.objects.filter(user=alice).exists()


def test_the_question_before_a_deletion_names_all_that_goes(admin_client: Client, kept: MemoryRecord) -> None:
    page = admin_client.get(reverse("admin:memory_memoryrecord_delete", args=[kept.id])).content.decode()
    assert "I have a cat." in page
    assert "vectors in the search index" in page


def test_merging_needs_one_person_and_can_be_undone(
    admin_client: Client, alice: User, bob: User, kept: MemoryRecord
) -> None:
    page = reverse("admin:memory_memoryrecord_changelist")
    other = records.remember(alice.pk, "The cat is called Ada.", source={"by": "person"})
    foreign = records.remember(bob.pk, "I have a cat.", source={"by": "person"})
    for ids in ([kept.id, foreign.record_id], [kept.id, other.record_id]):
        admin_client.post(page, {"action": "merge_selected", "_selected_action": [str(i) for i in ids]})
    merged = MemoryRecord.objects.get(user=alice, status="live")
    assert MemoryRecord.objects.get(user=bob).status == "live"
    admin_client.post(page, {"action": "unmerge_selected", "_selected_action": [str(merged.id)]})
    assert MemoryRecord.objects.filter(user=alice, status="live").count() == 2


def test_drift_is_shown_and_mended(admin_client: Client, kept: MemoryRecord) -> None:
    index.index().remove([str(kept.id)])
    page = reverse("admin:memory_hygiene")
    assert "Not in step." in admin_client.get(page).content.decode()
    admin_client.post(reverse("admin:memory_mend"))
    assert "In step." in admin_client.get(page).content.decode()


def test_the_hygiene_report_finds_what_is_doubled_and_what_contradicts_itself(
    admin_client: Client, alice: User, kept: MemoryRecord
) -> None:
    for text in ("The shop opens at nine", "The shop does not open at nine"):
        records.remember(alice.pk, text, source={"by": "person"})
    twin = MemoryRecord.objects.get(id=kept.id)
    twin.pk = None
    twin.id = uuid4()
    twin.save(force_insert=True)
    found = hygiene.report()
    assert [(pair.one.text, pair.two.text) for pair in found.duplicates] == [("I have a cat.", "I have a cat.")]
    assert [pair.two.text for pair in found.contradictions] == ["The shop does not open at nine"]
    assert "does not open" in admin_client.get(reverse("admin:memory_hygiene")).content.decode()


def test_what_was_true_in_a_month_is_a_filter(admin_client: Client, alice: User) -> None:
    now = timezone.now()
    records.remember(alice.pk, "I live in Paris", source={"by": "person"}, when=now - timedelta(days=200))
    records.remember(alice.pk, "I moved to Rome", source={"by": "person"}, when=now - timedelta(days=65))
    url = reverse("admin:memory_entityfact_changelist")

    def values(month: str) -> set[str]:
        rows = admin_client.get(url, {"true_in": month}).context_data["cl"].result_list
        return {fact.value for fact in rows}

    assert values("now") == {"Rome"}
    assert values(f"{timezone.localtime(now) - timedelta(days=130):%Y-%m}") == {"Paris"}
    assert values(f"{timezone.localtime(now):%Y-%m}") == {"Rome"}


def test_all_of_many_memories_are_reached_by_filter_and_page(admin_client: Client, alice: User) -> None:
    rows = [MemoryRecord(user=alice, kind="fact", text=f"memory {i:03}") for i in range(120)]
    MemoryRecord.objects.bulk_create(rows)
    page, seen = reverse("admin:memory_memoryrecord_changelist"), ""
    for number in (1, 2, 3):
        seen += admin_client.get(page, {"user__id__exact": alice.pk, "p": number}).content.decode()
    assert all(f"memory {i:03}" in seen for i in range(120))


def test_documents_are_listed_by_name_and_deleted_whole(admin_client: Client, alice: User) -> None:
    document, _known = documents.begin(alice.pk, "lease.md", b"# Lease\n\nThe rent is secret-77.")
    documents.finish(alice.pk, document.id, reading.read("markdown", b"# Lease\n\nThe rent is secret-77."))
    page = reverse("admin:memory_document_changelist")
    shown_page = admin_client.get(page).content.decode()
    assert ("lease.md" in shown_page, "secret-77" in shown_page) == (True, False)
    admin_client.post(page, {"action": "delete_selected", "_selected_action": [str(document.id)], "post": "yes"})
    assert not Chunk.objects.exists()


def test_a_user_who_is_not_staff_gets_nothing(client: Client, alice: User, kept: MemoryRecord) -> None:
    client.force_login(alice)
    assert client.get(reverse("admin:memory_memoryrecord_changelist")).status_code in {302, 403}
