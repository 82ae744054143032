"""What the model or a person proposes as a plan, read as it was meant.

JSON -> PlanDraft.  Touches: nothing (pure).

A small model writes sloppy drafts. Shapes that have one meaning are read here; slips that need the tools to be seen are
mended in slips.py; what is left is a fault, told in words that can be acted on (faults.py).
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

CheckKind = Literal["tool_succeeded", "result_matches", "slot_present", "record_exists", "user_confirmed", "judge"]
KINDS = ("tool_succeeded", "result_matches", "slot_present", "record_exists", "user_confirmed", "judge")
# What tells the kind when it was left out or called something else.
KIND_OF = {"schema": "result_matches", "slot": "slot_present", "record": "record_exists", "question": "judge"}
TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}
SCHEMA_WORDS = {
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "anyOf",
    "allOf",
    "oneOf",
    "not",
    "minItems",
}
SCHEMA_WORDS |= {
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "maxItems",
    "contains",
    "minProperties",
    "$ref",
    "pattern",
}
TITLES = ("title", "name", "step", "description", "task", "action", "goal")


class CheckDraft(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)
    kind: CheckKind
    tool: str = ""
    json_schema: dict[str, Any] = Field(default_factory=dict, alias="schema")
    slot: str = ""
    record: str = ""
    question: str = ""

    @model_validator(mode="before")
    @classmethod
    def _lenient(cls, data: Any) -> Any:
        """A kind left out, or "success" for it, follows from what is given beside it."""
        if not isinstance(data, Mapping):
            return data
        given = {str(name): value for name, value in data.items() if value is not None}
        if given.get("kind") not in KINDS:
            given["kind"] = next((kind for name, kind in KIND_OF.items() if given.get(name)), "tool_succeeded")
        return given

    @field_validator("json_schema", mode="before")
    @classmethod
    def _schema(cls, value: Any) -> Any:
        """ "{"order_id": "string"}" and "["order_id"]" ask for fields; as a schema they would accept anything."""
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            return {"type": "object", "required": value}
        if isinstance(value, Mapping) and value and not SCHEMA_WORDS & set(value):
            kinds = {name: {"type": kind} for name, kind in value.items() if kind in TYPES}
            return {"type": "object", "required": list(value), "properties": kinds}
        return value

    def params(self) -> dict[str, Any]:
        given = {
            "tool": self.tool,
            "schema": self.json_schema,
            "slot": self.slot,
            "record": self.record,
            "question": self.question,
        }
        return {name: value for name, value in given.items() if value}


class StepDraft(BaseModel):
    model_config = ConfigDict(extra="ignore")
    title: str = ""
    tool: str = ""
    also: list[str] = Field(default_factory=list)  # further tools: a step is about one, two are borne
    after: list[int] | None = None  # numbers of steps, from 1; None: the step before
    checks: list[CheckDraft] = Field(default_factory=list)
    # {"condition": key}: carries out whichever branch holds; with "branch" (yes, no): runs only in that one.
    when: dict[str, str] = Field(default_factory=dict)
    key: str = ""  # of the step it continues

    @model_validator(mode="before")
    @classmethod
    def _lenient(cls, data: Any) -> Any:
        """A sentence alone, a tool given as a list, a check given alone: one meaning, so read as meant."""
        if isinstance(data, str):
            return {"title": data}
        if not isinstance(data, Mapping):
            return data
        given = {str(name): value for name, value in data.items()}
        tools = _tools(given.get("tools") or given.get("tool"))
        given |= {"tool": tools[0] if tools else "", "also": given.get("also") or tools[1:]}
        given["title"] = next((given[name] for name in TITLES if isinstance(given.get(name), str) and given[name]), "")
        checks = given.get("checks") or given.get("check") or []
        given["checks"] = _checks(checks if isinstance(checks, list) else [checks])
        if "after" in given or "depends_on" in given:
            given["after"] = _numbers(given.get("after", given.get("depends_on")))
        return given

    @field_validator("title", "tool", mode="before")
    @classmethod
    def _text(cls, value: Any) -> str:
        return re.sub(r"\s+", " ", str(value or "")).strip()

    @field_validator("when", mode="before")
    @classmethod
    def _when(cls, value: Any) -> Any:
        """ "yes 1", "no 2", "1: yes"; free text says nothing that code can follow."""
        if isinstance(value, Mapping):
            return {str(name): str(item) for name, item in value.items() if item}
        found = re.fullmatch(r"\W*(?:(yes|no)\W*c?(\d)|c?(\d)\W*(yes|no))\W*", str(value or "").strip().lower())
        if not found:
            return {}
        return {"condition": f"c{found[2] or found[3]}", "branch": found[1] or found[4]}


class ConditionDraft(BaseModel):
    model_config = ConfigDict(extra="ignore")
    question: str
    if_yes: str = ""
    if_no: str = ""
    rule: str = ""  # the words of the goal that hold it
    decided_by: int | None = None  # number of the step whose result decides it


class PlanDraft(BaseModel):
    model_config = ConfigDict(extra="ignore")
    steps: list[StepDraft] = Field(default_factory=list)
    conditions: list[ConditionDraft] = Field(default_factory=list)

    @field_validator("steps", "conditions", mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        """A list written as JSON text, one item without its list, or none."""
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return [line.strip(" -*\t") for line in value.splitlines() if line.strip(" -*\t")]
        if value is None:
            return []
        return [value] if isinstance(value, Mapping) else value


def waits_for(steps: Sequence[StepDraft], number: int) -> list[int]:
    """The numbers of the steps that step `number` waits for; by default the one before it."""
    after = steps[number - 1].after
    if after is None:
        return [number - 1] if number > 1 else []
    return sorted({n for n in after if n > 0})


def _tools(value: Any) -> list[str]:
    """ "get_weather", ["get_weather"], {"name": "get_weather"}, "get_weather(city)"."""
    items = value if isinstance(value, list) else [value]
    names = [str(item.get("name", "")) if isinstance(item, Mapping) else str(item or "") for item in items]
    return [name for name in (re.sub(r"\(.*$|^functions?\.", "", name.strip()).strip() for name in names) if name]


def _checks(items: Sequence[Any]) -> list[Any]:
    """A check in free words decides nothing; the tool's own checks stand. A question is one for the judge."""
    found: list[Any] = []
    for item in items:
        if isinstance(item, str):
            text = item.strip()
            if text in KINDS:
                found.append({"kind": text})
            elif text.endswith(("?", "？")):
                found.append({"kind": "judge", "question": text})
        elif item:
            found.append(item)
    return found


def _numbers(value: Any) -> list[int] | None:
    """ "2", "step 2", ["2"], 2: numbers of steps. None means the step before."""
    if value is None:
        return None
    items = value if isinstance(value, list) else [value]
    found = [re.search(r"\d+", str(item)) for item in items]
    return [int(match.group()) for match in found if match]
