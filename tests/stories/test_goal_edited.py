"""The person edits the goal of a running turn: the next thing the agent does is another plan.

Touches: whole turns through the websocket; the door of the Plan panel.
"""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from chat import turns
from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call
from chat.models import Approval, Turn
from planning import plans
from planning.models import Plan
from tests.stories.scripts import HOTELS, PLAN, book, finish, plan, weather
from tests.stories.stage import TASK, Stage

pytestmark = pytest.mark.django_db(transaction=True)
SAVE = call("write_file", path="a.txt", content="x")
STEPS = plan(("Save x", "write_file"), ("Tell the time", "now"))
OTHER = call("revise_plan", reason="another goal", steps=[{"title": "Work out the sum", "tool": "calculate"}])


def reworded(user: User, turn: Turn, goal: str) -> None:
    """What the Plan panel does."""
    now = plans.current(turn.id)
    assert now is not None
    with transaction.atomic():
        plans.edit(turn.id, now.revision, {"op": "goal", "goal": goal})
        turns.set_goal(user, turn.id, goal)
    turns.plan_edited(user, turn.id)


async def edited(alice: User, goal: str, *then: Any) -> tuple[Turn, ScriptedLLM, list[Plan]]:
    """A turn whose goal is edited while it waits for an approval, which is then given."""
    llm = ScriptedLLM([STEPS, SAVE, *then])
    async with Stage(alice, llm) as stage:
        turn = await stage.say("Save x and tell the time")
        approval = await stage.asked(turn)
        await in_db(reworded, alice, turn, goal)
        await stage.decide(approval, grant=True)
        turn = await stage.ended(turn)
    return turn, llm, await in_db(lambda: list(Plan.objects.filter(turn=turn).order_by("revision")))


async def test_the_rest_is_planned_anew_for_the_new_goal_and_what_is_done_stays(alice: User) -> None:
    total = call("calculate", expression="1 + 1")
    turn, llm, revisions = await edited(alice, "Save x and work out 1 + 1", OTHER, total, finish("Saved; 2."))
    asked = json.dumps(llm.requests[2], ensure_ascii=False)
    steps = (await in_db(plans.current, turn.id)).steps
    assert "The person changed the goal" in asked and "Save x and work out 1 + 1" in asked
    assert [(step.title, step.status) for step in steps] == [("Save x", "done"), ("Work out the sum", "done")]
    assert [plan.author for plan in revisions] == ["agent", "person", "agent"]
    assert turn.end == Turn.End.FINISHED


async def test_the_agent_may_say_that_the_plan_still_holds(alice: User) -> None:
    same = call("revise_plan", reason="it still holds", steps=[{"title": "Tell the time", "tool": "now"}])
    turn, _llm, revisions = await edited(alice, "Save x, then say what time it is", same, call("now"), finish("Noon."))
    assert turn.end == Turn.End.FINISHED and len(revisions) == 3
    assert await in_db(lambda: turn.calls.filter(tool="write_file").count()) == 1


async def test_the_same_words_again_change_nothing(alice: User) -> None:
    turn, _llm, revisions = await edited(alice, "Save x and tell the time", call("now"), finish("Noon."))
    assert turn.end == Turn.End.FINISHED and len(revisions) == 1


async def test_a_rule_that_the_new_goal_does_not_have_decides_nothing_any_more(alice: User) -> None:
    again = call("revise_plan", reason="a standard room", steps=[{"title": "Book it", "tool": "book_hotel"}])
    llm = ScriptedLLM([PLAN, weather(), HOTELS, book("suite"), again, book("standard")])
    async with Stage(alice, llm) as stage:
        turn = await stage.say(TASK)
        suite = await stage.asked(turn)
        await in_db(reworded, alice, turn, "Two nights in Xi'an from October 1 in a standard room.")
        await stage.decide(suite, grant=False, reason="another room")
        standard = await stage.row(lambda: Approval.objects.filter(turn=turn, status="asked").first(), turn)
    assert (suite.args["room"], standard.args["room"]) == ("suite", "standard")
    assert "suite" not in json.dumps(llm.requests[-1]["messages"][-1]["content"].split("Task:")[1].split("Plan:")[0])
