"""Workers that die or shut down in the middle, and what the person says of a write that was cut off.

Touches: whole turns through the websocket.
"""

import asyncio
import threading
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from chat import events, turns
from chat.consumers import RESTARTING
from chat.db import in_db
from chat.errors import Refused
from chat.llm.scripted import ScriptedLLM, call, calls
from chat.models import Approval, Grant, ToolCall, Turn
from chat.runner import Runner
from chat.tools import guarded, registry
from tests.stories.scripts import finish, plan
from tests.stories.stage import PATIENCE, Stage

pytestmark = pytest.mark.django_db(transaction=True)
ORDER = [
    plan(("Order it", "http_request")),
    call("http_request", url="https://shop.example/orders", body="one"),
    finish("Ordered."),
]


class Shop:
    """The network's edge: takes each order at once, and answers only when it may."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.orders: list[str] = []
        self.may_answer = asyncio.Event()
        monkeypatch.setattr(guarded, "fetch", self.fetch)

    async def fetch(self, _method: str, url: str, *, headers: Any = None, body: Any = None) -> guarded.Page:
        self.orders.append(headers["Idempotency-Key"])
        await self.may_answer.wait()
        return guarded.Page(url=url, status=200, kind="text/plain", body=b"done", cut=False)


@pytest.fixture
async def shop(monkeypatch: pytest.MonkeyPatch) -> Shop:
    return Shop(monkeypatch)


async def cut_off_in_the_order(stage: Stage, shop: Shop, *, always: bool = False) -> tuple[Turn, ToolCall]:
    """The worker shuts down while the shop has the order and has not answered; the next one takes the turn up."""
    turn = await stage.say("Order one")
    await stage.decide(await stage.asked(turn), grant=True, always=always)
    await stage.row(lambda: True if shop.orders else None)
    await stage.runner.stop()
    shop.may_answer.set()
    stage.runner = Runner(stage.llm)
    await stage.runner.start()
    await stage.until(turn, Turn.Status.WAITING_APPROVAL, Turn.Status.ENDED)
    return turn, next(one for one in await stage.calls(turn) if one.tool == "http_request")


@pytest.mark.parametrize("always", [False, True])
async def test_a_write_cut_off_by_a_clean_shutdown_is_unknown_and_not_run_again(
    alice: User, shop: Shop, always: bool
) -> None:
    async with Stage(alice, ScriptedLLM(ORDER)) as stage:
        turn, order = await cut_off_in_the_order(stage, shop, always=always)
        assert (order.status, await in_db(Grant.objects.count)) == ("unknown", int(always))
        await in_db(turns.settle_unknown, alice, order.id, "happened")
        turn = await stage.ended(turn)
    assert turn.end == Turn.End.FINISHED and shop.orders == [str(order.id)]


async def test_a_cut_off_write_under_a_standing_permission_does_not_run_again_by_itself(
    alice: User, shop: Shop
) -> None:
    async with Stage(alice, ScriptedLLM([*ORDER[:2], finish("Ordered.")])) as stage:
        await in_db(_allow, alice, stage)
        turn = await stage.say("Order one")
        await stage.row(lambda: True if shop.orders else None)
        await stage.runner.stop()
        shop.may_answer.set()
        stage.runner = Runner(stage.llm)
        await stage.runner.start()
        await stage.until(turn, Turn.Status.WAITING_APPROVAL, Turn.Status.ENDED)
        order = next(one for one in await stage.calls(turn) if one.tool == "http_request")
    assert order.status == "unknown" and shop.orders == [str(order.id)]


def _allow(user: User, stage: Stage) -> None:
    version = registry.builtin()["http_request"].version
    Grant.objects.create(
        conversation=stage.conversation, tool="http_request", version=version, constraints={}, created_by=user
    )


async def test_trying_again_asks_again_and_carries_the_same_key(alice: User, shop: Shop) -> None:
    async with Stage(alice, ScriptedLLM(ORDER)) as stage:
        turn, order = await cut_off_in_the_order(stage, shop)
        await in_db(turns.settle_unknown, alice, order.id, "again")
        await stage.decide(await stage.asked(turn), grant=True)
        turn = await stage.ended(turn)
    assert turn.end == Turn.End.FINISHED and shop.orders == [str(order.id)] * 2


async def test_nothing_of_an_ended_turn_is_tried_again_and_nothing_is_said_that_nobody_said(
    alice: User, shop: Shop
) -> None:
    async with Stage(alice, ScriptedLLM(ORDER)) as stage:
        turn, order = await cut_off_in_the_order(stage, shop)
        await in_db(turns.stop, alice, turn.id)
        with pytest.raises(Refused, match="has ended"):
            await in_db(turns.settle_unknown, alice, order.id, "again")
        assert (await in_db(ToolCall.objects.get, id=order.id)).status == "unknown"
        await in_db(turns.settle_unknown, alice, order.id, "happened")
        after = await in_db(ToolCall.objects.get, id=order.id)
    assert after.status == "succeeded" and len(shop.orders) == 1


async def test_a_rejected_call_is_not_run_because_its_like_was_allowed_for_ever(alice: User, shop: Shop) -> None:
    shop.may_answer.set()
    two = calls(
        ("http_request", {"url": "https://shop.example/orders", "body": "one"}),
        ("http_request", {"url": "https://shop.example/orders", "body": "two"}),
    )
    async with Stage(alice, ScriptedLLM([ORDER[0], two, finish("One is ordered.")])) as stage:
        turn = await stage.say("Order one or two")
        await stage.asked(turn)
        one, other = await in_db(lambda: list(Approval.objects.filter(turn=turn).order_by("call__index")))
        await stage.decide(other, grant=False, reason="One will do.")
        await stage.decide(one, grant=True, always=True)
        turn = await stage.ended(turn)
        orders = [call.status for call in await stage.calls(turn) if call.tool == "http_request"]
    assert orders == ["succeeded", "rejected"] and len(shop.orders) == 1


async def test_a_process_that_restarts_tells_its_sockets_and_closes_them(alice: User) -> None:
    async with Stage(alice, ScriptedLLM([])) as stage:
        page = await stage.open_page()
        assert (await page.receive_json_from(PATIENCE))["type"] == "live"
        await events.farewell()
        assert (await page.receive_json_from(PATIENCE))["type"] == "restarting"
        assert await page.receive_output(PATIENCE) == {"type": "websocket.close", "code": RESTARTING}


async def test_a_turn_that_was_being_claimed_at_a_shutdown_is_handed_back_too(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, claimed, go_on = turns.claim, threading.Event(), threading.Event()

    def slow(turn_id: UUID, owner: str) -> Turn | None:
        taken = claim(turn_id, owner)
        claimed.set()
        go_on.wait(10)
        return taken

    monkeypatch.setattr(turns, "claim", slow)
    async with Stage(alice, ScriptedLLM([])) as stage:
        await stage.socket.send_json_to({"type": "say", "text": "hello", "id": "one"})
        await asyncio.to_thread(claimed.wait, 10)
        stopping = asyncio.create_task(stage.runner.stop())
        while not all(task.done() for task in stage.runner.background):
            await asyncio.sleep(0)
        go_on.set()
        await stopping
        turn = await in_db(Turn.objects.get)
    assert (turn.status, turn.crashes) == (Turn.Status.QUEUED, 0)
