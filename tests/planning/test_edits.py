"""A person's edits, one by one: what becomes of the order, of who waits for whom, of what was proved.

Touches: nothing (pure).
"""

from collections.abc import Sequence
from typing import Any

import pytest

from planning import edits
from planning.errors import PlanRefused
from planning.faults import MAX_STEPS, MAX_TITLE
from planning.types import CheckView, StepView
from tests.planning.tools import TOOLS, step

PASSED = CheckView(
    id=1, kind="tool_succeeded", params={"tool": "now"}, verdict="passed", reason="it did", evidence="{}"
)
JUDGED = CheckView(id=2, kind="judge", params={"tool": "now", "question": "Is it late?"}, verdict="passed", reason="so")


def plan(*statuses: str, waits: dict[int, Sequence[int]] | None = None) -> list[StepView]:
    """Steps a, b, c, …, each waiting for the one before unless told otherwise."""
    keys = "abcdefghijkl"
    waits = waits or {}
    return [
        step(
            f"Step {keys[n]}",
            "now",
            status,
            key=keys[n],
            index=n + 1,
            depends_on=tuple(keys[m - 1] for m in waits.get(n + 1, [n] if n else [])),
            checks=(PASSED,),
        )
        for n, status in enumerate(statuses)
    ]


def edited(steps: Sequence[StepView], op: str, key: str = "", **more: Any) -> list[StepView]:
    found = edits.apply(steps, {"op": op, "key": key, **more}, TOOLS)
    assert [item.index for item in found] == list(range(1, len(found) + 1))
    return found


def waiting(steps: Sequence[StepView]) -> dict[str, str]:
    return {item.key: "".join(item.depends_on) for item in steps}


@pytest.mark.parametrize(
    ("key", "to", "order"),
    [
        ("c", 1, "cabd"),
        ("c", 2, "acbd"),
        ("c", 3, "abcd"),
        ("a", 4, "bcda"),
        ("a", 99, "bcda"),
        ("d", -5, "dabc"),
        ("b", "3", "acbd"),
    ],
)
def test_a_step_is_moved_to_its_place(key: str, to: Any, order: str) -> None:
    assert "".join(item.key for item in edited(plan(*["pending"] * 4), "move", key, to=to)) == order


def test_after_a_move_the_steps_go_in_the_order_the_person_chose() -> None:
    moved = edited(plan("pending", "pending", "pending", waits={2: [], 3: []}), "move", "c", to=1)
    assert waiting(moved) == {"c": "", "a": "c", "b": "a"}


def test_a_step_never_moves_before_one_that_is_done_and_no_one_waits_for_a_skipped_one() -> None:
    moved = edited(plan("done", "skipped", "pending", "pending"), "move", "d", to=1)
    assert [item.key for item in moved] == ["a", "d", "b", "c"]
    assert waiting(moved)["c"] == "d" and waiting(moved)["d"] == "a"


@pytest.mark.parametrize("to", ["up", None, [], {}])
def test_a_place_that_is_none_is_refused(to: Any) -> None:
    with pytest.raises(PlanRefused):
        edited(plan("pending", "pending"), "move", "a", to=to)


def test_who_waited_for_a_deleted_step_waits_for_what_it_waited_for() -> None:
    left = edited(plan("done", "pending", "pending", "pending", waits={4: [2, 3]}), "delete", "b")
    assert waiting(left) == {"a": "", "c": "a", "d": "ca"}


def test_the_last_step_cannot_be_deleted() -> None:
    with pytest.raises(PlanRefused, match="at least one step"):
        edited(plan("pending"), "delete", "a")


@pytest.mark.parametrize("status", ["pending", "running", "failed"])
def test_a_step_that_is_not_done_may_be_skipped(status: str) -> None:
    skipped = edited(plan(status, "pending"), "skip", "a")[0]
    assert (skipped.status, skipped.note) == ("skipped", "Skipped by you")


def test_skipping_twice_keeps_the_first_reason() -> None:
    once = edited(plan("skipped", "pending"), "skip", "a")
    assert once[0].note == ""


@pytest.mark.parametrize("op", ["unskip", "retry"])
@pytest.mark.parametrize("status", ["skipped", "failed"])
def test_a_step_taken_up_again_starts_afresh(op: str, status: str) -> None:
    steps = plan(status, "pending")
    again = edited(steps, op, "a")[0]
    assert again.status == "pending" and again.checks[0].verdict == "open" and not again.checks[0].evidence


@pytest.mark.parametrize("status", ["pending", "running"])
def test_a_step_that_is_under_way_cannot_be_taken_up_again(status: str) -> None:
    steps = plan(status)
    assert edited(steps, "retry", "a") == steps


def test_a_step_taken_up_again_does_not_wait_for_one_that_waits_for_it() -> None:
    again = edited(plan("skipped", "pending", waits={1: [2], 2: [1]}), "unskip", "a")
    assert again[0].depends_on == ()


def test_an_added_step_comes_last_waits_for_the_one_before_and_is_checked() -> None:
    added = edited(plan("done", "pending", "skipped"), "add", title=" Tell   the time ", tool="get_weather")[-1]
    assert (added.title, added.depends_on, added.status, added.index) == ("Tell the time", ("b",), "pending", 4)
    assert [(check.kind, check.verdict) for check in added.checks] == [("result_matches", "open")]


@pytest.mark.parametrize("change", [{"title": "", "tool": "now"}, {"title": "x", "tool": "nope"}, {"title": "x"}])
def test_a_step_without_words_or_tool_is_not_added(change: dict[str, str]) -> None:
    with pytest.raises(PlanRefused):
        edited(plan("pending"), "add", **change)


def test_a_full_plan_takes_no_more_but_done_steps_do_not_count() -> None:
    full = plan(*["pending"] * MAX_STEPS)
    with pytest.raises(PlanRefused, match="At most 8"):
        edited(full, "add", title="x", tool="now")
    assert len(edited(plan("done", *["pending"] * (MAX_STEPS - 1)), "add", title="x", tool="now")) == MAX_STEPS + 1


def test_new_words_are_cut_and_stand_against_those_of_a_branch() -> None:
    carrier = step("Book", "now", key="a", when={"condition": "c1"})
    only_yes = step("Book", "now", key="a", when={"condition": "c1", "branch": "yes"})
    assert edited([carrier], "reword", "a", title="x" * 999)[0].title == "x" * MAX_TITLE
    assert edited([carrier], "reword", "a", title="x")[0].when == {}
    assert edited([only_yes], "reword", "a", title="x")[0].when == only_yes.when


def test_the_persons_question_stands_beside_the_tools_own_check_and_replaces_the_one_before() -> None:
    (asked,) = edited([step("Look", "now", key="a", checks=(PASSED, JUDGED))], "checks", "a", question=" Is it noon? ")
    assert asked.checks[0] == PASSED
    assert (asked.checks[1].params, asked.checks[1].verdict) == ({"question": "Is it noon?"}, "open")


def test_the_same_question_again_keeps_what_was_judged_and_an_empty_one_takes_it_out() -> None:
    steps = [step("Look", "now", key="a", checks=(PASSED, JUDGED))]
    assert edited(steps, "checks", "a", question="Is it late?") == steps
    assert edited(steps, "checks", "a", question=" ")[0].checks == (PASSED,)


@pytest.mark.parametrize("op", ["reword", "skip", "delete", "move", "checks", "unskip", "retry"])
def test_a_step_that_is_done_stays_as_it_is(op: str) -> None:
    with pytest.raises(PlanRefused, match="done"):
        edited(plan("done", "pending"), op, "a", title="x", to=2, question="?")


@pytest.mark.parametrize("change", [{}, {"op": "explode", "key": "a"}, {"op": "skip"}, {"op": "skip", "key": "zz"}])
def test_what_is_no_change_is_refused_in_words(change: dict[str, str]) -> None:
    with pytest.raises(PlanRefused) as refused:
        edits.apply(plan("pending"), change, TOOLS)
    assert all(fault and fault[0].isupper() and fault.endswith(".") for fault in refused.value.faults)


def test_the_steps_given_are_never_changed() -> None:
    steps = plan("pending", "pending", "failed")
    before = list(steps)
    for op in ("reword", "move", "skip", "delete", "retry", "checks", "add"):
        edited(steps, op, "c", title="x", to=1, question="Is it?", tool="now")
    assert steps == before
