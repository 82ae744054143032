"""A rule of the task is followed although the model left it out, turned it round, or writes the other branch.

Touches: whole turns through the websocket.
"""

import json

import pytest
from django.contrib.auth.models import User

from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call, structured
from planning.models import Condition
from tests.stories.scripts import HOTELS, book, finish, plan, weather
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)

SAVE = "Work out 17 * {}. If the result is greater than 400, save the word big to result.txt, otherwise save the word small to result.txt."
SAVE_ZH = "计算17*{}。如果结果大于400，就把单词big存到result.txt，否则把单词small存到result.txt。"
TRAVEL = "Two nights in Xi'an from October {}. Check that day's weather first; if it rains book a suite, otherwise a standard room."
TRAVEL_ZH = "西安10月{}日住两晚。先查当天天气，下雨订suite，否则订standard。"


def save(word: str) -> object:
    return call("write_file", path="result.txt", content=word)


@pytest.mark.parametrize("task", [SAVE, SAVE_ZH])
@pytest.mark.parametrize(("factor", "right", "wrong"), [(23, "small", "big"), (24, "big", "small")])
async def test_the_word_of_the_other_branch_is_not_saved(
    alice: User, task: str, factor: int, right: str, wrong: str
) -> None:
    """No condition was written, no model decides it, and the first try says the wrong word."""
    steps = plan(("Work it out", "calculate"), ("Save the word", "write_file"))
    llm = ScriptedLLM(
        [steps, call("calculate", expression=f"17 * {factor}"), save(wrong), save(right), finish("Saved.")]
    )
    async with Stage(alice, llm) as stage:
        turn = await stage.say(task.format(factor))
        approval = await stage.asked(turn)
        assert approval.args["content"] == right
        await stage.decide(approval, grant=True)
        turn = await stage.ended(turn)
        condition = await in_db(Condition.objects.get, turn=turn)
        refused = [one for one in await stage.calls(turn) if one.tool == "write_file" and one.status != "succeeded"]
    assert (condition.how, condition.status) == ("code", "yes" if right == "big" else "no")
    assert len(refused) == 1 and right in refused[0].text
    assert (stage.workspace() / "result.txt").read_text() == right


@pytest.mark.parametrize("task", [TRAVEL, TRAVEL_ZH])
@pytest.mark.parametrize(("day", "right", "wrong"), [(1, "suite", "standard"), (2, "standard", "suite")])
@pytest.mark.parametrize(
    "written",
    [
        [],  # left out
        [{"question": "Will it rain?", "if_yes": "book a standard room", "if_no": "book a suite"}],  # branches traded
        [{"question": "Is it sunny?", "if_yes": "suite", "if_no": "standard"}],  # turned round, and wrongly
    ],
)
async def test_the_right_room_is_asked_for_whatever_condition_the_model_wrote(
    alice: User, task: str, day: int, right: str, wrong: str, written: list[object]
) -> None:
    steps = plan(
        ("Check the weather", "get_weather"),
        ("Find hotels", "search_hotels"),
        ("Book the room", "book_hotel"),
        conditions=written,
    )
    llm = ScriptedLLM([steps, weather(day), HOTELS, book(wrong, day), book(right, day), finish("Booked.")])
    async with Stage(alice, llm) as stage:
        turn = await stage.say(task.format(day))
        approval = await stage.asked(turn)
        assert approval.args["room"] == right and ("rain" if day == 1 else "sunny") in approval.because["room"]
        await stage.decide(approval, grant=True)
        turn = await stage.ended(turn)
        condition = await in_db(Condition.objects.get, turn=turn)
    assert condition.how == "code"
    # The booking step reads the fact, not the rule.
    assert condition.rule not in json.dumps(llm.requests[3]["messages"], ensure_ascii=False)


MAIL = "Read note.txt. If it sounds urgent save the word now to out.txt, otherwise save the word later to out.txt."


@pytest.mark.parametrize(
    ("answers", "status", "quote"),
    [
        ([{"quote": "needed TODAY", "answer": "yes"}], "yes", "needed TODAY"),
        ([{"quote": "it says so", "answer": "yes"}, {"quote": "needed today", "answer": "yes"}], "yes", "needed today"),
        # Made up twice: the answer it gave twice holds, the words beside it are the evidence's own.
        (
            [{"quote": "it says so", "answer": "yes"}, {"quote": "", "answer": "yes"}],
            "yes",
            "The report is needed today",
        ),
        ([{"quote": "it says so", "answer": "yes"}, {"quote": "it does not", "answer": "no"}], "open", ""),
    ],
)
async def test_what_the_model_decides_is_shown_with_words_of_the_evidence(
    alice: User, answers: list[object], status: str, quote: str
) -> None:
    steps = plan(("Read the note", "read_file"), ("Save the word", "write_file"))
    llm = ScriptedLLM(
        [steps, call("read_file", path="note.txt"), save("now")], structured=[structured(one) for one in answers]
    )
    async with Stage(alice, llm) as stage:
        stage.workspace().mkdir(parents=True)
        (stage.workspace() / "note.txt").write_text("The report is needed today.")
        turn = await stage.say(MAIL)
        await stage.until(turn, "waiting_approval", "ended")
        condition = await in_db(Condition.objects.get, turn=turn)
    assert condition.status == status and quote in condition.quote
    if status == "open":
        assert condition.quote == ""
