"""Read the arguments of a call as the endpoint sent them, and repair only what has one meaning.

JSON text -> arguments, or why they cannot be read.  Touches: nothing (pure).
"""

import json
import re
from typing import Any

from chat.types import Json

_SURROGATES = re.compile("[\ud800-\udfff]+")
_FENCED = re.compile(r"^```[a-zA-Z]*\s*\n?(.*?)\n?```$", re.DOTALL)
# What may follow the object without meaning anything: closing tags, template markers, empty objects.
_LEFTOVER = re.compile(r"(?:\s|</?[a-zA-Z_]+>|<\|[^|<>]*\|>|```|\{\s*\}|[}\]])*\Z")
_KEY = re.compile(r"[A-Za-z_$][\w$]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}


def mend(text: str) -> str:
    """Text that any encoding and any database takes: surrogate pairs joined, lone ones and NUL removed."""
    if "\x00" in text:
        text = text.replace("\x00", "")
    if _SURROGATES.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return text


def mend_all(value: Any) -> Any:
    """The same for every text inside a JSON value."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, list):
        return [mend_all(item) for item in value]
    if isinstance(value, dict):
        return {mend(str(key)): mend_all(item) for key, item in value.items()}
    return value


def parse_arguments(text: str) -> Json | str:
    """The arguments of a call as an object; a text says what is wrong with them, for the model to mend."""
    text = text.strip()
    if fenced := _FENCED.match(text):
        text = fenced[1].strip()
    if text in {"", "null", "None"}:
        return {}
    try:
        value = _read(text)
        if isinstance(value, str):  # encoded twice
            value = _read(value.strip())
        if not isinstance(value, dict):
            return f"The arguments must be one JSON object, not {_kind(value)}."
        json.dumps(value, allow_nan=False)
    except RecursionError:
        return "The arguments are nested too deeply."
    except ValueError as fault:
        return _explain(text, fault)
    result: Json = mend_all(value)
    return result


def history_arguments(arguments: Any) -> str:
    """Arguments as they are sent back to an endpoint: always the text of a JSON object."""
    value = arguments if isinstance(arguments, dict) else parse_arguments(arguments) if arguments else {}
    return json.dumps(value if isinstance(value, dict) else {}, ensure_ascii=False)


def is_complete(text: str) -> bool:
    """Whether the text is already a whole JSON object."""
    text = text.strip()
    if not text.endswith("}"):
        return False
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False


def _read(text: str) -> Any:
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant)
    try:
        value, end = decoder.raw_decode(text)
    except json.JSONDecodeError as strict:
        try:
            value, end = _Relaxed(text).value(0)
        except (ValueError, IndexError):
            raise strict from None
    if not _LEFTOVER.match(text, end):
        raise ValueError(f"there is more text after the object: {text[end : end + 40].strip()!r}")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "true or false"}.get(type(value), "a number")


def _explain(text: str, fault: ValueError) -> str:
    if isinstance(fault, json.JSONDecodeError):
        if fault.pos >= len(text) or text.count("{") > text.count("}") or "Unterminated" in fault.msg:
            return "The arguments stop in the middle. Send the call again with the whole JSON object."
        return f"The arguments are no valid JSON ({fault.msg} at character {fault.pos + 1}). Send one JSON object."
    return f"The arguments are no valid JSON: {fault}. Send one JSON object."


class _Relaxed:
    """JSON as people type it: bare keys, single quotes, trailing commas, Python's words. One reading each."""

    def __init__(self, text: str) -> None:
        self.text = text

    def skip(self, at: int) -> int:
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    def value(self, at: int) -> tuple[Any, int]:
        at = self.skip(at)
        first = self.text[at]
        if first == "{":
            return self.object(at + 1)
        if first == "[":
            return self.array(at + 1)
        if first in "\"'":
            return self.string(at)
        if word := _KEY.match(self.text, at):
            if word[0] in _WORDS:
                return _WORDS[word[0]], word.end()
        elif number := _NUMBER.match(self.text, at):
            return json.loads(number[0]), number.end()
        raise ValueError(f"unexpected {first!r}")

    def object(self, at: int) -> tuple[Json, int]:
        result: Json = {}
        while self.text[at := self.skip(at)] != "}":
            if bare := _KEY.match(self.text, at):
                key, at = bare[0], bare.end()
            else:
                key, at = self.string(at)
            if self.text[at := self.skip(at)] != ":":
                raise ValueError("a colon is missing")
            result[key], at = self.value(at + 1)
            at = self.comma(at, "}")
        return result, at + 1

    def array(self, at: int) -> tuple[list[Any], int]:
        result = []
        while self.text[at := self.skip(at)] != "]":
            item, at = self.value(at)
            result.append(item)
            at = self.comma(at, "]")
        return result, at + 1

    def comma(self, at: int, closer: str) -> int:
        at = self.skip(at)
        if self.text[at] == ",":
            return at + 1
        if self.text[at] != closer:
            raise ValueError("a comma is missing")
        return at

    def string(self, at: int) -> tuple[str, int]:
        quote, parts = self.text[at], []
        if quote not in "\"'":
            raise ValueError("a name or a quote is missing")
        at += 1
        while (char := self.text[at]) != quote:
            at += 1
            if char == "\\":
                char, at = self.text[at], at + 1
                if char == "u":
                    char, at = chr(int(self.text[at : at + 4], 16)), at + 4
                else:
                    char = _ESCAPES.get(char, char)
            parts.append(char)
        return "".join(parts), at + 1
