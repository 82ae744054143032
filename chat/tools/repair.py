"""Slips of a model that have one meaning, mended by the schema: a number as text, JSON in JSON, an enum in another case.

JSON Schema, proposed arguments -> the same, mended, and notes of what was done.  Touches: nothing (pure).

Nothing is guessed: where two readings are possible the value stays as it is, and validation explains it.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from typing import Any

from chat.tools.dates import read_date

WRAPPERS = {"args", "arguments", "parameters", "params", "input", "kwargs"}
YES, NO = {"true", "yes", "是"}, {"false", "no", "否"}
DEEPEST = 12
SHOWN = 80
NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")


def repaired(schema: Mapping[str, Any], proposed: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    return _object(schema, _unwrapped(schema, proposed, notes), "", notes, 0)


def note(where: str, before: Any, after: Any) -> str:
    return f"{where}: {_shown(before)} was read as {_shown(after)}"


def bare(schema: Any) -> Mapping[str, Any]:
    """The schema without its null option."""
    if not isinstance(schema, Mapping):
        return {}
    options = [option for option in schema.get("anyOf") or () if isinstance(option, Mapping)]
    real = [option for option in options if option.get("type") != "null"]
    return {**real[0], **{key: value for key, value in schema.items() if key != "anyOf"}} if len(real) == 1 else schema


def _unwrapped(schema: Mapping[str, Any], proposed: Mapping[str, Any], notes: list[str]) -> Mapping[str, Any]:
    """Arguments that were put into one more object."""
    known = schema.get("properties") or {}
    if len(proposed) == 1 and known:
        ((name, inner),) = proposed.items()
        inner = _json(inner, Mapping) if isinstance(inner, str) else inner
        if name in WRAPPERS and name not in known and isinstance(inner, Mapping):
            notes.append(f"the arguments were taken out of {name!r}")
            return inner
    return proposed


def _object(
    schema: Mapping[str, Any], given: Mapping[str, Any], where: str, notes: list[str], depth: int
) -> dict[str, Any]:
    known = schema.get("properties") or {}
    required = schema.get("required") or ()
    out: dict[str, Any] = {}
    for said, value in given.items():
        name = said if said in known else _spelt(said, known, given)
        place = f"{where}.{name}" if where else str(name)
        if name != said:
            notes.append(f"{said!r} was read as {name!r}")
        prop = known.get(name)
        if value is None and name in known and name not in required and not _takes_null(prop):
            continue  # said to be nothing: the default
        out[name] = _value(prop, value, place, notes, depth)
    return out


def _value(schema: Any, value: Any, where: str, notes: list[str], depth: int) -> Any:
    prop = bare(schema)
    mended = _mended(prop, value)
    if type(mended) is not type(value) or mended != value:
        notes.append(note(where, value, mended))
    if depth < DEEPEST:
        if isinstance(mended, Mapping) and prop.get("type") == "object":
            return _object(prop, mended, where, notes, depth + 1)
        if isinstance(mended, list) and isinstance(prop.get("items"), Mapping):
            return [_value(prop["items"], item, where, notes, depth + 1) for item in mended]
    return mended


def _mended(prop: Mapping[str, Any], value: Any) -> Any:
    kind, choices = prop.get("type"), prop.get("enum")
    if isinstance(value, list) and len(value) == 1 and kind in {"string", "integer", "number", "boolean"}:
        value = value[0]
    if isinstance(choices, list) and choices:
        return _chosen(choices, value)
    if isinstance(value, str):
        return _from_text(prop, kind, value)
    if isinstance(value, float) and kind == "integer" and value.is_integer():
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and kind == "string" and not prop.get("format"):
        return json.dumps(value)
    return value


def _from_text(prop: Mapping[str, Any], kind: Any, value: str) -> Any:
    text = unicodedata.normalize("NFKC", value).strip()
    if kind in {"integer", "number"} and NUMBER.fullmatch(text) and len(text) < 30:
        number = float(text.replace(",", ""))
        if number.is_integer() and (kind == "integer" or "." not in text):
            return int(text.replace(",", "").split(".")[0])
        return value if kind == "integer" else number
    if kind == "boolean" and text.casefold() in YES | NO:
        return text.casefold() in YES
    if kind == "array":
        found = _json(text, list)
        if found is None and bare(prop.get("items")).get("type") == "string" and text[:1] not in {"[", "{"}:
            found = [value.strip()] if text else []
        return value if found is None else found
    if kind == "object":
        found = _json(text, Mapping)
        return value if found is None else found
    if kind == "string" and prop.get("format") == "date":
        found = read_date(value, year=None)
        return found.isoformat() if isinstance(found, date) else value
    return value


def _chosen(choices: list[Any], value: Any) -> Any:
    """The one choice that is the same but for case, width and separators."""
    if value in choices or isinstance(value, bool | list | dict | None):
        return value
    same = [choice for choice in choices if _folded(str(choice)) == _folded(str(value))]
    return same[0] if len(same) == 1 else value


def _spelt(name: str, known: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """hotelId and Hotel-ID are hotel_id, where nothing else could be meant."""
    same = [one for one in known if _folded(one) == _folded(str(name)) and one not in given]
    return same[0] if len(same) == 1 else name


def _folded(text: str) -> str:
    return re.sub(r"[\s_-]+", "", unicodedata.normalize("NFKC", text).casefold())


def _json(text: str, kind: type) -> Any:
    """What the text holds as JSON, also twice encoded; None when that is not of the kind."""
    found: Any = text
    for _layer in range(2):
        if not isinstance(found, str):
            break
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, kind) else None


def _takes_null(prop: Any) -> bool:
    kinds = prop.get("type") if isinstance(prop, Mapping) else None
    options = prop.get("anyOf") or () if isinstance(prop, Mapping) else ()
    return (
        kinds == "null"
        or (isinstance(kinds, list) and "null" in kinds)
        or any(isinstance(option, Mapping) and option.get("type") == "null" for option in options)
    )


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
