"""What the Trace panel draws: iterations, what the model saw, how it differs from before, calls, times, money.

Conversation, newest Turn -> context; Iteration -> its whole record.  Touches: rows (reads).
"""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from chat import panel_memory, panel_state, words
from chat.models import Conversation, Iteration, ToolCall, Turn

PAGE = 20
DIFF_LINES = 400  # of one section; beyond it a difference is no longer read but scrolled past
HEAVY = ("sections", "raw", "receipt", "offered", "changes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One piece of the time line, in percent of its length."""

    kind: str  # model, tools, own
    x: float
    width: float
    text: str
    label: str  # "model 0.9 s"


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRow:
    iteration: Iteration
    calls: tuple[ToolCall, ...]
    bars: tuple[Bar, ...]
    took: str
    tokens: str
    first_of_turn: bool

    @property
    def version(self) -> str:
        """Changes whenever the opened iteration would show something else."""
        return "-".join([self.iteration.outcome or "open", *(call.status for call in self.calls)])


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionRow:
    name: str
    text: str
    tokens: int
    kept: bool
    rule: str
    state: str  # new, changed, same, gone
    diff: tuple[tuple[str, str], ...]  # (added | removed | same | gap, line)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRow:
    call: ToolCall
    args: str
    proposed: str  # when the effective arguments are not the model's
    result: str
    error: Mapping[str, Any]
    took: str


def read(conversation: Conversation, turn: Turn | None, options: Mapping[str, str]) -> dict[str, Any]:
    page = max(int(options["page"]), 1) if options.get("page", "").isdecimal() else 1
    start = (page - 1) * PAGE
    rows = list(
        Iteration.objects.filter(turn__conversation=conversation)
        .select_related("turn")
        .defer(*HEAVY)
        .order_by("-turn__number", "-number")[start : start + PAGE + 1]
    )
    shown = rows[:PAGE]
    return {
        "iterations": iteration_rows(shown),
        "page": page,
        "older": page + 1 if len(rows) > PAGE else 0,
        "newer": page - 1,
    }


def iteration_rows(shown: Sequence[Iteration]) -> list[IterationRow]:
    calls: dict[int, list[ToolCall]] = {}
    rows = ToolCall.objects.filter(iteration__in=shown).select_related("approval")
    for call in rows.defer("result", "text", "traceback", "approval__args"):
        calls.setdefault(call.iteration_id, []).append(call)
    spans = {row.id: spans_of(row, calls.get(row.id, [])) for row in shown}
    whole = sum(sum(span.values()) for span in spans.values()) or 1.0
    found, x = [], 0.0
    for position, row in reversed(list(enumerate(shown))):  # the time line runs forward, the list backward
        bars, x = bars_of(spans[row.id], x, whole)
        older = shown[position + 1] if position + 1 < len(shown) else None
        tokens = f"{words.count(row.prompt_tokens)} → {words.count(row.reply_tokens)}"
        found.append(
            IterationRow(
                iteration=row,
                calls=tuple(calls.get(row.id, ())),
                bars=bars,
                took=words.took(sum(spans[row.id].values())),
                tokens=("~" if row.estimated else "") + tokens,
                first_of_turn=older is None or older.turn_id != row.turn_id,
            )
        )
    return found[::-1]


def spans_of(row: Iteration, calls: Sequence[ToolCall]) -> dict[str, float]:
    """Milliseconds by kind: the model's, the tools' (side by side counts once), ours. Waiting for a person is none."""
    tools = busy([(call.started_at, call.ended_at) for call in calls])
    approvals = [approval for call in calls if (approval := getattr(call, "approval", None))]
    waited = busy([(approval.asked_at, approval.decided_at) for approval in approvals])
    whole = words.span_ms(row.started_at, row.ended_at) or 0.0
    return {"model": float(row.model_ms), "tools": tools, "own": max(whole - tools - waited, 0.0)}


def busy(spans: Sequence[tuple[datetime | None, datetime | None]]) -> float:
    """Milliseconds covered by at least one of the spans."""
    total, until = 0.0, None
    for start, end in sorted((start, end) for start, end in spans if start and end):
        since = max(start, until) if until else start
        total += max((end - since) / timedelta(milliseconds=1), 0.0)
        until = max(end, until) if until else end
    return total


def bars_of(span: Mapping[str, float], x: float, whole: float) -> tuple[tuple[Bar, ...], float]:
    bars = []
    for kind, ms in span.items():
        width = 100 * ms / whole
        label = f"{words.TIMES[kind]} {words.took(ms)}"
        bars.append(Bar(kind=kind, x=round(x, 3), width=round(width, 3), text=words.took(ms), label=label))
        x += width
    return tuple(bars), x


# ---- one iteration, opened -----------------------------------------------------------------------


def detail(iteration: Iteration, *, for_staff: bool) -> dict[str, Any]:
    """Everything about one iteration. Tracebacks are for staff."""
    before = (
        Iteration.objects.filter(turn=iteration.turn, number__lt=iteration.number)
        .order_by("-number")
        .only("id", "number", "sections", "turn")
        .first()
    )
    calls = list(iteration.calls.select_related("approval"))
    receipt = [entry for entry in iteration.receipt if isinstance(entry, dict)]
    return {
        "iteration": iteration,
        "before": before,
        "sections": section_rows(iteration.sections, before.sections if before else []),
        "calls": [call_row(call) for call in calls],
        "slots": panel_state.changes_in(iteration.turn_id, iteration.number),
        "recalls": panel_memory.recall_rows(iteration.turn.conversation.user_id, receipt),
        "raw": words.pretty(iteration.raw) if iteration.raw else "",
        "changes": words.pretty(iteration.changes) if iteration.changes else "",
        "model_took": words.took(iteration.model_ms),
        "own_took": words.took(spans_of(iteration, calls)["own"]),
        "cost": words.money(iteration.cost),
        "for_staff": for_staff,
    }


def section_rows(now: Sequence[Any], before: Sequence[Any]) -> list[SectionRow]:
    old = {str(section.get("name")): section for section in before if isinstance(section, dict)}
    rows = [section_row(section, old.get(str(section.get("name")))) for section in now if isinstance(section, dict)]
    names = {row.name for row in rows}
    return rows + [
        SectionRow(name=name, text="", tokens=0, kept=False, rule="", state="gone", diff=())
        for name, section in old.items()
        if name not in names and section.get("kept", True)
    ]


def section_row(section: Mapping[str, Any], old: Mapping[str, Any] | None) -> SectionRow:
    text, was = str(section.get("text", "")), str(old.get("text", "")) if old else ""
    state = "new" if old is None else "same" if text == was else "changed"
    return SectionRow(
        name=str(section.get("name", "")),
        text=text,
        tokens=int(section.get("tokens") or 0),
        kept=bool(section.get("kept", True)),
        rule=str(section.get("rule", "")),
        state=state,
        diff=difference(was, text) if state == "changed" else (),
    )


def difference(old: str, new: str) -> tuple[tuple[str, str], ...]:
    """The changed lines with one line around them."""
    kinds = {"+": "added", "-": "removed", " ": "same"}
    before, after = lines_of(old)[:DIFF_LINES], lines_of(new)[:DIFF_LINES]
    lines = difflib.unified_diff(before, after, lineterm="", n=1)
    found: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith("@@"):
            found.append(("gap", "…"))
        elif line[:3] not in {"---", "+++"} or found:
            found.append((kinds.get(line[:1], "same"), line[1:]))
    return tuple(found[1:] if found and found[0][0] == "gap" else found)


def lines_of(text: str) -> list[str]:
    """JSON is one line as it is sent; it is compared as a person would lay it out."""
    if text[:1] in {"[", "{"}:
        try:
            text = words.pretty(json.loads(text))
        except ValueError:
            return text.splitlines()
    return text.splitlines()


def call_row(call: ToolCall) -> CallRow:
    return CallRow(
        call=call,
        args=words.pretty(call.args or call.proposed),
        proposed=words.pretty(call.proposed) if call.args and call.proposed and call.args != call.proposed else "",
        result=words.pretty(call.result) if call.result is not None else "",
        error=call.error or {},
        took=words.took(words.span_ms(call.started_at, call.ended_at)),
    )


# ---- the whole trace, to take away ------------------------------------------------------------------


def export(conversation: Conversation, *, for_staff: bool) -> Iterator[dict[str, Any]]:
    """Every iteration as JSON values, oldest first, a batch at a time."""
    rows = Iteration.objects.filter(turn__conversation=conversation).select_related("turn").prefetch_related("calls")
    for row in rows.order_by("turn__number", "number").iterator(chunk_size=50):
        yield {
            "turn": row.turn.number,
            "goal": row.turn.goal,
            "iteration": row.number,
            **{name: getattr(row, name) for name in EXPORTED},
            "calls": [
                {name: getattr(call, name) for name in CALL_EXPORTED + (("traceback",) if for_staff else ())}
                for call in row.calls.all()
            ],
        }


EXPORTED = (
    "step_key", "plan_revision", "sections", "offered", "receipt", "raw", "thought", "notes", "changes", "outcome",
    "reason", "prompt_tokens", "reply_tokens", "cached_tokens", "estimated", "cost", "model_ms", "own_ms",
    "started_at", "ended_at",
)  # fmt: skip
CALL_EXPORTED = (
    "id", "index", "step_key", "tool", "version", "tier", "status", "proposed", "args", "digest", "notes", "result",
    "text", "summary", "error", "started_at", "ended_at",
)  # fmt: skip
