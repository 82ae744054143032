"""The gate, as a table: what ends an iteration, and why.

Touches: nothing (pure).
"""

from dataclasses import replace
from uuid import uuid4

import pytest

from chat.loop.gate import actions, cycle, gate, limit, repeats
from chat.types import Call, CallView, Decision, Limits, Reply, Snapshot, TokenUse, Usage, Verdict

LIMITS = Limits(iterations=10, tokens=1_000, seconds=60, cost=0.5, repeats=3, revisions=2, step_iterations=4)


def snapshot(**changes: object) -> Snapshot:
    base = Snapshot(
        conversation_id=uuid4(), turn_id=uuid4(), user_id=1, fence=1, number=1, goal="", plan=None, step=None,
        conditions=(), exclusions=(), slots=(), recalls=(), summary="", window=(), steering=(), new_words=False,
        evidence=(), results=(), recent=(), faults=(), replan="", offered=(), limits=LIMITS, usage=Usage(),
        pending=None, plain_text_before=False, today="",
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def decision(tool: str = "now", tokens: int = 0, cost: float | None = None, **args: object) -> Decision:
    use = TokenUse(prompt=tokens, cost=cost)
    return Decision(calls=(Call(tool=tool, args=args),), reply=Reply(usage=use))


@pytest.mark.parametrize(
    ("used", "name"),
    [
        (Usage(iterations=10), "iterations"),
        (Usage(tokens=1_000), "tokens"),
        (Usage(seconds=60), "seconds"),
        (Usage(cost=0.5), "cost"),
        (Usage(revisions=3), "revisions"),
        (Usage(iterations=9, tokens=999, seconds=59, cost=0.49, revisions=2), None),
        (Usage(cost=None), None),
    ],
)
def test_the_first_limit_reached_is_named(used: Usage, name: str | None) -> None:
    found = limit(snapshot(), used, ())
    assert (found.gate if found else None) == name


def test_a_limit_is_told_in_plain_words_with_its_figure() -> None:
    found = limit(snapshot(), Usage(iterations=10), ())
    assert found is not None and "10" in found.reason


@pytest.mark.parametrize(("marks", "times"), [((), 0), (("a",), 1), (("b", "a", "a"), 2), (("a", "b", "a"), 1)])
def test_repeats_counts_the_last_action_in_a_row(marks: tuple[str, ...], times: int) -> None:
    assert repeats(marks) == times


@pytest.mark.parametrize(
    ("marks", "length"),
    [("ababab", 2), ("abcabcabc", 3), ("aaaaaa", 0), ("abab", 0), ("xababab", 2), ("abababx", 0), ("", 0)],
)
def test_a_cycle_is_seen_when_a_group_went_round_three_times(marks: str, length: int) -> None:
    assert cycle(tuple(marks)) == length


def test_the_same_action_three_times_stops_the_turn() -> None:
    recent = tuple(call("now", {"a": 1}) for _ in range(2))
    outcome = gate(snapshot(recent=recent), decision("now", a=1), Verdict())
    assert (outcome.kind, outcome.gate) == ("stop", "repeats")


def test_replies_that_are_cut_each_time_are_told_as_that() -> None:
    cut = replace(decision(), reply=Reply(finish="length"))
    recent = tuple(call("now", {"time_zone": ""}) for _ in range(2))
    found = gate(snapshot(recent=recent), cut, Verdict())
    assert found.gate == "repeats" and "AGENT_REPLY_TOKENS" in found.reason


def test_the_same_action_is_seen_although_defaults_were_filled_in() -> None:
    recent = tuple(call("now", {"time_zone": ""}) for _ in range(2))
    assert gate(snapshot(recent=recent), decision("now"), Verdict()).gate == "repeats"


def test_a_decision_taken_up_again_after_a_pause_is_not_counted_twice() -> None:
    recent = (call("now", {"a": 1}),)
    again = replace(decision("now", a=1), reply=None)
    assert len(actions(snapshot(recent=recent), again)) == 1


@pytest.mark.parametrize(
    ("verdict", "kind", "waits_for"),
    [
        (Verdict(answer={"answer": "x"}, waiting=1), "finish", ""),
        (Verdict(waiting=1), "pause", "approval"),
        (Verdict(question="Which city?"), "pause", "user"),
        (Verdict(plan_unapproved=True), "pause", "user"),
        (Verdict(), "continue", ""),
    ],
)
def test_an_answer_comes_before_a_wait_and_a_wait_before_a_limit(verdict: Verdict, kind: str, waits_for: str) -> None:
    outcome = gate(snapshot(), decision(), verdict)
    assert (outcome.kind, outcome.waits_for) == (kind, waits_for)


def test_a_spent_budget_does_not_take_an_answer_away() -> None:
    outcome = gate(snapshot(number=10), decision(tokens=5_000), Verdict(answer={"answer": "done"}))
    assert outcome.kind == "finish"


def test_the_tokens_of_judging_count() -> None:
    outcome = gate(snapshot(), decision(tokens=600), Verdict(use=TokenUse(prompt=400)))
    assert outcome.gate == "tokens"


def call(tool: str, args: dict[str, object]) -> CallView:
    return CallView(
        id=uuid4(), iteration=1, index=0, step_key="", tool=tool, tier="read", status="succeeded", args=args,
        digest="", result=None, text="", summary="", error=None,
    )  # fmt: skip
