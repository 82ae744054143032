"""The inspector: what each panel draws from rows, for whom, with how many queries, and what a person does in it.

request -> panel.  Touches: rows.
"""

import json
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from chat import panel_plan, panel_trace, panels
from chat.models import Conversation, Iteration, Message, ToolCall, Turn
from memory.models import MemoryRecord, SlotChange, StateSlot
from planning.models import AcceptanceCheck, Condition, Exclusion, Plan, PlanTemplate, Step

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> \u202eabc\u202c مرحبا {{ 7|add:7 }} " + "A" * 300


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


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


def fill(user: User, text: str = "", iterations: int = 3) -> Conversation:
    """A conversation with something in every panel; `text` stands in every field that others write."""
    conversation = Conversation.objects.create(user=user, title=(text or "Two nights in Xi'an")[:200])
    turn = Turn.objects.create(
        conversation=conversation,
        number=1,
        goal=text or "Two nights",
        status=Turn.Status.RUNNING,
        iterations_used=iterations,
    )
    message = Message.objects.create(conversation=conversation, turn=turn, role="user", text=text or "Two nights")
    for revision in (1, 2):
        plan = Plan.objects.create(
            turn=turn, conversation=conversation, revision=revision, goal=turn.goal, reason=text or "No suite was free."
        )
        titles = ["Check the weather", "Find hotels", "Book the room"][: revision + 1]
        for index, title in enumerate(titles, 1):
            step = Step.objects.create(
                plan=plan, key=f"s{index}", index=index, title=(text or title)[:200], tools=["get_weather"], note=text,
                depends_on=["s1"] if index == 3 else [], status=["done", "running", "pending"][index - 1],
            )  # fmt: skip
            passed = {
                "verdict": "passed",
                "reason": text or "get_weather returned a condition",
                "evidence": text or "rain",
            }
            AcceptanceCheck.objects.create(
                step=step, kind="tool_succeeded", params={"tool": "get_weather"}, **(passed if index == 1 else {})
            )
    Condition.objects.create(
        turn=turn, key="c1", question=(text or "It rains")[:300], then="suite", otherwise="standard", decided_by="s1",
        status="yes", quote=text or "rain, 14 °C", iteration=2, how="code",
    )  # fmt: skip
    Exclusion.objects.create(
        conversation=conversation, text=(text or "Grand Tang Hotel")[:300], reason=text or "no suite free", iteration=3
    )
    record = MemoryRecord.objects.create(
        user=user, kind="preference", text=text or "Prefers quiet rooms", conversation=conversation,
        source={"by": "person", "message": message.pk, "turn": str(turn.pk)},
    )  # fmt: skip
    MemoryRecord.objects.create(
        user=user, kind="howto", text=text or "Look at the weather first", status="review", conversation=conversation
    )
    receipt = [
        {"id": str(record.pk), "text": record.text, "score": 0.81, "semantic": 0.5, "lexical": 0.2, "recency": 0.05,
         "confidence": 0.06, "fate": "shown", "source": text or "you said so on 12 May"},
        {"id": str(uuid.uuid4()), "text": text or "Company card", "score": 0.2, "fate": "below_floor", "source": ""},
    ]  # fmt: skip
    for number in range(1, iterations + 1):
        row = Iteration.objects.create(
            turn=turn, number=number, receipt=receipt, thought=text, notes=[text or "noted"], model_ms=900, own_ms=20,
            sections=[{"name": "plan", "text": f"{text}step {number}", "tokens": 9, "kept": True, "rule": ""},
                      {"name": "window", "text": text, "tokens": 0, "kept": False, "rule": text or "no room left"}],
            changes={"memory": [{"status": "dropped", "text": text or "It rains", "reason": text or "a passing thing"}]},
            raw={"text": text}, outcome="continue", offered=["get_weather"],
        )  # fmt: skip
        ToolCall.objects.create(
            iteration=row, turn=turn, index=0, tool="get_weather", tier="read", status="succeeded", args={"city": text or "Xi'an"},
            result={"condition": text or "rain"}, summary=(text or "Rain")[:300], traceback="File secret.py", digest="d",
        )  # fmt: skip
    StateSlot.objects.create(
        conversation=conversation,
        name="nights",
        kind="constraint",
        value=2,
        set_by="agent",
        iteration=iterations,
        turn=turn,
    )
    StateSlot.objects.create(
        conversation=conversation,
        name="hotel",
        kind="entity",
        value={"id": text or "XA-204", "price": 980},
        set_by="agent",
        iteration=1,
        turn=turn,
    )
    SlotChange.objects.create(
        conversation=conversation,
        name="nights",
        before=None,
        after={"kind": "constraint", "value": 2},
        by="agent",
        iteration=1,
    )
    return conversation


def get(client: Client, name: str, conversation: Conversation, **query: str) -> str:
    response = client.get(reverse("panel", args=[conversation.pk, name]), query, headers=HTMX)
    assert response.status_code == 200
    return response.content.decode()


def opened(client: Client, conversation: Conversation) -> str:
    row = Iteration.objects.filter(turn__conversation=conversation).latest("number")
    response = client.get(reverse("trace-iteration", args=[conversation.pk, row.pk]), headers=HTMX)
    assert response.status_code == 200
    return response.content.decode()


# ---- every panel ----------------------------------------------------------------------------------------


def test_the_panels_are_the_files_in_their_folder() -> None:
    assert panels.names() == {"plan", "state", "memory", "trace"}


@pytest.mark.parametrize("name", sorted(panels.names()))
@pytest.mark.parametrize("kind", ["empty", "full"])
def test_every_panel_draws_empty_and_full(page: Client, request: pytest.FixtureRequest, name: str, kind: str) -> None:
    html = get(page, name, request.getfixturevalue(kind))
    assert f'id="panel-{name}"' in html
    assert "from:body" in html  # its root says which events refresh it
    assert ("pn-empty" in html) == (kind == "empty")


@pytest.mark.parametrize("name", sorted(panels.names()))
def test_hostile_text_is_inert_in_every_panel(page: Client, alice: User, name: str) -> None:
    conversation = fill(alice, HOSTILE)
    html = get(page, name, conversation) + opened(page, conversation) + get(page, "plan", conversation, mode="edit")
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script&gt;" in html
    assert "{{ 7|add:7 }}" in html


@pytest.mark.parametrize("name", sorted(panels.names()))
def test_the_number_of_queries_does_not_grow_with_history(page: Client, alice: User, name: str) -> None:
    counts = []
    for iterations in (2, 12):
        conversation = fill(alice, iterations=iterations)
        with CaptureQueriesContext(connection) as queries:
            get(page, name, conversation)
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert counts[1] <= 17  # session, person, conversation and turn are 4 of them


URLS = [
    ("get", "panel", ["{c}", "plan"]),
    ("get", "panel", ["{c}", "trace"]),
    ("post", "plan-edit", ["{c}"]),
    ("post", "plan-approve", ["{c}"]),
    ("post", "plan-ask-first", ["{c}"]),
    ("post", "plan-keep", ["{c}"]),
    ("post", "exclusion", ["{c}"]),
    ("post", "slot-act", ["{c}"]),
    ("post", "memory-act", ["{c}"]),
    ("get", "trace-iteration", ["{c}", "{i}"]),
    ("get", "trace-json", ["{c}"]),
]


@pytest.mark.parametrize(("method", "name", "args"), URLS)
def test_somebody_else_gets_404(bob: User, full: Conversation, method: str, name: str, args: list[str]) -> None:
    iteration = Iteration.objects.filter(turn__conversation=full).latest("number")
    url = reverse(name, args=[arg.format(c=full.pk, i=iteration.pk) for arg in args])
    client = Client()
    client.force_login(bob)
    assert getattr(client, method)(url).status_code == 404


@pytest.mark.parametrize(("method", "name", "args"), URLS)
def test_a_stranger_is_sent_to_the_login_page_as_a_whole(
    full: Conversation, method: str, name: str, args: list[str]
) -> None:
    url = reverse(name, args=[arg.format(c=full.pk, i=1) for arg in args])
    answer = getattr(Client(), method)(url, headers=HTMX | {"HX-Current-URL": f"http://testserver/c/{full.pk}/"})
    assert answer.status_code == 401
    assert answer["HX-Redirect"].startswith(reverse("login"))
    assert answer.content == b""  # no login form inside a panel


def test_an_iteration_of_another_conversation_is_not_found(page: Client, bob: User, full: Conversation) -> None:
    others = Iteration.objects.filter(turn__conversation=fill(bob)).latest("number")
    assert page.get(reverse("trace-iteration", args=[full.pk, others.pk])).status_code == 404


def test_a_name_that_is_no_panel_is_not_found(page: Client, full: Conversation) -> None:
    assert page.get(reverse("panel", args=[full.pk, "secrets"])).status_code == 404
    assert page.get(f"/c/{full.pk}/panel/parts/").status_code == 404


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
    assert panel_plan.same_in_a_row(turn, 5) == 3
    ToolCall.objects.filter(turn=turn, iteration__number=2).update(digest="other")
    assert panel_plan.same_in_a_row(turn, 5) == 1


def test_a_plan_that_waits_for_the_person_says_so(page: Client, full: Conversation) -> None:
    Plan.objects.filter(conversation=full).update(approved=False)
    assert "This plan waits for your approval." in get(page, "plan", full)


def test_the_plan_stays_in_view_when_the_next_turn_has_none(page: Client, full: Conversation) -> None:
    full.turns.update(status="ended", end="finished")
    Turn.objects.create(conversation=full, number=2, goal="Thanks")
    html = get(page, "plan", full)
    assert "This is the plan of turn 1." in html
    assert "Edit plan" not in html


# ---- state ------------------------------------------------------------------------------------------------


def test_what_the_last_iteration_changed_is_marked(page: Client, full: Conversation) -> None:
    html = get(page, "state", full)
    assert "1 changed in the last iteration" in html
    assert html.count("pn-slot--changed") == 1
    assert "iteration 3, the agent" in html


@pytest.mark.parametrize(
    ("posted", "value"),
    [
        ({"name": "nights", "value": "3"}, 3),
        ({"name": "nights", "value": "2.5"}, 2.5),
        ({"name": "nights", "value": "two or three"}, "two or three"),
        (
            {"name": "hotel", "attribute": ["id", "price", "stars", ""], "attribute-value": ["XA-9", "990", "4", "x"]},
            {"id": "XA-9", "price": 990, "stars": "4"},
        ),
    ],
)
def test_a_value_is_edited_in_place_and_keeps_its_type(
    page: Client, full: Conversation, posted: dict[str, Any], value: Any
) -> None:
    answer = page.post(reverse("slot-act", args=[full.pk]), {"op": "set"} | posted, headers=HTMX)
    assert answer.status_code == 200
    slot = StateSlot.objects.get(conversation=full, name=posted["name"])
    assert slot.value == value
    assert slot.set_by == "person"


def test_a_value_that_cannot_be_is_refused_with_the_reason(page: Client, full: Conversation) -> None:
    answer = page.post(
        reverse("slot-act", args=[full.pk]), {"op": "set", "name": "nights", "value": "x" * 5000}, headers=HTMX
    )
    assert answer.status_code == 422
    assert "too long" in answer.content.decode()
    assert StateSlot.objects.get(conversation=full, name="nights").value == 2


def test_a_change_is_undone(page: Client, full: Conversation) -> None:
    url = reverse("slot-act", args=[full.pk])
    page.post(url, {"op": "set", "name": "nights", "value": "7"}, headers=HTMX)
    change = SlotChange.objects.filter(conversation=full).latest("id")
    page.post(url, {"op": "undo", "change": change.pk}, headers=HTMX)
    assert StateSlot.objects.get(conversation=full, name="nights").value == 2


def test_a_slot_is_added_and_removed(page: Client, full: Conversation) -> None:
    url = reverse("slot-act", args=[full.pk])
    page.post(url, {"op": "add", "kind": "question", "name": "breakfast", "value": "Is it included?"}, headers=HTMX)
    assert StateSlot.objects.get(conversation=full, name="breakfast").kind == "question"
    page.post(url, {"op": "remove", "name": "breakfast"}, headers=HTMX)
    assert not StateSlot.objects.filter(conversation=full, name="breakfast").exists()


def test_an_undo_of_another_conversation_changes_nothing(page: Client, bob: User, full: Conversation) -> None:
    theirs = fill(bob)
    change = SlotChange.objects.get(conversation=theirs)
    answer = page.post(reverse("slot-act", args=[full.pk]), {"op": "undo", "change": change.pk}, headers=HTMX)
    assert answer.status_code == 409
    assert StateSlot.objects.filter(conversation=theirs, name="nights").exists()


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


# ---- memory -----------------------------------------------------------------------------------------------


def test_a_recall_shows_its_score_split_its_source_and_its_fate(page: Client, full: Conversation) -> None:
    html = get(page, "memory", full)
    message = Message.objects.filter(conversation=full).earliest("id")
    assert "0.81" in html
    assert 'class="pn-score--semantic" x="0.00" y="0" width="50.00"' in html
    assert f"/c/{full.pk}/#message-{message.pk}" in html
    assert "not shown to the model: below the floor" in html
    assert "Dropped:" in html
    assert "a passing thing" in html
    assert "Look at the weather first" in html  # waits for review


def test_a_receipt_never_opens_the_way_to_another_persons_memory(page: Client, bob: User, full: Conversation) -> None:
    theirs = MemoryRecord.objects.create(user=bob, kind="fact", text="Bob's own", conversation=full)
    receipt = [{"id": str(theirs.pk), "text": "x", "score": 1, "fate": "shown"}]
    Iteration.objects.filter(turn__conversation=full).update(receipt=receipt)
    html = get(page, "memory", full)
    assert "Bob&#x27;s own" not in html
    assert f"forget={theirs.pk}" not in html


# ---- trace ------------------------------------------------------------------------------------------------


def test_an_opened_iteration_shows_context_difference_calls_and_what_was_left_out(
    page: Client, full: Conversation
) -> None:
    html = opened(page, full)
    assert "Difference from iteration 2" in html
    assert '<span class="pn-line--removed">step 2' in html
    assert '<span class="pn-line--added">step 3' in html
    assert "no room left" in html
    assert "&quot;city&quot;: &quot;Xi&#x27;an&quot;" in html


def test_a_traceback_is_for_staff_alone(page: Client, alice: User, full: Conversation) -> None:
    url = reverse("trace-json", args=[full.pk])
    assert "secret.py" not in opened(page, full)
    assert "secret.py" not in page.get(url).content.decode()
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    assert "secret.py" in opened(page, full)
    assert "secret.py" in page.get(url).content.decode()


def test_the_whole_trace_is_downloaded_as_json(page: Client, alice: User) -> None:
    conversation = fill(alice, "西安 " + HOSTILE)
    answer = page.get(reverse("trace-json", args=[conversation.pk]))
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
    body = json.loads(answer.content)
    assert [row["iteration"] for row in body["iterations"]] == [1, 2, 3]
    assert body["iterations"][0]["calls"][0]["tool"] == "get_weather"
    assert "西安" in answer.content.decode()


def test_all_iterations_are_reached_by_paging(page: Client, alice: User) -> None:
    conversation = fill(alice, iterations=panel_trace.PAGE + 3)
    first, second = get(page, "trace", conversation), get(page, "trace", conversation, page="2")
    assert first.count("<details") == panel_trace.PAGE
    assert "Older" in first
    assert second.count("<details") == 3
    assert "page=nonsense" not in get(page, "trace", conversation, page="nonsense")


def test_the_time_line_is_as_long_as_the_work(full: Conversation) -> None:
    now = timezone.now()
    ToolCall.objects.filter(turn__conversation=full).update(started_at=now, ended_at=now + timedelta(milliseconds=80))
    rows = panels.context("trace", full, {})["iterations"]
    bars = [bar for row in reversed(rows) for bar in row.bars]
    assert bars[0].x == 0
    assert bars[-1].x + bars[-1].width == pytest.approx(100, abs=0.1)
    assert [bar.kind for bar in bars[:3]] == ["model", "tools", "own"]


# ---- editing the live plan --------------------------------------------------------------------------------


def edit(client: Client, conversation: Conversation, op: str, revision: int = 2, **fields: str) -> Any:
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
    page: Client, full: Conversation, op: str, fields: dict[str, str], after: list[tuple[str, str]]
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
