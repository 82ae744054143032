"""More is asked than may run at once: who waits sees their place, who comes too late keeps their words.

Touches: whole turns through the websocket.
"""

import asyncio
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User

from chat import conversations
from chat.db import in_db
from chat.llm.scripted import ScriptedLLM
from chat.models import Turn
from tests.stories.scripts import finish
from tests.stories.stage import PATIENCE, Stage

pytestmark = pytest.mark.django_db(transaction=True)


async def frame(page: WebsocketCommunicator, kind: str) -> dict[str, Any]:
    """The next one of its kind."""
    while True:
        found: dict[str, Any] = await page.receive_json_from(timeout=PATIENCE)
        if found["type"] == kind:
            return found


async def page_of_another_conversation(stage: Stage) -> WebsocketCommunicator:
    other = await in_db(conversations.create, stage.user)
    return await stage.open_page(other.id)


async def test_who_waits_sees_their_place_and_who_comes_too_late_keeps_their_words(alice: User, settings: Any) -> None:
    settings.AGENT_TURNS_IN_ALL, settings.AGENT_QUEUE_LIMIT = 1, 2
    go_on = asyncio.Event()

    async def held(_body: Any) -> Any:
        await go_on.wait()
        return finish("Done.")

    async with Stage(alice, ScriptedLLM(lambda body: held(body))) as stage:
        first = await stage.until(await stage.say("One"), Turn.Status.RUNNING)
        pages = []
        for number in range(3):
            pages.append(page := await page_of_another_conversation(stage))
            await page.send_json_to({"type": "say", "text": f"Task {number}", "id": f"id-{number}"})
            answer = await frame(page, "said" if number < 2 else "refused")
        assert answer["again"] and "Nothing is lost" in answer["message"]
        assert (await frame(pages[1], "place"))["before"] == 1
        go_on.set()
        await stage.ended(first)
        for page in pages[:2]:
            while (await frame(page, "place"))["before"] is not None:
                pass
        # The same message, sent again by the page.
        await pages[2].send_json_to({"type": "say", "text": "Task 2", "id": "id-2"})
        last = await in_db(Turn.objects.get, id=(await frame(pages[2], "said"))["turn"])
        assert (await stage.ended(last)).end == Turn.End.FINISHED
        for page in pages:
            await page.disconnect(timeout=PATIENCE)
