"""Draft, revise, start, finish, fail: the writer of Plan, Step and AcceptanceCheck.

PlanDraft -> Plan revisions -> step transitions.  Touches: its three tables.

A revision is new rows: the old plan stays as it was. A step keeps its key, so done steps are carried over and never
run again. Status moves by guarded update: filter on the old status, expect one row.
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, F, QuerySet, Subquery
from django.utils.translation import gettext as _

from planning import edits, slips, views, words
from planning.diff import diff, identity
from planning.drafts import CheckDraft, PlanDraft, StepDraft, waits_for
from planning.errors import PlanRefused, StaleRevision
from planning.faults import MAX_TITLE, faults, is_same
from planning.models import AcceptanceCheck, Condition, Plan, Step
from planning.types import CheckView, PlanView, StepView, ToolFacts

Status = Step.Status
KEPT = ("done", "skipped")  # what a revision carries over
SIDE_BY_SIDE = 4  # steps that read at most
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
    """Replace what is still to do. Done steps stay first, with their keys. Raises PlanRefused.

    The same plan again is refused, unless the person has just changed it: then the agent may say that it still holds.
    """
    _lock(turn_id)
    old = current(turn_id)
    if old is None:
        raise PlanRefused(["There is no plan yet. Call set_plan."])
    kept = [step for step in old.steps if step.status in KEPT]
    done = [step for step in kept if step.status == "done"]
    draft = _without_done(draft, done)
    same = old if author == "agent" and old.author == "agent" else None
    found = faults(draft, tools=tools, done=done, failed=same, exclusions=exclusions)
    if found:
        raise PlanRefused(found)
    same_as = identity(old.steps, draft.steps)
    drafts = [
        step.model_copy(update={"key": same_as[index].key, "when": step.when or dict(same_as[index].when)})
        if index in same_as
        else step
        for index, step in enumerate(draft.steps)
    ]
    steps = [*kept, *_steps(drafts, tools, first=len(kept) + 1, after=[step.key for step in done])]
    steps = [_keeping_checks(step, old.step(step.key)) for step in steps]
    return write_revision(old, _numbered(steps), author=author, reason=reason, approved=approved)


@transaction.atomic
def edit(
    turn_id: UUID,
    base_revision: int,
    change: Mapping[str, Any],
    *,
    tools: Mapping[str, ToolFacts] = MappingProxyType({}),
) -> PlanView:
    """One change by the person. Raises StaleRevision when the plan moved on since they read it, PlanRefused.

    A change that changes nothing is no revision.
    """
    _lock(turn_id)
    old = current(turn_id)
    if old is None:
        raise PlanRefused([_("There is no plan.")])
    if old.revision != base_revision:
        raise StaleRevision(old.revision)
    steps = edits.apply(old.steps, change, tools)
    goal = str(change.get("goal", "")).strip() if change.get("op") == "goal" else ""
    if steps == list(old.steps) and goal in ("", old.goal):
        return old
    return write_revision(old, steps, author="person", reason="", goal=goal, approved=old.approved)


def write_revision(
    old: PlanView, steps: Sequence[StepView], *, author: str, reason: str, goal: str = "", approved: bool = True
) -> PlanView:
    """Write the next revision with its diff. Must run in a transaction that holds the lock."""
    row = Plan.objects.get(id=old.id)
    changes = diff(old.steps, steps)
    return _write(
        row.turn_id, row.conversation_id, old.revision + 1, goal or old.goal, steps, author, reason, changes, approved
    )


def approve(turn_id: UUID) -> None:
    _newest(turn_id).update(approved=True)


def disapprove(turn_id: UUID, reason: str) -> None:
    """The person wants another plan; their words reach the model as steering."""
    _newest(turn_id).update(approved=False, reason=reason)


def revisions(turn_id: UUID) -> int:
    """How often the agent changed its plan."""
    return Plan.objects.filter(turn_id=turn_id, author=Plan.Author.AGENT, revision__gt=1).count()


def goals(turn_id: UUID) -> tuple[tuple[str, str], ...]:
    """Who wrote each revision, and for which goal, oldest first."""
    return tuple(Plan.objects.filter(turn_id=turn_id).order_by("revision").values_list("author", "goal"))


# ---- moving steps ---------------------------------------------------------------------------------------------


def next_step(turn_id: UUID) -> StepView | None:
    """The running step, or the first ready one, which then runs. None: none is ready."""
    plan = current(turn_id)
    return begin(turn_id, plan)[1] if plan else None


@transaction.atomic
def begin(turn_id: UUID, plan: PlanView) -> tuple[PlanView, StepView | None]:
    """The same with the plan as it then is, from the plan as it was read a moment ago. Branches not in force are skipped."""
    running = next((step for step in plan.steps if step.status == "running"), None)
    if running is not None:
        return plan, running
    _lock(turn_id)
    plan, undecided = _branches(plan, turn_id)
    step = next((step for step in ready(plan) if step.key not in undecided), None)
    newer = Plan.objects.filter(turn_id=turn_id, revision__gt=plan.revision)
    if step is None and not newer.exists():
        return plan, None
    pending = Step.objects.filter(~Exists(newer), plan_id=plan.id, status=Status.PENDING)
    if step is None or not pending.filter(key=step.key).update(status=Status.RUNNING):  # the person was faster
        latest = current(turn_id)
        return begin(turn_id, latest) if latest else (plan, None)
    begun = replace(step, status="running")
    return with_step(plan, begun), begun


def with_step(plan: PlanView, step: StepView) -> PlanView:
    """The plan with this step in place of the one with its key."""
    return replace(plan, steps=tuple(step if step.key == old.key else old for old in plan.steps))


def ready(plan: PlanView) -> tuple[StepView, ...]:
    """Pending steps whose dependencies are settled well."""
    settled = {step.key for step in plan.steps if step.status in KEPT}
    return tuple(step for step in plan.steps if step.status == "pending" and set(step.depends_on) <= settled)


def beside(plan: PlanView, step: StepView, reads: Collection[str]) -> tuple[StepView, ...]:
    """The ready steps that may be done in the same go as this one, a few: all of them only read, and code checks them."""
    if step.when or not set(step.tools) <= set(reads):
        return ()
    others = [
        other
        for other in ready(plan)
        if other.key != step.key
        and not other.when
        and set(other.tools) <= set(reads)
        and all(check.kind != "judge" for check in other.checks)
    ]
    return tuple(others[: SIDE_BY_SIDE - 1])


def count_iteration(plan_id: int, key: str) -> None:
    """Of the plan as it was observed: one that the person edits in this very moment gives its step a try more."""
    Step.objects.filter(plan_id=plan_id, key=key).update(iterations=F("iterations") + 1)


def fail_attempt(turn_id: UUID, key: str, note: str) -> None:
    _step(turn_id, key).update(attempts=F("attempts") + 1, note=note[:500])


def fail_step(turn_id: UUID, key: str, note: str) -> bool:
    """False when the step does not run (any more)."""
    return bool(_step(turn_id, key).filter(status=Status.RUNNING).update(status=Status.FAILED, note=note[:500]))


@transaction.atomic
def judge(turn_id: UUID, key: str, verdicts: Sequence[CheckView], found: str) -> tuple[int, StepView] | None:
    """Write what these checks say of a step; a running step whose checks have all passed is done.

    Returns the plan's id and the step as it is now; None when it is no longer in the plan. While a judge thinks, the
    person may edit the plan: a verdict then belongs to the same check of the newest revision, or a write that was made
    would be judged undone and made again.
    """
    _lock(turn_id)
    newest = AcceptanceCheck.objects.filter(step__plan_id=Subquery(_newest_id(turn_id)), step__key=key)
    rows = list(newest.select_related("step").order_by("id"))
    if not rows:
        return None
    step = rows[0].step
    for said in verdicts if step.status != Status.DONE else ():
        same = [row for row in rows if (row.kind, row.params) == (said.kind, said.params)]
        for row in same:
            row.verdict, row.reason, row.call_id = said.verdict, said.reason[:1_000], said.call_id
            row.evidence = said.evidence[:2_000]
        if same:
            AcceptanceCheck.objects.filter(id__in=[row.id for row in same]).update(
                verdict=said.verdict, reason=said.reason[:1_000], evidence=said.evidence[:2_000], call_id=said.call_id
            )
    passed = {row.verdict for row in rows} == {AcceptanceCheck.Verdict.PASSED}
    if passed and step.status == Status.RUNNING:
        step.status, step.found, step.note = Status.DONE, found[:500], ""
        Step.objects.filter(id=step.id, status=Status.RUNNING).update(status=step.status, found=step.found, note="")
    return step.plan_id, views.step_of(step, rows)


@transaction.atomic
def finish_beside(turn_id: UUID, key: str, verdicts: Sequence[CheckView], found: str) -> bool:
    """A ready step whose evidence came in beside another's: run and done in one, or left as it was."""
    _lock(turn_id)
    plan = current(turn_id)
    if plan is None or key not in {step.key for step in ready(plan) if not step.when}:
        return False
    mine = Step.objects.filter(plan_id=plan.id, key=key)
    if not mine.filter(status=Status.PENDING).update(status=Status.RUNNING):
        return False
    judged = judge(turn_id, key, verdicts, found)
    mine.filter(status=Status.RUNNING).update(status=Status.PENDING)
    return bool(judged and judged[1].status == Status.DONE)


# ---- parts ------------------------------------------------------------------------------------------------------


def _lock(turn_id: UUID) -> None:
    """One writer of a turn's plan at a time: on its first revision, which never changes. SQLite has one writer anyway."""
    if connection.features.has_select_for_update:
        Plan.objects.select_for_update().filter(turn_id=turn_id, revision=1).values_list("id").first()


def _branches(plan: PlanView, turn_id: UUID) -> tuple[PlanView, set[str]]:
    """Skip, with the condition as the reason, what does not follow from it; and the steps that must wait for its answer."""
    mine = [step for step in plan.steps if step.status == "pending" and step.when]
    if not mine:
        return plan, set()
    conditions = {condition.key: condition for condition in Condition.objects.filter(turn_id=turn_id)}
    skipped: dict[str, str] = {}
    undecided = set()
    for step in mine:
        condition, branch = conditions.get(step.when.get("condition", "")), step.when.get("branch")
        if condition is None:
            continue
        if condition.status == Condition.Status.OPEN:
            undecided |= {step.key} if branch else set()
        elif condition.status != branch if branch else not condition.follows:
            skipped[step.key] = f"{condition.question} {condition.get_status_display()}"
    for key, note in skipped.items():
        Step.objects.filter(plan_id=plan.id, key=key, status=Status.PENDING).update(status=Status.SKIPPED, note=note)
    steps = [
        replace(step, status="skipped", note=skipped[step.key]) if step.key in skipped else step for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps)), undecided


def _numbered(steps: Sequence[StepView]) -> list[StepView]:
    return [replace(step, index=index) for index, step in enumerate(steps, 1)]


def _without_done(draft: PlanDraft, done: Sequence[StepView]) -> PlanDraft:
    """A model often repeats the done steps at the head of its revision; they are the same steps, not new ones."""
    gone = {
        number
        for number, step in enumerate(draft.steps, 1)
        if any(words.norm(step.title) == words.norm(old.title) and is_same(step, old) for old in done)
    }
    return draft.model_copy(update={"steps": slips.without(draft.steps, gone)[0]}) if gone else draft


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
                title=(draft.title or tools[draft.tool].purpose)[:MAX_TITLE],
                tools=(draft.tool, *draft.also),
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
    """The draft's checks; always one that code decides about each tool itself, so that no step is done unseen."""
    found: list[CheckView] = []
    for tool in (draft.tool, *draft.also):
        own = [CheckDraft.model_validate(dict(check)) for check in tools[tool].checks]
        found += [_open(check, tool) for check in own or [CheckDraft(kind="tool_succeeded", tool=tool)]]
    return found + [_open(check, draft.tool) for check in draft.checks if check.kind != "tool_succeeded"]


def _keeping_checks(step: StepView, old: StepView | None) -> StepView:
    """A question that was added to a step is asked of it in every later revision: the agent cannot drop it."""
    if old is None or step.status in KEPT:
        return step
    have = [(check.kind, check.params) for check in step.checks]
    asked = [check for check in old.checks if check.kind == "judge" and (check.kind, check.params) not in have]
    fresh = [replace(check, verdict="open", reason="", evidence="", call_id=None) for check in asked]
    return replace(step, checks=(*step.checks, *fresh))


def _open(check: CheckDraft, tool: str) -> CheckView:
    return CheckView(id=0, kind=check.kind, params={"tool": tool, **check.params()}, verdict="open", reason="")


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
            step=row,
            kind=c.kind,
            params=dict(c.params),
            verdict=c.verdict,
            reason=c.reason,
            evidence=c.evidence,
            call_id=c.call_id,
        )
        for row, step in zip(rows, steps, strict=True)
        for c in step.checks
    )
    return views.of(plan)


def _newest(turn_id: UUID) -> QuerySet[Plan]:
    return Plan.objects.filter(id=Subquery(_newest_id(turn_id)))


def _step(turn_id: UUID, key: str) -> QuerySet[Step]:
    return Step.objects.filter(plan_id=Subquery(_newest_id(turn_id)), key=key)


def _newest_id(turn_id: UUID) -> Any:
    return Plan.objects.filter(turn_id=turn_id).order_by("-revision").values("id")[:1]
