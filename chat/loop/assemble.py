"""The only place that decides what the model sees: Snapshot -> Context that fits the token budget.

Snapshot -> Context.  Touches: nothing (pure) but the prompt templates.

Stable parts come first, changing parts last, so that the endpoint's prefix cache holds: system rules, earlier talk,
the focus (the task, what is known, the plan, the step), then the calls of this step as they came. Within a step only
the last part grows.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string

from chat import budget
from chat.fence import closed, fenced
from chat.loop import schemas
from chat.tokens import estimate
from chat.types import CallView, Context, Json, Said, Section, Snapshot
from memory.types import SlotView
from planning import conditions
from planning.types import StepView

KEPT_CALLS = 8  # calls of a step the model reads in full; beyond that whole blocks of four leave
MESSAGE_CHARS = 2_000  # of one message of the window
NEAR_CHARS = 2_400  # of a result that the step in focus depends on
SHORT_CHARS = 400  # of the same when room is short
FOUND_CHARS = 160  # of what any other done step found
MARKS = {"done": "✓", "failed": "✗", "skipped": "–", "running": "▶", "pending": " "}


def assemble(snapshot: Snapshot, *, tokens: int = 0) -> Context:
    """tokens: the limit of the whole request, reply aside; 0: the setting's."""
    limit = tokens or settings.AGENT_CONTEXT_TOKENS - settings.AGENT_REPLY_TOKENS
    tools = schemas.offered(snapshot)
    system = render_to_string("system.txt", {"rules": (), "in_step": bool(snapshot.step)}, using="prompts").strip()
    sections = [_section("system", system), _section("tools", json.dumps(tools, ensure_ascii=False))]
    focus, focus_sections = _focus(snapshot, short=False)
    calls = _recent_calls(snapshot)
    evidence = _evidence(calls, _closing(snapshot))
    room = limit - sum(s.tokens for s in sections) - estimate(focus) - sum(_cost(m) for m in evidence)
    if room < 0:  # The focus gives way before the rules, the tools and the last result.
        focus, focus_sections = _focus(snapshot, short=True)
        evidence = _evidence(calls[-2:], _closing(snapshot), chars=max(300, limit))
        room = limit - sum(s.tokens for s in sections) - estimate(focus) - sum(_cost(m) for m in evidence)
    window, cut = _window(snapshot.window, room)
    if snapshot.summary and window:
        window = ({**window[0], "content": f"(Earlier: {snapshot.summary})\n{window[0]['content']}"}, *window[1:])
    closing = "" if evidence else _closing(snapshot)
    messages = (
        {"role": "system", "content": system},
        *window,
        {"role": "user", "content": focus + (f"\n{closing}" if closing else "")},
        *evidence,
    )
    sections += [*focus_sections, *_window_sections(window, cut), *_evidence_sections(evidence, snapshot, calls)]
    total = sum(section.tokens for section in sections if section.kept)
    return Context(sections=tuple(sections), messages=messages, tools=tools, must_call=True, tokens=total)


# ---- the focus ---------------------------------------------------------------------------------------


def _focus(snapshot: Snapshot, *, short: bool) -> tuple[str, list[Section]]:
    """The one message that says what is so and what to do now. `short` leaves out all but the nearest."""
    plan, step = snapshot.plan, snapshot.step
    near_keys = set(step.depends_on) if step else {call.step_key for call in snapshot.results}
    shown = [recall for recall in snapshot.recalls if recall.fate == "shown"]
    parts: dict[str, Any] = {
        "today": snapshot.today,
        "catalogue": schemas.catalogue(snapshot) if {"set_plan", "revise_plan"} & set(snapshot.offered) else [],
        "kept": list(snapshot.kept_plans[: 1 if short else None]),
        "recalls": list(dict.fromkeys(recall.text for recall in shown))[: 2 if short else None],
        "slots": [_slot(slot) for slot in snapshot.slots if slot not in _kept(snapshot)][: 6 if short else 30],
        "exclusions": snapshot.exclusions,
        "goal": _cut(conditions.resolve(snapshot.goal, snapshot.conditions), 3_000 if short else 8_000),
        "added": [_cut(text, 1_000) for text in snapshot.steering[-4:]],
        "steps": [_step_line(item, snapshot, near_keys) for item in plan.steps] if plan else [],
        "results": [_result_line(call, short) for call in snapshot.results if call.step_key in near_keys],
        "decided": [
            f"{c.question} {c.status}: {c.follows}" for c in snapshot.conditions if c.status != "open" and c.follows
        ],
        "steps_left": bool(step),
        "now": _now(snapshot),
    }
    text = render_to_string("focus.txt", parts, using="prompts").strip()
    names = {"recalls": "memories", "steps": "plan", "goal": "task", "kept": "kept plans"}
    return text, [
        _section(names.get(k, k), "\n".join(v) if not isinstance(v, str) else v)
        for k, v in parts.items()
        if v and k != "steps_left"
    ]


def _step_line(step: StepView, snapshot: Snapshot, near: set[str]) -> str:
    """In a step, what is done is a number and what it found, unless its whole result follows below; `now` has the title."""
    line = f"{MARKS[step.status]} {step.index}"
    if step.status == "running" and step is snapshot.step:
        return line
    if step.status != "done" or snapshot.step is None or not (step.found or step.key in near):
        line += f" {_cut(_title(step, snapshot), 160)}"
    if step.status in {"failed", "skipped"} and step.note:
        line += f" ({_cut(step.note, 120)})"
    if step.status == "done" and step.found and step.key not in near:
        found = _cut(step.found, FOUND_CHARS)
        line += f": {fenced(found) if schemas.from_outside(*step.tools) else found}"
    return line


def _kept(snapshot: Snapshot) -> list[SlotView]:
    """What this step put into the state: said at the end, where the prompt may change, and not also as a call."""
    names = {str(call.args.get("name", "")) for call in snapshot.evidence if _keeps(call)} if snapshot.step else set()
    return [slot for slot in snapshot.slots if slot.name in names]


def _keeps(call: CallView) -> bool:
    return call.tool == "update_slots" and call.status == "succeeded"


def _slot(slot: SlotView) -> str:
    return f"{slot.name} = {_plain(slot.value)}"


def _title(step: StepView, snapshot: Snapshot) -> str:
    return conditions.decided_title(step.title, step.when, snapshot.conditions)


def _result_line(call: CallView, short: bool) -> str:
    chars = SHORT_CHARS if short else NEAR_CHARS
    return f"{call.tool} {_plain(call.args)}: {fenced(_cut(call.text, chars))}"


def _now(snapshot: Snapshot) -> str:
    plan, step = snapshot.plan, snapshot.step
    if plan is None:
        return render_to_string("now_plan.txt", {"language": _language(snapshot.goal)}, using="prompts").strip()
    if snapshot.replan:
        values: dict[str, Any] = {
            "reason": snapshot.replan,
            "scene": _scene(snapshot),
            "can_revise": "revise_plan" in snapshot.offered,
            "can_finish": "finish" in snapshot.offered,
        }
        return render_to_string("now_replan.txt", values, using="prompts").strip()
    if step is None:
        return render_to_string("now_finish.txt", {"language": _language(snapshot.goal)}, using="prompts").strip()
    question = next((check.params.get("question", "") for check in step.checks if check.kind == "judge"), "")
    values = {
        "index": step.index,
        "title": _title(step, snapshot),
        "tools": " or ".join(step.tools),
        "question": question,
        "beside": [
            f"{other.index} {_title(other, snapshot)} ({' or '.join(other.tools)})" for other in snapshot.beside
        ],
    }
    return render_to_string("now_step.txt", values, using="prompts").strip()


def _language(text: str) -> str:
    """Small models answer in the language of the prompt unless the task's own is named."""
    han = sum("\u4e00" <= char <= "\u9fff" for char in text)
    return "Chinese (简体中文)" if han >= 4 or han > len(text) / 4 else ""


def _scene(snapshot: Snapshot) -> list[str]:
    """What failed, as it failed: the model must not repeat it."""
    bad = [call for call in snapshot.recent if call.status in {"failed", "refused", "rejected", "expired"}]
    return [f"{call.tool} {_plain(call.args)}: {closed(_cut(call.text or call.summary, 240))}" for call in bad[-3:]]


def _closing(snapshot: Snapshot) -> str:
    """What the loop must say about the last iteration; it stands at the very end, where it is read."""
    kept = _kept(snapshot)
    lines = [f"Kept: {'; '.join(map(_slot, kept))}."] if kept else []
    lines += snapshot.faults
    if low := budget.near(snapshot.limits, snapshot.usage):
        lines.append(low)
    return "\n".join(lines)


# ---- the calls of this step, and earlier talk ------------------------------------------------------------


def _recent_calls(snapshot: Snapshot) -> tuple[CallView, ...]:
    """Whole blocks of four leave at a time, so that the prefix stays the same in between. What went into the state is there."""
    calls = _calls(snapshot)
    extra = len(calls) - KEPT_CALLS
    return calls[-(-extra // 4) * 4 :] if extra > 0 else calls


def _calls(snapshot: Snapshot) -> tuple[CallView, ...]:
    return tuple(call for call in snapshot.evidence if not (snapshot.step and _keeps(call)))


def _evidence(calls: Sequence[CallView], closing: str, *, chars: int = 6_000) -> tuple[Json, ...]:
    """Calls with their results in the form of the API; every call has its result right behind it."""
    messages: list[Json] = []
    for number in dict.fromkeys(call.iteration for call in calls):
        group = [call for call in calls if call.iteration == number]
        messages.append({"role": "assistant", "content": "", "tool_calls": [_as_call(call) for call in group]})
        for call in group:
            text = _cut(call.text, chars)
            text = fenced(text) if call.status == "succeeded" and call.tier != "local" else closed(text)
            messages.append({"role": "tool", "tool_call_id": call.id.hex[:24], "content": text or call.status})
    if closing and messages:
        messages[-1] = {**messages[-1], "content": f"{messages[-1]['content']}\n{closing}"}
    return tuple(messages)


def _as_call(call: CallView) -> Json:
    arguments = json.dumps(dict(call.args), ensure_ascii=False)
    return {"id": call.id.hex[:24], "type": "function", "function": {"name": call.tool, "arguments": arguments}}


def _window(said: Sequence[Said], room: int) -> tuple[tuple[Json, ...], int]:
    """The newest talk that fits, oldest first, roles taking turns. Returns it and how many messages were left out."""
    kept: list[Json] = []
    used = 0
    for index, item in enumerate(reversed(said)):
        text = _cut(item.text, MESSAGE_CHARS) + (f"\n(Done: {_cut(item.trace, 600)})" if item.trace else "")
        used += estimate(text) + 4
        if used > min(room, settings.AGENT_CONTEXT_TOKENS // 3):
            return _alternate(kept[::-1]), len(said) - index
        kept.append({"role": "assistant" if item.role == "agent" else "user", "content": text})
    return _alternate(kept[::-1]), 0


def _alternate(messages: Sequence[Json]) -> tuple[Json, ...]:
    """Strict chat templates want user and assistant to take turns, user first, assistant last before the focus."""
    merged: list[Json] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1] = {**message, "content": f"{merged[-1]['content']}\n{message['content']}"}
        else:
            merged.append(message)
    if merged and merged[0]["role"] == "assistant":
        merged = merged[1:]
    if merged and merged[-1]["role"] == "user":
        merged.append({"role": "assistant", "content": "(no answer)"})
    return tuple(merged)


# ---- sections, for the inspector -------------------------------------------------------------------------


def _section(name: str, text: str, *, kept: bool = True, rule: str = "") -> Section:
    return Section(name=name, text=text, tokens=estimate(text), kept=kept, rule=rule)


def _window_sections(window: Sequence[Json], cut: int) -> list[Section]:
    text = "\n".join(f"{message['role']}: {message['content']}" for message in window)
    found = [_section("earlier talk", text)] if window else []
    if cut:
        found.append(
            _section("earlier talk", f"{cut} older messages", kept=False, rule="over the budget for earlier talk")
        )
    return found


def _evidence_sections(messages: Sequence[Json], snapshot: Snapshot, calls: Sequence[CallView]) -> list[Section]:
    text = "\n".join(
        json.dumps(m["tool_calls"], ensure_ascii=False) if m.get("tool_calls") else m["content"] for m in messages
    )
    found = [_section("calls of this step", text)] if messages else []
    if left := len(_calls(snapshot)) - len(calls):
        found.append(
            _section("calls of this step", f"{left} older calls", kept=False, rule="only the last calls are kept")
        )
    hidden = [r for r in snapshot.recalls if r.fate != "shown"]
    found += [_section("memories", r.text, kept=False, rule=r.fate.replace("_", " ")) for r in hidden]
    return found


def _cost(message: Mapping[str, Any]) -> int:
    return estimate(json.dumps(message, ensure_ascii=False)) + 4


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]} … (cut, {len(text) - chars:,} characters more)"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
