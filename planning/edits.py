"""A person's change of the live plan, applied to its steps.

steps, change -> steps.  Touches: nothing (pure).

What is done stays as it is; everything else may be reworded, moved, skipped, added or taken out, the running step
too: the loop sees at its next look that it is gone.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from planning.drafts import CheckDraft
from planning.errors import PlanRefused
from planning.faults import MAX_STEPS, MAX_TITLE
from planning.types import CheckView, StepView, ToolFacts

OPEN = ("pending", "running", "failed", "skipped")


def apply(steps: Sequence[StepView], change: Mapping[str, Any], tools: Mapping[str, ToolFacts]) -> list[StepView]:
    """Raises PlanRefused when the change cannot be made."""
    op = str(change.get("op", ""))
    if op == "add":
        return _numbered([*steps, _added(steps, change, tools)])
    if op == "goal":
        return list(steps)
    step = next((item for item in steps if item.key == change.get("key")), None)
    if step is None:
        raise PlanRefused([_("This step is no longer in the plan.")])
    if step.status not in OPEN:
        raise PlanRefused([_("A step that is done stays as it is.")])
    match op:
        case "reword":
            # The person's words stand: they are not replaced by those of a branch.
            when = step.when if step.when.get("branch") else {}
            return _with(steps, replace(step, title=_title(change), when=when))
        case "skip":
            if step.status == "skipped":
                return list(steps)
            return _with(steps, replace(step, status="skipped", note=_("Skipped by you")))
        case "unskip" | "retry":
            if step.status not in {"skipped", "failed"}:
                return list(steps)
            return _with(steps, replace(_afresh(step), depends_on=_settleable(steps, step)))
        case "delete":
            return _without(steps, step)
        case "move":
            return _moved(steps, step, _place(change, step))
        case "checks":
            return _with(steps, replace(step, checks=tuple(_checks(step, change))))
    raise PlanRefused([_("There is no such change.")])


def _added(steps: Sequence[StepView], change: Mapping[str, Any], tools: Mapping[str, ToolFacts]) -> StepView:
    tool = str(change.get("tool", "")).strip()
    if sum(step.status in {"pending", "running", "failed"} for step in steps) >= MAX_STEPS:
        raise PlanRefused([_("At most %(most)s steps may be open at a time.") % {"most": MAX_STEPS}])
    if tool not in tools:
        raise PlanRefused([_("Choose the tool that the step uses.")])
    own = tools[tool].checks or ({"kind": "tool_succeeded", "tool": tool},)
    drafts = [CheckDraft.model_validate(dict(check)) for check in own]
    checks = [
        CheckView(id=0, kind=d.kind, params={"tool": tool, **d.params()}, verdict="open", reason="") for d in drafts
    ]
    last = next((item.key for item in reversed(steps) if item.status not in {"skipped", "failed"}), None)
    return StepView(
        key=secrets.token_hex(4),
        index=len(steps) + 1,
        title=_title(change),
        tools=(tool,),
        depends_on=(last,) if last else (),
        status="pending",
        attempts=0,
        iterations=0,
        note="",
        found="",
        checks=tuple(checks),
    )


def _moved(steps: Sequence[StepView], step: StepView, to: int) -> list[StepView]:
    """Steps go one after the other in the new order; a step never moves before one that is done."""
    done = sum(item.status == "done" for item in steps)
    others = [item for item in steps if item.key != step.key]
    at = max(done, min(len(others), to - 1))
    moved = [*others[:at], step, *others[at:]]
    return list(steps) if moved == list(steps) else _chained(_numbered(moved))


def _chained(steps: Sequence[StepView]) -> list[StepView]:
    """After a move the open steps wait for the one before: an order the person chose is the order that holds."""
    found: list[StepView] = []
    for step in steps:
        before = next((item.key for item in reversed(found) if item.status != "skipped"), None)
        keep = step.status in {"done", "running"}
        found.append(step if keep else replace(step, depends_on=(before,) if before else ()))
    return found


def _without(steps: Sequence[StepView], gone: StepView) -> list[StepView]:
    """Who waited for the step waits for what it waited for."""
    if len(steps) == 1:
        raise PlanRefused([_("A plan needs at least one step. Stop the turn instead.")])
    left = [item for item in steps if item.key != gone.key]

    def inherit(item: StepView) -> StepView:
        if gone.key not in item.depends_on:
            return item
        keys = (*(key for key in item.depends_on if key != gone.key), *gone.depends_on)
        return replace(item, depends_on=tuple(dict.fromkeys(keys)))

    return _numbered([inherit(item) for item in left])


def _checks(step: StepView, change: Mapping[str, Any]) -> list[CheckView]:
    """The tool's own check stays; the person's question is judged beside it."""
    question = str(change.get("question", "")).strip()[:300]
    if question in {check.params.get("question") for check in step.checks if check.kind == "judge"}:
        return list(step.checks)
    kept = [check for check in step.checks if check.kind != "judge"]
    if question:
        kept.append(CheckView(id=0, kind="judge", params={"question": question}, verdict="open", reason=""))
    return kept


def _title(change: Mapping[str, Any]) -> str:
    title = " ".join(str(change.get("title", "")).split())[:MAX_TITLE]
    if not title:
        raise PlanRefused([_("Say in a few words what the step does.")])
    return title


def _afresh(step: StepView) -> StepView:
    """Taken up again because the person says so, whichever branch it was of; nothing of before counts for it."""
    checks = tuple(replace(check, verdict="open", reason="", evidence="", call_id=None) for check in step.checks)
    return replace(step, status="pending", note="", attempts=0, iterations=0, when={}, checks=checks)


def _settleable(steps: Sequence[StepView], step: StepView) -> tuple[str, ...]:
    """What it waits for, without what has left the plan since and what by now waits for the step itself."""
    by_key = {item.key: item for item in steps}

    def waits(key: str, seen: frozenset[str] = frozenset()) -> bool:
        if key == step.key:
            return True
        return key not in seen and key in by_key and any(waits(k, seen | {key}) for k in by_key[key].depends_on)

    return tuple(key for key in step.depends_on if key in by_key and not waits(key))


def _place(change: Mapping[str, Any], step: StepView) -> int:
    try:
        return int(change.get("to", step.index))
    except (TypeError, ValueError):
        raise PlanRefused([_("Say where the step should go.")]) from None


def _with(steps: Sequence[StepView], changed: StepView) -> list[StepView]:
    return [changed if item.key == changed.key else item for item in steps]


def _numbered(steps: Sequence[StepView]) -> list[StepView]:
    return [replace(item, index=index) for index, item in enumerate(steps, 1)]
