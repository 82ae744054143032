"""An incomplete contract is refused at start-up, and what the model reads of one stays short.

Touches: nothing (pure).
"""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import Field

from chat.checks import check_tools, faults
from chat.tools import describe, registry
from chat.tools.contract import Args, Tier, digest

GOOD = registry.builtin()["write_file"]


class Unlimited(Args):
    text: str = Field(description="anything")


def test_every_tool_that_ships_is_complete() -> None:
    assert check_tools(None) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"purpose": " "}, "purpose"),
        ({"not_for": ""}, "not_for"),
        ({"cost": ""}, "cost"),
        ({"latency": ""}, "latency"),
        ({"returns_empty": ""}, "returns_empty"),
        ({"failures": ()}, "advice"),
        ({"effect": None}, "effect"),
        ({"tier": Tier.EXPENSIVE, "quota": 0}, "quota"),
        ({"timeout": 0}, "timeout"),
        ({"args": Unlimited}, "limit"),
        ({"returns": {"type": 7}}, "JSON Schema"),
        ({"needs": ("nothing_such",)}, "nothing_such"),
    ],
)
def test_an_incomplete_contract_is_refused(change: dict[str, Any], said: str) -> None:
    assert any(said in fault for fault in faults(replace(GOOD, **change)))


@pytest.mark.parametrize("name", sorted(registry.builtin()))
def test_what_the_model_reads_of_a_tool_is_short(name: str) -> None:
    most = 400 if name in {"set_plan", "revise_plan"} else 230
    assert describe.tokens(registry.builtin()[name]) <= most


def test_the_digest_changes_with_tool_version_and_arguments_and_not_with_their_order() -> None:
    base = digest("t", "1", {"a": 1, "b": 2})
    assert base == digest("t", "1", {"b": 2, "a": 1})
    assert (
        len({base, digest("u", "1", {"a": 1, "b": 2}), digest("t", "2", {"a": 1, "b": 2}), digest("t", "1", {"a": 2})})
        == 4
    )


def test_the_version_changes_when_the_model_or_the_person_would_read_something_else() -> None:
    assert GOOD.version == replace(GOOD).version
    assert GOOD.version != replace(GOOD, purpose="Something else.").version
