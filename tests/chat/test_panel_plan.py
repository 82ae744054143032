"""The Plan panel: what it says of steps, conditions, revisions and limits, and the person's changes of the live plan.

request -> panel.  Touches: rows.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chat import panel_limits, panel_plan
from chat.models import Conversation, Message, ToolCall, Turn
from planning.models import Condition, Exclusion, Plan, PlanTemplate, Step
from tests.chat.filled import fill

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def page(alice: User) -> Iterator[Client]:
    client = Client()
    client.force_login(alice)
    yield client


@pytest.fixture
def empty(alice: User) -> Conversation:
    return Conversation.objects.create(user=alice)


@pytest.fixture
def full(alice: User) -> Conversation:
    return fill(alice)


def get(client: Client, name: str, conversation: Conversation, **query: str) -> str:
    response = client.get(reverse("panel", args=[conversation.pk, name]), query, headers=HTMX)
    assert response.status_code == 200
    return response.content.decode()


# ---- plan -----------------------------------------------------------------------------------------------


def test_a_step_shows_its_check_its_verdict_and_its_evidence(page: Client, full: Conversation) -> None:
    html = get(page, "plan", full)
    assert "Revision 2 · 1 of 3 done" in html
    assert "get_weather returned a condition" in html
    assert "<code>get_weather</code>" in html
    assert "after 1" in html


def test_a_decided_condition_says_what_follows_and_on_what_evidence(page: Client, full: Conversation) -> None:
    html = " ".join(get(page, "plan", full).split())
    assert "It rains → <strong>yes, so suite</strong>" in html
    assert "Decided in iteration 2 from get_weather: “rain, 14 °C”" in html


def steps(*rows: tuple[str, str]) -> list[Step]:
    return [Step(key=key, title=title, index=n, tools=["t"]) for n, (key, title) in enumerate(rows, 1)]


@pytest.mark.parametrize(
    ("branch", "words"),
    [("", "As “It rains” is answered"), ("no", "Only if “It rains” is answered no"), ("yes", "is answered yes")],
)
def test_a_step_says_which_answer_it_follows(full: Conversation, branch: str, words: str) -> None:
    plan = Plan.objects.filter(conversation=full).latest("revision")
    condition = Condition.objects.get(turn_id=plan.turn_id)
    step = Step.objects.filter(plan=plan).order_by("index").last()
    assert step is not None
    step.when = {"condition": condition.key} | ({"branch": branch} if branch else {})
    assert words in panel_plan.branch_words([step], [condition])[step.key]


def test_a_revision_is_told_as_what_was_added_removed_changed_and_moved() -> None:
    old = steps(("a", "One"), ("b", "Two"), ("c", "Three"), ("d", "Four"))
    new = steps(("a", "One"), ("c", "Three"), ("b", "Two, reworded"), ("e", "Five"))
    row = panel_plan.revision_row(Plan(revision=2), old, new)
    assert [(change.kind, change.title) for change in row.changes] == [
        ("moved", "Three"),
        ("changed", "Two, reworded"),
        ("added", "Five"),
        ("removed", "Four"),
    ]
    assert row.kept == "1 step kept"


def test_the_gate_board_names_the_gate_that_ended_the_turn_and_an_unknown_price(
    page: Client, full: Conversation
) -> None:
    reason = "All 30 iterations of this turn are used."
    Turn.objects.filter(conversation=full).update(
        status="ended", end="exhausted", gate="iterations", reason=reason, iterations_used=30
    )
    html = get(page, "plan", full)
    assert reason in html
    assert "pn-gauge--over pn-gauge--ended" in html
    assert "30 / 30" in html
    assert "price not known" in html


def test_repeats_count_the_same_action_at_the_end(full: Conversation) -> None:
    turn = full.turns.get()
    assert panel_limits.same_in_a_row(turn, 5) == 3
    ToolCall.objects.filter(turn=turn, iteration__number=2).update(digest="other")
    assert panel_limits.same_in_a_row(turn, 5) == 0


def test_a_plan_that_waits_for_the_person_says_so(page: Client, full: Conversation) -> None:
    Plan.objects.filter(conversation=full).update(approved=False)
    html = get(page, "plan", full)
    assert "Start with this plan?" in html
    assert "Ask for changes" in html


def test_the_plan_stays_in_view_when_the_next_turn_has_none(page: Client, full: Conversation) -> None:
    full.turns.update(status="ended", end="finished")
    Turn.objects.create(conversation=full, number=2, goal="Thanks")
    html = get(page, "plan", full)
    assert "This is the plan of turn 1." in html
    assert "Edit plan" not in html


# ---- exclusions -------------------------------------------------------------------------------------------


def test_a_person_rules_out_rewords_and_lifts(page: Client, full: Conversation) -> None:
    url = reverse("exclusion", args=[full.pk])
    page.post(url, {"op": "add", "text": "Channel A", "reason": "no traffic"}, headers=HTMX)
    added = Exclusion.objects.get(conversation=full, text="Channel A")
    assert added.author == "person"
    page.post(url, {"op": "edit", "id": added.pk, "text": "Channel A and B"}, headers=HTMX)
    html = page.post(url, {"op": "lift", "id": added.pk}, headers=HTMX).content.decode()
    assert "Channel A and B" not in html
    added.refresh_from_db()
    assert added.lifted_at


def test_an_exclusion_of_somebody_else_stays_in_force(page: Client, bob: User, full: Conversation) -> None:
    theirs = Exclusion.objects.get(conversation=fill(bob))
    answer = page.post(reverse("exclusion", args=[full.pk]), {"op": "lift", "id": theirs.pk}, headers=HTMX)
    assert answer.status_code == 409
    theirs.refresh_from_db()
    assert theirs.lifted_at is None


def test_the_option_to_see_the_plan_first_is_kept(page: Client, full: Conversation) -> None:
    html = page.post(reverse("plan-ask-first", args=[full.pk]), {"on": "1"}, headers=HTMX).content.decode()
    full.refresh_from_db()
    assert full.approve_plans
    assert 'value="1" checked' in html


# ---- editing the live plan --------------------------------------------------------------------------------


def edit(client: Client, conversation: Conversation, op: str, revision: int = 2, **fields: Any) -> Any:
    return client.post(
        reverse("plan-edit", args=[conversation.pk]), {"op": op, "revision": revision} | fields, headers=HTMX
    )


def titles(conversation: Conversation) -> list[tuple[str, str]]:
    newest = Plan.objects.filter(conversation=conversation).latest("revision")
    return [(step.title, step.status) for step in newest.steps.order_by("index")]


WEATHER, HOTELS, BOOK = ("Check the weather", "done"), ("Find hotels", "running"), ("Book the room", "pending")


@pytest.mark.parametrize(
    ("op", "fields", "after"),
    [
        ("reword", {"key": "s3", "title": "Book a quiet room"}, [WEATHER, HOTELS, ("Book a quiet room", "pending")]),
        ("up", {"key": "s3"}, [WEATHER, BOOK, HOTELS]),
        ("down", {"key": "s2"}, [WEATHER, BOOK, HOTELS]),
        ("skip", {"key": "s3"}, [WEATHER, HOTELS, ("Book the room", "skipped")]),
        ("delete", {"key": "s3"}, [WEATHER, HOTELS]),
        ("add", {"title": "Tell me", "tool": "calculate"}, [WEATHER, HOTELS, BOOK, ("Tell me", "pending")]),
    ],
)
def test_the_person_edits_the_live_plan(
    page: Client, full: Conversation, op: str, fields: dict[str, Any], after: list[tuple[str, str]]
) -> None:
    answer = edit(page, full, op, **fields)
    assert answer.status_code == 200
    assert titles(full) == after
    html = answer.content.decode()
    assert 'name="revision" value="3"' in html  # still in edit mode, on the new revision
    newest = Plan.objects.filter(conversation=full).latest("revision")
    assert (newest.revision, newest.author) == (3, "person")


def test_a_stale_tab_is_told_and_changes_nothing(page: Client, full: Conversation) -> None:
    edit(page, full, "skip", key="s3")
    answer = edit(page, full, "delete", key="s2")  # still revision 2
    assert answer.status_code == 409
    html = answer.content.decode()
    assert "Not changed: the plan is at revision 3 by now." in html
    assert 'name="revision" value="3"' in html
    assert len(titles(full)) == 3


def test_a_step_that_is_done_stays_as_it_is(page: Client, full: Conversation) -> None:
    answer = edit(page, full, "delete", key="s1")
    assert answer.status_code == 422
    assert "A step that is done stays as it is." in answer.content.decode()
    assert len(titles(full)) == 3


@pytest.mark.parametrize("revision", ["", "x", "-1", "9" * 30])
def test_a_form_without_a_revision_changes_nothing(page: Client, full: Conversation, revision: str) -> None:
    url = reverse("plan-edit", args=[full.pk])
    assert page.post(url, {"op": "delete", "key": "s3", "revision": revision}, headers=HTMX).status_code == 409
    assert len(titles(full)) == 3


def test_the_goal_is_edited_in_plan_and_turn_or_in_neither(page: Client, full: Conversation) -> None:
    edit(page, full, "goal", goal="Three nights")
    assert full.turns.get().goal == "Three nights"
    assert Plan.objects.filter(conversation=full).latest("revision").goal == "Three nights"
    assert edit(page, full, "goal", revision=3, goal="  ").status_code == 409
    assert edit(page, full, "goal", revision=2, goal="Four nights").status_code == 409
    assert full.turns.get().goal == "Three nights"
    assert Plan.objects.filter(conversation=full).latest("revision").goal == "Three nights"


def test_a_question_of_the_person_becomes_a_check(page: Client, full: Conversation) -> None:
    edit(page, full, "checks", key="s3", question="Is breakfast included?")
    assert "Is breakfast included?" in get(page, "plan", full)


def test_the_plan_of_an_ended_turn_is_not_edited(page: Client, full: Conversation) -> None:
    full.turns.update(status="ended", end="finished")
    assert edit(page, full, "delete", key="s3").status_code == 409
    assert len(titles(full)) == 3


def waits_for_approval(conversation: Conversation) -> Turn:
    Plan.objects.filter(conversation=conversation).update(approved=False)
    conversation.turns.update(status=Turn.Status.WAITING_USER)
    return conversation.turns.get()


def test_a_plan_is_approved(page: Client, full: Conversation) -> None:
    turn = waits_for_approval(full)
    page.post(reverse("plan-approve", args=[full.pk]), {"ok": "1"}, headers=HTMX)
    turn.refresh_from_db()
    assert turn.status == Turn.Status.QUEUED
    assert Plan.objects.filter(conversation=full).latest("revision").approved


def test_changes_are_asked_for_in_the_persons_words(page: Client, full: Conversation) -> None:
    waits_for_approval(full)
    page.post(reverse("plan-approve", args=[full.pk]), {"ok": "0", "reason": "Skip the hotel"}, headers=HTMX)
    assert not Plan.objects.filter(conversation=full).latest("revision").approved
    assert Message.objects.filter(conversation=full, text="Skip the hotel").exists()


def test_approving_a_plan_twice_says_that_it_is_too_late(page: Client, full: Conversation) -> None:
    waits_for_approval(full)
    url = reverse("plan-approve", args=[full.pk])
    page.post(url, {"ok": "1"}, headers=HTMX)
    answer = page.post(url, {"ok": "0"}, headers=HTMX)
    assert answer.status_code == 409
    assert "not waiting for you any more" in answer.content.decode()


def test_a_finished_plan_is_kept_as_a_template(page: Client, alice: User, full: Conversation) -> None:
    url = reverse("plan-keep", args=[full.pk])
    assert page.post(url, {"name": "Trip"}, headers=HTMX).status_code == 409
    full.turns.update(status="ended", end="finished")
    Step.objects.filter(plan__conversation=full).update(status="done")
    assert "Keep as template" in get(page, "plan", full)
    assert "Kept as “Trip”" in page.post(url, {"name": "Trip"}, headers=HTMX).content.decode()
    assert PlanTemplate.objects.get(user=alice).name == "Trip"
