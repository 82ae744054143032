"""What a tool returned, made fit to be stored, judged and read: JSON of a bounded size, clean text, one line.

Done of any content -> Done within limits, notes.  Touches: nothing (pure).
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from chat.tools.contract import Done

EVIDENCE = 100_000  # characters of the data as JSON
TEXT = 200_000  # characters; what the model reads is cut further
DEEPEST = 30
# Tried in this order until the data fits: characters of one text, items of one list or object.
CUTS = ((20_000, 2_000), (5_000, 500), (1_000, 100), (200, 20))
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def fit(done: Any) -> tuple[Done, tuple[str, ...]]:
    """Raises TypeError for what is no Done: a fault of the tool."""
    if not isinstance(done, Done):
        raise TypeError(f"a tool must return Done, not {type(done).__name__}")
    data, notes = _bounded(as_json(done.data))
    text = clean(done.text)
    if len(text) > TEXT:
        notes = (*notes, f"the text was cut from {len(text):,} to {TEXT:,} characters")
        text = text[:TEXT]
    return replace(done, data=data, text=text, summary=line(done.summary)), notes


def clean(text: str) -> str:
    """Without what databases refuse: NUL and other control characters, halves of surrogate pairs."""
    return _CONTROL.sub("", text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def line(text: str, most: int = 300) -> str:
    """One line for a person."""
    words = " ".join(clean(str(text)).split())
    return words if len(words) <= most else words[: most - 1] + "…"


def as_json(value: Any, depth: int = 0) -> Any:
    """The value as plain JSON; what JSON cannot hold becomes text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return clean(value)
    if depth >= DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {clean(str(key)): as_json(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(inner, depth + 1) for inner in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    return clean(str(value))[:1_000]


def _bounded(data: Any) -> tuple[Any, tuple[str, ...]]:
    size = _size(data)
    if size <= EVIDENCE:
        return data, ()
    for chars, items in CUTS:
        smaller = _cut(data, chars, items)
        if _size(smaller) <= EVIDENCE:
            return smaller, (f"the result was cut from {size:,} to {_size(smaller):,} characters",)
    head = json.dumps(data, ensure_ascii=False)[:2_000]
    return {"cut": head}, (f"the result was cut from {size:,} to {len(head):,} characters",)


def _cut(value: Any, chars: int, items: int) -> Any:
    if isinstance(value, str) and len(value) > chars:
        return value[:chars] + "…"
    if isinstance(value, list):
        return [_cut(inner, chars, items) for inner in value[:items]]
    if isinstance(value, Mapping):
        return {key[:chars]: _cut(inner, chars, items) for key, inner in list(value.items())[:items]}
    return value


def _size(data: Any) -> int:
    return len(json.dumps(data, ensure_ascii=False))
