"""What the model is given to read stays short, begins the same within a step, and still says what the step needs.

Touches: whole turns through the websocket.
"""

import json
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import User

from chat.llm.scripted import ScriptedLLM, call
from chat.models import Turn
from tests.stories.scripts import finish, kept_prefix, plan
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
SUM = call("calculate", expression="17 * 23")


def names(request: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in request["tools"]]


def written(request: dict[str, Any]) -> str:
    return json.dumps([request["tools"], request["messages"]], ensure_ascii=False)


async def test_a_step_grows_at_its_end_and_no_request_by_more_than_what_came(alice: User) -> None:
    kept = [call("update_slots", name=f"part_{n}", value=n) for n in range(5)]
    llm = ScriptedLLM([plan(("Work it out", "calculate"), ("Time", "now")), *kept, SUM, call("now"), finish("391")])
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("What is 17 * 23?"))
    step = [written(request) for request in llm.requests[1:7]]
    assert turn.end == Turn.End.FINISHED
    assert all(kept_prefix(before, after) > 0.8 for before, after in pairwise(step))
    assert len(step[-1]) - len(step[0]) < 5 * 20  # one line, and not a call with its result for each
    assert "part_4 = 4" in step[-1] and '"update_slots", "arguments"' not in step[-1]
    assert "part_4 = 4" in written(llm.requests[7])  # the next step reads it as state


async def test_ways_out_are_described_once_something_went_wrong(alice: User) -> None:
    bad = call("calculate", sum="17 * 23")
    llm = ScriptedLLM([plan(("Work it out", "calculate")), bad, SUM, finish("391")])
    async with Stage(alice, llm) as stage:
        await stage.ended(await stage.say("What is 17 * 23?"))
    clean, after = names(llm.requests[1]), names(llm.requests[2])
    assert clean == ["calculate", "update_slots"]
    assert {"ask_user", "mark_step_failed"} <= set(after)


async def test_a_step_that_changes_something_may_ask_at_once(alice: User) -> None:
    llm = ScriptedLLM([plan(("Save it", "write_file")), call("ask_user", question="Which name?"), finish("x")])
    async with Stage(alice, llm) as stage:
        await stage.until(await stage.say("Save x"), Turn.Status.WAITING_USER)
    assert "ask_user" in names(llm.requests[1]) and "mark_step_failed" not in names(llm.requests[1])


async def test_giving_a_step_up_is_heard_even_before_it_is_described(alice: User) -> None:
    other = call("revise_plan", reason="x", steps=[{"title": "Time", "tool": "now"}])
    give_up = call("mark_step_failed", note="nothing to work out")
    llm = ScriptedLLM([plan(("Work it out", "calculate")), give_up, other, call("now"), finish("Late.")])
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("Work it out"))
    assert [one.status for one in await stage.calls(turn)] == ["succeeded"] * 5
