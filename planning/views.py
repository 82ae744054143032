"""Plan rows -> the frozen views that the loop and the panels read.

Plan, Step, AcceptanceCheck -> PlanView.  Touches: reads, three queries.
"""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from planning.models import AcceptanceCheck, Plan, Step
from planning.types import CheckView, PlanView, StepView


def latest(turn_id: UUID) -> PlanView | None:
    """The newest revision."""
    plan = Plan.objects.filter(turn_id=turn_id).order_by("-revision").first()
    return of(plan) if plan else None


def newest(turn_id: UUID, known: PlanView | None) -> PlanView | None:
    """The newest revision, read only where it is another one than the one known, which must be as its rows are."""
    row = Plan.objects.filter(turn_id=turn_id).order_by("-revision").values_list("id", "approved").first()
    if row is None or known is None or row[0] != known.id:
        return latest(turn_id) if row else None
    return known if known.approved == row[1] else replace(known, approved=row[1])


def of(plan: Plan) -> PlanView:
    steps = list(Step.objects.filter(plan_id=plan.id).order_by("index"))
    checks: dict[int, list[AcceptanceCheck]] = {}
    for check in AcceptanceCheck.objects.filter(step__plan_id=plan.id).order_by("id"):
        checks.setdefault(check.step_id, []).append(check)
    views = tuple(step_of(step, checks.get(step.id, ())) for step in steps)
    return PlanView(
        id=plan.id, revision=plan.revision, goal=plan.goal, steps=views, approved=plan.approved, author=plan.author
    )


def step_of(step: Step, checks: Iterable[AcceptanceCheck]) -> StepView:
    return StepView(
        key=step.key,
        index=step.index,
        title=step.title,
        tools=tuple(step.tools),
        depends_on=tuple(step.depends_on),
        status=step.status,
        attempts=step.attempts,
        iterations=step.iterations,
        note=step.note,
        found=step.found,
        checks=tuple(map(_check, checks)),
        when=step.when,
    )


def _check(check: AcceptanceCheck) -> CheckView:
    return CheckView(
        id=check.id,
        kind=check.kind,
        params=check.params,
        verdict=check.verdict,
        reason=check.reason,
        evidence=check.evidence,
        call_id=check.call_id,
    )
