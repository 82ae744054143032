"""The tasks a real model is measured on, each with its twin, and what counts as success.

Touches: nothing (pure).
"""

from dataclasses import dataclass
from typing import Any

from chat.tools.travel import YEAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Success: exactly the one write call, with these arguments, ran; and the turn finished."""

    name: str
    text: str
    tool: str
    args: dict[str, Any]  # must be among the effective arguments of the call that ran


TRAVEL_EN = "Two nights in Xi'an from October {day}. Check that day's weather first; if it rains book a suite, otherwise a standard room."
TRAVEL_ZH = "西安10月{day}日住两晚。先查当天天气，下雨订suite，否则订standard。"
SAVE_EN = "Work out 17 * {factor}. If the result is greater than 400, save the word big to result.txt, otherwise save the word small to result.txt."
SAVE_ZH = "计算17*{factor}。如果结果大于400，就把单词big存到result.txt，否则把单词small存到result.txt。"


def _travel(name: str, text: str, day: int, room: str) -> Task:
    args = {"date_from": f"{YEAR}-10-0{day}", "nights": 2, "room": room}
    return Task(name=name, text=text.format(day=day), tool="book_hotel", args=args)


def _save(name: str, text: str, factor: int, word: str) -> Task:
    return Task(
        name=name, text=text.format(factor=factor), tool="write_file", args={"path": "result.txt", "content": word}
    )


TASKS = (
    _travel("travel-en-rain", TRAVEL_EN, 1, "suite"),
    _travel("travel-en-sun", TRAVEL_EN, 2, "standard"),
    _travel("travel-zh-rain", TRAVEL_ZH, 1, "suite"),
    _travel("travel-zh-sun", TRAVEL_ZH, 2, "standard"),
    _save("save-en-small", SAVE_EN, 23, "small"),
    _save("save-en-big", SAVE_EN, 24, "big"),
    _save("save-zh-small", SAVE_ZH, 23, "small"),
    _save("save-zh-big", SAVE_ZH, 24, "big"),
)
