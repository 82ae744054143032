"""Plans in rows: revisions, steps that move, verdicts that find their check, the person's edits.

Touches: rows.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.models import Turn
from planning import conditions, plans
from planning.drafts import ConditionDraft, PlanDraft
from planning.errors import PlanRefused, StaleRevision
from planning.models import AcceptanceCheck, Plan, Step
from planning.types import PlanView, StepView
from tests.planning.tools import TOOLS, draft

pytestmark = pytest.mark.django_db

THREE = draft(("Check the weather", "get_weather"), ("Find hotels", "search_hotels"), ("Book a room", "book_hotel"))


def planned(turn: Turn, plan: PlanDraft = THREE, **more: Any) -> PlanView:
    return plans.set_plan(turn.id, turn.conversation_id, turn.goal, plan, tools=TOOLS, **more)


def revised(turn: Turn, *steps: Any, **more: Any) -> PlanView:
    return plans.revise(turn.id, draft(*steps), reason="r", tools=TOOLS, **more)


def edited(turn: Turn, op: str, step: StepView | None = None, **more: Any) -> PlanView:
    now = current(turn)
    return plans.edit(turn.id, now.revision, {"op": op, "key": step.key if step else "", **more}, tools=TOOLS)


def current(turn: Turn) -> PlanView:
    plan = plans.current(turn.id)
    assert plan is not None
    return plan


def do(turn: Turn, found: str = "found") -> StepView:
    """Carry out the next step: its checks pass, it is done."""
    step = plans.next_step(turn.id)
    assert step is not None
    judged(turn, step, "passed", found)
    return step


def judged(
    turn: Turn, step: StepView, verdict: str, found: str = "", call_id: UUID | None = None
) -> tuple[int, StepView] | None:
    """All checks of a step say the same."""
    said = [replace(c, verdict=verdict, reason="it fits", evidence='{"x": 1}', call_id=call_id) for c in step.checks]
    return plans.judge(turn.id, step.key, said, found)


def titles(plan: PlanView) -> list[str]:
    return [step.title for step in plan.steps]


# ---- the first plan ------------------------------------------------------------------------------------------------


def test_a_step_gets_the_checks_of_its_tool(turn: Turn) -> None:
    plan = planned(turn)
    assert [[check.kind for check in step.checks] for step in plan.steps] == [
        ["result_matches"],
        ["result_matches"],
        ["tool_succeeded"],
    ]
    assert plan.steps[0].checks[0].params["tool"] == "get_weather"


def test_a_check_of_the_model_stands_beside_the_tools_own(turn: Turn) -> None:
    judged = {"title": "Look", "tool": "get_weather", "check": {"kind": "judge", "question": "Is it the right day?"}}
    assert [check.kind for check in planned(turn, draft(judged)).steps[0].checks] == ["result_matches", "judge"]


def test_a_plan_with_faults_is_not_stored(turn: Turn) -> None:
    with pytest.raises(PlanRefused) as refused:
        planned(turn, draft(("A", "nope"), ("B", "now", [5])))
    assert len(refused.value.faults) == 2 and plans.current(turn.id) is None


def test_a_second_first_plan_is_refused(turn: Turn) -> None:
    planned(turn)
    with pytest.raises(PlanRefused, match="revise_plan"):
        planned(turn)


def test_steps_out_of_order_run_in_the_order_they_wait_for(turn: Turn) -> None:
    planned(turn, draft(("Save", "write_file", [2]), ("Look", "now", [])))
    assert [do(turn).title for _ in range(2)] == ["Look", "Save"]


# ---- steps that move -----------------------------------------------------------------------------------------------


def test_one_step_runs_at_a_time_and_asking_twice_changes_nothing(turn: Turn) -> None:
    planned(turn)
    first, again = plans.next_step(turn.id), plans.next_step(turn.id)
    assert first is not None and again is not None and first.key == again.key
    assert [step.status for step in current(turn).steps] == ["running", "pending", "pending"]


def test_a_step_is_done_only_when_all_its_checks_passed(turn: Turn) -> None:
    planned(turn)
    step = plans.next_step(turn.id)
    assert step is not None
    for said in (plans.judge(turn.id, step.key, [], "trust me"), judged(turn, step, "failed", "trust me")):
        assert said is not None and said[1].status == current(turn).steps[0].status == "running"
    assert judged(turn, step, "passed", "rain") == (current(turn).id, current(turn).steps[0])
    assert (current(turn).steps[0].status, current(turn).steps[0].found) == ("done", "rain")


def test_a_step_that_does_not_run_cannot_be_finished(turn: Turn) -> None:
    last = planned(turn).steps[-1]
    judged(turn, last, "passed", "x")
    assert current(turn).steps[-1].status == "pending"


def test_a_failed_step_blocks_who_waits_for_it(turn: Turn) -> None:
    planned(turn)
    step = plans.next_step(turn.id)
    assert step is not None and plans.fail_step(turn.id, step.key, "no such city")
    assert plans.next_step(turn.id) is None
    assert not plans.fail_step(turn.id, step.key, "again")


def statuses(turn: Turn) -> list[str]:
    plan = plans.current(turn.id)
    return [step.status for step in plan.steps] if plan else []


READS = {"get_weather", "search_hotels", "now"}


def beside(turn: Turn) -> list[str]:
    step = plans.next_step(turn.id)
    plan = plans.current(turn.id)
    assert step is not None and plan is not None
    return [other.title for other in plans.beside(plan, step, READS)]


def test_reads_that_wait_for_nothing_may_be_done_beside_each_other(turn: Turn) -> None:
    planned(
        turn, draft(("A", "get_weather", []), ("B", "search_hotels", []), ("C", "book_hotel", []), ("D", "now", [1]))
    )
    assert beside(turn) == ["B"]
    do(turn)
    assert beside(turn) == ["D"]


def test_a_few_at_a_time(turn: Turn) -> None:
    planned(turn, draft(*((f"Read {n}", "now", []) for n in range(8))))
    assert beside(turn) == ["Read 1", "Read 2", "Read 3"]


def test_nothing_is_done_beside_a_write_nor_what_a_judge_must_see(turn: Turn) -> None:
    asked = {"title": "Look", "tool": "now", "after": [], "checks": [{"kind": "judge", "question": "Is it late now?"}]}
    planned(turn, draft(("Book", "book_hotel", []), ("Weather", "get_weather", []), ("Time", "now", []), asked))
    assert beside(turn) == []
    do(turn)
    assert beside(turn) == ["Time"]


def test_a_step_beside_is_done_with_all_its_checks_or_left_as_it_was(turn: Turn) -> None:
    planned(turn, draft(("A", "get_weather", []), ("B", "now", []), ("C", "now", [2])))
    plans.next_step(turn.id)
    plan = plans.current(turn.id)
    assert plan is not None
    b, c = plan.steps[1:]
    passed = [replace(check, verdict="passed") for check in b.checks]
    assert not plans.finish_beside(turn.id, b.key, [replace(check, verdict="failed") for check in b.checks], "")
    assert not plans.finish_beside(turn.id, c.key, passed, "")  # it waits for B
    assert statuses(turn) == ["running", "pending", "pending"]
    assert plans.finish_beside(turn.id, b.key, passed, "noon") and not plans.finish_beside(turn.id, b.key, passed, "")
    assert statuses(turn) == ["running", "done", "pending"]


# ---- conditions and steps --------------------------------------------------------------------------------------------


def with_condition(turn: Turn, plan: PlanDraft, **rule: str) -> PlanView:
    view = planned(turn, plan)
    rule = {"question": "Does it rain?", "if_yes": "book a suite", "if_no": "book a standard room", **rule}
    conditions.store(turn.id, [ConditionDraft.model_validate(rule)], [step.key for step in view.steps])
    return view


BRANCHES = draft(
    ("Check the weather", "get_weather"),
    {"title": "Book a suite", "tool": "book_hotel", "after": [1], "when": "yes 1"},
    {"title": "Book a standard room", "tool": "book_hotel", "after": [1], "when": "no 1"},
    {"title": "Save", "tool": "write_file", "after": [2, 3]},
)


def test_only_the_branch_in_force_runs(turn: Turn) -> None:
    with_condition(turn, BRANCHES)
    do(turn)
    assert plans.next_step(turn.id) is None  # not decided yet: neither may run
    conditions.settle(turn.id, "c1", "no", quote="sunny", how="code", iteration=1)
    assert [do(turn).title, do(turn).title] == ["Book a standard room", "Save"]
    skipped = current(turn).steps[1]
    assert skipped.status == "skipped" and "Does it rain?" in skipped.note


def test_a_step_of_which_nothing_follows_is_skipped(turn: Turn) -> None:
    carrier = {"title": "Email bob", "tool": "write_file", "when": {"condition": "c1"}}
    with_condition(turn, draft(("Read the note", "read_file"), carrier), if_yes="email bob", if_no="")
    do(turn)
    conditions.settle(turn.id, "c1", "no", quote="", how="code", iteration=1)
    assert plans.next_step(turn.id) is None and not current(turn).open_steps


def test_a_condition_is_decided_once_and_corrected_by_the_person(turn: Turn) -> None:
    with_condition(turn, THREE)
    assert conditions.settle(turn.id, "c1", "yes", quote="rain", how="code", iteration=1)
    assert not conditions.settle(turn.id, "c1", "no", quote="sunny", how="model", iteration=2)
    assert conditions.views(turn.id)[0].follows == "book a suite"
    conditions.correct(turn.id, "c1", "no")
    assert conditions.views(turn.id)[0].follows == "book a standard room"
    with pytest.raises(ValueError):
        conditions.settle(turn.id, "c1", "maybe", quote="", how="model", iteration=3)


def test_a_condition_sent_twice_is_one(turn: Turn) -> None:
    plan = with_condition(turn, THREE)
    conditions.store(
        turn.id,
        [
            ConditionDraft(question="does it rain", if_yes="x"),
            ConditionDraft(question="Is it late?", if_yes="x", decided_by=2),
        ],
        [s.key for s in plan.steps],
    )
    assert [(c.key, c.question) for c in conditions.views(turn.id)] == [("c1", "Does it rain?"), ("c2", "Is it late?")]
    assert conditions.views(turn.id)[1].decided_by == plan.steps[1].key


# ---- revisions -----------------------------------------------------------------------------------------------------


def test_done_steps_are_carried_over_with_their_verdicts_and_not_run_again(turn: Turn) -> None:
    planned(turn)
    done = do(turn)
    plan = revised(turn, ("Ask another site", "read_file"), ("Book a room", "book_hotel"))
    assert titles(plan) == ["Check the weather", "Ask another site", "Book a room"]
    assert (plan.steps[0].key, plan.steps[0].status) == (done.key, "done")
    assert plan.steps[0].checks[0].verdict == "passed" and plan.steps[0].checks[0].evidence
    assert do(turn).title == "Ask another site"


def test_the_old_revision_stays_as_it_was(turn: Turn) -> None:
    planned(turn)
    do(turn)
    revised(turn, ("Ask another site", "read_file"))
    do(turn)
    old = Plan.objects.get(turn=turn, revision=1)
    assert [step.status for step in old.steps.all()] == ["done", "pending", "pending"]


def test_a_step_that_stays_keeps_its_identity(turn: Turn) -> None:
    old = planned(turn)
    do(turn)
    plan = revised(
        turn, ("Compare prices", "calculate"), ("Find the hotels", "search_hotels"), ("Book a room", "book_hotel")
    )
    assert [step.key for step in plan.steps[2:]] == [step.key for step in old.steps[1:]]
    row = Plan.objects.get(id=plan.id)
    assert row.diff["kept"] == ["Check the weather", "Book a room"]
    assert row.diff["changed"] == [{"from": "Find hotels", "to": "Find the hotels"}]
    assert row.diff["added"] == ["Compare prices"] and row.diff["removed"] == []


def test_other_numbers_are_another_step(turn: Turn) -> None:
    old = planned(turn, draft(("Check the weather of 10-01", "get_weather"), ("Save", "write_file")))
    plan = revised(turn, ("Check the weather of 10-02", "get_weather"), ("Save", "write_file"))
    assert plan.steps[0].key != old.steps[0].key and plan.steps[1].key == old.steps[1].key


def test_a_failed_step_tried_again_is_a_new_step(turn: Turn) -> None:
    old = planned(turn)
    step = plans.next_step(turn.id)
    assert step is not None
    plans.fail_step(turn.id, step.key, "no")
    plan = revised(turn, ("Set the date", "now"), ("Check the weather", "get_weather"))
    assert plan.steps[1].key != old.steps[0].key and plan.steps[1].status == "pending"
    row = Plan.objects.get(id=plan.id)
    assert row.diff["again"] == ["Check the weather"] and "Check the weather" not in row.diff["removed"]


def test_done_steps_repeated_at_the_head_of_a_revision_are_the_same_steps(turn: Turn) -> None:
    planned(turn)
    do(turn)
    plan = revised(
        turn,
        ("Check the weather", "get_weather"),
        ("Ask another site", "read_file", [1]),
        ("Book a room", "book_hotel"),
    )
    assert titles(plan) == ["Check the weather", "Ask another site", "Book a room"]
    assert do(turn).title == "Ask another site"


def test_the_same_plan_again_is_refused_and_with_the_reason(turn: Turn) -> None:
    planned(turn)
    same = (("Check the weather", "get_weather"), ("Find hotels", "search_hotels"), ("Book a room", "book_hotel"))
    with pytest.raises(PlanRefused, match="as it stands"):
        revised(turn, *same)
    step = plans.next_step(turn.id)
    assert step is not None
    plans.fail_step(turn.id, step.key, "no")
    with pytest.raises(PlanRefused, match="plan that failed"):
        revised(turn, *same)


def test_after_an_edit_of_the_person_the_agent_may_say_that_the_plan_holds(turn: Turn) -> None:
    planned(turn)
    edited(turn, "goal", goal="Two nights in Beijing")
    plan = revised(
        turn, ("Check the weather", "get_weather"), ("Find hotels", "search_hotels"), ("Book a room", "book_hotel")
    )
    assert plan.revision == 3 and plan.goal == "Two nights in Beijing" and plans.revisions(turn.id) == 1


def test_what_was_ruled_out_is_refused(turn: Turn) -> None:
    planned(turn)
    with pytest.raises(PlanRefused, match="ruled out"):
        revised(turn, ("Search channel A", "now"), exclusions=["channel A"])


def test_a_question_of_the_person_is_asked_in_later_revisions_too(turn: Turn) -> None:
    plan = planned(turn)
    edited(turn, "checks", plan.steps[1], question="Is it near the station?")
    plan = revised(turn, ("Look around", "now"), ("Find hotels", "search_hotels"))
    assert [check.params.get("question") for check in plan.steps[1].checks] == [None, "Is it near the station?"]


# ---- the person edits ------------------------------------------------------------------------------------------------


def test_a_stale_tab_is_told_the_revision_in_force(turn: Turn) -> None:
    plan = planned(turn)
    edited(turn, "reword", plan.steps[0], title="Look at the sky")
    with pytest.raises(StaleRevision) as stale:
        plans.edit(turn.id, plan.revision, {"op": "skip", "key": plan.steps[1].key}, tools=TOOLS)
    assert stale.value.current == 2 and current(turn).steps[1].status == "pending"


def test_each_edit_is_a_revision_by_the_person(turn: Turn) -> None:
    plan = planned(turn)
    first, second, third = plan.steps
    assert titles(edited(turn, "reword", first, title=" Look  at the sky ")) == [
        "Look at the sky",
        "Find hotels",
        "Book a room",
    ]
    assert titles(edited(turn, "move", third, to=1)) == ["Book a room", "Look at the sky", "Find hotels"]
    assert [s.status for s in edited(turn, "skip", second).steps] == ["pending", "pending", "skipped"]
    assert [s.status for s in edited(turn, "unskip", second).steps] == ["pending", "pending", "pending"]
    assert titles(edited(turn, "add", title="Tell the time", tool="now"))[-1] == "Tell the time"
    assert titles(edited(turn, "delete", second)) == ["Book a room", "Look at the sky", "Tell the time"]
    assert edited(turn, "goal", goal="Three nights").goal == "Three nights"
    assert Plan.objects.filter(turn=turn, author="person").count() == 7 and plans.revisions(turn.id) == 0
    assert [do(turn).title for _ in range(3)] == ["Book a room", "Look at the sky", "Tell the time"]


def test_an_edit_that_changes_nothing_is_no_revision(turn: Turn) -> None:
    plan = planned(turn)
    for op, more in (
        ("reword", {"title": "Check the weather"}),
        ("move", {"to": 1}),
        ("move", {"to": -5}),
        ("unskip", {}),
        ("checks", {"question": ""}),
        ("goal", {"goal": turn.goal}),
        ("goal", {"goal": " "}),
    ):
        assert edited(turn, op, plan.steps[0], **more).revision == 1


@pytest.mark.parametrize(
    "change",
    [
        {"op": "reword", "title": " "},
        {"op": "add", "title": "x", "tool": "nope"},
        {"op": "add", "title": "", "tool": "now"},
        {"op": "move", "to": "up"},
        {"op": "explode"},
        {"op": ""},
        {"op": "skip", "key": "gone"},
    ],
)
def test_an_edit_that_cannot_be_is_refused_and_nothing_changes(turn: Turn, change: dict[str, Any]) -> None:
    plan = planned(turn)
    with pytest.raises(PlanRefused):
        plans.edit(turn.id, 1, {"key": plan.steps[0].key, **change}, tools=TOOLS)
    assert current(turn).revision == 1


def test_what_is_done_stays_as_it_is(turn: Turn) -> None:
    plan = planned(turn)
    do(turn)
    for op in ("reword", "skip", "delete", "move", "checks", "retry"):
        with pytest.raises(PlanRefused):
            edited(turn, op, plan.steps[0], title="x", to=3, question="Is it so?")


def test_a_running_step_may_be_taken_out_and_the_loop_sees_it_gone(turn: Turn) -> None:
    planned(turn)
    running = plans.next_step(turn.id)
    assert running is not None
    edited(turn, "delete", running)
    assert current(turn).step(running.key) is None
    assert judged(turn, running, "passed", "x") is None
    following = plans.next_step(turn.id)
    assert following is not None and following.title == "Find hotels"


def test_a_verdict_that_comes_after_an_edit_finds_the_check_in_the_new_revision(turn: Turn) -> None:
    plan = planned(turn)
    running = plans.next_step(turn.id)
    assert running is not None
    edited(turn, "reword", plan.steps[2], title="Book the nicest room")  # while the judge thinks
    judged(turn, running, "passed", "rain")
    assert current(turn).steps[0].status == "done"
    assert AcceptanceCheck.objects.get(id=running.checks[0].id).verdict == "open"  # the old revision stays


def test_a_verdict_on_a_check_that_was_taken_out_is_dropped(turn: Turn) -> None:
    asked = {"title": "Look", "tool": "get_weather", "check": {"kind": "judge", "question": "Is it the right day?"}}
    planned(turn, draft(asked))
    running = plans.next_step(turn.id)
    assert running is not None
    edited(turn, "checks", running, question="Is it sunny there?")
    judged(turn, running, "passed", "yes")
    step = current(turn).steps[0]
    assert [check.verdict for check in step.checks] == ["passed", "open"] and step.status == "running"


def test_a_step_taken_up_again_starts_afresh(turn: Turn) -> None:
    planned(turn)
    step = plans.next_step(turn.id)
    assert step is not None
    judged(turn, step, "failed")
    plans.fail_attempt(turn.id, step.key, "no")
    plans.count_iteration(current(turn).id, step.key)
    plans.fail_step(turn.id, step.key, "no")
    again = edited(turn, "retry", step).steps[0]
    assert (again.status, again.attempts, again.iterations, again.note, again.checks[0].verdict) == (
        "pending",
        0,
        0,
        "",
        "open",
    )


def test_a_branch_that_the_person_wants_runs_whatever_was_decided(turn: Turn) -> None:
    with_condition(turn, BRANCHES)
    do(turn)
    conditions.settle(turn.id, "c1", "no", quote="sunny", how="code", iteration=1)
    plans.next_step(turn.id)
    suite = current(turn).steps[1]
    edited(turn, "unskip", suite)
    assert plans.next_step(turn.id) is not None and current(turn).steps[1].status != "skipped"


def test_the_call_that_proved_a_check_is_known_in_later_revisions(turn: Turn) -> None:
    from uuid import uuid4

    planned(turn)
    step, call = plans.next_step(turn.id), uuid4()
    assert step is not None
    judged(turn, step, "passed", "rain", call)
    assert revised(turn, ("Ask another site", "read_file")).steps[0].checks[0].call_id == call


# ---- how much it costs -----------------------------------------------------------------------------------------------


def test_reading_and_moving_on_take_few_queries(turn: Turn) -> None:
    with_condition(turn, BRANCHES)

    def queries(act: Any) -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            act()
        return len([query for query in seen.captured_queries if "SAVEPOINT" not in query["sql"]])

    assert queries(lambda: plans.current(turn.id)) == 3
    assert queries(lambda: plans.next_step(turn.id)) <= 5
    assert queries(lambda: plans.next_step(turn.id)) == 3
    assert queries(lambda: conditions.views(turn.id)) == 1
    assert queries(lambda: plans.count_iteration(1, "x")) == 1


def test_a_plan_of_another_turn_is_not_touched(turn: Turn) -> None:
    planned(turn)
    turn.status = Turn.Status.ENDED
    turn.save()
    other = Turn.objects.create(conversation=turn.conversation, number=2, goal="x")
    planned(other, draft(("Look", "now")))
    do(other)
    assert [step.status for step in current(turn).steps] == ["pending"] * 3
    assert Step.objects.filter(plan__turn=other).count() == 1


def test_a_step_taken_up_again_does_not_wait_for_what_has_left_the_plan(turn: Turn) -> None:
    plan = planned(turn)
    edited(turn, "skip", plan.steps[2])
    revised(turn, ("Ask another site", "read_file"))  # what the skipped step waited for is gone
    edited(turn, "unskip", plan.steps[2])
    assert {do(turn).title for _ in range(2)} == {"Book a room", "Ask another site"}


def test_a_step_taken_up_again_does_not_wait_for_one_that_waits_for_it(turn: Turn) -> None:
    first, second, _third = planned(turn).steps
    edited(turn, "move", second, to=1)  # the second goes first now, so the first waits for it
    edited(turn, "skip", second)
    edited(turn, "unskip", second)
    assert do(turn).title == "Find hotels" and do(turn).key == first.key
