"""Periodic work beside the turns, which both runners do: approvals that expire, places in the queue, notices, memory.

what is due -> rounds of it.  Touches: turns; memory, in a thread of its own.

Memory not in the row threads: opening the index takes seconds, and every chat waits for those threads.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

from django.db import connections

from chat import notices, turns
from chat.db import in_db
from memory import upkeep

BUSY_SECONDS = 0.05  # between rounds of memory when more waits: the chat has the processor first
log = logging.getLogger(__name__)


class Periodic(NamedTuple):
    """Work that is looked at every so many whole seconds, and does nothing when nothing is due."""

    every: int
    run: Callable[[], Awaitable[None]]


async def expire_approvals() -> None:
    await in_db(turns.expire_approvals)


async def tell_places() -> None:
    await in_db(turns.tell_places)


async def keep_memory() -> None:
    """Fill the index, embed anew, expire, merge, until nothing waits."""
    while await asyncio.get_running_loop().run_in_executor(thread(), _round):
        await asyncio.sleep(BUSY_SECONDS)


PERIODIC = {
    "expire_approvals": Periodic(2, expire_approvals),
    "tell_places": Periodic(2, tell_places),
    "send_notices": Periodic(5, notices.send_due),
    "keep_memory": Periodic(2, keep_memory),
}


async def keep(periodic: Periodic) -> None:
    """Runs until it is cancelled; a fault is logged and the next round tries again."""
    while True:
        try:
            await periodic.run()
        except Exception:
            log.exception("A round of periodic work failed; trying again.")
        await asyncio.sleep(periodic.every)


@cache
def thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory")


def _round() -> bool:
    try:
        return upkeep.round_of_upkeep()
    finally:
        connections.close_all()
