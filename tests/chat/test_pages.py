"""The page and its fragments: who may see what, what they show, and how many queries it takes.

request -> HTML.  Touches: rows.
"""

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from sesame.utils import get_query_string

from chat.call_line import brief_args
from chat.models import Conversation, Iteration, Message, ToolCall, Turn
from planning.models import AcceptanceCheck, Condition, Plan, Step

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/c/x/"}


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password="a long enough one")


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob", password="a long enough one")


@pytest.fixture
def page(alice: User) -> Iterator[Client]:
    client = Client()
    client.force_login(alice)
    yield client


@pytest.fixture
def conversation(alice: User) -> Conversation:
    return Conversation.objects.create(user=alice, title="Two nights in Xi'an")


def turn_in(conversation: Conversation, goal: str = "Book it", number: int = 1, **fields: Any) -> Turn:
    fields = {"status": Turn.Status.ENDED, "end": Turn.End.FINISHED} | fields
    turn = Turn.objects.create(conversation=conversation, number=number, goal=goal, **fields)
    say(turn, goal)
    return turn


def say(turn: Turn, text: str, role: str = "user", **fields: Any) -> Message:
    return Message.objects.create(conversation=turn.conversation, turn=turn, role=role, text=text, **fields)


def iterate(turn: Turn, number: int, tool: str = "", **fields: Any) -> Iteration:
    outcome = fields.pop("outcome", "continue")
    row = Iteration.objects.create(turn=turn, number=number, outcome=outcome, notes=fields.pop("notes", []))
    if tool:
        given = {"status": ToolCall.Status.SUCCEEDED, "tier": "read"} | fields
        ToolCall.objects.create(iteration=row, turn=turn, index=0, tool=tool, **given)
    return row


def plan_for(turn: Turn, statuses: list[str], revision: int = 1) -> None:
    plan = Plan.objects.create(turn=turn, conversation=turn.conversation, revision=revision, goal=turn.goal)
    for index, status in enumerate(statuses, 1):
        step = Step.objects.create(plan=plan, key=f"s{index}", index=index, title=f"Step {index}", status=status)
        AcceptanceCheck.objects.create(step=step, kind="tool_succeeded")


def get(client: Client, name: str, *args: Any, **query: Any) -> str:
    response = client.get(reverse(name, args=args), query, headers=HTMX)
    assert response.status_code == 200
    return response.content.decode()


# ---- who may see what --------------------------------------------------------------------------------


def fragments(conversation: Conversation, turn: Turn, row: Iteration) -> list[tuple[str, str]]:
    there = {"conversation_id": conversation.id}
    return [
        ("get", reverse("conversation", kwargs=there)),
        ("get", reverse("header", kwargs=there)),
        ("get", reverse("turns", kwargs=there)),
        ("get", reverse("entry", kwargs=there)),
        ("get", reverse("turn", kwargs=there | {"turn_id": turn.id})),
        ("get", reverse("iteration", kwargs=there | {"iteration_id": row.id})),
        ("post", reverse("rename", kwargs=there)),
        ("post", reverse("delete", kwargs=there)),
        ("post", reverse("retry", kwargs=there | {"turn_id": turn.id})),
        ("post", reverse("continue", kwargs=there | {"turn_id": turn.id})),
    ]


def test_somebody_else_gets_404_for_every_page_and_fragment(conversation: Conversation, bob: User) -> None:
    turn = turn_in(conversation)
    stranger = Client()
    stranger.force_login(bob)
    for method, url in fragments(conversation, turn, iterate(turn, 1)):
        assert getattr(stranger, method)(url, headers=HTMX).status_code == 404, url
    assert Conversation.objects.get().title == "Two nights in Xi'an"


def test_a_turn_is_not_found_under_another_conversation_of_the_same_person(
    page: Client, alice: User, conversation: Conversation
) -> None:
    turn = turn_in(conversation)
    other = Conversation.objects.create(user=alice)
    assert page.get(reverse("turn", args=[other.id, turn.id])).status_code == 404
    assert page.get(reverse("iteration", args=[other.id, iterate(turn, 1).id])).status_code == 404


def test_a_stranger_is_sent_to_the_sign_in_page_and_back(conversation: Conversation) -> None:
    url = reverse("conversation", args=[conversation.id])
    response = Client().get(url)
    assert response.status_code == 302 and response["Location"] == f"/login/?next={url}"


def test_a_fragment_never_becomes_a_sign_in_form(conversation: Conversation) -> None:
    turn = turn_in(conversation)
    for method, url in fragments(conversation, turn, iterate(turn, 1)):
        response = getattr(Client(), method)(url, headers=HTMX)
        assert response.status_code == 401 and response["HX-Redirect"].startswith("/login/?next="), url
        assert not response.content


def test_an_unknown_conversation_has_a_friendly_page(page: Client) -> None:
    response = page.get(reverse("conversation", args=[uuid.uuid4()]))
    assert response.status_code == 404 and b"There is nothing here" in response.content


# ---- ways in -------------------------------------------------------------------------------------------


def test_the_start_page_takes_an_unused_conversation_again(page: Client, alice: User) -> None:
    first = page.get("/")["Location"]
    assert page.get("/")["Location"] == first
    assert page.post(reverse("new"))["Location"] == first
    assert Conversation.objects.filter(user=alice).count() == 1


def test_a_one_time_link_signs_in_once_and_leads_on(alice: User) -> None:
    link = f"/enter/{get_query_string(alice)}&next=/memories/"
    first = Client().get(link)
    assert first.status_code == 302 and first["Location"] == "/memories/"
    second = Client().get(link)
    assert second.status_code == 403 and b"works once" in second.content


def test_a_used_link_does_not_trouble_somebody_who_is_signed_in(alice: User) -> None:
    client, link = Client(), f"/enter/{get_query_string(alice)}&next=/"
    client.get(link)
    assert client.get(link)["Location"] == "/"


def test_a_one_time_link_never_leads_to_another_site(alice: User) -> None:
    assert Client().get(f"/enter/{get_query_string(alice)}&next=https://evil.example/")["Location"] == "/"


def test_sign_in_and_out_by_password(alice: User) -> None:
    client = Client()
    assert b"do not match" in client.post("/login/", {"username": "alice", "password": "wrong"}).content
    assert client.post("/login/", {"username": "alice", "password": "a long enough one"})["Location"] == "/"
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/")["Location"] == "/login/?next=/"


# ---- what the page shows --------------------------------------------------------------------------------


def test_an_empty_conversation_offers_examples_and_the_message_box(page: Client, conversation: Conversation) -> None:
    html = get(page, "conversation", conversation.id)
    assert html.count("data-example") == 3
    assert '<label class="sr-only" for="message">Message</label>' in html
    assert ">Send</button>" in html and ">Stop</button>" in html


def test_no_markup_carries_a_script_or_a_style_of_its_own(page: Client, conversation: Conversation) -> None:
    turn_in(conversation)
    html = get(page, "conversation", conversation.id)
    assert "<style" not in html and ' style="' not in html and "onclick" not in html and "hx-on" not in html
    assert html.count("<script ") == html.count("<script") == html.count("></script>")


def test_an_iteration_shows_tool_arguments_result_and_condition(page: Client, conversation: Conversation) -> None:
    turn = turn_in(conversation)
    iterate(turn, 1, "set_plan", args={"steps": [{}, {}, {}], "conditions": [{}]}, tier="local")
    iterate(turn, 2, "get_weather", args={"city": "Xi'an", "date": "2026-10-01"}, summary="Rain, 14 °C")
    Condition.objects.create(turn=turn, key="c1", question="Does it rain?", then="suite", status="yes", iteration=2)
    html = get(page, "turn", conversation.id, turn.id)
    assert "Planned" in html and "3 steps and 1 condition" in html
    assert "<code>get_weather</code>" in html and "Xi&#x27;an, 2026-10-01" in html and "Rain, 14 °C" in html
    assert "Does it rain? Yes → suite" in html


def test_a_memory_is_named_when_it_comes_up_and_not_again(page: Client, conversation: Conversation) -> None:
    turn = turn_in(conversation)
    shown = {"id": "m1", "text": "prefers quiet rooms", "fate": "shown"}
    cut = {"id": "m2", "text": "pays by card", "fate": "below_floor"}
    for number in (1, 2):
        row = iterate(turn, number, "search_hotels")
        Iteration.objects.filter(id=row.id).update(receipt=[shown, cut])
    html = get(page, "turn", conversation.id, turn.id)
    assert html.count("prefers quiet rooms") == 1 and "pays by card" not in html


def test_steering_stands_where_it_was_read(page: Client, conversation: Conversation) -> None:
    turn = turn_in(conversation, status=Turn.Status.RUNNING, end="")
    start = timezone.now() - timedelta(minutes=1)
    rows = [iterate(turn, 1, "first_tool"), iterate(turn, 2, "second_tool"), iterate(turn, 3, "third_tool")]
    for row, second in zip(rows, (10, 20, 30), strict=True):
        Iteration.objects.filter(id=row.id).update(started_at=start + timedelta(seconds=second), model_ms=8_000)
    Message.objects.filter(turn=turn).update(created_at=start)
    # Written while the model was deciding iteration 2, and so read by iteration 3.
    steering = say(turn, "On a high floor", mark="taken")
    Message.objects.filter(id=steering.id).update(created_at=start + timedelta(seconds=15))
    html = get(page, "turn", conversation.id, turn.id)
    places = [html.index(text) for text in ("first_tool", "second_tool", "On a high floor", "third_tool")]
    assert places == sorted(places)


def test_an_answer_is_markdown_with_sources_and_open_points(page: Client, conversation: Conversation) -> None:
    turn = turn_in(conversation)
    sources = ["The weather service", {"title": "Hotel", "url": "https://e.example/h"}, "javascript:alert(1)"]
    say(turn, "It **rains**.", "agent", data={"sources": sources, "open_points": ["The price"]})
    html = get(page, "turn", conversation.id, turn.id)
    assert "<strong>rains</strong>" in html and "The price" in html
    assert '<a href="https://e.example/h"' in html and html.count("<a ") == 1


HOSTILE = "<img src=x onerror=alert(1)></article><hx-partial hx-target='#turns'>{{ 7*7 }}"


def test_whatever_anybody_wrote_is_shown_as_text(page: Client, alice: User) -> None:
    conversation = Conversation.objects.create(user=alice, title=HOSTILE)
    turn = turn_in(conversation, HOSTILE)
    say(turn, HOSTILE, "agent", data={"sources": [HOSTILE], "open_points": [HOSTILE]})
    say(turn, HOSTILE, "notice")
    iterate(turn, 1, HOSTILE, args={"a": HOSTILE}, summary=HOSTILE, notes=[HOSTILE])
    html = get(page, "conversation", conversation.id)
    assert "<img" not in html and "<hx-partial" not in html and "{{ 7*7 }}" in html
    assert html.count("</article>") == html.count("<article")


def test_a_turn_that_reached_a_limit_says_why_and_can_go_on(page: Client, conversation: Conversation) -> None:
    turn = turn_in(conversation, end=Turn.End.EXHAUSTED, reason="All 30 iterations of this turn are used.")
    html = get(page, "turn", conversation.id, turn.id)
    assert "All 30 iterations" in html and "Continue with a larger budget" in html and "Try again" in html


def test_only_the_last_turn_can_be_tried_again(page: Client, conversation: Conversation) -> None:
    old = turn_in(conversation, end=Turn.End.FAILED)
    turn_in(conversation, number=2)
    assert "Try again" not in get(page, "turn", conversation.id, old.id)


def test_try_again_starts_a_new_turn_and_tells_the_page_to_fetch_it(page: Client, conversation: Conversation) -> None:
    turn = turn_in(conversation, end=Turn.End.FAILED)
    response = page.post(reverse("retry", args=[conversation.id, turn.id]), headers=HTMX)
    assert response["HX-Trigger"] == "new-turns" and b"Try again" not in response.content
    assert conversation.turns.get(number=2).goal == "Book it"


def test_an_act_that_comes_too_late_is_refused_in_words(page: Client, conversation: Conversation) -> None:
    turn = turn_in(conversation)
    response = page.post(reverse("continue", args=[conversation.id, turn.id]), headers=HTMX)
    assert b"Only a turn that reached a limit can go on." in response.content


def test_a_plan_that_waits_for_the_person_is_one_click_away(page: Client, conversation: Conversation) -> None:
    turn = turn_in(conversation, status=Turn.Status.WAITING_USER, end="", reason="The plan waits for your approval.")
    plan_for(turn, ["pending"])
    assert "Look at the plan" not in get(page, "turn", conversation.id, turn.id)
    Plan.objects.update(approved=False)
    assert "Look at the plan" in get(page, "turn", conversation.id, turn.id)


def test_an_opened_iteration_shows_what_the_model_read(page: Client, conversation: Conversation) -> None:
    turn = turn_in(conversation)
    error = {"what": "No such city.", "cause": "A typo.", "next": "Try Beijing.", "retry": False}
    row = iterate(turn, 1, "get_weather", args={"city": "北京"}, text="Error: <no such city>", error=error)
    html = get(page, "iteration", conversation.id, row.id)
    assert "北京" in html and "&lt;no such city&gt;" in html and "Try Beijing." in html


# ---- the header and the list -------------------------------------------------------------------------------


def test_the_header_says_how_the_turn_stands(page: Client, conversation: Conversation) -> None:
    turn = turn_in(conversation, status=Turn.Status.RUNNING, end="")
    plan_for(turn, ["done", "pending"], revision=1)
    plan_for(turn, ["done", "running", "pending", "pending", "pending"], revision=2)
    html = get(page, "header", conversation.id)
    assert "Running · step 2 of 5" in html and f'data-turn="{turn.id}"' in html


def test_the_list_names_what_waits_and_counts_it(page: Client, alice: User, conversation: Conversation) -> None:
    turn_in(conversation, status=Turn.Status.WAITING_APPROVAL, end="")
    turn_in(Conversation.objects.create(user=alice, title="Tax"), end=Turn.End.STOPPED)
    html = get(page, "conversations")
    assert "Waiting for your approval" in html and "Stopped by you" in html and 'data-waiting="1"' in html


def test_search_looks_at_titles_and_at_what_was_said(page: Client, alice: User, bob: User) -> None:
    hit = Conversation.objects.create(user=alice, title="季度转化率")
    turn_in(hit, "Why did the conversion fall?")
    turn_in(Conversation.objects.create(user=alice, title="Something else"), "Other words")
    turn_in(Conversation.objects.create(user=bob, title="bob's conversion"), "conversion")
    for query in ("转化", "CONVERSION"):
        html = get(page, "conversations", q=query)
        assert "季度转化率" in html and "Something else" not in html and "bob" not in html
    assert "Nothing found." in get(page, "conversations", q="nowhere")


def test_a_conversation_is_renamed_and_deleted(page: Client, conversation: Conversation) -> None:
    named = page.post(reverse("rename", args=[conversation.id]), {"title": "  Xi'an  "}, headers=HTMX)
    assert b"Xi&#x27;an" in named.content and named["HX-Trigger"] == "conversations-changed"
    url = reverse("delete", args=[conversation.id])
    gone = page.post(url, {"current": str(conversation.id)}, headers=HTMX)
    assert gone.status_code == 204 and gone["HX-Redirect"] == "/"
    assert not Conversation.objects.exists()


def test_an_empty_title_changes_nothing(page: Client, conversation: Conversation) -> None:
    page.post(reverse("rename", args=[conversation.id]), {"title": "   "}, headers=HTMX)
    conversation.refresh_from_db()
    assert conversation.title == "Two nights in Xi'an"


# ---- long conversations ---------------------------------------------------------------------------------------


def test_earlier_turns_come_on_demand_and_newer_ones_by_number(page: Client, conversation: Conversation) -> None:
    for number in range(1, 33):
        turn_in(conversation, f"Goal {number}.", number)
    first = get(page, "turns", conversation.id)
    assert "Goal 18." in first and "Goal 17." not in first and "?before=18" in first
    assert "Goal 3." in (second := get(page, "turns", conversation.id, before=18)) and "?before=3" in second
    last = get(page, "turns", conversation.id, before=3)
    assert "Goal 1." in last and "before=" not in last
    newer = get(page, "turns", conversation.id, after=30)
    assert "Goal 31." in newer and "Goal 32." in newer and "Goal 30." not in newer


def queries(client: Client, *path: Any) -> int:
    client.get(reverse(path[0], args=path[1:]), headers=HTMX)  # warms what is cached for ever
    with CaptureQueriesContext(
        connection,
    ) as seen:
        client.get(reverse(path[0], args=path[1:]), headers=HTMX)
    return len(seen)


def fill(conversation: Conversation, turns: int, iterations: int) -> None:
    for number in range(1, turns + 1):
        turn = turn_in(conversation, number=number)
        plan_for(turn, ["done", "done"])
        say(turn, "Answer", "agent")
        for index in range(1, iterations + 1):
            iterate(turn, index, "get_weather", args={"city": "Xi'an"})


def test_queries_do_not_grow_with_the_conversation_or_the_list(page: Client, alice: User) -> None:
    small = Conversation.objects.create(user=alice, title="Small")
    fill(small, 1, 1)
    few = queries(page, "conversation", small.id)
    large = Conversation.objects.create(user=alice, title="Large")
    fill(large, 12, 6)
    for number in range(20):
        turn_in(Conversation.objects.create(user=alice, title=f"More {number}"))
    assert queries(page, "conversation", large.id) == few


def test_a_turn_takes_few_queries(page: Client, conversation: Conversation) -> None:
    fill(conversation, 2, 8)
    assert queries(page, "turn", conversation.id, conversation.turns.get(number=2).id) <= 13


# ---- faults ---------------------------------------------------------------------------------------------------


def test_a_page_about_a_fault_needs_nothing_that_may_be_broken() -> None:
    for name in ("403.html", "403_csrf.html", "404.html", "500.html"):
        assert "<h1>" in render_to_string(name)


def test_a_stale_form_is_told_apart_from_a_forbidden_one(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    response = client.post(reverse("new"))
    assert response.status_code == 403 and b"out of date" in response.content


@pytest.mark.parametrize(
    ("args", "brief"),
    [
        ({"city": "Xi'an", "nights": 2, "wishes": [], "note": None}, "Xi'an, 2"),
        ({"name": "a\u202egnp.exe"}, "a⟨U+202E⟩gnp.exe"),
        ({"text": "word " * 100}, "word word word word word word word word word word…"),
        ({"rooms": [{"a": 1}]}, '[{"a": 1}]'),
        (["not", "an", "object"], "not, an, object"),
        ({}, ""),
    ],
)
def test_arguments_in_short_are_one_honest_line(args: Any, brief: str) -> None:
    assert brief_args(args) == brief
