"""Plan rows -> the frozen views that the loop and the panels read.

Plan, Step, AcceptanceCheck -> PlanView.  Touches: reads, three queries.
"""

from uuid import UUID

from planning.models import AcceptanceCheck, Plan, Step
from planning.types import CheckView, PlanView, StepView


def latest(turn_id: UUID) -> PlanView | None:
    """The newest revision."""
    plan = Plan.objects.filter(turn_id=turn_id).order_by("-revision").first()
    return of(plan) if plan else None


def of(plan: Plan) -> PlanView:
    steps = list(Step.objects.filter(plan=plan).order_by("index"))
    checks: dict[int, list[CheckView]] = {}
    for check in AcceptanceCheck.objects.filter(step__in=steps).order_by("id"):
        checks.setdefault(check.step_id, []).append(_check(check))
    views = tuple(_step(step, tuple(checks.get(step.id, ()))) for step in steps)
    return PlanView(
        id=plan.id, revision=plan.revision, goal=plan.goal, steps=views, approved=plan.approved, author=plan.author
    )


def _step(step: Step, checks: tuple[CheckView, ...]) -> StepView:
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
        checks=checks,
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
