"""The frozen values of the planning room.

Touches: nothing (pure).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    id: int
    kind: str
    params: Mapping[str, Any]
    verdict: str  # open, passed, failed
    reason: str
    evidence: str = ""
    call_id: UUID | None = None  # the tool call that the evidence is from


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    key: str
    index: int
    title: str
    tools: tuple[str, ...]
    depends_on: tuple[str, ...]
    status: str  # pending, running, done, failed, skipped
    attempts: int
    iterations: int
    note: str
    found: str
    checks: tuple[CheckView, ...]
    when: Mapping[str, str] = field(default_factory=dict)  # {"condition", "branch"} or empty


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionView:
    key: str
    question: str
    then: str
    otherwise: str
    rule: str
    decided_by: str
    status: str  # open, yes, no
    follows: str  # the branch in force
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    id: int
    revision: int
    goal: str
    steps: tuple[StepView, ...]
    approved: bool = True
    author: str = "agent"  # of this revision: agent or person

    def step(self, key: str) -> StepView | None:
        return next((step for step in self.steps if step.key == key), None)

    @property
    def open_steps(self) -> tuple[StepView, ...]:
        return tuple(step for step in self.steps if step.status in {"pending", "running"})

    @property
    def failed_steps(self) -> tuple[StepView, ...]:
        return tuple(step for step in self.steps if step.status == "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a tool really returned, as the checks read it."""

    call_id: UUID
    tool: str
    succeeded: bool
    result: Any  # JSON
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """What the plan validator must know of a tool."""

    name: str
    tier: str  # read, write, expensive, local
    purpose: str
    checks: tuple[Mapping[str, Any], ...] = ()  # for a step that names none: [{"kind", ...params}]
    needs: tuple[str, ...] = ()  # tools whose result it cannot do without
    choices: tuple[tuple[str, ...], ...] = ()  # the values of each argument that has a fixed few
