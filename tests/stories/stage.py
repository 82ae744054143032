"""A stage for whole turns: a real websocket, a real runner, real rows, a scripted model.

script -> what a person would see.  Touches: everything but the network.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from uuid import UUID, uuid4

from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from agentweb.asgi import application
from chat import conversations, turns
from chat.db import in_db
from chat.llm.scripted import ScriptedLLM
from chat.models import Approval, Iteration, Message, ToolCall, Turn
from chat.runner import Runner
from planning import plans
from planning.types import PlanView

PATIENCE = 40.0  # seconds until a state that never comes is a failure
TASK = "Two nights in Xi'an from October 1. Check that day's weather first; if it rains book a suite, otherwise a standard room."


class Stage:
    """One person in one conversation, with one page open."""

    def __init__(self, user: User, llm: ScriptedLLM) -> None:
        self.user, self.llm = user, llm
        self.events: list[dict[str, Any]] = []

    async def __aenter__(self) -> Self:
        self.conversation = await in_db(conversations.create, self.user)
        await self.start_runner()
        self.socket = await self.open_page()
        self.reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self.reader.cancel()
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await self.reader
            await self.socket.disconnect(timeout=PATIENCE)
        finally:
            await self.runner.stop()

    async def start_runner(self, llm: ScriptedLLM | None = None) -> None:
        """The runner that the settings name; after `runner.stop()`, another one."""
        self.runner = runner_class()(llm or self.llm)
        await self.runner.start()

    async def open_page(self, conversation_id: UUID | None = None) -> WebsocketCommunicator:
        cookie = await in_db(_cookie, self.user)
        socket = WebsocketCommunicator(
            application,
            f"/ws/c/{conversation_id or self.conversation.id}/",
            headers=[(b"origin", b"http://localhost"), (b"host", b"localhost"), (b"cookie", cookie.encode())],
        )
        connected, _protocol = await socket.connect(PATIENCE)
        assert connected
        return socket

    async def _read(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                self.events.append(await self.socket.receive_json_from(timeout=3_600))

    async def say(self, text: str, client_id: str = "") -> Turn:
        """Type and send; returns the turn once the server has taken the message."""
        client_id = client_id or uuid4().hex
        await self.socket.send_json_to({"type": "say", "text": text, "id": client_id})
        message = await self.row(
            lambda: Message.objects.filter(conversation=self.conversation, client_id=client_id).first()
        )
        return await in_db(Turn.objects.get, id=message.turn_id)

    async def until(self, turn: Turn, *states: str) -> Turn:
        """Wait until the turn is in one of these states."""
        return await self.row(lambda: Turn.objects.filter(id=turn.id, status__in=states).first(), turn)

    async def ended(self, turn: Turn) -> Turn:
        return await self.until(turn, Turn.Status.ENDED)

    async def asked(self, turn: Turn) -> Approval:
        """The approval that the turn waits for."""
        await self.until(turn, Turn.Status.WAITING_APPROVAL)
        return await in_db(lambda: Approval.objects.filter(turn=turn, status="asked")[0])

    async def decide(self, approval: Approval, **decision: Any) -> Approval:
        return await in_db(turns.decide_approval, self.user, approval.id, **decision)

    async def row(self, find: Callable[[], Any], turn: Turn | None = None) -> Any:
        """Wait for a row; a state that never comes fails with what the turn did instead."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if (found := await in_db(find)) is not None:
                return found
            await asyncio.sleep(0.01)
        raise AssertionError(await in_db(describe, turn) if turn else "it never came")

    async def calls(self, turn: Turn) -> list[ToolCall]:
        return await in_db(lambda: list(ToolCall.objects.filter(turn=turn).order_by("iteration__number", "index")))

    async def plan(self, turn: Turn) -> PlanView:
        plan = await in_db(plans.current, turn.id)
        assert plan is not None
        return plan

    async def answer(self, turn: Turn) -> str:
        found = await in_db(lambda: Message.objects.filter(turn=turn, role="agent").order_by("-id").first())
        return found.text if found else ""

    def workspace(self) -> Path:
        return Path(settings.AGENT_DATA_DIR) / "files" / str(self.conversation.id)

    def typed(self) -> str:
        """What streamed onto the page."""
        return "".join(event["text"] for event in self.events if event["type"] == "delta")


def runner_class() -> type[Runner]:
    if settings.AGENT_RUNNER == "embedded":
        return Runner
    from chat.worker import Worker  # needs the job queue, which only PostgreSQL has

    return Worker


def _cookie(user: User) -> str:
    client = Client()
    client.force_login(user)
    return "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())


def describe(turn: Turn) -> str:
    """The story of a turn, for a failure message."""
    turn.refresh_from_db()
    lines = [f"{turn.status} {turn.end} {turn.gate} {turn.reason}"]
    for iteration in Iteration.objects.filter(turn=turn).prefetch_related("calls"):
        lines.append(f"{iteration.number} {iteration.outcome} {iteration.reason} {iteration.changes}")
        lines += [f"   {call.tool} {call.status} {call.text[:200]}" for call in iteration.calls.all()]
    return "\n".join(lines)
