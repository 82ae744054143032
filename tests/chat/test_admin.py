"""The admin reads what happened, shows hostile text as text, and writes nothing.

Touches: rows, the admin's pages.
"""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.models import Approval, Conversation, ToolCall
from tests.chat.filled import fill

HOSTILE = "<script>window.bad=1</script>"


@pytest.fixture
def staff(client: Client, admin: User) -> Client:
    client.force_login(admin)
    return client


@pytest.fixture
def conversation(alice: User) -> Conversation:
    made = fill(alice, HOSTILE)
    ToolCall.objects.filter(turn__conversation=made).update(args={"text": HOSTILE}, summary=HOSTILE)
    call = ToolCall.objects.filter(turn__conversation=made)[0]
    Approval.objects.create(
        call=call, turn=call.turn, tool=call.tool, tier="write", args={"text": HOSTILE}, expires_at=timezone.now()
    )
    return made


@pytest.mark.parametrize("model", ["conversation", "turn", "iteration", "toolcall", "approval"])
def test_every_list_and_row_can_be_read_and_hostile_text_is_text(
    staff: Client, conversation: Conversation, model: str
) -> None:
    rows = ContentType.objects.get(app_label="chat", model=model).model_class()
    assert rows is not None
    listed = staff.get(reverse(f"admin:chat_{model}_changelist"), {"q": "x"})
    assert listed.status_code == 200
    for row in rows._default_manager.all()[:3]:
        page = staff.get(reverse(f"admin:chat_{model}_change", args=[row.pk]))
        assert page.status_code == 200
        assert HOSTILE not in page.content.decode()


@pytest.mark.parametrize("model", ["conversation", "turn", "iteration", "toolcall", "approval"])
def test_nothing_is_added_changed_or_deleted_here(staff: Client, conversation: Conversation, model: str) -> None:
    rows = ContentType.objects.get(app_label="chat", model=model).model_class()
    assert rows is not None
    row: Any = rows._default_manager.first()
    assert staff.get(reverse(f"admin:chat_{model}_add")).status_code == 403
    assert staff.post(reverse(f"admin:chat_{model}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    assert staff.post(reverse(f"admin:chat_{model}_change", args=[row.pk]), {}).status_code == 403
    assert rows._default_manager.filter(pk=row.pk).exists()


def test_upkeep_of_memories_opens_no_conversation(client: Client, bob: User, conversation: Conversation) -> None:
    bob.is_staff = True
    bob.save()
    bob.user_permissions.set(Permission.objects.filter(content_type__app_label="memory"))
    client.force_login(bob)
    assert client.get(reverse("admin:index")).status_code == 200
    assert client.get(reverse("admin:chat_conversation_changelist")).status_code == 403
    assert client.get(reverse("admin:chat_conversation_change", args=[conversation.pk])).status_code == 403
    assert client.get(reverse("admin:tool_contracts")).status_code == 403


def test_the_contracts_page_shows_what_the_model_reads_and_its_tokens(staff: Client) -> None:
    page = staff.get(reverse("admin:tool_contracts"))
    assert page.status_code == 200
    rows = page.context["rows"]
    assert {"set_plan", "book_hotel"} <= {row["contract"].name for row in rows}
    assert all(row["tokens"] > 10 for row in rows)
    assert page.context["total"] == sum(row["tokens"] for row in rows)


def test_only_the_admin_has_the_wider_policy_and_no_inline_script_there(staff: Client) -> None:
    policy = staff.get(reverse("admin:index"))["Content-Security-Policy"]
    script = next(part for part in policy.split(";") if "script-src" in part)
    assert "unsafe-eval" in script and "unsafe-inline" not in script
    assert "unsafe" not in staff.get(reverse("start"))["Content-Security-Policy"]
