"""The embedded runner: one asyncio task for each turn under way, in the process that serves the pages.

rows that are ready -> turns that advance.  Touches: turns, the loop, the model.

Rows decide: a turn is claimed by a guarded update with a lease and a fence, so a wake-up that comes twice, late or
never is harmless. A process that dies leaves a silent lease; the next poll of any process takes the turn up.
The scaled runner (chat/worker.py) is this one with another way of finding work.
"""

import asyncio
import contextlib
import functools
import logging
import os
import socket
import uuid
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from chat import events, turns, upkeep, wake
from chat.db import in_db
from chat.errors import LLMUnavailable, LostClaim
from chat.llm import choose
from chat.llm.base import LLM
from chat.loop import learn, settle, summarise
from chat.loop.decide import CutOff
from chat.loop.turn import run_turn
from chat.loop.typist import live
from chat.mcp import client as mcp_client
from chat.models import Message, Turn

log = logging.getLogger(__name__)
POLL_SECONDS = 1.0
BEAT_SECONDS = 0.4  # renews leases and hears of Stop: well inside a second
MAX_CRASHES = 3


class Runner:
    """Runs the turns of this process. `start` and `stop` are called once, on the same event loop."""

    def __init__(self, llm: LLM | None = None, *, at_once: int = 200) -> None:
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self.llm = llm  # None: chosen by the settings, anew for each turn
        self.at_once = at_once
        self.tasks: dict[UUID, asyncio.Task[None]] = {}
        self.stopping: set[UUID] = set()  # turns whose person pressed Stop
        self.background: list[asyncio.Task[None]] = []
        self.awake = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None

    async def start(self) -> None:
        self.loop = asyncio.get_running_loop()
        wake.listen(self.wake)
        self.background = [asyncio.create_task(task) for task in (choose.warm(), self._beat(), *self._finding_work())]

    async def stop(self) -> None:
        """Hand back what runs: another process, or the next start, goes on with it."""
        wake.unlisten(self.wake)
        for task in [*self.background, *self.tasks.values()]:
            task.cancel()
        await asyncio.gather(*self.background, *self.tasks.values(), return_exceptions=True)
        await in_db(turns.hand_back_all, self.owner)
        await mcp_client.close()

    def wake(self) -> None:
        """Look for ready turns now. May be called from any thread."""
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.awake.set)

    # ---- finding work ----

    def _finding_work(self) -> list[Coroutine[Any, Any, None]]:
        """What runs beside the turns: how ready ones are found, and the periodic work."""
        return [self._poll(), *(upkeep.keep(periodic) for periodic in upkeep.PERIODIC.values())]

    async def _poll(self) -> None:
        while True:
            try:
                await self._take_ready()
            except Exception:
                log.exception("Looking for turns failed; trying again.")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.awake.wait(), POLL_SECONDS)
            self.awake.clear()

    async def _take_ready(self) -> None:
        for turn_id in await in_db(turns.ready):
            if len(self.tasks) >= self.at_once:
                return
            await self._take(turn_id)

    async def _take(self, turn_id: UUID) -> asyncio.Task[None] | None:
        """Begin to advance a turn, unless it is taken already: here, or by somebody else."""
        if turn_id in self.tasks or not (turn := await in_db(turns.claim, turn_id, self.owner)):
            return None
        task = asyncio.create_task(self._advance(turn))
        self.tasks[turn_id] = task
        task.add_done_callback(functools.partial(self._gone, turn_id))
        return task

    def _gone(self, turn_id: UUID, _task: asyncio.Task[None]) -> None:
        self.tasks.pop(turn_id, None)
        self.stopping.discard(turn_id)
        self.awake.set()

    async def _beat(self) -> None:
        """One query for all leases; cancels what was stopped or lost."""
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            if not self.tasks:
                continue
            running = list(self.tasks)
            try:
                stop = await in_db(turns.heartbeat, self.owner, running)
            except Exception:
                log.exception("Renewing leases failed; trying again.")
                continue
            for turn_id in stop - self.stopping:
                self.stopping.add(turn_id)
                if task := self.tasks.get(turn_id):
                    task.cancel()

    # ---- one turn ----

    async def _advance(self, turn: Turn) -> None:
        """Work on one claimed turn; whatever goes wrong ends in a row that says why."""
        try:
            seen = await in_db(settle.cut_off, turn.id) if turn.crashes else ""
            if turn.crashes >= MAX_CRASHES:
                times = _("Working on this turn crashed the worker %(times)s times.") % {"times": turn.crashes}
                await self._fail(turn, f"{times} {seen}")
                return
            llm = self.llm or await choose.choose()
            if turn.model != llm.name:
                await in_db(turns.spend, turn.id, turn.fence, model=llm.name)
            outcome = await run_turn(turn, llm)
            if outcome.ends_turn:
                await self._afterwards(turn, llm)
        except asyncio.CancelledError:
            partial = live.pop(turn.id, "")
            if turn.id in self.stopping:
                await asyncio.shield(self._stopped(turn, partial))
            else:
                await asyncio.shield(in_db(turns.hand_back, turn.id, turn.fence))
                raise
        except LostClaim:
            log.warning("Turn %s is worked on elsewhere.", turn.id)
        except LLMUnavailable as fault:
            partial = fault.partial if isinstance(fault, CutOff) else ""
            await self._fail(turn, f"{fault} {fault.what_to_do}", partial)
        except Exception as fault:
            log.exception("Turn %s failed.", turn.id)
            await self._fail(
                turn, _("Something went wrong in agentweb itself: %(what)s.") % {"what": type(fault).__name__}
            )
        finally:
            live.pop(turn.id, None)

    async def _afterwards(self, turn: Turn, llm: LLM) -> None:
        """What may be done once the person has their answer; a fault here takes nothing away from it."""
        try:
            if await in_db(learn.learn, turn.id) + await learn.ask_model(turn, llm):
                await events.tell(turn.conversation_id, "memory-changed", turn=turn.id)
            await summarise.summarise(turn, llm)
        except Exception:
            log.exception("Learning from turn %s failed.", turn.id)

    async def _stopped(self, turn: Turn, partial: str) -> None:
        with contextlib.suppress(LostClaim):
            if partial:
                await in_db(turns.save_partial, turn.id, turn.fence, partial)
            await in_db(turns.end_stopped, turn.id, turn.fence)

    async def _fail(self, turn: Turn, reason: str, partial: str = "") -> None:
        answer = {"answer": partial, "mark": Message.Mark.CUT_OFF} if partial else None
        with contextlib.suppress(LostClaim):
            await in_db(turns.end, turn, turn.fence, Turn.End.FAILED, reason=reason, answer=answer)


def embedded() -> Runner:
    """The runner of the web process, as the settings want it."""
    return Runner(at_once=settings.AGENT_TURNS_AT_ONCE)
