"""What a server asks the person in the middle of a call, and the person's own words as the answer to it.

a server's question, what the person has answered -> accepted, or kept to be asked with ask_user.
Touches: ToolCall, Message (reads).

The call is not held open: a person may take days. It ends, the agent asks in the server's words, and the next call
finds the answer among what the person really said in this turn; the model cannot answer in their place.
"""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from chat.mcp import clean
from chat.models import Message, ToolCall

ASKED = 300  # characters of a question
FIELDS = 8
SHAPES = {"boolean": "yes / no", "integer": "a whole number", "number": "a number"}
YES = re.compile(r"\s*(y|yes|yeah|true|ok|okay|sure|是的?|好的?|可以|对|同意)\b[.!。！]*\s*", re.IGNORECASE)
NO = re.compile(r"\s*(n|no|nope|false|否|不|不是|不要|不行|不可以)\b[.!。！]*\s*", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class Asking:
    """The questions of one call: which have an answer, and which were left open."""

    server: str
    answers: Mapping[str, str] = field(default_factory=dict)  # what ask_user asked -> what the person said then
    left: list[str] = field(default_factory=list)

    def content(self, message: str, schema: Any) -> dict[str, Any] | None:
        """The answer in the shape that the server wants; None, and kept to be asked, when there is none."""
        question = clean.seen(message, ASKED)
        # With the server's name: an answer that was meant for somebody else is not given to it.
        wanted = _flat(f"{self.server} asks: {question}")
        said = next((answer for asked, answer in self.answers.items() if question and wanted in _flat(asked)), None)
        found = None if said is None else _filled(schema, said)
        if found is None:
            self.left.append(f"{question} {_wanted(schema)}".strip())
        return found


# The call that runs in this task. A server that asks over its open connection asks outside of it.
current: ContextVar[Asking | None] = ContextVar("asking", default=None)


def answers(turn_id: UUID) -> dict[str, str]:
    """What was asked of the person in this turn, and what they said next; the newest last."""
    asked = ToolCall.objects.filter(turn_id=turn_id, tool="ask_user", status=ToolCall.Status.SUCCEEDED)
    said = list(Message.objects.filter(turn_id=turn_id, role=Message.Role.USER).order_by("id"))
    found: dict[str, str] = {}
    for call in asked.order_by("id"):
        answer = next((one for one in said if call.ended_at and one.created_at > call.ended_at), None)
        if answer is not None:
            found[str(call.args.get("question", ""))] = answer.text
    return found


def _filled(schema: Any, said: str) -> dict[str, Any] | None:
    """The person's words by field; None when one that is needed is missing or does not fit."""
    fields, needed = _fields(schema)
    found: dict[str, Any] = {}
    for name, kind in fields.items():
        words = said if len(fields) == 1 else _part(said, name, str(kind.get("title", "")))
        value = None if words is None else _value(kind, words.strip())
        if value is not None:
            found[name] = value
        elif name in needed:
            return None
    return found


def _fields(schema: Any) -> tuple[dict[str, Mapping[str, Any]], list[Any]]:
    schema = schema if isinstance(schema, Mapping) else {}
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    fields = {str(name): kind for name, kind in list(properties.items())[:FIELDS] if isinstance(kind, Mapping)}
    needed = schema.get("required")
    return fields, list(needed) if isinstance(needed, list) else []


def _part(said: str, *names: str) -> str | None:
    """ "name: Ada, age: 36" by lines, commas or semicolons."""
    for part in re.split(r"[\n,;，；]", said):
        label, sign, words = (part.replace("：", ":").replace("=", ":")).partition(":")
        if sign and _flat(label) in {_flat(name) for name in names if name}:
            return words
    return None


def _value(kind: Mapping[str, Any], words: str) -> Any:
    """The words as one of the choices, a number, yes or no, or text."""
    choices = _choices(kind)
    if choices:
        return next((value for value, shown in choices if _flat(words) in {_flat(value), _flat(shown)}), None)
    match kind.get("type"):
        case "boolean":
            return True if YES.fullmatch(words) else False if NO.fullmatch(words) else None
        case "integer" | "number" as wanted:
            number = re.fullmatch(r"[-+]?\d{1,15}(\.\d{1,9})?", words.replace(",", "").strip())
            if number is None or (wanted == "integer" and number[1]):
                return None
            return int(words.replace(",", "")) if wanted == "integer" else float(words.replace(",", ""))
    return words or None


def _choices(kind: Mapping[str, Any]) -> list[tuple[str, str]]:
    if isinstance(plain := kind.get("enum"), list):
        titles = kind.get("enumNames")
        shown = titles if isinstance(titles, list) and len(titles) == len(plain) else plain
        return [(str(value), str(title)) for value, title in zip(plain, shown, strict=True)]
    titled = kind.get("oneOf")
    options = titled if isinstance(titled, list) else []
    return [
        (str(one["const"]), str(one.get("title", ""))) for one in options if isinstance(one, Mapping) and "const" in one
    ]


def _wanted(schema: Any) -> str:
    """What an answer must look like, for whoever asks: "(size: small / large)"."""
    fields, _needed = _fields(schema)
    parts = []
    for name, kind in fields.items():
        choices = " / ".join(clean.seen(shown or value, 40) for value, shown in _choices(kind)[:12])
        shape = choices or SHAPES.get(str(kind.get("type")), "")
        if shape or len(fields) > 1:
            parts.append(f"{clean.seen(name, 60)}: {shape or 'text'}")
    return f"({', '.join(parts)})" if parts else ""


def _flat(text: object) -> str:
    return re.sub(r"\W+", " ", str(text)).strip().casefold()
