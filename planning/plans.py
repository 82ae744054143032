"""Draft, revise, start, finish, fail: the writer of Plan, Step and AcceptanceCheck.

PlanDraft -> Plan revisions -> step transitions.  Touches: its three tables.

A revision is new rows: the old plan stays as it was. A step keeps its key, so done steps are carried over and never
run again. Status moves by guarded update: filter on the old status, expect one row.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from planning import edits, views
from planning.diff import diff
from planning.drafts import CheckDraft, PlanDraft, StepDraft, faults, waits_for
from planning.errors import NotDone, PlanRefused, StaleRevision
from planning.models import AcceptanceCheck, Condition, Plan, Step
from planning.types import CheckView, PlanView, StepView, ToolFacts

Status = Step.Status
KEPT = ("done", "skipped")  # what a revision carries over
current = views.latest


# ---- writing plans ------------------------------------------------------------------------------------------


@transaction.atomic
def set_plan(
    turn_id: UUID,
    conversation_id: UUID,
    goal: str,
    draft: PlanDraft,
    *,
    tools: Mapping[str, ToolFacts],
    exclusions: Sequence[str] = (),
    approved: bool = True,
) -> PlanView:
    """The first revision. Raises PlanRefused with every fault."""
    found = faults(draft, tools=tools, exclusions=exclusions)
    if found:
        raise PlanRefused(found)
    if current(turn_id):
        raise PlanRefused(["There is a plan already. Call revise_plan to change it."])
    steps = _steps(draft.steps, tools, first=1)
    return _write(turn_id, conversation_id, 1, goal, steps, "agent", "", {}, approved)


@transaction.atomic
def revise(
    turn_id: UUID,
    draft: PlanDraft,
    *,
    reason: str,
    tools: Mapping[str, ToolFacts],
    author: str = "agent",
    exclusions: Sequence[str] = (),
    approved: bool = True,
) -> PlanView:
    """Replace what is still to do. Done steps stay first, with their keys. Raises PlanRefused."""
    old = current(turn_id)
    if old is None:
        raise PlanRefused(["There is no plan yet. Call set_plan."])
    kept = [step for step in old.steps if step.status in KEPT]
    done = [step for step in kept if step.status == "done"]
    draft = _without_done(draft, done)
    failed = old if author == "agent" else None
    found = faults(draft, tools=tools, done=done, failed=failed, exclusions=exclusions)
    if found:
        raise PlanRefused(found)
    steps = [*kept, *_steps(draft.steps, tools, first=len(kept) + 1, after=[step.key for step in done])]
    steps = [replace(step, index=index) for index, step in enumerate(steps, 1)]
    return write_revision(old, steps, author=author, reason=reason, approved=approved)


@transaction.atomic
def edit(
    turn_id: UUID,
    base_revision: int,
    change: Mapping[str, Any],
    *,
    tools: Mapping[str, ToolFacts] = MappingProxyType({}),
) -> PlanView:
    """One change by the person. Raises StaleRevision when the plan moved on since they read it, PlanRefused."""
    newest = Plan.objects.select_for_update().filter(turn_id=turn_id).order_by("-revision").first()
    if newest is None:
        raise PlanRefused(["There is no plan."])
    if newest.revision != base_revision:
        raise StaleRevision(newest.revision)
    old = views.of(newest)
    steps = edits.apply(old.steps, change, tools)
    goal = str(change.get("goal", "")) if change.get("op") == "goal" else ""
    return write_revision(old, steps, author="person", reason="", goal=goal, approved=old.approved)


def write_revision(
    old: PlanView, steps: Sequence[StepView], *, author: str, reason: str, goal: str = "", approved: bool = True
) -> PlanView:
    """Write the next revision with its diff. Must run in a transaction."""
    row = Plan.objects.select_for_update().get(id=old.id)
    newest = Plan.objects.filter(turn_id=row.turn_id).order_by("-revision").values_list("revision", flat=True)[0]
    if newest != old.revision:
        raise PlanRefused(["The plan changed meanwhile. Look at it again."])
    changes = diff(old.steps, steps)
    return _write(
        row.turn_id, row.conversation_id, newest + 1, goal or old.goal, steps, author, reason, changes, approved
    )


def approve(turn_id: UUID) -> None:
    _newest(turn_id).update(approved=True)


def disapprove(turn_id: UUID, reason: str) -> None:
    """The person wants another plan; their words reach the model as steering."""
    _newest(turn_id).update(approved=False, reason=reason)


def revisions(turn_id: UUID) -> int:
    """How often the agent changed its plan."""
    return Plan.objects.filter(turn_id=turn_id, author=Plan.Author.AGENT, revision__gt=1).count()


# ---- moving steps ---------------------------------------------------------------------------------------------


@transaction.atomic
def next_step(turn_id: UUID) -> StepView | None:
    """The running step, or the first ready one, which then runs. Branches not in force are skipped. None: none is ready."""
    plan = current(turn_id)
    if plan is None:
        return None
    running = next((step for step in plan.steps if step.status == "running"), None)
    if running is not None:
        return running
    plan = _skip_branches(plan, turn_id)
    step = next((step for step in ready(plan)), None)
    if step is None:
        return None
    moved = Step.objects.filter(plan_id=plan.id, key=step.key, status=Status.PENDING).update(status=Status.RUNNING)
    return replace(step, status="running") if moved else None


def ready(plan: PlanView) -> tuple[StepView, ...]:
    """Pending steps whose dependencies are settled well and whose branch is in force."""
    settled = {step.key for step in plan.steps if step.status in KEPT}
    return tuple(step for step in plan.steps if step.status == "pending" and set(step.depends_on) <= settled)


def ready_reads(turn_id: UUID, tools: Mapping[str, ToolFacts]) -> tuple[StepView, ...]:
    """Ready steps that only read: they may run side by side."""
    plan = current(turn_id)
    steps = ready(plan) if plan else ()
    return tuple(
        step for step in steps if step.tools and all(tools[t].tier == "read" for t in step.tools if t in tools)
    )


def count_iteration(turn_id: UUID, key: str) -> None:
    _step(turn_id, key).update(iterations=F("iterations") + 1)


def fail_attempt(turn_id: UUID, key: str, note: str) -> None:
    _step(turn_id, key).update(attempts=F("attempts") + 1, note=note[:500])


def fail_step(turn_id: UUID, key: str, note: str) -> bool:
    return bool(_step(turn_id, key).filter(status=Status.RUNNING).update(status=Status.FAILED, note=note[:500]))


def finish_step(turn_id: UUID, key: str, found: str) -> None:
    """Raises NotDone unless every check of the running step has passed."""
    step = _step(turn_id, key).filter(status=Status.RUNNING).first()
    checks = AcceptanceCheck.objects.filter(step=step) if step else AcceptanceCheck.objects.none()
    passed = [check.verdict == AcceptanceCheck.Verdict.PASSED for check in checks]
    if step is None or not passed or not all(passed):
        raise NotDone(f"Step {key} has checks that have not passed.")
    Step.objects.filter(id=step.id, status=Status.RUNNING).update(status=Status.DONE, found=found[:500], note="")


def record_verdict(check_id: int, verdict: str, reason: str, evidence: str = "", call_id: UUID | None = None) -> None:
    AcceptanceCheck.objects.filter(id=check_id).update(
        verdict=verdict, reason=reason[:1_000], evidence=evidence[:2_000], call_id=call_id
    )


# ---- parts ------------------------------------------------------------------------------------------------------


def _skip_branches(plan: PlanView, turn_id: UUID) -> PlanView:
    """A step of the branch that does not hold is skipped, with the condition as the reason."""
    branches = [step for step in plan.steps if step.status == "pending" and step.when.get("branch")]
    if not branches:
        return plan
    decided = {c.key: c for c in Condition.objects.filter(turn_id=turn_id).exclude(status=Condition.Status.OPEN)}
    for step in branches:
        condition = decided.get(step.when.get("condition", ""))
        if condition and condition.status != step.when.get("branch"):
            note = f"{condition.question} {condition.get_status_display()}"
            Step.objects.filter(plan_id=plan.id, key=step.key, status=Status.PENDING).update(
                status=Status.SKIPPED, note=note
            )
    return current(turn_id) or plan


def _without_done(draft: PlanDraft, done: Sequence[StepView]) -> PlanDraft:
    """A model often repeats the done steps at the head of its revision; they are the same steps, not new ones."""
    titles = {(step.title.casefold(), step.tools) for step in done}
    steps = [step for step in draft.steps if (step.title.casefold(), (step.tool,)) not in titles]
    if len(steps) == len(draft.steps):
        return draft
    return draft.model_copy(update={"steps": [step.model_copy(update={"after": None}) for step in steps]})


def _steps(
    drafts: Sequence[StepDraft], tools: Mapping[str, ToolFacts], *, first: int, after: Sequence[str] = ()
) -> list[StepView]:
    keys = [draft.key or secrets.token_hex(4) for draft in drafts]
    steps = []
    for number, draft in enumerate(drafts, 1):
        depends = [keys[n - 1] for n in waits_for(drafts, number)] or list(after)
        steps.append(
            StepView(
                key=keys[number - 1],
                index=first + number - 1,
                title=(draft.title or tools[draft.tool].purpose)[:200],
                tools=(draft.tool,) if draft.tool else (),
                depends_on=tuple(depends),
                status="pending",
                attempts=0,
                iterations=0,
                note="",
                found="",
                checks=tuple(_checks(draft, tools)),
                when=dict(draft.when),
            )
        )
    return steps


def _checks(draft: StepDraft, tools: Mapping[str, ToolFacts]) -> list[CheckView]:
    """The draft's checks; always one that code decides about the tool itself, so that no step is done unseen."""
    facts = tools.get(draft.tool)
    own = [CheckDraft.model_validate(dict(check)) for check in (facts.checks if facts else ())]
    default = own or [CheckDraft(kind="tool_succeeded", tool=draft.tool)]
    chosen = [*default, *(check for check in draft.checks if check.kind != "tool_succeeded")]
    return [
        CheckView(id=0, kind=c.kind, params={"tool": draft.tool, **c.params()}, verdict="open", reason="")
        for c in chosen
    ]


def _write(
    turn_id: UUID,
    conversation_id: UUID,
    revision: int,
    goal: str,
    steps: Sequence[StepView],
    author: str,
    reason: str,
    changes: dict[str, Any],
    approved: bool,
) -> PlanView:
    plan = Plan.objects.create(
        turn_id=turn_id,
        conversation_id=conversation_id,
        revision=revision,
        goal=goal,
        author=author,
        reason=reason,
        diff=changes,
        approved=approved,
    )
    rows = Step.objects.bulk_create(
        Step(
            plan=plan,
            key=step.key,
            index=step.index,
            title=step.title,
            tools=list(step.tools),
            depends_on=list(step.depends_on),
            when=dict(step.when),
            status=step.status,
            attempts=step.attempts,
            iterations=step.iterations,
            note=step.note,
            found=step.found,
        )
        for step in steps
    )
    AcceptanceCheck.objects.bulk_create(
        AcceptanceCheck(
            step=row, kind=c.kind, params=dict(c.params), verdict=c.verdict, reason=c.reason, evidence=c.evidence
        )
        for row, step in zip(rows, steps, strict=True)
        for c in step.checks
    )
    return views.of(plan)


def _newest(turn_id: UUID) -> Any:
    newest = Plan.objects.filter(turn_id=turn_id).order_by("-revision").values_list("id", flat=True)[:1]
    return Plan.objects.filter(id__in=list(newest))


def _step(turn_id: UUID, key: str) -> Any:
    newest = Plan.objects.filter(turn_id=turn_id).order_by("-revision").values_list("id", flat=True)[:1]
    return Step.objects.filter(plan_id__in=list(newest), key=key)
