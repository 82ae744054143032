"""What follows from a decided condition: the goal as a later step reads it, and the arguments that have one value left.

Touches: nothing (pure).
"""

from typing import Any

import pytest

from planning.branches import literal
from planning.conditions import bound_arguments, contradicted, decided_title, follows, resolve, split_rule
from planning.types import ConditionView

ROOMS = {
    "properties": {"room": {"enum": ["suite", "standard"]}, "nights": {"type": "integer"}, "hotel": {"type": "string"}}
}


def decided(
    status: str, then: str, otherwise: str = "", rule: str = "", key: str = "c1", quote: str = "rain"
) -> ConditionView:
    right = {"yes": then, "no": otherwise}.get(status, "")
    return ConditionView(
        key=key,
        question="Does it rain?",
        then=then,
        otherwise=otherwise,
        rule=rule,
        decided_by="",
        status=status,
        follows=right,
        quote=quote,
    )


def from_task(task: str, status: str) -> ConditionView:
    (rule,) = split_rule(task)
    return decided(status, rule.if_yes, rule.if_no, rule.rule)


@pytest.mark.parametrize(
    ("task", "status", "room"),
    [
        ("If it rains book a suite, otherwise a standard room.", "yes", "suite"),
        ("If it rains book a suite, otherwise a standard room.", "no", "standard"),
        ("先查当天天气，下雨订suite，否则订standard", "yes", "suite"),
        ("先查当天天气，下雨订suite，否则订standard", "no", "standard"),
        ("如果下雨就订套房，否则订标准间", "yes", "suite"),
        ("如果下雨就订套房，否则订标准间", "no", "standard"),
        ("Book two SUITES if it rains, otherwise a Standard room.", "yes", "suite"),
        ("Book a suite unless it is sunny, in which case book a standard room.", "yes", "standard"),
        ("If it rains, book a suite.", "yes", "suite"),
    ],
)
def test_the_decided_branch_binds_the_argument_it_names(task: str, status: str, room: str) -> None:
    value, because = bound_arguments(ROOMS, [from_task(task, status)])["room"]
    assert value == room and "Does it rain?" in because and "rain" in because


@pytest.mark.parametrize(
    "conditions",
    [
        [decided("open", "book a suite", "book a standard room")],
        [decided("yes", "book a suite or a standard room", "do nothing")],  # names both
        [decided("yes", "book a suite, not a standard room", "book a standard room")],
        [decided("yes", "do not book a suite", "book a suite")],
        [decided("yes", "book a suite at the Tang", "book a suite at the Bell")],  # not what it decides
        [decided("yes", "book a suitable room", "book a standardised one")],
        [decided("no", "book a suite", "")],  # nothing follows
        [
            decided("yes", "book a suite", "book a standard room"),
            decided("yes", "book a standard room", "book a suite", key="c2"),
        ],
    ],
)
def test_nothing_is_bound_where_it_is_ambiguous(conditions: list[ConditionView]) -> None:
    assert bound_arguments(ROOMS, conditions) == {}


def test_a_longer_choice_hides_the_shorter_one_within_it() -> None:
    schema = {"properties": {"room": {"enum": ["standard", "standard_twin", "标准间", "豪华标准间"]}}}
    assert (
        bound_arguments(schema, [decided("yes", "book a standard twin", "book a standard")])["room"][0]
        == "standard_twin"
    )
    assert bound_arguments(schema, [decided("yes", "订豪华标准间", "订标准间")])["room"][0] == "豪华标准间"


def test_an_optional_choice_is_bound_too() -> None:
    schema = {"properties": {"room": {"anyOf": [{"enum": ["suite", "standard"]}, {"type": "null"}]}}}
    assert bound_arguments(schema, [decided("yes", "a suite", "a standard room")])["room"][0] == "suite"


def test_a_later_step_reads_the_fact_and_not_the_rule() -> None:
    task = "Two nights. If it rains book a suite, otherwise a standard room. Then email me."
    assert resolve(task, [from_task(task, "no")]) == "Two nights. book a standard room. Then email me."
    assert resolve(task, [from_task(task, "open")]) == task
    task = "先查当天天气，下雨订suite，否则订standard，然后告诉我"
    assert resolve(task, [from_task(task, "yes")]) == "先查当天天气，订suite，然后告诉我"


def test_a_rule_of_which_nothing_follows_says_what_not_to_do() -> None:
    task = "Read the note. If it contains 'urgent', email bob."
    assert resolve(task, [from_task(task, "no")]) == "Read the note. do not email bob."
    task = "如果下雨就订套房。"
    assert resolve(task, [from_task(task, "no")]) == "不要订套房。"


def test_a_rule_that_is_not_in_the_goal_leaves_it_alone() -> None:
    assert (
        resolve("Book a room", [decided("yes", "a suite", "a standard room", rule="if wet, a suite")]) == "Book a room"
    )


def test_the_branch_follows_from_the_answer_alone() -> None:
    assert follows(decided("yes", "a", "b")) == "a"
    assert follows(decided("no", "a", "b")) == "b"
    assert follows(decided("open", "a", "b")) == ""


def test_the_step_that_carries_a_condition_out_takes_the_words_of_its_branch() -> None:
    title, when = "Book a suite, or: book a standard room", {"condition": "c1"}
    assert decided_title(title, when, [decided("no", "book a suite", "book a standard room")]) == "book a standard room"
    assert decided_title(title, when, [decided("open", "book a suite", "book a standard room")]) == title
    assert decided_title(title, {}, [decided("no", "book a suite", "book a standard room")]) == title


@pytest.mark.parametrize(
    ("args", "wrong"),
    [
        ({"path": "r.txt", "content": "small"}, True),
        ({"path": "r.txt", "content": " Small "}, True),
        ({"path": "r.txt", "content": "big"}, False),
        ({"path": "small.txt", "content": "the small one was not big"}, False),
        ({"path": "r.txt", "content": 7}, False),
    ],
)
def test_an_argument_of_the_other_branch_is_told_in_words(args: dict[str, Any], wrong: bool) -> None:
    for condition in (
        decided("yes", "save 'big'", "save 'small'"),
        decided("yes", "save the word big", "save the word small"),
    ):
        told = contradicted(args, [condition])
        assert bool(told) == wrong
        assert all("'big'" in line for line in told)
    assert contradicted(args, [decided("open", "save 'big'", "save 'small'")]) == []


@pytest.mark.parametrize(
    ("branch", "text"),
    [
        ("save the word big to result.txt", "big"),
        ("save 'big' to result.txt", "big"),
        ('write "very big" into the file result.txt', "very big"),
        ("Save 'big'", "big"),
        ("把单词big存到result.txt", "big"),
        ("保存“大”", "大"),
        ("把“大”写入result.txt", "大"),
        ("存big到result.txt", "big"),
        ("save the word big and the number", ""),
        ("save 'big' and 'small'", ""),
        ("save big", ""),
        ("save the result to result.txt", ""),
        ("把结果存到result.txt", ""),
        ("book a suite", ""),
        ("订suite", ""),
        ("email bob", ""),
        ("", ""),
    ],
)
def test_a_branch_that_says_nothing_but_which_text_to_write(branch: str, text: str) -> None:
    assert literal(branch) == text


def test_the_step_that_carries_a_condition_out_writes_the_very_text() -> None:
    schema = {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
    condition = decided("no", "把单词big存到result.txt", "把单词small存到result.txt")
    assert bound_arguments(schema, [condition], carried="c1")["content"][0] == "small"
    assert bound_arguments(schema, [condition]) == {}  # another step's text is its own
    assert bound_arguments(schema, [decided("open", "save 'a'", "save 'b'")], carried="c1") == {}
    two = {"properties": {"text": {"type": "string"}, "content": {"type": "string"}}}
    assert bound_arguments(two, [condition], carried="c1") == {}
