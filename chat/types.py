"""The frozen values on the road of a turn.

Touches: nothing (pure).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from memory.types import Recall, SlotView
from planning.types import CheckView, ConditionView, PlanView, StepView

Json = dict[str, Any]

# ---- what the loop may know -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one turn; a gate ends the turn at the first one reached."""

    iterations: int
    tokens: int  # prompt and reply together
    seconds: float  # working time
    cost: float  # dollars
    repeats: int  # the same action in a row
    revisions: int  # plan revisions by the agent
    step_iterations: int  # iterations one step may use


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the turn has used so far."""

    iterations: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None  # None: the price is not known
    revisions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of the window."""

    role: str  # user or agent
    text: str
    trace: str = ""  # what the agent did in that turn, in short


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """One tool call with what came of it."""

    id: UUID
    iteration: int
    index: int
    step_key: str
    tool: str
    tier: str
    status: str
    args: Mapping[str, Any]  # the effective ones, once they are known
    digest: str
    result: Any
    text: str  # as the model reads it
    summary: str
    error: Mapping[str, Any] | None
    proposed: Mapping[str, Any] = field(default_factory=dict)  # as the model gave them


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All the loop may know at the start of an iteration."""

    conversation_id: UUID
    turn_id: UUID
    user_id: int
    fence: int
    number: int  # of this iteration
    goal: str
    plan: PlanView | None
    step: StepView | None  # the step in focus
    conditions: tuple[ConditionView, ...]
    exclusions: tuple[str, ...]
    slots: tuple[SlotView, ...]
    recalls: tuple[Recall, ...]
    summary: str
    window: tuple[Said, ...]
    steering: tuple[str, ...]  # what the person added since the turn began
    new_words: bool  # some of it has not been read by the model yet
    evidence: tuple[CallView, ...]  # calls of the step in focus (before a plan: of this turn), oldest first
    results: tuple[CallView, ...]  # the last good result of each done step, in plan order
    recent: tuple[CallView, ...]  # the last calls of the turn, newest last, for the gates
    faults: tuple[str, ...]  # what the loop must say about the last iteration
    replan: str  # why the plan must be revised now; empty: it need not
    offered: tuple[str, ...]  # tools the model may call now
    limits: Limits
    usage: Usage
    pending: "Decision | None"  # a decision whose calls have no result yet
    plain_text_before: bool  # the model has already been told once that plain text is no end
    today: str  # one line for the prompt: the days that the task names, or else today
    notice: str = ""  # recall was degraded: said to the person
    calls: tuple[CallView, ...] = ()  # the last calls of the turn, more of them than the model or the gates look at
    epoch: int = 0  # of the person's memory; it moves when words are forgotten, wherever they stand
    fresh: tuple[str, ...] = ()  # the memories shown now that the iteration before was not shown
    beside: tuple[StepView, ...] = ()  # ready steps that may be done in the same go as the one in focus
    kept_plans: tuple[str, ...] = ()  # before a plan: plans the person kept from similar tasks, a line each


# ---- what the model sees ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    name: str
    text: str
    tokens: int
    kept: bool = True
    rule: str = ""  # why it was cut or shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The part of the Snapshot that the model gets, within the token budget."""

    sections: tuple[Section, ...]
    messages: tuple[Json, ...]  # in the form of the chat completions API
    tools: tuple[Json, ...]  # function schemas
    must_call: bool  # a call is required, not only allowed
    tokens: int  # estimated


# ---- what the model chose --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RawCall:
    """One tool call as the endpoint sent it."""

    id: str
    name: str
    arguments: str  # JSON text, perhaps broken


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUse:
    prompt: int = 0
    reply: int = 0
    cached: int = 0
    estimated: bool = False
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the endpoint answered, assembled from its stream."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[RawCall, ...] = ()
    finish: Literal["stop", "calls", "length", "cut"] = "stop"  # cut: the stream ended without a finish
    usage: TokenUse = field(default_factory=TokenUse)
    model: str = ""
    notes: tuple[str, ...] = ()  # what the gateway had to mend or give up


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a Decision. `id` is set once it is a row."""

    tool: str
    args: Mapping[str, Any]
    fault: str = ""  # why it cannot run (bad JSON, unknown tool); told to the model
    id: UUID | None = None
    status: str = "intended"
    effective: Mapping[str, Any] | None = None  # may run, with these arguments; None: act has to ask
    notes: tuple[str, ...] = ()  # harmless slips that were normalised


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the model chose: calls, or text."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    reply: Reply | None = None  # None: taken up again from rows
    context: Context | None = None
    model_ms: int = 0
    iteration_id: int = 0  # set by intend
    started_at: datetime | None = None  # of the iteration's row
    notes: tuple[str, ...] = ()  # what stands there already
    paused: bool = False  # the iteration has ended once, by waiting for the person


# ---- what came of it ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What came back from one call; shown to the model."""

    call_id: UUID
    status: str  # a ToolCall.Status
    data: Any = None  # the evidence
    text: str = ""  # as the model reads it
    summary: str = ""  # one line for the person
    error: Json | None = None
    traceback: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What the rows say once the results are in: the evidence, and the plan as it is by then."""

    calls: tuple[CallView, ...]  # of the turn, oldest first
    plan: PlanView | None
    slots: tuple[SlotView, ...]
    conditions: tuple[ConditionView, ...]
    thought: str = ""  # what the model said beside its calls
    tool_ms: int = 0  # that this iteration's tools took


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A condition's answer."""

    key: str
    status: Literal["yes", "no"]
    quote: str
    how: Literal["code", "model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A step that was done in the same go as the one in focus: its checks, all passed."""

    key: str
    checks: tuple[CheckView, ...]
    found: str  # in one line


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the checks say of the step in focus, and what follows for the turn."""

    judged: bool = False  # the step's checks were looked at
    checks: tuple[CheckView, ...] = ()  # those that were, with what they say now
    step_done: bool = False
    found: str = ""  # by the step, in one line
    attempt: str | None = None  # the step's try failed: why
    step_failed: str = ""  # the step as a whole did: why
    beside: tuple[Beside, ...] = ()  # other steps that are done
    decided: tuple[Decided, ...] = ()  # conditions
    replan: str = ""  # a reason to revise the plan
    answer: Json | None = None  # a finish that was accepted: {"answer", "sources", "open_points"}
    question: str = ""  # ask_user
    waiting: int = 0  # approvals still open
    plan_unapproved: bool = False
    faults: tuple[str, ...] = ()  # what the model must be told in the next iteration
    notes: tuple[str, ...] = ()  # what the person is shown
    use: TokenUse = field(default_factory=TokenUse)  # model calls made to judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The iteration before, as it was written down: what the next one need not read again."""

    snapshot: Snapshot
    calls: tuple[CallView, ...]
    plan: PlanView | None  # as its rows are now; None: they must be read
    conditions: tuple[ConditionView, ...]
    changes: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an iteration ends: continue, pause, finish or stop, with the reason."""

    kind: Literal["continue", "pause", "finish", "stop"]
    reason: str = ""
    gate: str = ""  # the name of the gate that stopped the turn
    waits_for: Literal["", "approval", "user"] = ""
    answer: Json | None = None

    @property
    def ends_turn(self) -> bool:
        return self.kind in {"finish", "stop"}

    @property
    def leaves_loop(self) -> bool:
        return self.kind != "continue"
