"""The typed form of an approval: which field a schema gives, what comes back, where a fault stands.

schema, arguments, POST -> form -> arguments.  Touches: nothing (pure).
"""

import json
from typing import Annotated, Any, Literal

import pytest
from django import forms
from django.http import QueryDict
from pydantic import Field

from chat.approval_form import ArgsForm, faults, form_for
from chat.tools.contract import Args, Contract, Done, Tier, ToolContext


class Booking(Args):
    hotel: str = Field(min_length=1, max_length=40)
    check_in: Annotated[str, Field(json_schema_extra={"format": "date"}, pattern=r"^\d{4}-\d\d-\d\d$")]
    nights: int = Field(ge=1, le=30)
    room: Literal["suite", "standard"]
    price: float | None = Field(None, ge=0)
    quiet: bool = False
    request: str = Field("", max_length=2000)
    guests: list[str] = []
    ages: list[int] = Field([], max_length=2)
    extra: dict[str, Any] = {}


GONE = object()


async def run(args: Booking, ctx: ToolContext) -> Done:
    return Done(data={}, summary="")


BOOK = Contract(
    name="book",
    purpose="Books.",
    not_for="",
    args=Booking,
    run=run,
    tier=Tier.WRITE,
    returns={},
    returns_empty="",
    failures=(),
    cost="free",
    latency="",
    labels={"check_in": "From"},
)
ARGS: dict[str, Any] = {
    "hotel": "XA-204",
    "check_in": "2026-10-01",
    "nights": 2,
    "room": "suite",
    "price": 1960.0,
    "quiet": True,
    "request": "High floor\nquiet",
    "guests": ["Ann", "李雷"],
    "ages": [3],
    "extra": {"pillow": {"kind": "soft"}},
}


def posted(**changes: str | None) -> QueryDict:
    """What a browser sends for ARGS with some fields changed; None takes a field out (an empty check box)."""
    form = form_for(BOOK.schema(), ARGS, BOOK.labels)
    data = QueryDict(mutable=True)
    for name in form.fields:
        bound = form[name]
        value = bound.value()
        data[f"arg-{name}"] = "on" if value is True else str(value).replace("\n", "\r\n")
    for name, text in changes.items():
        if text is None:
            del data[f"arg-{name}"]
        else:
            data[f"arg-{name}"] = text
    return data


def form_with(**changes: str | None) -> ArgsForm:
    return form_for(BOOK.schema(), ARGS, BOOK.labels, posted(**changes))


@pytest.mark.parametrize(
    ("name", "widget", "kind"),
    [
        ("hotel", forms.TextInput, "text"),
        ("check_in", forms.DateInput, "date"),
        ("nights", forms.NumberInput, "number"),
        ("room", forms.Select, "select"),
        ("price", forms.NumberInput, "number"),
        ("quiet", forms.CheckboxInput, "checkbox"),
        ("request", forms.Textarea, ""),
        ("guests", forms.Textarea, ""),
        ("extra", forms.Textarea, ""),
    ],
)
def test_each_type_has_its_own_field(name: str, widget: type[forms.Widget], kind: str) -> None:
    field = form_for(BOOK.schema(), ARGS, BOOK.labels).fields[name]
    assert isinstance(field.widget, widget)
    assert getattr(field.widget, "input_type", "") == kind


def test_limits_and_labels_reach_the_page() -> None:
    html = str(form_for(BOOK.schema(), ARGS, BOOK.labels))
    assert 'min="1"' in html
    assert 'max="30"' in html
    assert 'maxlength="40"' in html
    assert ">From:</label>" in html
    assert "李雷" in html  # characters, not escapes


def test_an_untouched_form_gives_back_the_very_same_arguments() -> None:
    form = form_with()
    assert form.is_valid(), form.errors
    assert form.args() == ARGS
    assert isinstance(form.args()["nights"], int)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("hotel", " XA-9 ", " XA-9 "),
        ("check_in", "2026-10-02", "2026-10-02"),
        ("nights", "3", 3),
        ("room", '"standard"', "standard"),
        ("price", "99.5", 99.5),
        ("price", "", GONE),  # the contract's default then
        ("quiet", None, False),
        ("request", "one\r\ntwo", "one\ntwo"),
        ("request", "", ""),
        ("guests", "Zoë\r\n\r\n 李雷 ", ["Zoë", "李雷"]),
        ("guests", "", []),
        ("ages", "[4]", [4]),
        ("extra", '{"pillow": null}', {"pillow": None}),
    ],
)
def test_one_edited_field_changes_one_argument(name: str, text: str | None, value: Any) -> None:
    form = form_with(**{name: text})
    assert form.is_valid(), form.errors
    assert form.args() == {key: kept for key, kept in (ARGS | {name: value}).items() if kept is not GONE}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hotel", ""),
        ("hotel", "x" * 41),
        ("check_in", "1 October"),
        ("nights", "0"),
        ("nights", "31"),
        ("nights", "two"),
        ("room", '"penthouse"'),
        ("room", "penthouse"),
        ("price", "NaN"),
        ("price", "-1"),
        ("ages", "[1,"),
        ("extra", '{"a": NaN}'),
    ],
)
def test_a_fault_stands_at_its_field(name: str, text: str) -> None:
    form = form_with(**{name: text})
    assert not form.is_valid()
    assert list(form.errors) == [name]


def test_a_fault_only_the_contract_sees_stands_at_its_field() -> None:
    form = form_with(ages="[1, 2, 3]")
    assert form.is_valid()
    form.show_faults(faults(BOOK, form.args()))
    assert list(form.errors) == ["ages"]


def test_a_schema_from_outside_is_checked_by_the_schema() -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string", "pattern": "@"}}, "required": ["to"]}
    outside = Contract(**{**{f: getattr(BOOK, f) for f in BOOK.__dataclass_fields__}, "parameters": schema})
    assert list(faults(outside, {"to": "nobody"})) == ["to"]
    assert faults(outside, {"to": "a@b"}) == {}


def test_arguments_the_schema_does_not_know_are_shown_and_kept() -> None:
    form = form_for({}, {"path": "/tmp", "n": 1, "deep": {"a": 1}}, {})
    assert list(form.fields) == ["path", "n", "deep"]
    data = QueryDict(mutable=True)
    data.update({"arg-path": "/tmp", "arg-n": "2", "arg-deep": '{"a": 1}'})
    form = form_for({}, {"path": "/tmp", "n": 1, "deep": {"a": 1}}, {}, data)
    assert form.is_valid()
    assert form.args() == {"path": "/tmp", "n": 2, "deep": {"a": 1}}


def test_a_list_that_lines_cannot_tell_is_edited_as_json() -> None:
    schema = {"properties": {"parts": {"type": "array", "items": {"type": "string"}}}}
    form = form_for(schema, {"parts": ["one\ntwo", " three"]}, {})
    assert form["parts"].value() == json.dumps(["one\ntwo", " three"], indent=2)


def test_an_option_may_be_a_number_and_stays_one() -> None:
    schema = {"properties": {"size": {"enum": [1, "1", 2]}}, "required": ["size"]}
    data = QueryDict(mutable=True)
    data["arg-size"] = '"1"'
    form = form_for(schema, {"size": 1}, {}, data)
    assert form.is_valid()
    assert form.args() == {"size": "1"}


def test_hostile_labels_and_values_are_text() -> None:
    html = str(
        form_for(
            {"properties": {"a": {"type": "string", "description": "<b>x</b>"}}}, {"a": '"><script>'}, {"a": "<i>"}
        )
    )
    assert "<script>" not in html
    assert "<i>" not in html
    assert "<b>" not in html
