"""What a person reads where a row holds a code: checks, gates, fates, authors, figures.

code -> plain words.  Touches: nothing (pure).
"""

import json
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

GATES = {
    "iterations": gettext_lazy("Iterations"),
    "tokens": gettext_lazy("Tokens"),
    "seconds": gettext_lazy("Time"),
    "cost": gettext_lazy("Cost"),
    "revisions": gettext_lazy("Revisions"),
    "repeats": gettext_lazy("Repeats"),
}

TIMES = {
    "model": gettext_lazy("model"),
    "tools": gettext_lazy("tools"),
    "own": gettext_lazy("agentweb"),
}

FATES = {
    "shown": gettext_lazy("shown to the model"),
    "below_floor": gettext_lazy("not shown to the model: below the floor"),
    "over_limit": gettext_lazy("not shown to the model: others fitted better"),
    "over_budget": gettext_lazy("not shown to the model: no room left in its context"),
    "not_fitting": gettext_lazy("not shown to the model: its condition does not fit this step"),
}

TIERS = {
    "read": gettext_lazy("read"),
    "write": gettext_lazy("write"),
    "expensive": gettext_lazy("expensive"),
    "local": gettext_lazy("local"),
}

WRITTEN = {
    "kept": gettext_lazy("Kept"),
    "duplicate": gettext_lazy("Known already"),
    "merged": gettext_lazy("Merged"),
    "refused": gettext_lazy("Refused"),
    "dropped": gettext_lazy("Dropped"),
    "review": gettext_lazy("Waits for your review"),
    "superseded": gettext_lazy("Replaced an older one"),
    "retired": gettext_lazy("Retired"),
}


def who(by: str) -> str:
    return {"person": _("you"), "agent": _("the agent"), "code": _("the product"), "model": _("the model")}.get(by, by)


def tier(code: str) -> str:
    return str(TIERS.get(code, code))


def check(kind: str, params: Mapping[str, Any]) -> str:
    """The acceptance check in words: what must be so before the step is done."""
    tool = params.get("tool") or _("the tool")
    if kind == "tool_succeeded":
        return _("%(tool)s succeeds") % {"tool": tool}
    if kind == "result_matches":
        return _("the result of %(tool)s has %(shape)s") % {"tool": tool, "shape": shape(params.get("schema") or {})}
    if kind == "slot_present":
        return _("“%(name)s” is known") % {"name": params.get("slot", "?")}
    if kind == "record_exists":
        return _("%(name)s exists") % {"name": params.get("record", "?")}
    if kind == "user_confirmed":
        return str(params.get("question") or _("you confirm it"))
    return str(params.get("question") or _("the result answers the step"))


def shape(schema: Mapping[str, Any]) -> str:
    """What a JSON Schema asks of a result, as far as a sentence can say it."""
    if schema.get("type") == "array" or "minItems" in schema:
        least = schema.get("minItems", 0)
        return (
            ngettext("at least %(n)d entry", "at least %(n)d entries", least) % {"n": least} if least else _("a list")
        )
    parts = [
        field(name, (schema.get("properties") or {}).get(name) or {})
        for name in schema.get("required") or schema.get("properties") or ()
    ]
    return ", ".join(parts) if parts else _("the expected form")


def field(name: str, schema: Mapping[str, Any]) -> str:
    title = name.replace("_", " ")
    if "const" in schema:
        return f"{title} = {plain(schema['const'])}"
    if schema.get("enum"):
        return f"{title} ({' / '.join(plain(value) for value in schema['enum'])})"
    if schema.get("minItems"):
        return _("at least %(n)d in %(name)s") % {"n": schema["minItems"], "name": title}
    if "minimum" in schema:
        return f"{title} ≥ {schema['minimum']}"
    return title


def plain(value: Any) -> str:
    """A JSON value as one line a person reads."""
    if value is None:
        return pgettext("no value", "none")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(plain(item) for item in value)
    return json.dumps(value, ensure_ascii=False)


def pretty(value: Any) -> str:
    """A JSON value as it is, readable."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)


def calendar(text: str) -> str:
    """ "2026-10-01" -> "Thursday, 1 October 2026"; anything else as it is."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return text
    return formats.date_format(day, _("l, j F Y"))  # the order of a date is a matter of language


def seen(text: str) -> str:
    """Make visible what would hide or turn round the text before it: bidi overrides, zero-width and control marks.

    An approval must show exactly what will run; a reversed or invisible character must not lie about it.
    """
    shown, before = [], ""
    for char in text:
        hidden = unicodedata.category(char) in {"Cf", "Cc"} and char not in "\n\t"
        joins_emoji = char == "\u200d" and before != "" and unicodedata.category(before) in {"So", "Sk", "Mn"}
        shown.append(f"⟨U+{ord(char):04X}⟩" if hidden and not joins_emoji else char)
        before = char
    return "".join(shown)


def left(until: datetime, now: datetime) -> str:
    """ "23 h 58 min", rounded down; empty when the time is over."""
    minutes = int((until - now).total_seconds() // 60)
    if until <= now:
        return ""
    if minutes < 1:
        return _("less than a minute")
    hours, rest = divmod(minutes, 60)
    if not hours:
        return _("%(m)d min") % {"m": rest}
    return _("%(h)d h %(m)d min") % {"h": hours, "m": rest}


def clock(seconds: float) -> str:
    """21 -> "0:21", 754 -> "12:34", 4000 -> "1:06:40"."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def count(number: float) -> str:
    """3100 -> "3.1k"."""
    if number < 1000:
        return f"{number:g}"
    return f"{number / 1000:.1f}".removesuffix(".0") + "k"


def money(dollars: float | None) -> str:
    if dollars is None:
        return _("price not known")
    return f"${dollars:.4f}".rstrip("0").ljust(4, "0") if 0 < dollars < 0.1 else f"${dollars:.2f}"


def took(ms: float | None) -> str:
    """How long something took: "0.9 s", "12 ms", "3:20"."""
    if ms is None:
        return ""
    if ms < 100:
        return f"{ms:.0f} ms"
    return f"{ms / 1000:.1f} s" if ms < 60_000 else clock(ms / 1000)


def span_ms(start: datetime | None, end: datetime | None) -> float | None:
    return (end - start) / timedelta(milliseconds=1) if start and end else None
