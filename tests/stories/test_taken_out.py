"""The person takes a step out of the plan while its action waits for them: it is not made, and the turn goes on.

Touches: whole turns through the websocket; the plan panel's door.
"""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chat.db import in_db
from chat.errors import Refused
from chat.llm.scripted import ScriptedLLM, call
from chat.models import Approval, Turn
from planning.types import PlanView
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
TWO = plan(("Save it", "write_file"), ("Note the time", "now"))
SAVE = call("write_file", path="a.txt", content="x")


def edit(stage: Stage, now: PlanView, op: str, index: int, user: User | None = None) -> int:
    """Post the form of the plan panel; returns its HTTP status."""
    client = Client(headers={"host": "localhost"})
    client.force_login(user or stage.user)
    form = {"revision": now.revision, "op": op, "key": now.steps[index].key, "title": "Save it well"}
    return client.post(reverse("plan-edit", args=[stage.conversation.id]), form).status_code


@pytest.mark.parametrize("op", ["delete", "skip"])
async def test_its_action_is_withdrawn_and_the_turn_goes_on_without_it(alice: User, op: str) -> None:
    async with Stage(alice, ScriptedLLM([TWO, SAVE, call("now"), finish("It is late.")])) as stage:
        turn = await stage.say("Save x and tell the time")
        approval = await stage.asked(turn)
        assert await in_db(edit, stage, await stage.plan(turn), op, 0) == 200
        turn = await stage.ended(turn)
        steps = [(step.title, step.status) for step in (await stage.plan(turn)).steps]
        saved, _clock = [one for one in await stage.calls(turn) if one.step_key]
        await in_db(approval.refresh_from_db)
        with pytest.raises(Refused):
            await stage.decide(approval, grant=True)
    assert steps == [("Save it", "skipped")] * (op == "skip") + [("Note the time", "done")]
    assert (saved.status, approval.status) == ("cancelled", Approval.Status.WITHDRAWN)
    assert turn.end == Turn.End.FINISHED and not list(stage.workspace().glob("*"))


async def test_an_approval_given_just_before_is_not_used_any_more(alice: User) -> None:
    """Both decisions are there before the worker looks again: the later one holds."""
    async with Stage(alice, ScriptedLLM([TWO, SAVE, call("now"), finish("It is late.")])) as stage:
        turn = await stage.say("Save x and tell the time")
        approval = await stage.asked(turn)
        await stage.runner.stop()
        await stage.decide(approval, grant=True)
        await in_db(edit, stage, await stage.plan(turn), "skip", 0)
        await stage.runner.start()
        turn = await stage.ended(turn)
    assert turn.end == Turn.End.FINISHED and not list(stage.workspace().glob("*"))


@pytest.mark.parametrize(("op", "index"), [("reword", 0), ("skip", 1), ("delete", 1)])
async def test_an_edit_of_something_else_leaves_the_question_standing(alice: User, op: str, index: int) -> None:
    async with Stage(alice, ScriptedLLM([TWO, SAVE, call("now"), finish("Saved.")])) as stage:
        turn = await stage.say("Save x and tell the time")
        approval = await stage.asked(turn)
        assert await in_db(edit, stage, await stage.plan(turn), op, index) == 200
        await in_db(approval.refresh_from_db)
        assert approval.status == Approval.Status.ASKED
        await stage.decide(approval, grant=True)
        turn = await stage.until(turn, Turn.Status.ENDED)
    assert [path.read_text() for path in stage.workspace().glob("*")] == ["x"]


async def test_a_step_skipped_and_wanted_again_asks_again(alice: User) -> None:
    async with Stage(alice, ScriptedLLM([TWO, SAVE, SAVE, call("now"), finish("Saved.")])) as stage:
        turn = await stage.say("Save x and tell the time")
        first = await stage.asked(turn)
        await stage.runner.stop()
        await in_db(edit, stage, await stage.plan(turn), "skip", 0)
        await in_db(edit, stage, await stage.plan(turn), "unskip", 0)
        await stage.runner.start()
        again = await stage.asked(turn)
        assert again.id != first.id
        await stage.decide(again, grant=True)
        turn = await stage.ended(turn)
    assert turn.end == Turn.End.FINISHED and [path.name for path in stage.workspace().glob("*")] == ["a.txt"]


async def test_another_person_takes_nothing_out(alice: User, bob: User) -> None:
    async with Stage(alice, ScriptedLLM([TWO, SAVE, call("now"), finish("Saved.")])) as stage:
        turn = await stage.say("Save x and tell the time")
        approval = await stage.asked(turn)
        assert await in_db(edit, stage, await stage.plan(turn), "skip", 0, bob) == 404
        await in_db(approval.refresh_from_db)
        assert approval.status == Approval.Status.ASKED
