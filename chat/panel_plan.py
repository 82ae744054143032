"""What the Plan panel draws: steps with their checks, conditions, what was ruled out, revisions, limits.

Conversation, newest Turn -> context.  Touches: rows (reads; the number of queries does not grow with history).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat import panel_limits, panel_memory, words
from chat.models import Conversation, ToolCall, Turn
from chat.tools import registry
from planning.models import AcceptanceCheck, Condition, Exclusion, Plan, Step

SHOWN_REVISIONS = 30  # newest first; a person may edit often
SHOWN_EXCLUSIONS = 100


Worked = tuple[str, str, int]  # step key, tool, iteration


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    words: str
    label: str  # Passed, Not passed, Waiting, Check
    verdict: str
    reason: str
    evidence: str
    source: str  # "get_weather, iteration 2"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    step: Step
    state: str  # the status, or "waiting" while the step in focus waits for the person
    checks: tuple[CheckRow, ...]
    needs: str  # "2, 3": the steps it waits for, when they are not simply the ones before
    branch: str  # which decided branch it belongs to
    question: str  # what a judge is asked beside the tool's own check
    may_change: bool
    first: bool
    last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    kind: str  # added, removed, changed, moved, kept
    title: str
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRow:
    plan: Plan
    changes: tuple[ChangeRow, ...]
    kept: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionRow:
    condition: Condition
    follows: str
    source: str  # "Decided in iteration 2 from get_weather"


def read(conversation: Conversation, turn: Turn | None, options: Mapping[str, str]) -> dict[str, Any]:
    plans = list(
        Plan.objects.filter(conversation=conversation)
        .select_related("turn")
        .order_by("-turn__number", "-revision")[:SHOWN_REVISIONS]
    )
    plan = plans[0] if plans else None
    plans = [other for other in plans if plan and other.turn_id == plan.turn_id]
    steps = steps_of(plans)
    conditions = list(Condition.objects.filter(turn_id=plan.turn_id)) if plan else []
    worked = calls_of(plan.turn_id) if plan else []
    rows = step_rows(plan, steps.get(plan.id, []), conditions, worked, turn) if plan else ()
    open_plan = plan is not None and plan.turn.is_open
    return {
        "plan": plan,
        "earlier_turn": plan is not None and turn is not None and plan.turn_id != turn.id,
        "steps": rows,
        "done": sum(row.state == "done" for row in rows),
        "all_done": bool(rows) and all(row.state in {"done", "skipped"} for row in rows),
        "conditions": [condition_row(condition, worked) for condition in conditions],
        "exclusions": Exclusion.objects.filter(conversation=conversation, lifted_at=None)[:SHOWN_EXCLUSIONS],
        "revisions": revision_rows(plans, steps),
        "gauges": panel_limits.gauges(
            turn, revisions=sum(p.author == Plan.Author.AGENT and p.revision > 1 for p in plans)
        ),
        "may_edit": open_plan,
        "editing": open_plan and options.get("mode") == "edit",
        "tools": sorted(registry.business()),
        "editing_exclusion": options.get("exclusion", ""),
        "asks_approval": open_plan and plan is not None and not plan.approved,
        "recalls": panel_memory.newest_recalls(conversation.user_id, turn, only_shown=True) if turn else (),
    }


def steps_of(plans: Sequence[Plan]) -> dict[int, list[Step]]:
    """The steps of every revision in one query; the checks of the newest alone in another."""
    found: dict[int, list[Step]] = {}
    for step in Step.objects.filter(plan__in=plans).order_by("plan_id", "index"):
        found.setdefault(step.plan_id, []).append(step)
    return found


def step_rows(
    plan: Plan, steps: Sequence[Step], conditions: Sequence[Condition], worked: Sequence[Worked], turn: Turn | None
) -> tuple[StepRow, ...]:
    checks: dict[int, list[AcceptanceCheck]] = {}
    for check in AcceptanceCheck.objects.filter(step__plan=plan):
        checks.setdefault(check.step_id, []).append(check)
    sources = {key: _("%(tool)s, iteration %(n)s") % {"tool": tool, "n": n} for key, tool, n in worked}
    number = {step.key: step.index for step in steps}
    branches = branch_words(steps, conditions)
    waiting = turn is not None and turn.id == plan.turn_id and turn.status.startswith("waiting")
    open_keys = [step.key for step in steps if step.status != Step.Status.DONE]
    rows = []
    for step in steps:
        state = "waiting" if waiting and step.status == Step.Status.RUNNING else str(step.status)
        rows.append(
            StepRow(
                step=step,
                state=state,
                checks=tuple(check_row(check, state, sources.get(step.key, "")) for check in checks.get(step.id, [])),
                question=next((c.params.get("question", "") for c in checks.get(step.id, []) if c.kind == "judge"), ""),
                needs=", ".join(str(number[key]) for key in step.depends_on if key in number),
                branch=branches.get(step.key, ""),
                may_change=step.key in open_keys,
                first=not open_keys or step.key == open_keys[0],
                last=not open_keys or step.key == open_keys[-1],
            )
        )
    return tuple(rows)


def check_row(check: AcceptanceCheck, state: str, source: str) -> CheckRow:
    label = {
        AcceptanceCheck.Verdict.PASSED: _("Passed"),
        AcceptanceCheck.Verdict.FAILED: _("Not passed"),
    }.get(AcceptanceCheck.Verdict(check.verdict), _("Waiting") if state == "waiting" else _("Check"))
    return CheckRow(
        words=words.check(check.kind, check.params),
        label=label,
        verdict=check.verdict,
        reason=check.reason,
        evidence=check.evidence,
        source=source if check.evidence else "",
    )


def calls_of(turn_id: UUID) -> list[Worked]:
    """What brought something, oldest first."""
    calls = ToolCall.objects.filter(turn_id=turn_id, status=ToolCall.Status.SUCCEEDED).exclude(tier="local")
    return list(calls.order_by("iteration_id", "index").values_list("step_key", "tool", "iteration__number"))


def branch_words(steps: Sequence[Step], conditions: Sequence[Condition]) -> dict[str, str]:
    """Step key -> which branch of which condition it belongs to, in words."""
    questions = {condition.key: condition.question for condition in conditions}
    found = {}
    for step in steps:
        question = questions.get(step.when.get("condition", ""), "")
        if question and not step.when.get("branch"):  # one step for both branches
            found[step.key] = _("As “%(question)s” is answered") % {"question": question}
        elif question:
            answer = _("yes") if step.when["branch"] == "yes" else _("no")
            found[step.key] = _("Only if “%(question)s” is answered %(answer)s") % {
                "question": question,
                "answer": answer,
            }
    return found


def condition_row(condition: Condition, worked: Sequence[Worked]) -> ConditionRow:
    source = ""
    tools = list(dict.fromkeys(tool for _key, tool, number in worked if number == condition.iteration))
    if condition.status != Condition.Status.OPEN:
        parts = {"n": condition.iteration, "tool": ", ".join(tools), "who": words.who(condition.how)}
        if condition.iteration and tools:
            source = _("Decided in iteration %(n)s from %(tool)s") % parts
        elif condition.iteration:
            source = _("Decided in iteration %(n)s") % parts
        else:
            source = _("Decided by %(who)s") % parts
    return ConditionRow(condition=condition, follows=condition.follows, source=source)


def revision_rows(plans: Sequence[Plan], steps: Mapping[int, Sequence[Step]]) -> tuple[RevisionRow, ...]:
    """Each revision with what it changed against the one before it, newest first."""
    before = {plan.revision: plan for plan in plans}
    rows = []
    for plan in plans:
        older = before.get(plan.revision - 1)
        if plan.revision > 1 and older is not None:
            rows.append(revision_row(plan, steps.get(older.id, ()), steps.get(plan.id, ())))
    return tuple(rows)


def revision_row(plan: Plan, old: Sequence[Step], new: Sequence[Step]) -> RevisionRow:
    was, now = {step.key: step for step in old}, {step.key: step for step in new}
    common = [step.key for step in new if step.key in was]
    order = [step.key for step in old if step.key in now]
    changes, kept = [], 0
    for step in new:
        if step.key not in was:
            changes.append(ChangeRow(kind="added", title=step.title))
        elif was[step.key].title != step.title:
            changes.append(ChangeRow(kind="changed", title=step.title, before=was[step.key].title))
        elif was[step.key].tools != step.tools:
            before = ", ".join(map(str, was[step.key].tools))
            changes.append(ChangeRow(kind="changed", title=f"{step.title} ({', '.join(step.tools)})", before=before))
        elif common.index(step.key) != order.index(step.key):
            changes.append(ChangeRow(kind="moved", title=step.title))
        elif was[step.key].status != step.status and step.status == Step.Status.SKIPPED:
            changes.append(ChangeRow(kind="skipped", title=step.title))
        else:
            kept += 1
    changes += [ChangeRow(kind="removed", title=step.title) for step in old if step.key not in now]
    return RevisionRow(
        plan=plan,
        changes=tuple(changes),
        kept=ngettext("%(n)d step kept", "%(n)d steps kept", kept) % {"n": kept} if kept else "",
    )
