"""Steps that only read and wait for nothing are done in one go, where the model calls them in one.

Touches: whole turns through the websocket.
"""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call, calls
from chat.models import Turn
from planning import plans
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)


def apart(*steps: tuple[str, str], then: tuple[str, str] | None = None) -> Any:
    """A plan whose steps wait for nothing, but for the last."""
    found: list[dict[str, Any]] = [{"title": title, "tool": tool, "after": []} for title, tool in steps]
    last = [{"title": then[0], "tool": then[1], "after": list(range(1, len(steps) + 1))}] if then else []
    return call("set_plan", steps=[*found, *last])


THREE = apart(("Sum", "calculate"), ("Product", "calculate"), ("Time", "now"), then=("Save", "write_file"))


async def test_three_reads_called_in_one_reply_are_three_steps_done(alice: User) -> None:
    together = calls(("calculate", {"expression": "1 + 2"}), ("now", {}), ("calculate", {"expression": "3 * 4"}))
    save = call("write_file", path="a.txt", content="3 12")
    llm = ScriptedLLM([THREE, together, save, finish("Saved.")])
    async with Stage(alice, llm) as stage:
        turn = await stage.say("A sum, a product and the time, saved")
        await stage.decide(await stage.asked(turn), grant=True)
        turn = await stage.ended(turn)
        steps, ran = (await stage.plan(turn)).steps, await stage.calls(turn)
    assert turn.end == Turn.End.FINISHED and turn.iterations_used == 4
    assert [(step.title, step.status) for step in steps] == [
        ("Sum", "done"), ("Product", "done"), ("Time", "done"), ("Save", "done")
    ]  # fmt: skip
    # Each call is the evidence of its own step, in the order of the steps.
    assert [step.found for step in steps[:2]] == ["1 + 2 = 3", "3 * 4 = 12"]
    assert [one.step_key for one in ran[1:4]] == [steps[0].key, steps[2].key, steps[1].key]
    assert "2 Product (calculate); 3 Time (now)" in json.dumps(llm.requests[1], ensure_ascii=False)


async def test_one_at_a_time_is_as_good(alice: User) -> None:
    llm = ScriptedLLM(
        [
            apart(("Sum", "calculate"), ("Time", "now")),
            call("now"),  # the other one first
            call("calculate", expression="1 + 2"),
            finish("3"),
        ]
    )
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("A sum and the time"))
        steps = (await stage.plan(turn)).steps
    assert [step.status for step in steps] == ["done", "done"] and turn.iterations_used == 4


async def test_one_that_fails_beside_another_is_taken_up_in_its_turn(alice: User) -> None:
    bad = calls(("calculate", {"expression": "1 + 2"}), ("calculate", {"expression": "3 *"}))
    again = call("calculate", expression="3 * 4")
    llm = ScriptedLLM([apart(("Sum", "calculate"), ("Product", "calculate")), bad, again, finish("3 and 12")])
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("A sum and a product"))
        steps = (await stage.plan(turn)).steps
    assert [(step.status, step.attempts) for step in steps] == [("done", 0), ("done", 0)]
    # What failed beside the first stands among the calls of the second.
    assert "3 *" in json.dumps(llm.requests[2]["messages"], ensure_ascii=False)


async def test_what_waits_for_another_is_not_done_beside_it(alice: User) -> None:
    llm = ScriptedLLM(
        [
            plan(("Sum", "calculate"), ("Time", "now")),
            calls(("calculate", {"expression": "1 + 2"}), ("now", {})),
            call("now"),
            finish("3"),
        ]
    )
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("A sum, then the time"))
        ran = await stage.calls(turn)
    assert [(one.tool, one.status) for one in ran[1:4]] == [
        ("calculate", "succeeded"), ("now", "refused"), ("now", "succeeded")
    ]  # fmt: skip


async def test_a_step_that_the_person_takes_out_meanwhile_is_not_brought_back(alice: User) -> None:
    """The person deletes the step beside while the calls are under way: its result finds no step."""
    together = calls(("calculate", {"expression": "1 + 2"}), ("now", {}))
    llm = ScriptedLLM([apart(("Sum", "calculate"), ("Time", "now")), together, finish("3")])
    async with Stage(alice, llm) as stage:
        real = plans.finish_beside

        def edited_before(turn_id: Any, key: str, *given: Any) -> bool:
            now = plans.current(turn_id)
            assert now is not None
            plans.edit(turn_id, now.revision, {"op": "delete", "key": key})
            return real(turn_id, key, *given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plans, "finish_beside", edited_before)
            turn = await stage.ended(await stage.say("A sum and the time"))
        steps = (await in_db(plans.current, turn.id)).steps
    assert [(step.title, step.status) for step in steps] == [("Sum", "done")] and turn.end == Turn.End.FINISHED
