"""The main job: plan, look up, decide, ask, book once, answer.

Touches: whole turns through the websocket.
"""

import json

import pytest
from django.contrib.auth.models import User

from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call
from chat.models import Approval, Turn
from chat.tools.travel import YEAR
from tests.stories.scripts import HOTELS, NO, PLAN, YES, book, finish, weather
from tests.stories.stage import TASK, Stage

pytestmark = pytest.mark.django_db(transaction=True)
BOOKED = "Booked the suite, because it rains."


def model(*replies: object, answer: str = YES) -> ScriptedLLM:
    return ScriptedLLM(replies, structured=lambda _body: answer)


async def test_the_room_is_booked_once_after_approval(alice: User) -> None:
    llm = model(PLAN, weather(), HOTELS, book("suite"), finish(BOOKED))
    async with Stage(alice, llm) as stage:
        turn = await stage.say(TASK)
        approval = await stage.asked(turn)
        assert approval.args["room"] == "suite"
        await stage.decide(approval, grant=True)
        turn = await stage.ended(turn)
        plan = await stage.plan(turn)
        booked = [call for call in await stage.calls(turn) if call.tool == "book_hotel"]
    assert (turn.end, [step.status for step in plan.steps]) == (Turn.End.FINISHED, ["done"] * 3)
    assert [call.status for call in booked] == ["succeeded"]
    assert stage.typed() == BOOKED == await stage.answer(turn)


async def test_the_decided_fact_stands_on_the_card(alice: User) -> None:
    async with Stage(alice, model(PLAN, weather(), HOTELS, book("suite"))) as stage:
        approval = await stage.asked(await stage.say(TASK))
    assert "rain" in approval.because["room"]


async def test_a_sunny_day_leads_to_the_standard_room(alice: User) -> None:
    llm = model(PLAN, weather(2), HOTELS, book("standard", 2), answer=NO)
    async with Stage(alice, llm) as stage:
        approval = await stage.asked(await stage.say(TASK.replace("October 1", "October 2")))
    assert approval.args["room"] == "standard"


async def test_a_room_against_the_decided_condition_is_refused_and_called_again(alice: User) -> None:
    async with Stage(alice, model(PLAN, weather(), HOTELS, book("standard"), book("suite"))) as stage:
        turn = await stage.say(TASK)
        approval = await stage.asked(turn)
        refused = [call for call in await stage.calls(turn) if call.status == "refused"]
    assert approval.args["room"] == "suite"
    assert len(refused) == 1 and "decided" in refused[0].text


async def test_business_tools_are_refused_before_there_is_a_plan(alice: User) -> None:
    async with Stage(alice, model(weather(), PLAN, weather(), HOTELS, book("suite"))) as stage:
        turn = await stage.say(TASK)
        await stage.asked(turn)
        first = (await stage.calls(turn))[0]
    assert (first.tool, first.status) == ("get_weather", "refused")
    assert "set_plan" in first.text
    offered = [tool["function"]["name"] for tool in llm_tools(stage.llm, 0)]
    assert offered == ["set_plan", "ask_user", "finish"]


async def test_a_rejection_books_nothing_and_reaches_the_model_with_the_reason(alice: User) -> None:
    llm = model(PLAN, weather(), HOTELS, book("suite"), finish("Nothing was booked, as you wished."))
    async with Stage(alice, llm) as stage:
        turn = await stage.say(TASK)
        await stage.decide(await stage.asked(turn), grant=False, reason="too expensive 太贵")
        turn = await stage.ended(turn)
        ran = [call for call in await stage.calls(turn) if call.tool == "book_hotel" and call.status == "succeeded"]
    assert ran == []
    assert "too expensive 太贵" in json.dumps(llm.requests[-1], ensure_ascii=False)
    assert await stage.answer(turn) == "Nothing was booked, as you wished."


async def test_what_was_edited_on_the_card_is_what_is_booked(alice: User) -> None:
    llm = model(PLAN, weather(), HOTELS, book("suite"), finish("done"))
    async with Stage(alice, llm) as stage:
        turn = await stage.say(TASK)
        approval = await stage.asked(turn)
        await stage.decide(approval, grant=True, args={**approval.args, "room": "standard"})
        await stage.ended(turn)
        booked = next(call for call in await stage.calls(turn) if call.tool == "book_hotel")
        used = await in_db(Approval.objects.get, id=approval.id)
    assert booked.result["room"] == "standard"
    assert (used.status, used.edited, used.digest) == ("used", True, booked.digest)


async def test_a_message_sent_twice_is_one_message_and_one_turn(alice: User) -> None:
    async with Stage(alice, model(finish("Hello!"))) as stage:
        first = await stage.say("Hello", client_id="same")
        await stage.ended(first)
        again = await stage.say("Hello", client_id="same")
    assert first.id == again.id and len(stage.llm.requests) == 1


def llm_tools(llm: ScriptedLLM, number: int) -> list[dict[str, dict[str, str]]]:
    return list(llm.requests[number]["tools"])


async def test_after_a_fault_of_values_only_the_known_ones_can_be_chosen(alice: User) -> None:
    """What a tool knows becomes the schema: a small model that was only told so noted the fault again and again."""
    wrong = call("get_weather", city="Xi'an", date=f"{YEAR}-10-09")
    llm = model(PLAN, wrong, weather(), HOTELS, book("suite"))
    async with Stage(alice, llm) as stage:
        await stage.asked(await stage.say(TASK))
    first, again = ({tool["function"]["name"]: tool for tool in body["tools"]} for body in llm.requests[1:3])
    dates = [tools["get_weather"]["function"]["parameters"]["properties"]["date"] for tools in (first, again)]
    assert [date.get("enum") for date in dates] == [None, [f"{YEAR}-10-01"]]  # the one that the task names
    assert set(again) == {"get_weather"}
