"""One tool call as a line of the stream: what was done, with what, and what came of it, in short.

ToolCall row -> CallLine.  Touches: nothing (pure).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat import words
from chat.approval_card import Card
from chat.models import ToolCall

BRIEF = 90  # characters of arguments in a line
LONG = 240  # characters of a result in a line

Status = ToolCall.Status


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLine:
    call: ToolCall
    lead: str  # a verb a person uses, for the agent's own bookkeeping; empty: the tool is named
    brief: str  # the arguments in short
    result: str  # what came of it, in short
    tone: str  # good, warm, bad, busy or empty
    card: Card | None  # what the person decides, or decided, about it


TONES = {
    Status.SUCCEEDED: "good",
    Status.WAITING: "warm",
    Status.UNKNOWN: "warm",
    Status.FAILED: "bad",
    Status.REFUSED: "bad",
    Status.INTENDED: "busy",
    Status.RUNNING: "busy",
}


def call_line(call: ToolCall, card: Card | None) -> CallLine:
    lead, brief = _own_words(call) if call.status == Status.SUCCEEDED else ("", "")
    if not lead:
        brief = "" if call.status == Status.WAITING and card else brief_args(call.args or {})
    return CallLine(
        call=call,
        lead=lead,
        brief=brief,
        result="" if lead and call.tool != "update_slots" else short(_result(call), LONG),
        tone=TONES.get(Status(call.status), ""),
        card=card,
    )


def _result(call: ToolCall) -> str:
    if call.error:
        return str(call.error.get("what") or call.summary)
    return call.summary


def _own_words(call: ToolCall) -> tuple[str, str]:
    """The agent's own bookkeeping, said as a person would."""
    args = call.args if isinstance(call.args, Mapping) else {}
    if call.tool == "set_plan":
        return _("Planned"), _counted(args)
    if call.tool == "revise_plan":
        return _("Revised the plan"), short(str(args.get("reason") or call.summary), BRIEF)
    if call.tool == "ask_user":
        return _("Asked you"), ""  # the question itself stands below
    if call.tool == "mark_step_failed":
        return _("Gave up on the step"), short(str(args.get("note") or call.summary), BRIEF)
    if call.tool == "update_slots":
        return _("Noted"), ""
    return (_("Answered"), "") if call.tool == "finish" else ("", "")


def _counted(args: Mapping[str, Any]) -> str:
    """ "3 steps and 1 condition"."""
    steps, conditions = len(items(args.get("steps"))), len(items(args.get("conditions")))
    said = ngettext("%(n)d step", "%(n)d steps", steps) % {"n": steps}
    if not conditions:
        return said
    also = ngettext("%(n)d condition", "%(n)d conditions", conditions) % {"n": conditions}
    return _("%(steps)s and %(conditions)s") % {"steps": said, "conditions": also}


def brief_args(args: Any) -> str:
    """Arguments in short: their values as one would read them out; what hides or turns text is made visible."""
    if not isinstance(args, Mapping):
        return words.seen(short(words.plain(args), BRIEF))
    values = [words.plain(value) for value in args.values() if value not in (None, "", [], {})]
    return words.seen(short(", ".join(short(value, 50) for value in values), BRIEF))


def short(text: str, length: int) -> str:
    """One line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def items(value: Any) -> Sequence[Any]:
    """What a model gave as a list, or as one thing, or not at all."""
    return value if isinstance(value, list) else [value] if value else []
