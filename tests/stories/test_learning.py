"""What the rules do not understand is asked of the model once, in short, and shown with its price.

Touches: whole turns through the websocket.
"""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, fault, structured
from chat.models import Iteration
from memory import extract, records
from memory.models import MemoryRecord
from tests.stories.scripts import finish
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
SAID = "My knees hurt whenever I climb stairs."
PROPOSED = structured(
    {
        "memories": [
            {"quote": SAID, "text": "The user's knees hurt on stairs", "kind": "fact", "subject": "user",
             "attribute": "knees", "value": "hurt", "lasting": 8},
            {"quote": "I love skiing", "text": "The user loves skiing", "kind": "preference", "subject": "user",
             "attribute": "likes", "value": "skiing", "lasting": 9},
        ]
    }
)  # fmt: skip


@pytest.fixture(autouse=True)
def _by_model(settings: Any) -> None:
    settings.AGENT_LEARN_BY_MODEL = True


def panel(user: User, stage: Stage) -> str:
    client = Client()
    client.force_login(user)
    return client.get(reverse("panel", args=[stage.conversation.pk, "memory"])).content.decode()


async def test_a_statement_no_rule_knows_is_judged_by_the_model_against_the_persons_words(alice: User) -> None:
    llm = ScriptedLLM([finish("Noted.")], structured=[PROPOSED])
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say(SAID))
        await stage.row(lambda: Iteration.objects.filter(turn=turn, changes__has_key="memory_tokens").first())
        rows = await in_db(lambda: list(MemoryRecord.objects.filter(user=alice)))
        shown = await in_db(panel, alice, stage)
    assert [(row.text, row.source["noticed"]) for row in rows] == [("The user's knees hurt on stairs", "model")]
    assert "you did not say that" in shown  # the invented one is on the receipt, with the reason
    assert "The model was asked what of it is worth keeping" in shown


async def test_questions_tasks_and_small_talk_ask_the_model_nothing(alice: User) -> None:
    said = ["What is 12*12?", "Book a room in Rome.", "Thanks!", "我住在哪里", "I have a question about my order."]
    llm = ScriptedLLM([finish("144") for _text in said], structured=lambda _body: pytest.fail("asked"))
    async with Stage(alice, llm) as stage:
        for text in said:
            await stage.ended(await stage.say(text))
    assert len(llm.requests) == len(said)


async def test_a_paste_is_asked_about_in_short_and_a_refusal_is_not_tried_again(alice: User) -> None:
    llm = ScriptedLLM([finish("Noted.")], structured=[fault(400, "too long")])
    paste = f"{SAID}\n\n" + "My uncle's theory about soil is long. " * 8_000 + "\n\nThanks"
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say(paste[:200_000]))
        await stage.row(lambda: turn if len(llm.requests) > 1 else None)
    assert len(llm.requests) == 2
    assert len(json.dumps(llm.requests[1]["messages"])) < extract.MOST_CHARACTERS + 2_000


async def test_learning_switched_off_asks_nothing_and_keeps_nothing(alice: User) -> None:
    await in_db(records.set_mode, alice.pk, "off")
    llm = ScriptedLLM([finish("Noted.")], structured=lambda _body: pytest.fail("asked"))
    async with Stage(alice, llm) as stage:
        await stage.ended(await stage.say(f"{SAID} I live in Lyon."))
    assert not await in_db(MemoryRecord.objects.filter(user=alice).exists)


async def test_in_ask_mode_what_was_learnt_waits_in_the_tray_and_reaches_no_prompt(alice: User) -> None:
    await in_db(records.set_mode, alice.pk, "ask")
    llm = ScriptedLLM([finish("Noted."), finish("?")], structured=[PROPOSED])
    async with Stage(alice, llm) as stage:
        await stage.ended(await stage.say(SAID))
        row = await stage.row(lambda: MemoryRecord.objects.filter(user=alice, status="review").first())
        await stage.ended(await stage.say("What hurts on the stairs?"))
        shown = await in_db(panel, alice, stage)
    assert row.text not in json.dumps(llm.requests[-1]["messages"])
    assert "For your review" in shown and "knees hurt on stairs" in shown
