"""Who may begin: fair between people, within the limits, the same in rows as on paper; too much is refused in words.

Touches: nothing (the tables); rows.
"""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from chat import conversations, timeline, turns
from chat.admission import Limits, Waiting, admitted, order
from chat.errors import Busy
from chat.models import Message, Turn

PEOPLE = {"a": 1, "b": 2, "c": 3}


def line(text: str) -> list[Waiting]:
    """One turn for each letter, the oldest first; the letter is its person."""
    return [Waiting(turn_id=UUID(int=at), person=PEOPLE[letter]) for at, letter in enumerate(text)]


@pytest.mark.parametrize(
    ("waiting", "running", "expected"),
    [
        ("", {}, ""),
        ("aaab", {}, "abaa"),
        ("aabbcc", {}, "abcabc"),
        ("aab", {1: 2}, "baa"),
        ("aabb", {1: 1}, "baba"),
        ("abc", {1: 5, 2: 1}, "cba"),
    ],
)
def test_people_take_turns_and_who_has_least_under_way_comes_first(
    waiting: str, running: dict[int, int], expected: str
) -> None:
    names = {number: name for name, number in PEOPLE.items()}
    assert "".join(names[turn.person] for _rank, turn in order(line(waiting), running)) == expected


@pytest.mark.parametrize(
    ("waiting", "running", "limits", "count"),
    [
        ("aaabbb", {}, Limits(), 6),
        ("aaabbb", {}, Limits(per_person=1), 2),
        ("aaabbb", {1: 1}, Limits(per_person=1), 1),
        ("aaabbb", {1: 1}, Limits(per_person=3, in_all=3), 2),
        ("aaabbb", {1: 4}, Limits(in_all=3), 0),
    ],
)
def test_limits_hold_for_one_person_and_for_all(
    waiting: str, running: dict[int, int], limits: Limits, count: int
) -> None:
    assert len(admitted(order(line(waiting), running), running, limits)) == count


@given(
    st.text("abc", max_size=30),
    st.dictionaries(st.sampled_from([1, 2, 3]), st.integers(0, 4)),
    st.integers(1, 4),
    st.integers(1, 8),
)
def test_no_limit_is_passed_and_no_place_is_left_empty(
    waiting: str, running: dict[int, int], per_person: int, in_all: int
) -> None:
    everyone = line(waiting)
    chosen = admitted(order(everyone, running), running, Limits(per_person=per_person, in_all=in_all))
    people = {turn.turn_id: turn.person for turn in everyone}
    counts = {person: running.get(person, 0) for person in PEOPLE.values()}
    for turn_id in chosen:
        counts[people[turn_id]] += 1
        assert counts[people[turn_id]] <= per_person
    assert len(chosen) <= max(0, in_all - sum(running.values()))
    left = [turn for turn in everyone if turn.turn_id not in chosen and counts[turn.person] < per_person]
    assert not left or sum(counts.values()) >= in_all
    for person in PEOPLE.values():  # within one person the oldest comes first
        own = [turn.turn_id for turn in everyone if turn.person == person]
        assert [turn_id for turn_id in own if turn_id in chosen] == own[: len([i for i in own if i in chosen])]


# ---- rows --------------------------------------------------------------------------------------------


def ask(user: User, text: str = "Do it.") -> Turn:
    conversation = conversations.create(user)
    return turns.say(user, conversation.id, text, uuid4().hex).turn


@pytest.mark.django_db
def test_a_claim_keeps_the_limits_and_the_order(alice: User, bob: User, settings: Any) -> None:
    settings.AGENT_TURNS_PER_PERSON, settings.AGENT_TURNS_IN_ALL = 2, 3
    hers, his = [ask(alice) for _ in range(4)], [ask(bob) for _ in range(2)]
    assert turns.ready() == [hers[0].id, his[0].id, hers[1].id]
    assert turns.claim(his[1].id, "w") is None  # one of hers comes first
    assert turns.places()[his[1].id] == 3
    for turn_id in turns.ready():
        assert turns.claim(turn_id, "w")
    assert turns.ready() == []
    ended = Turn.objects.select_related("conversation").get(id=hers[0].id)
    turns.end(ended, ended.fence, Turn.End.FINISHED, reason="")
    assert turns.ready() == [hers[2].id]  # each has one under way: the older comes first


@pytest.mark.django_db
def test_a_turn_whose_worker_died_needs_no_new_place(alice: User, settings: Any) -> None:
    settings.AGENT_TURNS_IN_ALL, settings.AGENT_LEASE_SECONDS = 1, -1
    turn = ask(alice)
    assert turns.claim(turn.id, "one")
    ask(alice)
    assert turns.ready() == [turn.id]
    assert turns.claim(turn.id, "two")


@pytest.mark.django_db
def test_looking_and_claiming_cost_the_same_however_many_wait(alice: User, bob: User) -> None:
    def queries() -> tuple[int, int]:
        with CaptureQueriesContext(
            connection,
        ) as looking:
            first = turns.ready()[0]
        with CaptureQueriesContext(connection) as claiming:
            assert turns.claim(first, "w")
        return len(looking), len(claiming)

    ask(alice)
    few = queries()
    for _ in range(10):
        ask(alice)
        ask(bob)
    assert queries() == few


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "limit"), [("AGENT_QUEUE_LIMIT", 3), ("AGENT_QUEUE_PER_PERSON", 2)])
def test_a_full_queue_refuses_new_work_and_nothing_else(
    alice: User, bob: User, settings: Any, name: str, limit: int
) -> None:
    setattr(settings, name, limit)
    ask(bob)
    waiting = [ask(alice) for _ in range(2)]
    with pytest.raises(Busy, match="Nothing is lost"):
        ask(alice)
    steered = turns.say(alice, waiting[0].conversation_id, "Be quick.", "again")
    assert steered.turn_id == waiting[0].id and steered.mark == Message.Mark.STEERING
    assert Turn.objects.count() == 3


@pytest.mark.django_db
def test_the_page_says_how_many_come_before(alice: User, bob: User) -> None:
    for _ in range(3):
        ask(bob)
    ask(alice)
    last = ask(alice)
    (view,) = timeline.page(last.conversation).turns
    assert view.before == 3
