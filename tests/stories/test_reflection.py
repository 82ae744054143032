"""At the second failure of a step the model is asked, once, what is missing; what it says is acted on.

Touches: whole turns through the websocket.
"""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from chat import conversations, turns
from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call, fault, structured
from chat.models import Iteration, Turn
from planning import plans
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
BAD = call("calculate", expression="1 / 0")
WORSE = call("calculate", expression="2 / 0")
SUM = call("calculate", expression="17 * 23")
ONE_STEP = plan(("Work it out", "calculate"))
OTHER = call("revise_plan", reason="other numbers", steps=[{"title": "Work out the product", "tool": "calculate"}])


def advice(**given: Any) -> str:
    return structured({"missing": "", "tool": "", "arguments": "", "advice": "", **given})


def questions(llm: ScriptedLLM) -> list[str]:
    """The small questions that were asked, in order."""
    return [body["messages"][-1]["content"] for body in llm.requests if "response_format" in body]


def told(llm: ScriptedLLM, number: int) -> str:
    """The end of a request with tools, as the model read it."""
    asked = [body for body in llm.requests if "tools" in body]
    return str(asked[number]["messages"][-1]["content"])


async def test_the_second_failure_is_looked_at_and_the_new_plan_is_made_with_the_answer(alice: User) -> None:
    given = advice(
        missing="a number to divide by", tool="calculate", arguments={"expression": "17 * 23"}, advice="Multiply"
    )
    llm = ScriptedLLM([ONE_STEP, BAD, WORSE, OTHER, SUM, finish("391")], structured=[given])
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("What is 17 * 23?"))
        rows = await in_db(lambda: list(Iteration.objects.filter(turn=turn).order_by("number")))
    (question,) = questions(llm)
    assert "1 / 0" in question and "2 / 0" in question and "Work it out" in question
    assert "looked at" not in told(llm, 2)
    after = told(llm, 3)
    assert "The plan cannot go on" in after and "Missing: a number to divide by." in after
    assert 'Not tried yet: calculate {"expression": "17 * 23"}. Multiply.' in after
    assert turn.end == Turn.End.FINISHED and await stage.answer(turn) == "391"
    # The question is counted where it was asked.
    assert sum(row.prompt_tokens for row in rows) == turn.prompt_tokens
    assert rows[2].prompt_tokens > rows[1].prompt_tokens + len(question) // 8


async def test_a_step_whose_question_is_not_answered_twice_is_looked_at_and_tried_otherwise(alice: User) -> None:
    no = structured({"reason": "another sum", "verdict": "failed", "quotes": []})
    yes = structured({"reason": "it is", "verdict": "passed", "quotes": ["391"]})
    given = advice(missing="the product", tool="calculate", arguments='{"expression": "17 * 23"}')
    other = [call("calculate", expression=f"17 + {n}") for n in (22, 23)]
    llm = ScriptedLLM([ONE_STEP, *other, SUM, finish("391")], structured=[no, no, given, yes])
    async with Stage(alice, llm) as stage:
        await in_db(conversations.set_approve_plans, stage.conversation, True)
        turn = await stage.until(await stage.say("What is 17 * 23?"), Turn.Status.WAITING_USER)
        now = await stage.plan(turn)
        question = {"op": "checks", "key": now.steps[0].key, "question": "Is it the product of 17 and 23?"}
        await in_db(plans.edit, turn.id, now.revision, question)
        await in_db(turns.approve_plan, alice, turn.id, ok=True)
        turn = await stage.ended(turn)
        step = (await stage.plan(turn)).steps[0]
    asked = ["failed twice" in question for question in questions(llm)]
    assert asked == [False, False, True, False]
    assert "another sum" in told(llm, 3) and 'Not tried yet: calculate {"expression": "17 * 23"}' in told(llm, 3)
    assert step.status == "done" and step.attempts == 2 and turn.end == Turn.End.FINISHED


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (advice(tool="calculate", arguments={"expression": "2 / 0"}, advice="Again"), "failed twice. Again."),
        (advice(tool="rm", arguments={"path": "/"}, advice="Try that"), "failed twice. Try that."),
        (advice(tool="now", missing="the time"), "Missing: the time. now may do it instead, in a revised plan."),
        (advice(tool="calculate", arguments="17 times 23", advice="Multiply。"), "failed twice. Multiply."),
    ],
)
async def test_only_a_tool_that_there_is_and_a_try_that_is_new_are_passed_on(
    alice: User, given: str, said: str
) -> None:
    llm = ScriptedLLM([ONE_STEP, BAD, WORSE, OTHER, SUM, finish("391")], structured=[given])
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("What is 17 * 23?"))
    assert said in told(llm, 3) and "rm" not in told(llm, 3).split("You looked")[1].split()
    assert "Not tried yet" not in told(llm, 3) and turn.end == Turn.End.FINISHED


@pytest.mark.parametrize("given", [advice(), "no JSON at all", "[]", '{"tool": 7, "advice": null}', fault(400, "no")])
async def test_without_advice_the_turn_goes_on_as_it_would(alice: User, given: Any) -> None:
    llm = ScriptedLLM([ONE_STEP, BAD, WORSE, OTHER, SUM, finish("391")], structured=[given])
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("What is 17 * 23?"))
    assert turn.end == Turn.End.FINISHED and "You looked" not in json.dumps(llm.requests)


async def test_one_failure_is_not_looked_at(alice: User) -> None:
    llm = ScriptedLLM([ONE_STEP, BAD, SUM, finish("391")], structured=[])
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("What is 17 * 23?"))
    assert turn.end == Turn.End.FINISHED and questions(llm) == []


async def test_what_the_person_rejected_is_not_looked_at(alice: User) -> None:
    save = [call("write_file", path=name, content="x") for name in ("a.txt", "b.txt")]
    again = call("revise_plan", reason="as they wish", steps=[{"title": "Save it as b.txt", "tool": "write_file"}])
    script = [plan(("Save it", "write_file")), save[0], again, save[1], finish("Nothing was saved.")]
    async with Stage(alice, ScriptedLLM(script, structured=[])) as stage:
        turn = await stage.say("Save x")
        for _try in range(2):
            await stage.decide(await stage.asked(turn), grant=False, reason="not there")
            turn = await stage.until(turn, Turn.Status.ENDED, Turn.Status.WAITING_APPROVAL)
    assert questions(stage.llm) == [] and not list(stage.workspace().glob("*.txt"))
