"""The days that a text names, as a table.

Touches: nothing (pure).
"""

from datetime import date

import pytest

from chat.days import days_in
from chat.loop import observe

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Two nights from October 1.", [("October 1", "2027-10-01")]),
        ("西安10月2日住两晚", [("10月2日", "2027-10-02")]),
        ("from 5th of December to 2026-12-07", [("5th of December", "2026-12-05"), ("2026-12-07", "2026-12-07")]),
        ("明天 or the day after tomorrow", [("明天", "2026-12-01"), ("day after tomorrow", "2026-12-02")]),
        ("on February 30, for 3 people", []),
    ],
)
def test_words_and_the_days_they_mean(text: str, named: list[tuple[str, str]]) -> None:
    assert [(words, str(day)) for words, day in days_in(text, TODAY)] == named


def test_the_model_reads_the_days_of_the_task_or_else_today() -> None:
    said = observe._today("西安10月2日住两晚。10月2日")
    assert said.startswith("Dates in the task: 10月2日 = 20") and said.endswith("-10-02") and said.count("=") == 1
    assert observe._today("Book it for 2031-10-02") == "Dates in the task: 2031-10-02"
    assert observe._today("Save a note").startswith("Today: ")
