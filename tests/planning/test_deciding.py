"""Conditions that code decides, and those it must leave alone.

Touches: nothing (pure).
"""

from typing import Any
from uuid import uuid4

import pytest

from planning.conditions import by_code, passage
from planning.types import ConditionView, Evidence


def asked(question: str) -> ConditionView:
    return ConditionView(
        key="c1", question=question, then="", otherwise="", rule="", decided_by="", status="open", follows="", quote=""
    )


def said(result: Any, *, succeeded: bool = True, **args: Any) -> Evidence:
    return Evidence(call_id=uuid4(), tool="t", succeeded=succeeded, result=result, args=args)


RAIN = {"city": "Xi'an", "date": "2026-10-01", "condition": "rain", "temperature_c": 14}
SUN = {"city": "Xi'an", "date": "2026-10-02", "condition": "sunny", "temperature_c": 21}
NOTE = {"path": "note.txt", "text": "Please call back, it is urgent. 加急!"}

DECIDED = [
    # a comparison with the one number of the evidence
    ("Is the result greater than 400?", {"expression": "17 * 24", "value": 408}, "yes"),
    ("Is the result greater than 400?", {"expression": "17 * 23", "value": 391}, "no"),
    ("Is the result greater than 408?", 408, "no"),
    ("Is the result at least 408?", 408, "yes"),
    ("Is 17 * 24 greater than 400?", {"expression": "17 * 24", "value": 408}, "yes"),
    ("Is the result more than 1,000?", {"value": 999.5}, "no"),
    ("Is the result no more than 400?", {"value": 400}, "yes"),
    ("Is the result not greater than 400?", {"value": 408}, "no"),
    ("Is the result 400 or more?", {"value": 400}, "yes"),
    ("Is it true that the result > 400?", {"value": 401}, "yes"),
    ("Does the total exceed 2 million?", {"total": 1_999_999}, "no"),
    ("Is the result less than or equal to 5?", {"value": 5}, "yes"),
    ("Is the result equal to 42?", {"value": 42}, "yes"),
    ("Is the temperature above 20 degrees?", SUN, "yes"),
    ("Is the temperature above 20 degrees?", RAIN, "no"),
    ("Is the price over $100?", {"price": 99, "rating": 4.5}, "no"),
    ("结果大于400吗？", {"value": 408}, "yes"),
    ("结果是否超过400？", {"value": 391}, "no"),
    ("结果不少于400吗？", {"value": 400}, "yes"),
    ("结果在400以上吗？", {"value": 399}, "no"),
    ("结果大于等于400吗？", {"value": 400}, "yes"),
    ("气温低于10度吗？", {"temperature_c": 3, "humidity": 80}, "yes"),
    ("总数超过3万吗？", {"total": 29_000}, "no"),
    # a word looked for
    ("Does it contain the word urgent?", NOTE, "yes"),
    ("Does note.txt contain 'urgent'?", NOTE, "yes"),
    ("Does the note mention 'holiday'?", NOTE, "no"),
    ("文件里包含“加急”吗？", NOTE, "yes"),
    ("包含urgent吗？", NOTE, "yes"),
    ("Does the subject contain 'urgent'?", {"subject": "hello", "body": "urgent"}, "no"),
    # a yes/no field, and words that exclude each other
    ("Is the room available?", {"room": "suite", "available": True}, "yes"),
    ("Is breakfast included?", {"breakfast_included": False, "pool": True}, "no"),
    ("Does it rain?", RAIN, "yes"),
    ("Will it rain in Xi'an on October 1?", RAIN, "yes"),
    ("Is it raining?", SUN, "no"),
    ("Is it sunny?", RAIN, "no"),
    ("下雨吗？", RAIN, "yes"),
    ("下雨吗？", {"天气": "x", "weather": "晴"}, "no"),
    ("天晴吗？", SUN, "yes"),
    ("会不会下雨？", SUN, "no"),
    ("Is the museum open?", {"status": "closed"}, "no"),
    ("Is it available?", {"status": "available"}, "yes"),
]

LEFT_ALONE = [
    ("Is the result not 408?", {"value": 408}),
    ("Is it not sunny?", SUN),
    ("不下雨吗？", RAIN),
    ("Is the result greater than 400 and even?", {"value": 408}),
    ("Does it rain or snow?", RAIN),
    ("Is it between 5 and 10?", {"value": 7}),
    ("Is the result greater than four hundred?", {"value": 408}),
    ("Is the result greater than the one before?", {"value": 408}),
    ("Is the discount above 5%?", {"discount": 0.06}),
    ("Is the price over 100 dollars?", {"price_eur": 120}),
    ("Is the temperature above 70 °F?", {"temperature_c": 21}),
    ("Is the price over 100?", {"count": 120}),
    ("Is the result greater than 400?", RAIN),
    ("Is the result greater than 400?", {"first": {"value": 1}, "second": {"value": 900}}),
    ("Is the room cheaper than 500?", {"hotels": [{"price": 400}, {"price": 600}]}),
    ("Is it later than 2026-10-01?", {"date": "2026-10-02"}),
    ("Is the tone friendly?", NOTE),
    ("Does the note contain 'urge'?", NOTE),  # part of a longer word: who knows what is meant
    ("Does it contain 'note'?", NOTE),  # only the path has it
    ("Does the note contain 'holiday'?", {"text": "Dear all", "truncated": True}),
    ("Does the note contain 'holiday'?", "Dear all …"),
    ("Does every line contain 'a'?", {"text": "a\nb"}),
    ("Does it rain?", {"condition": "rain, later clear"}),
    ("Is it sunny?", {"condition": "partly sunny"}),
    ("Does it rain?", {"condition": "chance of rain"}),
    ("Does it rain?", {"condition": "no rain"}),
    ("下雨吗？", {"condition": "晴转小雨"}),
    ("Does it rain?", {"condition": "fog"}),
    ("Is it sunny?", {"hotels": [{"name": "Sunny Inn"}]}),
    ("Is the room available?", {"rooms": [{"available": True}, {"available": False}]}),
    ("Is it the best hotel?", {"value": 1}),
    ("Does it rain?", None),
]


@pytest.mark.parametrize(("question", "result", "answer"), DECIDED)
def test_code_decides_what_is_plain(question: str, result: Any, answer: str) -> None:
    found = by_code(asked(question), [said(result)])
    assert found is not None and found[0] == answer and found[1]


@pytest.mark.parametrize(("question", "result"), LEFT_ALONE)
def test_code_leaves_alone_what_it_cannot_be_sure_of(question: str, result: Any) -> None:
    assert by_code(asked(question), [said(result)]) is None


def test_a_call_that_failed_decides_nothing() -> None:
    assert by_code(asked("Does it rain?"), [said(RAIN, succeeded=False)]) is None
    assert by_code(asked("Does it rain?"), []) is None


def test_evidence_that_says_both_decides_nothing_unless_the_question_names_the_day() -> None:
    both = [said(RAIN, date="2026-10-01"), said(SUN, date="2026-10-02")]
    assert by_code(asked("Does it rain?"), both) is None
    assert by_code(asked("Does it rain on October 2?"), both) == ("no", "sunny")
    assert by_code(asked("10月1日下雨吗？"), both) == ("yes", "rain")
    assert by_code(asked("Does it rain on October 3?"), both) is None


def test_a_forecast_of_several_days_is_read_for_the_day_asked() -> None:
    week = {"days": [{"date": "2026-10-01", "condition": "rain"}, {"date": "2026-10-02", "condition": "sunny"}]}
    assert by_code(asked("Is it sunny on 2026-10-02?"), [said(week)]) == ("yes", "sunny")
    assert by_code(asked("Is it sunny?"), [said(week)]) is None


def test_the_quote_says_what_was_compared() -> None:
    assert by_code(asked("Is the result greater than 400?"), [said({"value": 391})]) == ("no", "391 is not > 400")
    assert by_code(asked("结果大于400吗？"), [said({"value": 1234567.5})]) == ("yes", "1234567.5 > 400")


@pytest.mark.parametrize(
    ("question", "result", "words"),
    [
        ("Does it rain?", RAIN, "condition: rain"),
        ("明天下雨吗？", SUN, "condition: sunny"),
        ("Is the call urgent?", NOTE, "text: Please call back, it is urgent. 加急!"),
        ("Is it nice?", "plain text", "plain text"),
        ("Is it nice?", {}, ""),
    ],
)
def test_the_passage_nearest_to_a_question(question: str, result: Any, words: str) -> None:
    assert passage(question, [said(result)]) == words
    assert passage(question, [said(result, succeeded=False)]) == ""
