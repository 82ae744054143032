"""The demo model plays the main jobs through the real loop, in English and Chinese.

words -> a booking, a note, a memory, an honest no.  Touches: real rows; no network.
"""

from typing import Any, cast

import pytest
from django.contrib.auth.models import User

from chat.db import in_db
from chat.llm.demo import DemoLLM
from chat.llm.scripted import ScriptedLLM
from chat.models import Message, Turn
from chat.tools.travel import YEAR
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)


def stage(user: User) -> Stage:
    return Stage(user, cast(ScriptedLLM, DemoLLM(delay=0.0)))


async def play(scene: Stage, text: str) -> Turn:
    """Say it, and grant every action until the turn has ended."""
    turn = await scene.say(text)
    while True:
        turn = await scene.until(turn, Turn.Status.WAITING_APPROVAL, Turn.Status.WAITING_USER, Turn.Status.ENDED)
        if turn.status != Turn.Status.WAITING_APPROVAL:
            return turn
        await scene.decide(await scene.asked(turn), grant=True)


async def answer(turn: Turn) -> str:
    last = await in_db(lambda: turn.messages.filter(role=Message.Role.AGENT).last())
    return str(last.text) if last else ""


async def succeeded(scene: Stage, turn: Turn) -> dict[str, Any]:
    return {call.tool: call.args for call in await scene.calls(turn) if call.status == "succeeded"}


@pytest.mark.parametrize(
    ("words", "day", "room"),
    [
        ("Two nights in Xi'an from October {day}. If it rains book a suite, otherwise a standard room.", 1, "suite"),
        ("Two nights in Xi'an from October {day}. If it rains book a suite, otherwise a standard room.", 2, "standard"),
        ("10月{day}日在西安住两晚。如果下雨订套房，否则订标准间。", 1, "suite"),
        ("10月{day}日在西安住两晚。如果下雨订套房，否则订标准间。", 2, "standard"),
    ],
)
async def test_a_trip_is_planned_decided_by_the_weather_and_booked(
    alice: User, words: str, day: int, room: str
) -> None:
    async with stage(alice) as scene:
        turn = await play(scene, words.format(day=day))
        done = await succeeded(scene, turn)
    assert turn.end == Turn.End.FINISHED
    assert list(done) == ["set_plan", "get_weather", "search_hotels", "book_hotel", "finish"]
    booked = done["book_hotel"]
    assert (booked["room"], booked["date_from"], booked["nights"]) == (room, f"{YEAR}-10-0{day}", 2)
    assert "BK-" in await answer(turn)


@pytest.mark.parametrize(
    ("said", "asked", "kept"),
    [
        ("remember that I prefer quiet rooms on a high floor", "what do you know about me?", "quiet rooms"),
        ("请记住，我喜欢高楼层的安静房间", "你知道我什么？", "高楼层的安静房间"),
    ],
)
async def test_what_was_said_is_remembered_and_told_when_asked(alice: User, said: str, asked: str, kept: str) -> None:
    async with stage(alice) as scene:
        await play(scene, said)
        turn = await play(scene, asked)
    assert kept in await answer(turn)


async def test_a_note_is_saved_after_approval_and_read_back(alice: User) -> None:
    async with stage(alice) as scene:
        saved = await play(scene, "save a note: buy tea")
        read = await play(scene, "read my notes")
    assert saved.end == Turn.End.FINISHED and "buy tea" in await answer(read)


@pytest.mark.parametrize("words", ["what is 17*23?", "17*23 等于多少？"])
async def test_a_sum_is_worked_out_by_the_tool(alice: User, words: str) -> None:
    async with stage(alice) as scene:
        turn = await play(scene, words)
        done = await succeeded(scene, turn)
    assert "391" in await answer(turn) and "calculate" in done


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("hi", "demo model"),
        ("你好", "演示模型"),
        ("write a poem about tea", "do not know how"),
        ("写一首关于茶的诗", "不会做"),
    ],
)
async def test_it_says_what_it_is_and_what_it_cannot_do(alice: User, words: str, says: str) -> None:
    async with stage(alice) as scene:
        turn = await play(scene, words)
    assert turn.end == Turn.End.FINISHED and says in await answer(turn)


async def test_what_is_missing_is_asked_for_one_by_one(alice: User) -> None:
    async with stage(alice) as scene:
        turn = await play(scene, "Book a hotel")
        for words in ("Xi'an", "October 2", "2 nights, a suite"):
            assert turn.status == Turn.Status.WAITING_USER
            turn = await play(scene, words)
        done = await succeeded(scene, turn)
    assert done["book_hotel"]["room"] == "suite" and done["book_hotel"]["nights"] == 2


async def test_a_place_it_knows_nothing_of_is_said_not_invented(alice: User) -> None:
    async with stage(alice) as scene:
        turn = await play(scene, "What is the weather in Beijing tomorrow?")
        done = await succeeded(scene, turn)
    assert "get_weather" not in done and "Beijing" in await answer(turn)


async def test_what_is_remembered_reaches_the_booking(alice: User) -> None:
    async with stage(alice) as scene:
        await play(scene, "remember that I prefer quiet rooms on a high floor")
        turn = await play(scene, "Two nights in Xi'an from October 2, book a suite.")
        done = await succeeded(scene, turn)
    assert "quiet rooms on a high floor" in str(done["book_hotel"])
