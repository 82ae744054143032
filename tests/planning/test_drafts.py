"""Sloppy drafts, read as they were meant; what has no one meaning is left for the faults.

Touches: nothing (pure).
"""

from typing import Any

import pytest
from pydantic import ValidationError

from planning.drafts import CheckDraft, ConditionDraft, PlanDraft, StepDraft, waits_for


@pytest.mark.parametrize(
    ("given", "kind", "params"),
    [
        ({"kind": "tool_succeeded", "tool": "now"}, "tool_succeeded", {"tool": "now"}),
        ({"kind": "success"}, "tool_succeeded", {}),
        ({}, "tool_succeeded", {}),
        ({"question": "Is it late?"}, "judge", {"question": "Is it late?"}),
        ({"kind": "llm", "question": "Is it late?"}, "judge", {"question": "Is it late?"}),
        ({"slot": "city"}, "slot_present", {"slot": "city"}),
        ({"record": "BK-1"}, "record_exists", {"record": "BK-1"}),
        ({"kind": "user_confirmed"}, "user_confirmed", {}),
        ({"kind": None, "slot": "city", "tool": None}, "slot_present", {"slot": "city"}),
        ({"schema": {"type": "array", "minItems": 1}}, "result_matches", {"schema": {"type": "array", "minItems": 1}}),
        ({"schema": ["order_id"]}, "result_matches", {"schema": {"type": "object", "required": ["order_id"]}}),
        (
            {"schema": {"order_id": "string", "nights": "integer", "note": "free text"}},
            "result_matches",
            {
                "schema": {
                    "type": "object",
                    "required": ["order_id", "nights", "note"],
                    "properties": {"order_id": {"type": "string"}, "nights": {"type": "integer"}},
                }
            },
        ),
        ({"kind": "tool_succeeded", "weight": 3}, "tool_succeeded", {}),
    ],
)
def test_the_kind_of_a_check_follows_from_what_it_names(
    given: dict[str, Any], kind: str, params: dict[str, Any]
) -> None:
    check = CheckDraft.model_validate(given)
    assert (check.kind, check.params()) == (kind, params)


@pytest.mark.parametrize(
    ("given", "title", "tool", "also"),
    [
        ("Look at the clock", "Look at the clock", "", []),
        ({"title": "Look", "tool": "now"}, "Look", "now", []),
        ({"name": "Look", "tool": "now"}, "Look", "now", []),
        ({"description": "Look", "tools": ["now"]}, "Look", "now", []),
        ({"task": "Look", "tools": ["now", "calculate"]}, "Look", "now", ["calculate"]),
        ({"step": "Look", "tool": {"name": "now"}}, "Look", "now", []),
        ({"title": "Look", "tool": "now()"}, "Look", "now", []),
        ({"title": "Look", "tool": "functions.now"}, "Look", "now", []),
        ({"title": "Look", "tool": "get_weather(city, date)"}, "Look", "get_weather", []),
        ({"title": " Look\n at  it ", "tool": " now "}, "Look at it", "now", []),
        ({"title": None, "tool": None}, "", "", []),
        ({"title": 7, "description": "Look"}, "Look", "", []),
        ({"step": 1, "title": "看天气", "tool": "get_weather"}, "看天气", "get_weather", []),
        ({}, "", "", []),
    ],
)
def test_a_step_is_read_from_the_shapes_models_write(given: Any, title: str, tool: str, also: list[str]) -> None:
    step = StepDraft.model_validate(given)
    assert (step.title, step.tool, step.also) == (title, tool, also)


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ({}, None),
        ({"after": None}, None),
        ({"after": []}, []),
        ({"after": 1}, [1]),
        ({"after": "2"}, [2]),
        ({"after": "step 2"}, [2]),
        ({"after": ["1", "step 3"]}, [1, 3]),
        ({"depends_on": [1]}, [1]),
        ({"after": ["the first"]}, []),
    ],
)
def test_the_steps_it_waits_for_are_numbers_however_written(given: dict[str, Any], after: list[int] | None) -> None:
    assert StepDraft.model_validate({"title": "x", **given}).after == after


def test_a_step_waits_for_the_one_before_unless_it_says_otherwise() -> None:
    steps = [StepDraft.model_validate(given) for given in ("a", "b", {"title": "c", "after": [2, 1, 2, 0, -1]})]
    assert [waits_for(steps, number) for number in (1, 2, 3)] == [[], [1], [1, 2]]
    assert waits_for([StepDraft(title="a"), StepDraft(title="b", after=[])], 2) == []


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ("tool_succeeded", ["tool_succeeded"]),
        ("Is the file there?", ["judge"]),
        ("文件在吗？", ["judge"]),
        ("the file is there", []),
        (["judge", "", None, {"slot": "city"}], ["judge", "slot_present"]),
        ({"kind": "judge", "question": "?"}, ["judge"]),
        (None, []),
    ],
)
def test_a_check_in_free_words_decides_nothing_and_a_question_is_for_the_judge(given: Any, kinds: list[str]) -> None:
    assert [check.kind for check in StepDraft.model_validate({"title": "x", "check": given}).checks] == kinds


@pytest.mark.parametrize(
    ("when", "read"),
    [
        ("yes 1", {"condition": "c1", "branch": "yes"}),
        ("No 2", {"condition": "c2", "branch": "no"}),
        ("1: yes", {"condition": "c1", "branch": "yes"}),
        ("c1 no", {"condition": "c1", "branch": "no"}),
        ({"condition": "c1", "branch": None}, {"condition": "c1"}),
        ("if it rains", {}),
        ("", {}),
        (None, {}),
        (3, {}),
        (["yes 1"], {"condition": "c1", "branch": "yes"}),
    ],
)
def test_the_branch_of_a_step_is_read_where_it_is_plain(when: Any, read: dict[str, str]) -> None:
    assert StepDraft.model_validate({"title": "x", "when": when}).when == read


@pytest.mark.parametrize(
    ("steps", "titles"),
    [
        ([{"title": "a"}, "b"], ["a", "b"]),
        ({"title": "a"}, ["a"]),
        ('[{"title": "a"}, {"title": "b"}]', ["a", "b"]),
        ('{"title": "a"}', ["a"]),
        ("- a\n* b\n\n", ["a", "b"]),
        (None, []),
        ([], []),
        ("", []),
        ("null", []),
    ],
)
def test_a_list_of_steps_may_be_text_or_one_alone(steps: Any, titles: list[str]) -> None:
    assert [step.title for step in PlanDraft.model_validate({"steps": steps}).steps] == titles


@pytest.mark.parametrize("steps", ["7", "true", '"a"', 7, [7], [None], [["a"]]])
def test_what_is_no_step_is_refused_as_a_draft(steps: Any) -> None:
    with pytest.raises(ValidationError):
        PlanDraft.model_validate({"steps": steps})


def test_a_condition_needs_its_question_and_nothing_else() -> None:
    assert ConditionDraft.model_validate({"question": "Does it rain?", "more": 1}).if_yes == ""
    with pytest.raises(ValidationError):
        ConditionDraft.model_validate({"if_yes": "a suite"})
    one = PlanDraft.model_validate({"steps": ["a"], "conditions": {"question": "Does it rain?"}})
    assert [condition.question for condition in one.conditions] == ["Does it rain?"]
