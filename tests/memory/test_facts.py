"""Facts of entities: a new value retires the old one, and nothing else.

sentences -> EntityFacts.  Touches: rows.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from memory import facts, records
from memory.models import MemoryRecord
from memory.statements import facts_in
from memory.text import bare
from tests.memory.conftest import Ask, Tell

pytestmark = pytest.mark.django_db


def known(user: Any) -> set[tuple[str, str, str]]:
    return {(fact.subject, fact.attribute, fact.value) for fact in facts.live(user.id)}


def texts(user: Any, status: str) -> list[str]:
    return list(MemoryRecord.objects.filter(user=user, status=status).values_list("text", flat=True))


@pytest.mark.parametrize(
    ("before", "after", "old", "new"),
    [
        ("I am in Beijing", "I moved to Shanghai", "Beijing", "Shanghai"),
        ("I live in Paris", "I moved to Rome.", "Paris", "Rome"),
        ("我在北京", "我搬到上海了", "北京", "上海"),
        ("用户住在杭州市西湖区文三路。", "用户搬到了上海市徐汇区。", "杭州市西湖区文三路", "上海市徐汇区"),
        ("I'm living in Berlin", "I have just relocated from Berlin to Vienna", "Berlin", "Vienna"),
    ],
)
def test_moving_leaves_one_live_fact_and_one_retired(
    alice: Any, tell: Tell, before: str, after: str, old: str, new: str
) -> None:
    tell(before)
    receipt = tell(after)
    assert receipt.status == "superseded"
    assert known(alice) == {("user", "lives in", new)}
    assert texts(alice, "live") == [bare(after)]
    assert texts(alice, "retired") == [bare(before)]
    closed = [fact for fact in facts.history(alice.id) if fact.valid_to]
    assert [fact.value for fact in closed] == [old]


def test_other_subjects_and_attributes_are_not_touched(alice: Any, tell: Tell) -> None:
    for text in ("I am in Beijing", "My sister is in Beijing", "I work at Acme", "Bob Smith lives in Beijing"):
        tell(text)
    tell("I moved to Shanghai")
    assert known(alice) == {
        ("user", "lives in", "Shanghai"),
        ("sister", "lives in", "Beijing"),
        ("user", "works at", "Acme"),
        ("bob smith", "lives in", "Beijing"),
    }
    assert texts(alice, "retired") == ["I am in Beijing"]


@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        ("I drink green tea", "I stopped, now coffee", ("user", "drinks", "coffee")),
        ("I drink green tea", "I stopped drinking green tea, now coffee", ("user", "drinks", "coffee")),
        ("I drink green tea", "I switched from green tea to coffee", ("user", "drinks", "coffee")),
        ("I drink green tea", "I don't drink tea any more, I drink coffee instead", ("user", "drinks", "coffee")),
        ("我喝绿茶", "我不喝绿茶了，现在喝咖啡", ("user", "drinks", "咖啡")),
        ("我喝绿茶", "我不喝了，改喝咖啡", ("user", "drinks", "咖啡")),
        ("我喝绿茶", "我从绿茶换成了咖啡", ("user", "drinks", "咖啡")),
    ],
)
def test_a_changed_habit_is_the_current_one_alone(
    alice: Any, tell: Tell, before: str, after: str, new: tuple[str, str, str]
) -> None:
    tell(before)
    tell(after)
    assert known(alice) == {new}
    assert texts(alice, "retired") == [before]


def test_a_half_said_change_is_kept_in_full(alice: Any, tell: Tell) -> None:
    tell("I drink green tea")
    tell("I stopped, now coffee")
    assert texts(alice, "live") == ["I stopped, now coffee (The user drinks coffee; no longer: green tea)"]


def test_a_half_said_change_is_about_the_habit_of_this_conversation(alice: Any, tell: Tell) -> None:
    from chat.models import Conversation

    here, there = (Conversation.objects.create(user=alice) for _ in range(2))
    tell("I drink green tea", conversation_id=here.id)
    tell("I play chess", conversation_id=there.id)
    tell("I stopped, now coffee", conversation_id=here.id)
    assert known(alice) == {("user", "drinks", "coffee"), ("user", "plays", "chess")}


def test_several_likes_hold_at_once(alice: Any, tell: Tell) -> None:
    tell("I like tea")
    tell("I like chess")
    assert len(known(alice)) == 2
    assert texts(alice, "retired") == []


def test_disliking_ends_the_like_and_nothing_wider(alice: Any, tell: Tell) -> None:
    tell("I like tea")
    tell("I like tea ceremonies")
    tell("I don't like tea any more")
    assert known(alice) == {("user", "likes", "tea ceremonies")}


def test_what_else_a_retired_memory_said_stays_known(alice: Any, tell: Tell) -> None:
    tell("I work at Acme and I live in Rome")
    tell("I moved to Oslo")
    assert known(alice) == {("user", "works at", "Acme"), ("user", "lives in", "Oslo")}
    assert set(texts(alice, "live")) == {"The user works at Acme", "I moved to Oslo"}


@pytest.mark.parametrize(
    "text",
    [
        "I am in a hurry",
        "I'm in Paris this week",
        "What if I live in Rome?",
        "If I lived in Rome I would be happy",
        "我在开会",
        "我今天在上海出差",
        "Do I live in Rome?",
        "> I live in Rome",
        "```\nI live in Rome\n```",
        "Translate: I live in Rome",
        "The meeting is in Paris",
        "He said I live in Rome",
    ],
)
def test_what_is_no_lasting_statement_makes_no_fact(text: str) -> None:
    assert facts_in(text) == ()


def test_what_was_true_in_may_can_be_answered(alice: Any, tell: Tell) -> None:
    tell("I live in Paris", when=datetime(2026, 3, 1, tzinfo=UTC))
    tell("I moved to Rome", when=datetime(2026, 7, 1, tzinfo=UTC))
    assert [fact.value for fact in facts.as_of(alice.id, datetime(2026, 5, 15, tzinfo=UTC))] == ["Paris"]
    assert [fact.value for fact in facts.as_of(alice.id, datetime(2026, 8, 1, tzinfo=UTC))] == ["Rome"]
    assert facts.as_of(alice.id, datetime(2026, 1, 1, tzinfo=UTC)) == []


def test_news_of_the_past_ends_nothing(alice: Any, tell: Tell) -> None:
    tell("I live in Rome", when=datetime(2026, 7, 1, tzinfo=UTC))
    tell("I live in Paris", when=datetime(2026, 3, 1, tzinfo=UTC))
    assert known(alice) == {("user", "lives in", "Rome")}
    assert [fact.value for fact in facts.as_of(alice.id, datetime(2026, 5, 1, tzinfo=UTC))] == ["Paris"]


def test_moving_back_revives_the_place(alice: Any, tell: Tell, ask: Ask) -> None:
    for text in ("I live in Paris", "I moved to Rome", "I moved to Paris"):
        tell(text)
    assert known(alice) == {("user", "lives in", "Paris")}
    assert ask("where do I live?") == ["I moved to Paris"]


def test_a_restored_memory_does_not_contradict_a_newer_one(alice: Any, tell: Tell) -> None:
    first = tell("I live in Paris")
    tell("I moved to Rome")
    records.restore(alice.id, first.record_id)
    assert known(alice) == {("user", "lives in", "Rome")}


def test_facts_the_model_named_otherwise_meet_the_same_attribute(alice: Any) -> None:
    source = {"by": "agent"}
    facts.state(alice.id, "User", "residence", "Paris", source=source)
    facts.state(alice.id, "I", "current_location", "Rome", source=source)
    assert known(alice) == {("user", "lives in", "Rome")}


def test_facts_of_another_person_are_not_touched(alice: Any, bob: Any, tell: Tell) -> None:
    tell("I live in Paris")
    tell("I live in Paris", user=bob)
    tell("I moved to Rome")
    assert known(bob) == {("user", "lives in", "Paris")}


def test_the_current_place_alone_is_recalled(tell: Tell, ask: Ask) -> None:
    tell("I live in Paris")
    tell("I moved to Rome")
    assert ask("where do I live?") == ["I moved to Rome"]
    assert ask("Paris") == []
