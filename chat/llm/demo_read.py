"""What the demo model understands of a request: the parts of the prompt, and values in the person's words.

request body -> Scene; text -> dates, cities, numbers.  Touches: nothing (pure).
"""

import json
import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from chat.days import MONTHS, days_in
from chat.types import Json

_HEADS = (
    "Today:",
    "Tools that steps can use:",
    "Known about the person:",
    "State:",
    "Ruled out",
    "Task:",
    "The person added:",
    "Plan:",
    "Results so far:",
    "Decided:",
    "There is no plan yet",
    "Now do step",
    "The plan cannot go on",
    "Every step is settled",
)
_LINE = "\ue000"  # stands for a line end inside a fence
CITIES = {
    "xi'an": "Xi'an", "xian": "Xi'an", "西安": "Xi'an", "beijing": "Beijing", "北京": "Beijing", "shanghai": "Shanghai",
    "上海": "Shanghai", "chengdu": "Chengdu", "成都": "Chengdu", "hangzhou": "Hangzhou", "杭州": "Hangzhou",
    "guangzhou": "Guangzhou", "广州": "Guangzhou", "shenzhen": "Shenzhen", "深圳": "Shenzhen", "paris": "Paris",
    "london": "London", "tokyo": "Tokyo", "berlin": "Berlin", "new york": "New York",
}  # fmt: skip
_NUMBERS = {
    "a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7,
}  # fmt: skip
_COUNT = r"(\d+|a|one|two|three|four|five|six|seven|[一两二三四五六七])"
_ARITHMETIC = re.compile(r"[-+]?[\d(][\d\s().,]*(?:[-+*/×÷^%x]\s*[-\d(][\d\s().,]*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The request as the demo model sees it."""

    tools: dict[str, Json]  # offered: name -> JSON Schema of its arguments
    catalogue: tuple[str, ...]  # names that plan steps may use
    today: date
    task: str  # the person's words, with what they added
    added: tuple[str, ...]  # what they added since
    known: tuple[str, ...]  # recalled memories
    plan: tuple[str, ...]
    results: tuple[tuple[str, Json, str], ...]  # tool, arguments, result of earlier steps
    decided: tuple[str, ...]
    now: str  # what the loop asks for
    evidence: tuple[tuple[str, Json, str], ...]  # calls of this step, with results
    schema: Json | None  # a structured reply is asked for
    whole: str  # the last message of the person or the loop

    @property
    def chinese(self) -> bool:
        return sum("\u4e00" <= char <= "\u9fff" for char in self.task) * 4 > len(self.task)

    @property
    def everything(self) -> tuple[tuple[str, Json, str], ...]:
        return (*self.results, *self.evidence)


def read_scene(body: Json) -> Scene:
    messages = body.get("messages") or []
    users = [str(m.get("content") or "") for m in messages if m.get("role") == "user"]
    whole = next((text for text in reversed(users) if "Task:" in text), users[-1] if users else "")
    parts = _parts(whole)
    added = tuple(parts.get("The person added:", []))
    task = "\n".join([*parts.get("Task:", [whole]), *added]).strip()
    tools = {t["function"]["name"]: t["function"].get("parameters") or {} for t in body.get("tools") or ()}
    today = re.search(r"\d{4}-\d\d-\d\d", " ".join(parts.get("Today:", [])))
    return Scene(
        tools=tools,
        catalogue=tuple(
            re.findall(r"^- `?([\w.-]+)", "\n".join(parts.get("Tools that steps can use:", [])), re.MULTILINE)
        ),
        today=date.fromisoformat(today[0]) if today else date.today(),
        task=task,
        added=added,
        known=tuple(
            line.removeprefix("- ").strip() for line in parts.get("Known about the person:", []) if line.strip()
        ),
        plan=tuple(parts.get("Plan:", [])),
        results=_results("\n".join(parts.get("Results so far:", []))),
        decided=tuple(parts.get("Decided:", [])),
        now="\n".join(line for head in _HEADS[-4:] for line in parts.get(head, [])),
        evidence=_evidence(messages),
        schema=((body.get("response_format") or {}).get("json_schema") or {}).get("schema"),
        whole=whole,
    )


def _parts(text: str) -> dict[str, list[str]]:
    """The lines of the prompt under their heads. The last four heads are kept in their own line."""
    # What stands in a fence is data: its lines are no parts of the prompt.
    text = re.sub(r"<data>.*?</data>", lambda fenced: fenced[0].replace("\n", _LINE), text, flags=re.DOTALL)
    parts: dict[str, list[str]] = {}
    head = ""
    for line in text.splitlines():
        found = next((h for h in _HEADS if line.startswith(h)), "")
        if found:
            head = found
            rest = line if found in _HEADS[-4:] else line.removeprefix(found).strip()
            parts.setdefault(head, []).extend([rest] if rest else [])
        elif head:
            parts[head].append(line)
    return parts


def _results(text: str) -> tuple[tuple[str, Json, str], ...]:
    """Results may span lines: each ends with its closing mark."""
    pattern = re.compile(r"^([\w.-]+) (\{.*?\}): <data>(.*?)(?:</data>|\Z)", re.MULTILINE | re.DOTALL)
    return tuple((found[1], as_object(found[2]), found[3].replace(_LINE, "\n")) for found in pattern.finditer(text))


def _evidence(messages: list[Json]) -> tuple[tuple[str, Json, str], ...]:
    calls = {c["id"]: c["function"] for m in messages for c in m.get("tool_calls") or ()}
    found = []
    for message in messages:
        if message.get("role") == "tool" and (call := calls.get(message.get("tool_call_id"))):
            text = re.sub(r"</?data>", "", str(message.get("content") or ""))
            found.append((str(call["name"]), as_object(call["arguments"]), text))
    return tuple(found)


def as_object(text: str) -> Json:
    value = as_json(text)
    return value if isinstance(value, dict) else {}


def as_json(text: str) -> Any:
    """The JSON that a text begins with; None when it does not."""
    try:
        return json.JSONDecoder().raw_decode(text.strip())[0]
    except ValueError:
        return None


# ---- values in words ----


def dates(text: str, today: date) -> list[date]:
    """The days a text names, in order."""
    return [day for _words, day in days_in(text, today)]


def city(text: str) -> str:
    """The city a text names; empty when none is known."""
    lowered = text.lower().replace("’", "'")
    known = [(lowered.find(word), name) for word, name in CITIES.items() if word in lowered]
    if known:
        return min(known)[1]
    named = re.search(r"\b(?:in|to|at|for)\s+([A-Z][a-z'’]+(?:\s[A-Z][a-z]+)?)", text)
    return named[1] if named and named[1].lower()[:3] not in MONTHS else ""


def count(text: str, units: str) -> int | None:
    """The number before one of the units: count("two nights", "nights?|晚")."""
    found = re.search(rf"(?<![a-zA-Z0-9-]){_COUNT}\s*(?:more\s+)?(?:{units})", text, re.IGNORECASE)
    if not found:
        return None
    return int(found[1]) if found[1].isdigit() else _NUMBERS.get(found[1].lower())


def arithmetic(text: str) -> str:
    """The first sum in a text, in plain signs; empty when there is none."""
    without_dates = re.sub(r"\d{4}-\d\d-\d\d", " ", text)
    for match in _ARITHMETIC.finditer(without_dates):
        found = match[0].strip().rstrip(".,").replace("×", "*").replace("x", "*").replace("÷", "/").replace("^", "**")
        if found.count("(") == found.count(")"):
            return re.sub(r"(?<=\d),(?=\d{3})", "", found).strip()
    words = re.search(
        r"(\d+)\s*(plus|minus|times|multiplied by|divided by|加|减|乘以?|除以)\s*(\d+)", text, re.IGNORECASE
    )
    signs = {
        "plus": "+",
        "minus": "-",
        "times": "*",
        "multiplied by": "*",
        "divided by": "/",
        "加": "+",
        "减": "-",
        "乘": "*",
    }
    return f"{words[1]}{signs.get(words[2].lower(), '*' if words[2] == '乘以' else '/')}{words[3]}" if words else ""
