"""From the arguments a model gave to the effective ones, or why they cannot be used.

Contract, proposed -> Effective.  Touches: nothing (pure).

Harmless slips with one meaning are normalised and noted; the rest is explained field by field.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from chat.errors import ModelMistake
from chat.tools.contract import Contract


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    args: dict[str, Any]  # validated, defaults filled in, JSON
    notes: tuple[str, ...] = ()  # what was normalised


def effective(contract: Contract, proposed: Mapping[str, Any]) -> Effective:
    """Raises ModelMistake with an explanation for each field that is wrong."""
    notes: list[str] = []
    given = {name: _mend(name, value, _property(contract, name), notes) for name, value in proposed.items()}
    try:
        model = contract.args.model_validate(given)
    except ValidationError as fault:
        raise ModelMistake(_explain(contract, fault)) from fault
    return Effective(args=model.model_dump(mode="json"), notes=tuple(notes))


def _property(contract: Contract, name: str) -> Mapping[str, Any]:
    found = contract.schema().get("properties", {}).get(name, {})
    return found if isinstance(found, Mapping) else {}


def _mend(name: str, value: Any, prop: Mapping[str, Any], notes: list[str]) -> Any:
    """One slip, one meaning."""
    mended = value
    kind = prop.get("type")
    if isinstance(value, str):
        text = value.strip()
        if kind in {"integer", "number"} and re.fullmatch(
            r"-?\d+(\.0+)?" if kind == "integer" else r"-?\d+(\.\d+)?", text
        ):
            mended = int(float(text)) if kind == "integer" else float(text)
        elif kind == "boolean" and text.lower() in {"true", "false", "yes", "no"}:
            mended = text.lower() in {"true", "yes"}
        elif kind in {"array", "object"} and text[:1] in {"[", "{"}:
            mended = _json(text, value)
        elif kind == "array" and prop.get("items", {}).get("type") == "string":
            mended = [text] if text else []
        elif prop.get("enum"):
            mended = next((c for c in prop["enum"] if isinstance(c, str) and c.casefold() == text.casefold()), value)
    if mended != value or type(mended) is not type(value):
        notes.append(f"{name}: {value!r} was read as {mended!r}")
    return mended


def _json(text: str, otherwise: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return otherwise


def _explain(contract: Contract, fault: ValidationError) -> str:
    lines = []
    for error in fault.errors(include_url=False):
        where = ".".join(str(part) for part in error["loc"]) or "arguments"
        given = "" if error["type"] == "missing" else f", not {str(error['input'])[:80]!r}"
        lines.append(f"{where}: {error['msg'].removeprefix('Value error, ')}{given}")
    return (
        f"The arguments of {contract.name} do not fit. "
        + "; ".join(lines)
        + ". Call it again with all of these mended."
    )
