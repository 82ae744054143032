"""What a server says about its tools, made safe to store, to show and to check against.

hostile name, text, schema -> the same within limits, or Unfit with the reason.  Touches: nothing (pure).

A schema is copied keyword by keyword: no addresses to fetch, no endless references, no regular expressions to be stuck in.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from chat.mcp.types import Listed

NAME = re.compile(r"[a-zA-Z0-9_-]{1,60}")
LONGEST_NAME = 64  # of a function, at every endpoint
DESCRIPTION = 1_000  # characters
SCHEMA = 20_000  # characters as JSON
DEPTH = 12
PARTS = 2_000  # schemas within one schema, references followed
NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
UNSEEN = re.compile(
    r"[\u200b-\u200f\u202a-\u202e\u2060-\u2069\U000e0000-\U000e007f]"
)  # hides or turns around what staff accept

NUMBERS = frozenset("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split())
COUNTS = frozenset("minLength maxLength minItems maxItems minProperties maxProperties".split())
TYPES = frozenset("string integer number boolean array object null".split())


class Unfit(ValueError):
    """A tool that cannot be offered; the message says why, for staff."""


def text(value: object) -> str:
    """Without what a database, a terminal or a reader stumbles over."""
    words = str(value).replace("\r\n", "\n").encode("utf-8", "replace").decode()
    return NOT_TEXT.sub("", words)


def seen(value: object, most: int) -> str:
    """Text that somebody decides by: nothing in it is invisible, and it has an end."""
    words = UNSEEN.sub("", text(value)).strip()
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def value(node: Any, depth: int = 0) -> Any:
    """JSON from outside with clean text in it."""
    if depth > 40:
        return "…"
    if isinstance(node, str):
        return text(node)
    if isinstance(node, Mapping):
        return {text(key): value(inner, depth + 1) for key, inner in node.items()}
    if isinstance(node, list | tuple):
        return [value(inner, depth + 1) for inner in node]
    if isinstance(node, float) and (node != node or node in (float("inf"), float("-inf"))):
        return None  # no JSON column takes them
    return node


def tool(server: str, listed: Listed) -> dict[str, Any]:
    """What is stored of a tool and accepted by staff. Raises Unfit."""
    if not NAME.fullmatch(listed.name):
        raise Unfit("Its name is not made of 1 to 60 letters, digits, - and _.")
    if len(f"{server}__{listed.name}") > LONGEST_NAME:
        raise Unfit(
            f"Its name with the server's is longer than {LONGEST_NAME} characters. Give the server a shorter name."
        )
    return {
        "description": seen(listed.description, DESCRIPTION),
        "schema": schema(listed.schema),
        "read_only": listed.read_only,
        "repeatable": listed.repeatable,
    }


def schema(given: Any) -> dict[str, Any]:
    """The arguments' schema with what this product understands of it; the server checks the rest. Raises Unfit."""
    if not isinstance(given, Mapping):
        raise Unfit("The schema of its arguments is not an object.")
    try:
        size = len(json.dumps(given, ensure_ascii=False))
    except (ValueError, TypeError, RecursionError):
        raise Unfit("The schema of its arguments is not JSON.") from None
    if size > SCHEMA:
        raise Unfit(f"The schema of its arguments is {size:,} characters long; the most is {SCHEMA:,}.")
    root = _Reader(given).read(given, 0, ())
    root["type"] = "object"
    root.setdefault("properties", {})
    if len(json.dumps(root, ensure_ascii=False)) > SCHEMA:
        raise Unfit(f"The schema of its arguments, references followed, is longer than {SCHEMA:,} characters.")
    return root


class _Reader:
    """Copies one schema; counts what it copies, so that references to references have an end."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root, self.parts = root, 0

    def read(self, node: Any, depth: int, within: tuple[str, ...]) -> dict[str, Any]:
        self.parts += 1
        if self.parts > PARTS:
            raise Unfit("The schema of its arguments has too many parts.")
        if not isinstance(node, Mapping) or depth > DEPTH:
            return {}
        if isinstance(ref := node.get("$ref"), str):
            if ref in within:
                return {}  # it holds itself: anything goes from here on
            beside = {key: inner for key, inner in node.items() if key != "$ref"}
            return {**self.read(self._target(ref), depth + 1, (*within, ref)), **self.read(beside, depth + 1, within)}
        out: dict[str, Any] = {}
        for key, inner in node.items():
            out |= self._keyword(str(key), inner, depth, within)
        if "required" in out and "properties" in out:
            out["required"] = [name for name in out["required"] if name in out["properties"]]
        return out

    def _keyword(self, key: str, inner: Any, depth: int, within: tuple[str, ...]) -> dict[str, Any]:
        """One keyword, if it has the shape it must have; else nothing."""
        number = isinstance(inner, int | float) and not isinstance(inner, bool) and inner == inner
        match key:
            case "type":
                return _type(inner)
            case "description":
                return {key: seen(inner, 300)} if isinstance(inner, str) else {}
            case "format":
                return {key: inner} if isinstance(inner, str) and re.fullmatch(r"[a-z-]{1,20}", inner) else {}
            case "enum":
                return {key: value(inner)} if isinstance(inner, list) and inner else {}
            case "const" | "default":
                return {key: value(inner)}
            case "required":
                return {key: [text(name) for name in inner if isinstance(name, str)]} if isinstance(inner, list) else {}
            case "properties" if isinstance(inner, Mapping):
                return {key: {_argument(name): self.read(prop, depth + 1, within) for name, prop in inner.items()}}
            case "items" if isinstance(inner, Mapping):
                return {key: self.read(inner, depth + 1, within)}
            case "additionalProperties":
                return {key: inner if isinstance(inner, bool) else self.read(inner, depth + 1, within)}
            case "anyOf" | "oneOf" | "allOf" if isinstance(inner, list) and inner:
                return {key: [self.read(option, depth + 1, within) for option in inner]}
            case _ if key in NUMBERS and number and (key != "multipleOf" or inner > 0):
                return {key: inner}
            case _ if key in COUNTS and isinstance(inner, int) and not isinstance(inner, bool) and inner >= 0:
                return {key: inner}
        return {}

    def _target(self, ref: str) -> Any:
        """Only within this very schema: an address would be fetched by whoever checks against it."""
        if not ref.startswith("#"):
            raise Unfit("The schema of its arguments refers to an address outside.")
        node: Any = self.root
        for part in ref[1:].strip("/").split("/") if ref.strip("#/") else ():
            node = node.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
        return node


def _type(given: Any) -> dict[str, Any]:
    """One type. Several, or one that may be null, are spoken as options."""
    if isinstance(given, str):
        return {"type": given} if given in TYPES else {}
    kinds = [kind for kind in given if isinstance(kind, str) and kind in TYPES] if isinstance(given, list) else []
    if len(kinds) == 1:
        return {"type": kinds[0]}
    return {"anyOf": [{"type": kind} for kind in dict.fromkeys(kinds)]} if kinds else {}


def _argument(name: object) -> str:
    if not isinstance(name, str) or not name or len(name) > 80 or name != seen(name, 80):
        raise Unfit("One of its arguments has a name that cannot be shown.")
    return name
