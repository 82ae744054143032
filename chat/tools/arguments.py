"""From the arguments a model gave to the effective ones, or why they cannot be used.

Contract, proposed -> Effective.  Touches: nothing (pure).

Slips with one meaning are mended (repair.py) and noted; the rest is explained field by field.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError as SchemaError
from pydantic import ValidationError

from chat.errors import ModelMistake
from chat.tools import repair
from chat.tools.contract import Contract

FAULTS = 8  # told at once
SHOWN = 80  # characters of what was given
KINDS = {"integer": "a whole number", "number": "a number", "string": "text", "boolean": "true or false",
         "array": "a list", "object": "an object", "null": "nothing"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    args: dict[str, Any]  # validated, defaults filled in, JSON
    notes: tuple[str, ...] = ()  # what was normalised


def effective(contract: Contract, proposed: Mapping[str, Any]) -> Effective:
    """Raises ModelMistake with an explanation for each field that is wrong."""
    notes: list[str] = []
    given = repair.repaired(contract.schema(), proposed, notes)
    args = _by_schema(contract, given) if contract.parameters is not None else _by_model(contract, given, notes)
    return Effective(args=args, notes=tuple(notes))


def _by_model(contract: Contract, given: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    try:
        model = contract.args.model_validate(given)
    except ValidationError as fault:
        raise ModelMistake(_explained(contract, list(_of_model(contract, fault)))) from fault
    args = model.model_dump(mode="json")
    for name, value in given.items():
        # What the contract's own validators read otherwise, such as a date without its year.
        if isinstance(value, str) and name in args and value.strip() != args[name]:
            notes.append(repair.note(name, value, args[name]))
    return args


def _by_schema(contract: Contract, given: dict[str, Any]) -> dict[str, Any]:
    """A contract from outside has no model: its JSON Schema is all there is."""
    schema = contract.schema()
    known = schema.get("properties") or {}
    defaults = {
        name: prop["default"] for name, prop in known.items() if isinstance(prop, Mapping) and "default" in prop
    }
    args = {**defaults, **given}
    errors = [error for error in Draft202012Validator(schema).iter_errors(args) if not _about_names(error)]
    found = [_of_schema(error) for error in errors]
    # Where a schema says nothing of other names, one is the model's invention more often than not.
    if not schema.get("additionalProperties", not known):
        found += [_stranger(contract, name) for name in args if name not in known]
    if found:
        raise ModelMistake(_explained(contract, found))
    return args


# ---- explanations: which field, what is allowed, what was given, an example ----------------------------


def _explained(contract: Contract, lines: list[str]) -> str:
    if len(lines) > FAULTS:
        lines = [*lines[:FAULTS], f"and {len(lines) - FAULTS} more"]
    text = "; ".join(lines)
    return f"The arguments of {contract.name} do not fit. {text}. Call it again with all of these mended."


def _of_model(contract: Contract, fault: ValidationError) -> Iterator[str]:
    for error in fault.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in error["loc"]) or "arguments"
        prop = _property(contract, error["loc"])
        if error["type"] == "extra_forbidden":
            yield _stranger(contract, where)
        elif error["type"] == "missing":
            yield f"{where} is missing{_meaning(prop)}{_example(prop)}"
        else:
            yield f"{where}: {error['msg'].removeprefix('Value error, ')}{_given(error['input'])}{_example(prop)}"


def _about_names(error: SchemaError) -> bool:
    return error.validator == "additionalProperties" and not error.absolute_path


def _of_schema(error: SchemaError) -> str:
    where = ".".join(str(part) for part in error.absolute_path) or "arguments"
    prop = error.schema if isinstance(error.schema, Mapping) else {}
    match error.validator:
        case "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            inner = prop.get("properties") or {}
            first = inner.get(missing[0]) or {}
            return f"{', '.join(missing)} is missing{_meaning(first)}{_example(first)}"
        case "type":
            kinds = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
            allowed = " or ".join(KINDS.get(kind, str(kind)) for kind in kinds)
            return f"{where}: must be {allowed}{_given(error.instance)}{_example(prop)}"
        case "enum":
            return f"{where}: must be one of {_shown(error.validator_value, 300)}{_given(error.instance)}"
        case "anyOf" | "oneOf":
            return f"{where}: has none of the forms it may have{_given(error.instance)}"
    return f"{where}: {error.message[:200]}"


def _stranger(contract: Contract, name: str) -> str:
    known = ", ".join(contract.schema().get("properties") or {}) or "none"
    return f"{name[:SHOWN]}: there is no such argument; there is {known[:300]}"


def _property(contract: Contract, where: tuple[int | str, ...]) -> Mapping[str, Any]:
    """The schema of the place; empty where it is not plainly there."""
    node: Any = contract.schema()
    for part in where:
        node = repair.bare(node)
        node = node.get("items") if isinstance(part, int) else (node.get("properties") or {}).get(part)
        if not isinstance(node, Mapping):
            return {}
    return repair.bare(node)


def _given(value: Any) -> str:
    return f", not {_shown(value, SHOWN)}"


def _shown(value: Any, chars: int) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= chars else text[:chars] + "…"


def _meaning(prop: Mapping[str, Any]) -> str:
    return f" ({str(prop['description'])[:120]})" if prop.get("description") else ""


def _example(prop: Mapping[str, Any]) -> str:
    """A value that would do, where the words before it do not show one."""
    if re.search(r"e\.g\.|YYYY", str(prop.get("description", ""))) or prop.get("enum"):
        return ""
    match prop.get("type"), prop.get("format"):
        case "string", "date":
            value: Any = "2026-01-31"
        case "string", "date-time":
            value = "2026-01-31T09:00:00Z"
        case "integer" | "number", _:
            value = prop.get("minimum", 1)
        case "boolean", _:
            value = True
        case "array", _:
            item = (prop.get("items") or {}).get("type")
            value = ["…"] if item == "string" else [1] if item in {"integer", "number"} else []
        case _:
            return ""
    return f", for example {json.dumps(value, ensure_ascii=False)}"
