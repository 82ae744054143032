"""Two hundred tools: the right one is among those that a plan may use, and a request does not grow with them.

Touches: rows; whole turns; the sentence encoder that ships.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call
from chat.mcp import servers
from chat.mcp import tools as mcp_tools
from chat.tokens import estimate
from chat.tools import offer, registry
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage
from tests.support import many_tools

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(mcp_tools, "_known", mcp_tools._Known())
    yield


def fill(most: int = 10_000) -> None:
    left = most
    for name, listed in many_tools.servers().items():
        row = servers.add(name, command=("program",))
        servers.saw(row.id, listed[:left])
        left -= len(listed[:left])
        for tool in row.tools.all():
            servers.accept(tool.id, servers.digest_of(tool.seen))


def test_the_right_tool_is_among_those_a_plan_may_use(settings: Any) -> None:
    settings.AGENT_EMBEDDER = "use"
    fill()
    tools = registry.business()
    limit = settings.AGENT_TOOLS_OFFERED + settings.AGENT_TOOLS_NAMED
    right = [name in offer.fitting(tools, says, limit=limit) for name, says in many_tools.STEPS]
    assert len(tools) > 200 and sum(right) >= 95
    described = [name in offer.fitting(tools, says, limit=20) for name, says in many_tools.STEPS]
    assert sum(described) >= 80


def test_without_the_encoder_words_alone_still_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    def down() -> None:
        raise OSError("no such file")

    fill()
    monkeypatch.setattr(offer, "embedder", down)
    assert "mail__unsubscribe" in offer.fitting(registry.business(), "unsubscribe from the newsletter", limit=5)


def test_named_tools_and_what_they_need_come_first() -> None:
    names = offer.fitting(registry.business(), "a walk", limit=3, named=["book_hotel", "gone"])
    assert names[:2] == ("book_hotel", "search_hotels") and len(names) == 3


def test_no_tools_at_all_are_no_fault() -> None:
    assert offer.fitting({}, "anything", limit=5) == ()


async def test_a_request_costs_the_same_with_sixty_tools_and_with_two_hundred(alice: User) -> None:
    async def spent(most: int) -> int:
        await in_db(fill, most)
        llm = ScriptedLLM([finish("Hello.")])
        async with Stage(alice, llm) as stage:
            await stage.ended(await stage.say("Book a flight to Porto"))
        await in_db(lambda: [servers.remove(row) for row in servers.McpServer.objects.all()])
        return estimate(json.dumps(llm.requests[0], ensure_ascii=False))

    few, many = await spent(60), await spent(10_000)
    assert abs(many - few) < 0.08 * few, (few, many)


async def test_a_tool_that_was_not_shown_is_found_and_planned_with(alice: User, settings: Any) -> None:
    settings.AGENT_TOOLS_OFFERED, settings.AGENT_TOOLS_NAMED = 2, 2
    await in_db(fill)
    llm = ScriptedLLM(
        [
            call("find_tools", query="water the garden"),
            plan(("Water the beds", "home__water_garden")),
            call("home__water_garden", zone="beds", minutes="5"),
            finish("It runs."),
        ]
    )
    async with Stage(alice, llm) as stage:
        turn = await stage.say("The flowers look dry")
        approval = await stage.asked(turn)
    shown = json.dumps(llm.requests[0]["tools"])
    assert "home__water_garden" not in shown and approval.tool == "home__water_garden"
