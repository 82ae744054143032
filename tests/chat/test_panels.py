"""The inspector: what each panel draws from rows, for whom, with how many queries, and what a person does in it.

request -> panel.  Touches: rows.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from chat import panel_trace, panels
from chat.models import Approval, Conversation, Iteration, Message, ToolCall
from memory.models import MemoryRecord, SlotChange, StateSlot
from tests.chat.filled import fill

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> \u202eabc\u202c مرحبا {{ 7|add:7 }} " + "A" * 300


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
    assert counts[1] <= counts[0]
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
    assert "2 memories considered" in html
    assert "&quot;city&quot;: &quot;Xi&#x27;an&quot;" in html


def test_json_in_the_context_is_compared_by_its_fields() -> None:
    assert panel_trace.difference('{"a": 1, "b": 2}', '{"a": 1, "b": 3}') == (
        ("same", '  "a": 1,'),
        ("removed", '  "b": 2'),
        ("added", '  "b": 3'),
        ("same", "}"),
    )


def test_an_opened_iteration_shows_what_it_changed_in_the_state(page: Client, full: Conversation) -> None:
    before, after = {"kind": "constraint", "value": 2}, {"kind": "constraint", "value": 3}
    SlotChange.objects.create(
        conversation=full, turn=full.turns.get(), iteration=3, name="nights", before=before, after=after, by="agent"
    )
    assert "<strong>nights</strong> <del>2</del> → 3" in opened(page, full)


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
    at = {"started_at": now, "ended_at": now + timedelta(milliseconds=80)}
    ToolCall.objects.filter(turn__conversation=full).update(**at)
    Iteration.objects.filter(turn__conversation=full).update(started_at=now, ended_at=now + timedelta(milliseconds=100))
    rows = panels.context("trace", full, {})["iterations"]
    bars = [bar for row in reversed(rows) for bar in row.bars]
    assert bars[0].x == 0
    assert bars[-1].x + bars[-1].width == pytest.approx(100, abs=0.1)
    assert [(bar.kind, bar.text) for bar in bars[:3]] == [("model", "0.9 s"), ("tools", "80 ms"), ("own", "20 ms")]


def minute(n: float) -> datetime:
    return datetime(2026, 10, 1, 12, tzinfo=UTC) + timedelta(minutes=n)


@pytest.mark.parametrize(
    ("spans", "minutes"),
    [
        ([], 0),
        ([(0, 1)], 1),
        ([(0, 2), (1, 3)], 3),  # side by side counts once
        ([(0, 5), (1, 2)], 5),
        ([(4, 5), (0, 1)], 2),
        ([(0, None), (None, None)], 0),
    ],
)
def test_time_is_counted_once(spans: list[tuple[float | None, float | None]], minutes: float) -> None:
    given = [tuple(None if n is None else minute(n) for n in span) for span in spans]
    assert panel_trace.busy(given) == minutes * 60_000  # type: ignore[arg-type]


def test_waiting_for_the_person_is_no_work(full: Conversation) -> None:
    call = ToolCall.objects.filter(turn__conversation=full).latest("iteration__number")
    Iteration.objects.filter(pk=call.iteration_id).update(started_at=minute(0), ended_at=minute(601))
    approval = Approval.objects.create(
        call=call,
        turn=call.turn,
        tool="t",
        tier="write",
        args={},
        digest="d",
        expires_at=minute(900),
        decided_at=minute(600),
    )
    Approval.objects.filter(pk=approval.pk).update(asked_at=minute(0))
    assert panels.context("trace", full, {})["iterations"][0].bars[-1].text == "1:00"
