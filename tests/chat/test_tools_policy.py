"""What may run, what must ask, and what a standing permission covers; staff may only tighten.

Touches: settings.
"""

from dataclasses import replace
from typing import Any

import pytest

from chat.tools import policy, registry
from chat.tools.contract import Tier
from chat.tools.travel import YEAR

BOOK = registry.builtin()["book_hotel"]
WEATHER = registry.builtin()["get_weather"]
ARGS = {"hotel_id": "XA-204", "date_from": f"{YEAR}-10-01", "nights": 2, "room": "suite", "wishes": ["quiet"]}


@pytest.mark.parametrize(
    ("constraints", "covered"),
    [
        ({}, True),
        ({"room": "suite"}, True),
        ({"room": "suite", "nights": 2, "wishes": ["quiet"]}, True),
        ({"room": "standard"}, False),
        ({"room": "Suite"}, False),
        ({"nights": 3}, False),
        ({"nights": "2"}, False),
        ({"nights": 2.0}, False),
        ({"nights": True}, False),
        ({"wishes": []}, False),
        ({"wishes": ["quiet", "high"]}, False),
        ({"nothing_such": None}, False),
        ({"room": None}, False),
    ],
)
def test_a_standing_permission_covers_exactly_what_was_fixed(constraints: dict[str, Any], covered: bool) -> None:
    assert policy.allowed_by_grant(BOOK, ARGS, constraints) is covered


def test_true_is_not_one_within_a_value() -> None:
    assert not policy.allowed_by_grant(BOOK, {"a": {"b": [1]}}, {"a": {"b": [True]}})


@pytest.mark.parametrize("names", [["book_hotel"], ["book_*"], ["*"], ["x", "book_hotel"]])
@pytest.mark.parametrize("setting", ["AGENT_DENY_TOOLS", "AGENT_ASK_TOOLS"])
def test_staff_take_a_standing_permission_back(settings: Any, setting: str, names: list[str]) -> None:
    setattr(settings, setting, names)
    assert not policy.allowed_by_grant(BOOK, ARGS, {})


@pytest.mark.django_db
def test_a_tool_that_is_switched_off_is_not_there_and_the_loops_own_stay(settings: Any) -> None:
    settings.AGENT_DENY_TOOLS = ["book_*", "finish", "web_*"]
    assert policy.denied(BOOK) and not policy.denied(WEATHER)
    assert not policy.denied(registry.builtin()["finish"])
    assert "book_hotel" not in registry.business() and "get_weather" in registry.business()


def test_a_read_asks_when_staff_want_it(settings: Any) -> None:
    assert policy.asks(BOOK, ARGS) and not policy.asks(WEATHER, {})
    settings.AGENT_ASK_TOOLS = ["get_weather"]
    assert policy.asks(WEATHER, {})


@pytest.mark.parametrize(
    ("price", "spent", "asks"),
    [(0.01, 0.0, False), (0.05, 0.0, False), (0.06, 0.0, True), (0.02, 0.04, True), (None, 0.0, True)],
)
def test_an_expensive_call_asks_above_the_threshold(price: float | None, spent: float, asks: bool) -> None:
    dear = replace(BOOK, tier=Tier.EXPENSIVE, price=None if price is None else lambda args: price)
    assert policy.asks(dear, ARGS, spent=spent) is asks


def test_an_expensive_call_whose_price_cannot_be_told_asks() -> None:
    dear = replace(BOOK, tier=Tier.EXPENSIVE, price=lambda args: args.nothing_such)
    assert policy.asks(dear, ARGS)
