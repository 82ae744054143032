"""A draft and the task it is for: rules become conditions, branches become one step, evidence comes from the right step.

Touches: nothing (pure).
"""

from typing import Any

import pytest

from planning.drafts import PlanDraft
from planning.normalise import normalise
from tests.planning.tools import TOOLS, draft

TRAVEL = "Two nights in Xi'an from October 1. Check that day's weather first; if it rains book a suite, otherwise a standard room."
TRAVEL_ZH = "西安10月1日住两晚。先查当天天气，下雨订suite，否则订standard。"
WEATHER, SEARCH, BOOK = (
    ("Check the weather", "get_weather"),
    ("Search hotels", "search_hotels"),
    ("Book the room", "book_hotel"),
)


def meant(plan: PlanDraft, goal: str = TRAVEL) -> PlanDraft:
    return normalise(plan, goal, tools=TOOLS, current=None)[0]


def tools_of(plan: PlanDraft) -> list[str]:
    return [step.tool for step in plan.steps]


@pytest.mark.parametrize("goal", [TRAVEL, TRAVEL_ZH])
def test_a_rule_that_the_model_left_out_is_kept_as_a_condition(goal: str) -> None:
    (condition,) = meant(draft(WEATHER, SEARCH, BOOK), goal).conditions
    assert "suite" in condition.if_yes and "standard" in condition.if_no and condition.rule in goal


@pytest.mark.parametrize(
    ("theirs", "question"),
    [
        # Right: its question stays, it says where and when.
        (
            {"question": "Will it rain in Xi'an on 10-01?", "if_yes": "book a suite", "if_no": "book a standard room"},
            "Will it rain in Xi'an on 10-01?",
        ),
        # Of a day that nobody spoke of.
        (
            {"question": "Will it rain on 10-07?", "if_yes": "book a suite", "if_no": "book a standard room"},
            "Does it rain?",
        ),
        # The branches traded places: the person's words win.
        ({"question": "Will it rain?", "if_yes": "book a standard room", "if_no": "book a suite"}, "Will it rain?"),
        # The opposite question, whichever way its branches stand.
        ({"question": "Is it sunny?", "if_yes": "book a standard room", "if_no": "book a suite"}, "Does it rain?"),
        ({"question": "Is it sunny?", "if_yes": "book a suite", "if_no": "book a standard room"}, "Does it rain?"),
        ({"question": "Will it not rain?", "if_yes": "book a suite", "if_no": "book a standard room"}, "Does it rain?"),
        # One branch only, and nonsense.
        ({"question": "Does it rain?", "if_yes": "suite"}, "Does it rain?"),
        ({"question": "Is the hotel nice?", "if_yes": "book a suite", "if_no": ""}, "Does it rain?"),
    ],
)
def test_the_persons_own_words_decide_which_branch_hangs_on_which_answer(theirs: dict[str, Any], question: str) -> None:
    (condition,) = meant(draft(WEATHER, BOOK, conditions=[theirs])).conditions
    assert condition.question == question
    assert (condition.if_yes, condition.if_no) == ("book a suite", "book a standard room")


def test_two_conditions_for_the_two_branches_are_one() -> None:
    both = [
        {"question": "Does it rain?", "if_yes": "book a suite"},
        {"question": "Is it sunny?", "if_yes": "book a standard room"},
    ]
    assert len(meant(draft(WEATHER, BOOK, conditions=both)).conditions) == 1


def test_a_condition_about_something_else_stays() -> None:
    other = {"question": "Is breakfast included?", "if_yes": "say so", "if_no": "ask for the price"}
    assert len(meant(draft(WEATHER, BOOK, conditions=[other])).conditions) == 2


@pytest.mark.parametrize(
    "branches",
    [
        [("If it rains, book a suite", "book_hotel"), ("Otherwise book a standard room", "book_hotel")],
        [("Book a suite", "book_hotel"), ("Book a standard room", "book_hotel")],
        [("Book a suite if it rains, otherwise a standard room", "book_hotel")],
    ],
)
def test_the_branches_are_one_step_that_carries_out_what_holds(branches: list[tuple[str, str]]) -> None:
    plan = meant(draft(WEATHER, SEARCH, *branches))
    assert tools_of(plan) == ["get_weather", "search_hotels", "book_hotel"]
    assert plan.steps[-1].when == {"condition": "c1"}


def test_a_search_for_a_suite_is_not_taken_for_the_branch() -> None:
    plan = meant(
        draft(WEATHER, ("Search hotels with a suite", "search_hotels"), BOOK),
        "Check the weather; if it rains a suite, otherwise a standard room.",
    )
    assert tools_of(plan) == ["get_weather", "search_hotels", "book_hotel"]


@pytest.mark.parametrize("goal", [TRAVEL, TRAVEL_ZH])
@pytest.mark.parametrize("steps", [(WEATHER, BOOK), (WEATHER, SEARCH, BOOK), (SEARCH, WEATHER, BOOK)])
def test_the_weather_is_decided_by_the_step_that_looks_at_the_weather(goal: str, steps: tuple[Any, ...]) -> None:
    plan = meant(draft(*steps), goal)
    (condition,) = plan.conditions
    assert condition.decided_by and plan.steps[condition.decided_by - 1].tool == "get_weather"


def test_a_result_that_a_step_cannot_do_without_gets_its_step() -> None:
    assert tools_of(meant(draft(WEATHER, BOOK))) == ["get_weather", "search_hotels", "book_hotel"]


def test_a_step_that_only_decides_is_folded_away() -> None:
    plan = meant(draft(WEATHER, ("Check whether it rains", "get_weather"), BOOK))
    assert plan.steps[0].title == "Check the weather" and tools_of(plan).count("get_weather") == 1


def test_a_task_without_a_rule_gets_no_condition() -> None:
    assert meant(draft(WEATHER), "What is the weather in Xi'an?").conditions == []


@pytest.mark.parametrize(
    ("title", "tool", "question", "kept"),
    [
        ("Check the weather", "get_weather", "Does the result name the wind?", True),
        ("查天气", "get_weather", "结果里有风力吗？", True),
        ("Check the weather", "get_weather", "Was the weather checked successfully?", False),
        ("查询天气", "get_weather", "天气是否查询成功？", False),
        ("Check the weather", "get_weather", "the weather is known", False),  # no question
        ("Save the note", "write_file", "Does the file name the wind?", False),  # it would be written again
    ],
)
def test_a_question_is_asked_only_where_it_asks_for_more_than_success(
    title: str, tool: str, question: str, kept: bool
) -> None:
    plan = meant(draft({"title": title, "tool": tool, "check": question}))
    assert [check.kind for check in plan.steps[0].checks] == (["judge"] if kept else [])
