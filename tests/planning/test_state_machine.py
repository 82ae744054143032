"""No sequence of calls, edits, verdicts, crashes and replans breaks a promise of the plan.

Touches: rows.

The machine knows nothing of how plans are kept: it only remembers what it was told, and looks at the rows after every act.
docs/states.md draws the same transitions.
"""

from collections import Counter
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from chat.models import Conversation, Turn
from planning import conditions, plans
from planning.drafts import ConditionDraft, PlanDraft
from planning.errors import PlanRefused, StaleRevision
from planning.faults import MAX_STEPS
from planning.models import Plan, Step
from planning.types import CheckView, PlanView, StepView
from tests.planning.tools import TOOLS

pytestmark = pytest.mark.django_db

TITLES = st.sampled_from(
    [
        "Check the weather",
        "Check the weather again",
        "Find hotels",
        "Book a room",
        "Save it",
        "Look at 1",
        "Look at 2",
        "",
    ]
)
AFTER = st.none() | st.lists(st.integers(0, 5), max_size=2)
WHEN = st.sampled_from(
    [{}, {}, {}, {"condition": "c1"}, {"condition": "c1", "branch": "yes"}, {"condition": "c1", "branch": "no"}]
)
STEPS = st.fixed_dictionaries(
    {"title": TITLES, "tool": st.sampled_from([*TOOLS, "nope"]), "after": AFTER, "when": WHEN}
)
DRAFTS = st.lists(STEPS, max_size=5).map(lambda steps: PlanDraft.model_validate({"steps": steps}))
PLAIN_STEPS = st.fixed_dictionaries(
    {"title": TITLES.filter(bool), "tool": st.sampled_from(list(TOOLS)), "after": st.sampled_from([None, None, []])}
)
PLAIN = st.lists(PLAIN_STEPS, min_size=1, max_size=4).map(lambda steps: PlanDraft.model_validate({"steps": steps}))
OPS = st.sampled_from(["reword", "move", "skip", "unskip", "retry", "add", "delete", "checks", "goal"])
PICK = st.integers(0, 9)


class PlanMachine(RuleBasedStateMachine):
    turn_id: UUID
    conversation_id: UUID

    def __init__(self) -> None:
        super().__init__()
        self.held: PlanView | None = None  # what a worker or an open tab has read, perhaps long ago
        self.done: dict[str, str] = {}  # key -> title, for ever
        self.finished: Counter[str] = Counter()
        self.past: dict[int, list[tuple[Any, ...]]] = {}  # revision -> its steps when the next one came
        self.newest = 0

    # ---- the agent ----------------------------------------------------------------------------------------------

    @initialize(draft=PLAIN)
    def begin(self, draft: PlanDraft) -> None:
        self.set_plan(draft=draft, approved=True)
        self.read()

    @rule(draft=PLAIN | DRAFTS, approved=st.booleans())
    def set_plan(self, draft: PlanDraft, approved: bool) -> None:
        with self.or_nothing(PlanRefused):
            plans.set_plan(self.turn_id, self.conversation_id, "goal", draft, tools=TOOLS, approved=approved)
            conditions.store(self.turn_id, [ConditionDraft(question="Does it rain?", if_yes="a suite")])

    @rule(draft=PLAIN | DRAFTS, excluded=st.sampled_from([(), (), ("Find hotels",)]))
    def revise(self, draft: PlanDraft, excluded: tuple[str, ...]) -> None:
        with self.or_nothing(PlanRefused):
            plans.revise(self.turn_id, draft, reason="r", tools=TOOLS, exclusions=excluded)

    @rule()
    def next_step(self) -> None:
        self.start()

    def start(self) -> StepView | None:
        step, plan = plans.next_step(self.turn_id), self.plan()
        if step is not None and plan is not None:
            assert step.key not in self.done, "a done step is run again"
            waited = [plan.step(key) for key in step.depends_on]
            assert all(other and other.status in {"done", "skipped"} for other in waited), "it did not wait"
        return step

    @rule(pick=PICK, check=PICK, verdict=st.sampled_from(["passed", "passed", "failed"]))
    @precondition(lambda self: self.held is not None)
    def verdict(self, pick: int, check: int, verdict: str) -> None:
        """A judge that was asked some time ago answers now."""
        step = self.pick(self.held, pick)
        if step is not None and step.checks:
            self.judge(step, [replace(step.checks[check % len(step.checks)], verdict=verdict, reason="because")])

    def judge(self, step: StepView, said: list[CheckView]) -> None:
        plan = self.plan()
        before, after = plan.step(step.key) if plan else None, plans.judge(self.turn_id, step.key, said, "found")
        assert (before is None) == (after is None)
        if after is not None and before is not None and after[1].status != before.status:
            assert (before.status, after[1].status) == ("running", "done")
            assert {check.verdict for check in after[1].checks} == {"passed"}, "done without proof"
            self.finished[step.key] += 1

    @rule()
    def carry_out(self) -> None:
        """What a good iteration does: run, all checks pass, done."""
        step = self.start()
        if step is not None:
            self.judge(step, [replace(check, verdict="passed", reason="because") for check in step.checks])

    @rule(pick=PICK, verdict=st.sampled_from(["passed", "passed", "failed"]))
    @precondition(lambda self: self.held is not None)
    def carry_out_beside(self, pick: int, verdict: str) -> None:
        """A call for a step that was ready when it was decided returns, whatever has become of the plan since."""
        step, before = self.pick(self.held, pick), self.plan()
        if step is not None:
            said = [replace(check, verdict=verdict, reason="because") for check in step.checks]
            now = before.step(step.key) if before else None
            if plans.finish_beside(self.turn_id, step.key, said, "found"):
                assert now and now.status == "pending" and now in plans.ready(before), "it was not ready"
                self.finished[step.key] += 1
            else:
                after = self.plan()
                assert [s.status for s in after.steps] == [s.status for s in before.steps] if before else not after

    @rule(pick=PICK)
    @precondition(lambda self: self.held is not None)
    def fail_an_attempt(self, pick: int) -> None:
        step = self.pick(self.held, pick)
        if step is not None:
            plans.fail_attempt(self.turn_id, step.key, "no")

    @rule()
    def fail(self) -> None:
        step = self.start()
        if step is not None:
            assert plans.fail_step(self.turn_id, step.key, "no")

    @rule(answer=st.sampled_from(["yes", "no"]), person=st.booleans())
    def decide(self, answer: str, person: bool) -> None:
        if person:
            conditions.correct(self.turn_id, "c1", answer)
        else:
            conditions.settle(self.turn_id, "c1", answer, quote="q", how="code", iteration=1)

    # ---- the person -----------------------------------------------------------------------------------------------

    @rule(
        op=OPS,
        pick=PICK,
        to=st.integers(-2, 10),
        title=TITLES,
        tool=st.sampled_from([*TOOLS, "nope"]),
        stale=st.sampled_from([False, False, False, True]),
    )
    def edit(self, op: str, pick: int, to: int, title: str, tool: str, stale: bool) -> None:
        if not stale:
            self.read()
        if self.held is None:
            return
        step = self.pick(self.held, pick)
        change = {
            "op": op,
            "key": step.key if step else "",
            "to": to,
            "title": title,
            "tool": tool,
            "question": f"{title}?",
            "goal": title,
        }
        fresh = self.held.revision == self.newest
        try:
            with self.or_nothing(PlanRefused):
                plans.edit(self.turn_id, self.held.revision, change, tools=TOOLS)
        except StaleRevision as stale:
            assert not fresh and stale.current == self.newest
        else:
            assert fresh, "an edit of an old revision was taken"

    @rule(ok=st.booleans())
    def look_at_the_plan(self, ok: bool) -> None:
        plans.approve(self.turn_id) if ok else plans.disapprove(self.turn_id, "another one")

    # ---- the world --------------------------------------------------------------------------------------------------

    @rule()
    def read(self) -> None:
        """A worker that crashed starts anew from rows; a tab is loaded again."""
        self.held = self.plan()

    # ---- what is promised ----------------------------------------------------------------------------------------

    @invariant()
    def no_revision_is_lost(self) -> None:
        revisions = list(Plan.objects.filter(turn_id=self.turn_id).order_by("revision"))
        assert [plan.revision for plan in revisions] == list(range(1, len(revisions) + 1))
        assert len(revisions) in {self.newest, self.newest + 1}
        for plan in revisions[:-1]:
            rows = [(s.key, s.index, s.title, s.status, s.found) for s in plan.steps.all()]
            assert self.past.setdefault(plan.revision, rows) == rows, "an old revision changed"
        self.newest = len(revisions)

    @invariant()
    def one_step_runs_at_a_time(self) -> None:
        assert (
            Step.objects.filter(plan__turn_id=self.turn_id, plan__revision=self.newest, status="running").count() <= 1
        )

    @invariant()
    def done_means_that_all_checks_passed_and_stays_done(self) -> None:
        plan = self.plan()
        for step in plan.steps if plan else ():
            if step.status == "done":
                assert step.checks and all(check.verdict == "passed" for check in step.checks)
                self.done.setdefault(step.key, step.title)
        if plan:
            now = {step.key: (step.title, step.status) for step in plan.steps}
            assert all(now.get(key) == (title, "done") for key, title in self.done.items()), (
                "a done step was lost or moved"
            )
        assert all(count == 1 for count in self.finished.values()), "a step was done twice"
        assert set(self.finished) == set(self.done)

    @invariant()
    def the_plan_can_be_carried_out(self) -> None:
        plan = self.plan()
        if plan is None:
            return
        assert [step.index for step in plan.steps] == list(range(1, len(plan.steps) + 1))
        assert plan.steps and len(plan.open_steps) <= MAX_STEPS
        assert all(step.checks for step in plan.steps)
        left = {step.key: set(step.depends_on) for step in plan.steps if step.status not in {"done", "skipped"}}
        assert all(plan.step(key) for needs in left.values() for key in needs), "a step waits for one that is gone"
        while free := [key for key, needs in left.items() if not needs & set(left)]:
            for key in free:
                del left[key]
        assert not left, "steps wait for each other"

    # ---- parts --------------------------------------------------------------------------------------------------------

    def plan(self) -> PlanView | None:
        return plans.current(self.turn_id)

    @staticmethod
    def pick(plan: PlanView | None, number: int) -> StepView | None:
        return plan.steps[number % len(plan.steps)] if plan else None

    def or_nothing(self, refusal: type[Exception]) -> "Refused":
        return Refused(self, refusal)


class Refused:
    """What is refused leaves the rows as they were."""

    def __init__(self, machine: PlanMachine, refusal: type[Exception]) -> None:
        self.machine, self.refusal = machine, refusal

    def __enter__(self) -> None:
        self.before = self.machine.plan()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        if kind is not None and issubclass(kind, self.refusal):
            assert self.machine.plan() == self.before
            return True
        return False


@pytest.mark.timeout(600)  # sixty plays of thirty acts: minutes on a busy machine
def test_no_sequence_of_acts_breaks_a_promise_of_the_plan(alice: User) -> None:
    class Played(PlanMachine):
        """Each example is a turn of its own, taken back at its end."""

        def __init__(self) -> None:
            super().__init__()
            self.undo = transaction.atomic()
            self.undo.__enter__()
            conversation = Conversation.objects.create(user=alice)
            self.conversation_id = conversation.id
            self.turn_id = Turn.objects.create(conversation=conversation, number=1, goal="goal").id

        def teardown(self) -> None:
            transaction.set_rollback(True)
            self.undo.__exit__(None, None, None)

    run_state_machine_as_test(
        Played,
        settings=settings(
            max_examples=60,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
