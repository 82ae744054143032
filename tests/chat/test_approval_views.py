"""Approval cards: what they show, and that a decision is made once, by the right person, on what was shown.

request -> card.  Touches: rows.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.models import Approval, Conversation, Grant, Iteration, ToolCall, Turn
from chat.tools import registry
from chat.tools.contract import digest
from chat.tools.travel import YEAR

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
ARGS = {"hotel_id": "XA-204", "date_from": f"{YEAR}-10-01", "nights": 2, "room": "suite", "wishes": ["High floor"]}


@pytest.fixture
def page(alice: User) -> Iterator[Client]:
    client = Client()
    client.force_login(alice)
    yield client


@pytest.fixture
def approval(alice: User) -> Approval:
    return ask(alice)


def ask(
    user: User, args: dict[str, Any] | None = None, tool: str = "book_hotel", number: int = 1, **fields: Any
) -> Approval:
    """One action that waits for this person."""
    conversation = Conversation.objects.create(user=user, title="Two nights in Xi'an")
    turn = Turn.objects.create(conversation=conversation, number=1, goal="Book it", status=Turn.Status.WAITING_APPROVAL)
    iteration = Iteration.objects.create(turn=turn, number=number)
    return ask_in(iteration, args, tool, **fields)


def ask_in(
    iteration: Iteration, args: dict[str, Any] | None = None, tool: str = "book_hotel", **fields: Any
) -> Approval:
    contract = registry.find(tool)
    version = contract.version if contract else "1"
    args = ARGS if args is None else args
    mark = digest(tool, version, args)
    call = ToolCall.objects.create(
        iteration=iteration,
        turn=iteration.turn,
        index=iteration.calls.count(),
        tool=tool,
        version=version,
        tier="write",
        status=ToolCall.Status.WAITING,
        proposed=args,
        args=args,
        digest=mark,
    )
    given = {"expires_at": timezone.now() + timedelta(hours=23, minutes=59)} | fields
    return Approval.objects.create(
        call=call, turn=iteration.turn, tool=tool, version=version, tier="write", args=args, digest=mark, **given
    )


def card(client: Client, approval: Approval) -> str:
    response = client.get(reverse("approval", args=[approval.pk]), headers=HTMX)
    assert response.status_code == 200
    return response.content.decode()


def decide(client: Client, approval: Approval, decision: str, **fields: Any) -> Any:
    data = {"decision": decision, "digest": approval.digest} | fields
    return client.post(reverse("approval-decide", args=[approval.pk]), data, headers=HTMX)


def edited(client: Client, approval: Approval, **changes: str) -> Any:
    fields = {f"arg-{name}": str(value) for name, value in approval.args.items()}
    fields |= {"arg-room": f'"{approval.args["room"]}"', "arg-wishes": "\n".join(approval.args["wishes"])}
    return decide(client, approval, "edited", **fields | {f"arg-{name}": text for name, text in changes.items()})


def status(approval: Approval) -> str:
    approval.refresh_from_db()
    return approval.status


# ---- what a card shows ------------------------------------------------------------------------------------


def test_a_card_shows_the_effect_the_arguments_in_words_and_why(page: Client, alice: User) -> None:
    html = card(page, ask(alice, because={"room": "because it rains on 1 October"}, why="A suite is free."))
    assert "Books a suite for 2 nights" in html
    assert re.search(rf"<dt[^>]*>From</dt>\s*<dd><bdi>\w+day, 1 October {YEAR}</bdi>", html)
    assert re.search(r"<bdi>suite</bdi>\s*<span[^>]*>because it rains on 1 October</span>", html)
    assert "A suite is free." in html
    assert "¥1,960 in all" in html
    assert "Expires in 23 h 58 min" in html
    assert ">Approve</button>" in html
    assert ">Edit</button>" in html
    assert ">Reject</button>" in html


def test_a_tool_without_words_of_its_own_is_named(page: Client, alice: User) -> None:
    html = card(page, ask(alice, {"path": "/etc/passwd", "deep": {"a": ["李"]}}, tool="mcp_save"))
    assert "Run mcp_save?" in html
    assert "/etc/passwd" in html
    assert "李" in html


def test_what_hides_or_turns_text_round_is_made_visible(page: Client, alice: User) -> None:
    html = card(page, ask(alice, {"to": "bob\u202emoc.live@\u200b"}, tool="mcp_mail"))
    assert "bob⟨U+202E⟩moc.live@⟨U+200B⟩" in html


def test_hostile_text_in_a_card_is_inert(page: Client, alice: User) -> None:
    bad = "<script>alert(1)</script><img src=x onerror=alert(1)>" + "A" * 5000
    html = card(page, ask(alice, {bad[:60]: bad, "n": [bad]}, tool="<img src=x>", because={"n": bad}, why=bad))
    assert "<script" not in html
    assert "<img" not in html


def test_other_actions_that_wait_are_counted_and_each_has_its_own_card(page: Client, approval: Approval) -> None:
    second = ask_in(approval.call.iteration, ARGS | {"nights": 3})
    assert "1 more action waits" in card(page, approval)
    decide(page, second, "reject", reason="")
    assert status(approval) == Approval.Status.ASKED
    assert status(second) == Approval.Status.DENIED
    assert "more action" not in card(page, approval)


def test_a_tool_that_changed_since_is_said(page: Client, approval: Approval) -> None:
    Approval.objects.filter(pk=approval.pk).update(version="another")
    assert "The tool has changed since" in card(page, approval)


def test_an_expired_card_has_no_buttons(page: Client, approval: Approval) -> None:
    Approval.objects.filter(pk=approval.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    html = card(page, approval)
    assert "Expired." in html
    assert "<button" not in html


# ---- decisions ----------------------------------------------------------------------------------------------


def test_approve_is_in_force_and_the_card_says_who_and_when_without_buttons(page: Client, approval: Approval) -> None:
    html = decide(page, approval, "approve").content.decode()
    assert status(approval) == Approval.Status.GRANTED
    assert approval.args == ARGS
    assert "Approved by you" in html
    assert "<button" not in html
    approval.turn.refresh_from_db()
    assert approval.turn.status == Turn.Status.QUEUED


def test_reject_keeps_the_reason(page: Client, approval: Approval) -> None:
    html = decide(page, approval, "reject", reason="用中文写").content.decode()
    assert status(approval) == Approval.Status.DENIED
    assert approval.reason == "用中文写"
    assert "Rejected by you" in html
    assert "用中文写" in html


def test_a_second_decision_is_told_that_it_is_too_late(page: Client, approval: Approval) -> None:
    decide(page, approval, "approve")
    answer = decide(page, approval, "reject")
    assert answer.status_code == 409
    assert "Already decided" in answer.content.decode()
    assert status(approval) == Approval.Status.GRANTED


def test_a_decision_on_what_was_not_shown_is_refused(page: Client, approval: Approval) -> None:
    answer = decide(page, approval, "approve", digest="of another action")
    assert answer.status_code == 409
    assert "changed since" in answer.content.decode()
    assert status(approval) == Approval.Status.ASKED


@pytest.mark.parametrize("data", [{}, {"decision": "approve"}, {"decision": "yes", "digest": "x"}])
def test_a_decision_that_names_nothing_decides_nothing(page: Client, approval: Approval, data: dict[str, str]) -> None:
    answer = page.post(reverse("approval-decide", args=[approval.pk]), data, headers=HTMX)
    assert answer.status_code == 422
    assert status(approval) == Approval.Status.ASKED


def test_an_expired_action_is_not_approved(page: Client, approval: Approval) -> None:
    Approval.objects.filter(pk=approval.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert decide(page, approval, "approve").status_code == 409
    assert status(approval) == Approval.Status.ASKED


def test_an_action_of_a_stopped_turn_is_not_approved(page: Client, approval: Approval) -> None:
    Turn.objects.filter(pk=approval.turn_id).update(status=Turn.Status.ENDED, end=Turn.End.STOPPED)
    assert decide(page, approval, "approve").status_code == 409
    assert status(approval) == Approval.Status.ASKED
    assert ">Approve</button>" not in card(page, approval)


# ---- editing ------------------------------------------------------------------------------------------------


def test_the_edit_form_has_typed_fields_with_the_contracts_limits(page: Client, approval: Approval) -> None:
    html = page.get(reverse("approval-edit", args=[approval.pk]), headers=HTMX).content.decode()
    assert re.search(rf'<input type="date"[^>]*value="{YEAR}-10-01"', html)
    assert re.search(r'<input type="number"[^>]*value="2"[^>]*min="1"', html)
    assert re.search(r'<option value="&quot;suite&quot;" selected>suite</option>', html)
    assert ">Room</label>" in html


def test_what_was_edited_is_what_is_approved(page: Client, approval: Approval) -> None:
    before = approval.digest
    html = edited(page, approval, room='"standard"', nights="3", wishes="Quiet\nHigh floor").content.decode()
    assert status(approval) == Approval.Status.GRANTED
    assert approval.args == ARGS | {"room": "standard", "nights": 3, "wishes": ["Quiet", "High floor"]}
    assert approval.edited
    assert approval.digest != before
    assert approval.digest == digest("book_hotel", approval.version, approval.args)
    assert "Approved by you, edited" in html
    assert "standard" in html


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"nights": "0"}, "nights"),
        ({"date_from": "soon"}, "date_from"),
        ({"room": '"tent"'}, "room"),
        ({"wishes": "a\nb\nc\nd\ne\nf"}, "wishes"),
    ],
)
def test_an_edit_the_contract_refuses_is_shown_at_its_field(
    page: Client, approval: Approval, changes: dict[str, str], field: str
) -> None:
    answer = edited(page, approval, **changes)
    assert answer.status_code == 422
    assert f'id="{approval.pk}-arg-{field}_error"' in answer.content.decode()
    assert status(approval) == Approval.Status.ASKED


def test_an_edit_from_a_stale_form_is_refused(page: Client, approval: Approval) -> None:
    decide(page, approval, "reject")
    answer = edited(page, approval, nights="3")
    assert answer.status_code == 409
    assert status(approval) == Approval.Status.DENIED


# ---- always allow ---------------------------------------------------------------------------------------------


def test_always_allow_keeps_what_was_ticked_as_its_limits(page: Client, approval: Approval) -> None:
    decide(page, approval, "always", only=["hotel_id", "room", "no such argument"])
    grant = Grant.objects.get()
    assert status(approval) == Approval.Status.GRANTED
    assert grant.constraints == {"hotel_id": "XA-204", "room": "suite"}
    assert grant.conversation_id == approval.turn.conversation_id


def test_a_grant_is_listed_and_revoked(page: Client, approval: Approval) -> None:
    decide(page, approval, "always", only=["hotel_id"])
    grant = Grant.objects.get()
    assert "Hotel: XA-204" in page.get(reverse("grants")).content.decode()
    html = page.post(reverse("grant-revoke", args=[grant.pk]), headers=HTMX).content.decode()
    assert "Revoked." in html
    assert "XA-204" not in html
    grant.refresh_from_db()
    assert grant.revoked_at


# ---- unknown outcomes -------------------------------------------------------------------------------------------


def unknown(user: User) -> ToolCall:
    approval = ask(user, status=Approval.Status.USED)
    ToolCall.objects.filter(pk=approval.call_id).update(status=ToolCall.Status.UNKNOWN, started_at=timezone.now())
    return ToolCall.objects.get(pk=approval.call_id)


def test_an_unknown_outcome_is_put_to_the_person(page: Client, alice: User) -> None:
    html = page.get(reverse("call", args=[unknown(alice).pk]), headers=HTMX).content.decode()
    assert "It is not known whether this ran" in html
    for words in ("It happened", "It did not", "Try again"):
        assert f">{words}</button>" in html


@pytest.mark.parametrize(("answer", "after"), [("happened", "succeeded"), ("did_not", "failed")])
def test_the_persons_word_settles_it_once(page: Client, alice: User, answer: str, after: str) -> None:
    call = unknown(alice)
    url = reverse("call-settle", args=[call.pk])
    assert page.post(url, {"answer": answer}, headers=HTMX).status_code == 200
    call.refresh_from_db()
    assert call.status == after
    again = page.post(url, {"answer": "again"}, headers=HTMX)
    assert again.status_code == 409
    assert "settled already" in again.content.decode()


def test_trying_again_asks_anew(page: Client, alice: User) -> None:
    call = unknown(alice)
    html = page.post(reverse("call-settle", args=[call.pk]), {"answer": "again"}, headers=HTMX).content.decode()
    assert Approval.objects.get(call=call).status == Approval.Status.ASKED
    assert ">Approve</button>" in html


def test_nothing_of_an_ended_turn_is_tried_again(page: Client, alice: User) -> None:
    call = unknown(alice)
    Turn.objects.filter(pk=call.turn_id).update(status=Turn.Status.ENDED)
    html = page.get(reverse("call", args=[call.pk]), headers=HTMX).content.decode()
    assert ">It happened</button>" in html and "Try again" not in html
    refused = page.post(reverse("call-settle", args=[call.pk]), {"answer": "again"}, headers=HTMX)
    call.refresh_from_db()
    assert (refused.status_code, call.status) == (409, "unknown")
    assert "nothing of it is run again" in refused.content.decode()


# ---- what waits ---------------------------------------------------------------------------------------------------


def test_all_that_waits_is_listed_for_its_owner_alone(page: Client, alice: User, bob: User) -> None:
    mine, theirs = ask(alice), ask(bob, ARGS | {"wishes": ["Bob's wish"]})
    call = unknown(alice)
    html = page.get(reverse("waiting")).content.decode()
    assert f"approval-{mine.pk}" in html
    assert str(call.pk) in html
    assert str(theirs.pk) not in html
    assert "Bob&#x27;s wish" not in html


@pytest.mark.parametrize(
    ("method", "name", "of"),
    [
        ("get", "approval", "approval"),
        ("get", "approval-edit", "approval"),
        ("post", "approval-decide", "approval"),
        ("get", "call", "call"),
        ("post", "call-settle", "call"),
        ("post", "grant-revoke", "grant"),
    ],
)
def test_somebody_else_gets_404_and_nothing_is_decided(
    bob: User, approval: Approval, method: str, name: str, of: str
) -> None:
    grant = Grant.objects.create(
        conversation=approval.turn.conversation, tool="book_hotel", created_by=approval.turn.conversation.user
    )
    client = Client()
    client.force_login(bob)
    pk = {"approval": approval.pk, "call": approval.call_id, "grant": grant.pk}[of]
    answer = getattr(client, method)(
        reverse(name, args=[pk]), {"decision": "approve", "digest": approval.digest, "answer": "happened"}
    )
    assert answer.status_code == 404
    assert status(approval) == Approval.Status.ASKED
    grant.refresh_from_db()
    assert grant.revoked_at is None


def test_a_decision_needs_the_csrf_token(alice: User, approval: Approval) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert decide(client, approval, "approve").status_code == 403
    assert status(approval) == Approval.Status.ASKED


def test_a_card_opened_by_its_address_is_a_whole_page(page: Client, approval: Approval) -> None:
    html = page.get(reverse("approval", args=[approval.pk])).content.decode()
    assert "<!doctype html>" in html
    assert ">Approve</button>" in html
