"""When a step is done: by code on what tools really returned, by a judge only with words that stand in it.

Touches: nothing (pure).
"""

from typing import Any

import pytest

from planning.acceptance import by_code, from_judge, judge_question, unusable
from planning.types import CheckView
from tests.planning.tools import evidence

RAIN = evidence("get_weather", {"condition": "rain", "temperature_c": 14, "city": "Xi'an"})
FAILED = evidence("get_weather", None, succeeded=False)


def check(kind: str, **params: Any) -> CheckView:
    return CheckView(id=1, kind=kind, params=params, verdict="open", reason="")


def needs(*names: str) -> dict[str, Any]:
    return {"type": "object", "required": list(names)}


@pytest.mark.parametrize(
    ("asked", "given", "verdict", "said"),
    [
        (check("tool_succeeded", tool="get_weather"), [RAIN], "passed", "get_weather returned a result"),
        (check("tool_succeeded", tool="get_weather"), [RAIN, FAILED], "passed", ""),
        (check("tool_succeeded", tool="get_weather"), [FAILED], "failed", "has not succeeded"),
        (check("tool_succeeded", tool="get_weather"), [], "failed", "has not succeeded"),
        (check("tool_succeeded", tool="now"), [RAIN], "failed", "now"),
        (check("result_matches", tool="get_weather", schema=needs("condition")), [RAIN], "passed", "condition"),
        (check("result_matches", tool="get_weather", schema=needs("wind")), [RAIN], "failed", "wind"),
        (check("result_matches", tool="get_weather", schema=needs("condition")), [FAILED], "failed", "succeeded"),
        (check("result_matches", tool="get_weather", schema={"type": "objekt"}), [RAIN], "failed", "broken"),
        (
            check("result_matches", tool="get_weather", schema={"$ref": "http://localhost/x"}),
            [RAIN],
            "failed",
            "broken",
        ),
        (check("slot_present", slot="city"), [], "passed", "is known"),
        (check("slot_present", slot="empty"), [], "failed", "not known"),
        (check("slot_present", slot="zero"), [], "passed", "is known"),
        (check("record_exists", record="a.txt"), [], "passed", "exists"),
        (check("record_exists", record="b.txt"), [], "failed", "does not exist"),
        (check("user_confirmed"), [], "failed", "not confirmed"),
    ],
)
def test_code_decides_on_evidence(asked: CheckView, given: list[Any], verdict: str, said: str) -> None:
    found = by_code(asked, given, slots={"city": "Xi'an", "empty": "", "zero": 0}, exists="a.txt".__eq__)
    assert found is not None and found.verdict == verdict and said in found.reason


def test_the_person_confirms() -> None:
    found = by_code(check("user_confirmed"), [], slots={}, confirmed=True)
    assert found is not None and found.verdict == "passed"


def test_a_record_that_nothing_can_look_for_is_not_said_to_be_missing() -> None:
    found = by_code(check("record_exists", record="a"), [], slots={})
    assert found is not None and found.verdict == "failed" and "nothing here can tell" in found.reason


def test_the_evidence_is_what_the_check_read_and_says_where_it_is_from() -> None:
    found = by_code(check("result_matches", tool="get_weather", schema=needs("condition")), [RAIN], slots={})
    assert found is not None and found.evidence == '{"condition": "rain"}' and found.call_id == RAIN.call_id


def test_an_older_result_that_fits_passes_when_the_newest_does_not() -> None:
    newer = evidence("get_weather", {"nothing": 1})
    found = by_code(check("result_matches", tool="get_weather", schema=needs("condition")), [RAIN, newer], slots={})
    assert found is not None and found.call_id == RAIN.call_id


def test_a_judge_is_asked_for_the_reason_first() -> None:
    question, schema = judge_question(check("judge", question="Is it of the right day?"), [RAIN])
    assert question == "Is it of the right day?" and next(iter(schema["properties"])) == "reason"
    assert by_code(check("judge", question="Is it of the right day?"), [RAIN], slots={}) is None


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"reason": "r", "verdict": "passed", "quotes": ['"condition": "rain"']}, "passed"),
        ({"reason": "r", "verdict": "passed", "quotes": ["Condition:  Rain"]}, "passed"),
        ({"reason": "r", "verdict": "passed", "quotes": "xi’an"}, "passed"),
        ({"reason": "r", "verdict": "failed", "quotes": ["rain"]}, "failed"),
        ({"reason": "r", "verdict": "passed", "quotes": ["rain", "sunny"]}, "failed"),
        ({"reason": "r", "verdict": "passed", "quotes": ["sunny"]}, "failed"),
        ({"reason": "r", "verdict": "passed", "quotes": "snow"}, "failed"),
        ({"reason": "r", "verdict": "passed", "quotes": []}, "failed"),
        ({"reason": "r", "verdict": "passed", "quotes": ["", '""', "a"]}, "failed"),
        ({"reason": "r", "verdict": "passed"}, "failed"),
        ({"reason": "r", "verdict": "PASSED!", "quotes": ["rain"]}, "failed"),
        ({}, "failed"),
    ],
)
def test_a_judge_must_quote_what_is_there(answer: dict[str, Any], verdict: str) -> None:
    assert from_judge(check("judge", question="q"), [RAIN], answer).verdict == verdict


def test_a_quote_across_lines_is_found_however_it_is_copied() -> None:
    text = evidence("read_file", {"text": 'first line\nsecond "line"'})
    for quote in ("first line\nsecond", "first line\\nsecond", 'second \\"line\\"', "second line"):
        assert from_judge(check("judge"), [text], {"verdict": "passed", "quotes": [quote]}).verdict == "passed"


def test_words_of_a_failed_call_prove_nothing() -> None:
    failed = evidence("get_weather", {"condition": "rain"}, succeeded=False)
    assert from_judge(check("judge"), [failed], {"verdict": "passed", "quotes": ["rain"]}).verdict == "failed"


@pytest.mark.parametrize(
    "schema", [needs("a"), {"type": "array", "minItems": 1}, {"properties": {"a": {"enum": [1, 2]}}}]
)
def test_a_plain_schema_is_usable(schema: dict[str, Any]) -> None:
    assert unusable(schema) == ""


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "objekt"},
        {"pattern": "(a+)+$"},
        {"$ref": "file:///etc/passwd"},
        {"enum": ["x" * 3_000]},
    ],
)
def test_a_schema_that_decides_nothing_or_may_harm_is_not(schema: dict[str, Any]) -> None:
    assert unusable(schema)
