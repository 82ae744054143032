"""From what a model gave to what will run: slips with one meaning are mended and noted, the rest is explained.

Touches: nothing (pure).
"""

from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from chat.errors import ModelMistake
from chat.tools import arguments, registry
from chat.tools.contract import Args, Contract
from chat.tools.travel import YEAR


class Inner(Args):
    size: int = Field(ge=1, le=9)
    kind: Literal["big", "small"] = "small"


class Sample(Args):
    count: int = Field(1, ge=1, le=5000)
    price: float = 1.0
    loud: bool = False
    names: list[str] = Field(default_factory=list)
    codes: list[int] = Field(default_factory=list)
    room: Literal["suite", "standard", "Deluxe Room"] = "standard"
    label: str = Field("x", max_length=50)
    note: str | None = None
    parts: list[Inner] = Field(default_factory=list)
    extra: dict[str, Any] = Field(default_factory=dict)


BY_MODEL = replace(registry.builtin()["calculate"], name="sample", args=Sample)
# The same by JSON Schema alone, as a tool from outside comes.
BY_SCHEMA = replace(BY_MODEL, args=Args, parameters=Sample.model_json_schema())


@pytest.fixture(params=["model", "schema"])
def contract(request: pytest.FixtureRequest) -> Contract:
    return BY_MODEL if request.param == "model" else BY_SCHEMA


@pytest.mark.parametrize(
    ("slip", "name", "meant"),
    [
        ({"count": "2"}, "count", 2),
        ({"count": " 2 "}, "count", 2),
        ({"count": "2.0"}, "count", 2),
        ({"count": 2.0}, "count", 2),
        ({"count": "２"}, "count", 2),
        ({"count": "1,200"}, "count", 1200),
        ({"count": [3]}, "count", 3),
        ({"price": "12.50"}, "price", 12.5),
        ({"price": "1,234.5"}, "price", 1234.5),
        ({"loud": "True"}, "loud", True),
        ({"loud": "no"}, "loud", False),
        ({"loud": "是"}, "loud", True),
        ({"names": '["a", "b"]'}, "names", ["a", "b"]),
        ({"names": "a"}, "names", ["a"]),
        ({"names": '"[\\"a\\"]"'}, "names", ["a"]),
        ({"codes": '[1, "2"]'}, "codes", [1, 2]),
        ({"codes": ["1", 2.0]}, "codes", [1, 2]),
        ({"room": "SUITE"}, "room", "suite"),
        ({"room": " suite "}, "room", "suite"),
        ({"room": "ｓｕｉｔｅ"}, "room", "suite"),
        ({"room": "deluxe_room"}, "room", "Deluxe Room"),
        ({"room": ["suite"]}, "room", "suite"),
        ({"label": 204}, "label", "204"),
        ({"Label": "y"}, "label", "y"),
        ({"parts": '[{"size": "2", "kind": "big"}]'}, "parts", [{"size": 2, "kind": "big"}]),
        ({"parts": [{"Size": 2, "kind": "BIG"}]}, "parts", [{"size": 2, "kind": "big"}]),
        ({"extra": '{"a": {"b": [1]}}'}, "extra", {"a": {"b": [1]}}),
        ({"args": {"count": 2}}, "count", 2),
        ({"arguments": '{"count": 2}'}, "count", 2),
    ],
)
def test_a_slip_with_one_meaning_is_mended_and_noted(
    contract: Contract, slip: dict[str, Any], name: str, meant: Any
) -> None:
    found = arguments.effective(contract, slip)
    assert found.args[name] == meant and type(found.args[name]) is type(meant) and found.notes


@pytest.mark.parametrize(
    "exact",
    [
        {"count": 2, "price": 1.5, "loud": True, "names": ["a", "[b]"], "room": "suite"},
        {"label": "1,200"},
        {"label": "true"},
        {"names": ["1", "null"]},
        {"extra": {"args": {"x": "1"}}},
        {},
    ],
)
def test_what_is_right_is_left_alone(contract: Contract, exact: dict[str, Any]) -> None:
    found = arguments.effective(contract, exact)
    assert found.notes == () and {name: found.args[name] for name in exact} == exact


def test_defaults_are_part_of_what_is_approved(contract: Contract) -> None:
    args = arguments.effective(contract, {}).args
    assert args["count"] == 1 and args["room"] == "standard"


@pytest.mark.parametrize("nothing", ["note", "count"])
def test_null_for_an_optional_argument_is_its_default(contract: Contract, nothing: str) -> None:
    args = arguments.effective(contract, {nothing: None}).args
    assert args.get("count") == 1 and args.get("note") is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"count": "two"}, ["count", "two", "example"]),
        ({"count": 2.5}, ["count", "2.5"]),
        ({"count": "1.200,5"}, ["count", "1.200,5"]),
        ({"count": 99_999}, ["count", "5000"]),
        ({"room": "cave"}, ["room", "cave", "suite", "standard"]),
        ({"loud": "maybe"}, ["loud", "maybe"]),
        ({"codes": ["x"]}, ["codes.0", "x"]),
        ({"parts": [{"size": 0}]}, ["parts.0.size"]),
        ({"parts": [{}]}, ["size", "missing"]),
        ({"spy": 1}, ["spy", "no such argument", "count"]),
        ({"extra": "[1]"}, ["extra"]),
        ({"names": {"a": 1}}, ["names"]),
    ],
)
def test_what_would_need_a_guess_is_explained(contract: Contract, wrong: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ModelMistake) as fault:
        arguments.effective(contract, wrong)
    for word in words:
        assert word in str(fault.value)


def test_a_missing_argument_is_explained_with_its_meaning() -> None:
    with pytest.raises(ModelMistake, match=r"hotel_id is missing \(from search_hotels\)"):
        arguments.effective(registry.builtin()["book_hotel"], {})


def test_a_date_that_the_tool_read_is_noted() -> None:
    found = arguments.effective(registry.builtin()["get_weather"], {"city": "西安", "date": "10月1日"})
    assert found.args["date"] == f"{YEAR}-10-01" and "10月1日" in found.notes[0]


@pytest.mark.parametrize("text", ["2026-10-01T00:00:00", "October 1, 2026", "2026年10月1日", "1 Oct 2026"])
def test_a_date_in_another_form_is_read_by_the_schema_alone(text: str) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
    found = arguments.effective(replace(BY_SCHEMA, parameters=schema), {"day": text})
    assert found.args["day"] == "2026-10-01" and found.notes


@pytest.mark.parametrize("text", ["10-01", "10/01/2026", "01.10.26", "tomorrow"])
def test_a_date_with_two_meanings_is_not_read(text: str) -> None:
    schema = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
    assert arguments.effective(replace(BY_SCHEMA, parameters=schema), {"day": text}).args["day"] == text


def test_a_tool_from_outside_that_takes_any_name_gets_it() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True}
    assert arguments.effective(replace(BY_SCHEMA, parameters=schema), {"b": 1}).args == {"b": 1}


def test_many_faults_are_one_short_message(contract: Contract) -> None:
    with pytest.raises(ModelMistake) as fault:
        arguments.effective(contract, {f"x{number}" * 50: "y" * 10_000 for number in range(500)})
    assert "and 492 more" in str(fault.value) and len(str(fault.value)) < 4_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from([*Sample.model_fields, "args", "Room", "?"]), JSON, max_size=5))
def test_anything_is_either_valid_or_explained(proposed: dict[str, Any]) -> None:
    """And what is valid is a fixed point: the same arguments again are left as they are."""
    for one in (BY_MODEL, BY_SCHEMA):
        try:
            found = arguments.effective(one, proposed)
        except ModelMistake as mistake:
            assert str(mistake).startswith("The arguments of sample do not fit.")
        else:
            assert arguments.effective(one, found.args).args == found.args
