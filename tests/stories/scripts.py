"""Replies that the stories share.

Touches: nothing (pure).
"""

from itertools import takewhile
from typing import Any

from chat.llm.scripted import call, structured
from chat.tools.travel import YEAR

PLAN = call(
    "set_plan",
    steps=[
        {"title": "Check the weather in Xi'an", "tool": "get_weather"},
        {"title": "Find hotels", "tool": "search_hotels"},
        {"title": "Book the room: a suite or a standard room", "tool": "book_hotel"},
    ],
    conditions=[{"question": "Does it rain?", "if_yes": "book a suite", "if_no": "a standard room"}],
)
HOTELS = call("search_hotels", city="Xi'an", date_from=f"{YEAR}-10-01", nights=2)


def weather(day: int = 1) -> Any:
    return call("get_weather", city="Xi'an", date=f"{YEAR}-10-0{day}")


def book(room: str, day: int = 1, hotel: str = "XA-204") -> Any:
    return call("book_hotel", hotel_id=hotel, date_from=f"{YEAR}-10-0{day}", nights=2, room=room)


def finish(answer: str) -> Any:
    return call("finish", answer=answer)


def plan(*steps: tuple[str, str], **more: Any) -> Any:
    """set_plan with (title, tool) steps."""
    return call("set_plan", steps=[{"title": title, "tool": tool} for title, tool in steps], **more)


YES = structured({"quote": "rain", "answer": "yes"})
NO = structured({"quote": "sunny", "answer": "no"})


def kept_prefix(before: str, after: str) -> float:
    """The share of a request that the next one begins with."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    return sum(1 for _pair in same) / len(before)
