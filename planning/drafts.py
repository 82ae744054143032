"""What the model or a person proposes as a plan, and what is wrong with it.

proposal -> PlanDraft -> faults.  Touches: nothing (pure).

Sloppy but unambiguous drafts are read as they were meant; everything else is a fault in words that can be acted on,
all faults at once.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from planning.types import PlanView, StepView, ToolFacts

MAX_STEPS = 8
THINKING = re.compile(
    r"^\s*(think|analy[sz]e|decide|consider|summari[sz]e|answer|report|respond|reply|tell|present|inform|conclude|"
    r"思考|分析|总结|回答|告诉|汇报|判断|决定)",
    re.IGNORECASE,
)
EVERYTHING = re.compile(
    r"(whole|entire|complete)\s+(task|project|thing|job)|do everything|完成(整个|全部|所有)", re.IGNORECASE
)

CheckKind = Literal["tool_succeeded", "result_matches", "slot_present", "record_exists", "user_confirmed", "judge"]


class CheckDraft(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)
    kind: CheckKind
    tool: str = ""
    json_schema: dict[str, Any] = Field(default_factory=dict, alias="schema")
    slot: str = ""
    record: str = ""
    question: str = ""

    def params(self) -> dict[str, Any]:
        given = {
            "tool": self.tool,
            "schema": self.json_schema,
            "slot": self.slot,
            "record": self.record,
            "question": self.question,
        }
        return {name: value for name, value in given.items() if value}


class StepDraft(BaseModel):
    model_config = ConfigDict(extra="ignore")
    title: str = ""
    tool: str = ""
    after: list[int] | None = None  # numbers of steps, from 1; None: the step before
    checks: list[CheckDraft] = Field(default_factory=list)
    when: dict[str, str] = Field(default_factory=dict)  # {"condition": key, "branch": "yes" | "no"}
    key: str = ""  # of the step it continues, when a person edits

    @model_validator(mode="before")
    @classmethod
    def _lenient(cls, data: Any) -> Any:
        """A tool given as a list, a check given alone: one meaning, so read as meant."""
        if isinstance(data, dict):
            tools = data.get("tools") or data.get("tool") or ""
            data = {**data, "tool": (tools[0] if tools else "") if isinstance(tools, list) else tools}
            if data.get("check") and not data.get("checks"):
                data["checks"] = [data["check"]]
        return data

    @field_validator("title", "tool", mode="before")
    @classmethod
    def _text(cls, value: Any) -> str:
        return re.sub(r"\s+", " ", str(value or "")).strip()


class ConditionDraft(BaseModel):
    model_config = ConfigDict(extra="ignore")
    question: str
    if_yes: str
    if_no: str = ""
    rule: str = ""  # the words of the goal that hold it
    decided_by: int | None = None  # number of the step whose result decides it


class PlanDraft(BaseModel):
    model_config = ConfigDict(extra="ignore")
    steps: list[StepDraft] = Field(default_factory=list)
    conditions: list[ConditionDraft] = Field(default_factory=list)


def faults(
    draft: PlanDraft,
    *,
    tools: Mapping[str, ToolFacts],
    done: Sequence[StepView] = (),
    failed: PlanView | None = None,
    exclusions: Sequence[str] = (),
) -> list[str]:
    """All faults of a draft. Empty: it may be stored."""
    steps = draft.steps
    found = _number(steps)
    seen: dict[tuple[str, str], int] = {}
    for number, step in enumerate(steps, 1):
        found += _step(number, step, tools)
        same = (step.tool, _norm(step.title))
        if same in seen:
            found.append(f"Steps {seen[same]} and {number} are the same. Keep one.")
        seen.setdefault(same, number)
        found += [f"Step {number} ({step.title}) is done already. Leave it out." for old in done if _same(step, old)]
        found += [
            f'Step {number} tries "{text}", which was ruled out. Choose another way.'
            for text in exclusions
            if _offers(step, text)
        ]
        bad = [n for n in step.after or () if n > len(steps)]
        if bad:
            found.append(f"Step {number} waits for step {bad[0]}, which does not exist. There are {len(steps)} steps.")
    if ring := _cycle(steps):
        found.append(f"Steps {' and '.join(map(str, ring))} wait for each other. Let one of them go first.")
    if failed is not None and not found and _repeats(steps, failed):
        found.append("This is the plan that failed. Use another tool, another order or other steps.")
    return found


def waits_for(steps: Sequence[StepDraft], number: int) -> list[int]:
    """The numbers of the steps that step `number` waits for; by default the one before it."""
    after = steps[number - 1].after
    if after is None:
        return [number - 1] if number > 1 else []
    return sorted({n for n in after if n != number and n > 0})


def _number(steps: Sequence[StepDraft]) -> list[str]:
    if not steps:
        return [
            "The plan has no steps. Write at least one step with the tool it uses, or call finish if no tool is needed."
        ]
    if len(steps) > MAX_STEPS:
        return [
            f"The plan has {len(steps)} steps; at most {MAX_STEPS} are allowed. Keep the ones that are needed, one tool call each."
        ]
    return []


def _step(number: int, step: StepDraft, tools: Mapping[str, ToolFacts]) -> list[str]:
    found = []
    if not step.tool:
        found.append(
            f"Step {number} ({step.title[:60]}) names no tool. Fold it into the step before it, or name the tool."
        )
    elif step.tool not in tools:
        close = difflib.get_close_matches(step.tool, tools, n=1, cutoff=0.4)
        hint = f" Did you mean {close[0]}?" if close else f" Tools: {', '.join(sorted(tools))}."
        found.append(f"Step {number} uses {step.tool[:60]!r}, which is not a tool.{hint}")
    if len(step.title) > 200 or EVERYTHING.search(step.title):
        found.append(f"Step {number} is too large. One step is about one tool call; say in one short sentence which.")
    for check in step.checks:
        found += _check(number, check, tools)
    return found


def _check(number: int, check: CheckDraft, tools: Mapping[str, ToolFacts]) -> list[str]:
    need = {
        "tool_succeeded": check.tool in tools,
        "result_matches": bool(check.json_schema),
        "slot_present": bool(check.slot),
        "record_exists": bool(check.record),
        "user_confirmed": True,
        "judge": len(check.question) > 8,
    }
    return (
        []
        if need[check.kind]
        else [f"The check {check.kind} of step {number} lacks what it tests, so nobody can decide it."]
    )


def _cycle(steps: Sequence[StepDraft]) -> list[int]:
    """The numbers of steps that can never start, because they wait for each other."""
    left = set(range(1, len(steps) + 1))
    while ready := {n for n in left if not set(waits_for(steps, n)) & left}:
        left -= ready
    return sorted(left)


def _norm(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def _same(step: StepDraft, old: StepView) -> bool:
    return step.tool in old.tools and _norm(step.title) == _norm(old.title)


def _offers(step: StepDraft, excluded: str) -> bool:
    """Whether the step's words hold the excluded hypothesis itself."""
    words = _norm(excluded)
    return bool(words) and words in _norm(step.title)


def _repeats(steps: Sequence[StepDraft], failed: PlanView) -> bool:
    """The same tools for the same titles as what was still open: equal in substance."""
    open_then = [(step.tools[:1], _norm(step.title)) for step in failed.steps if step.status not in {"done", "skipped"}]
    now = [((step.tool,) if step.tool else (), _norm(step.title)) for step in steps]
    return bool(open_then) and [(tuple(t), n) for t, n in open_then] == [(tuple(t), n) for t, n in now]
