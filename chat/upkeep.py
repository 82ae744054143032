"""Keep memory in order in the background: fill the index, embed anew, expire, merge.

rows that wait -> rounds of memory.upkeep.  Touches: memory, in a thread of its own.

Not in the row threads: opening the index takes seconds, and every chat waits for those threads.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from django.db import connections

from memory import upkeep

IDLE_SECONDS = 2.0  # between rounds when nothing waits
BUSY_SECONDS = 0.05  # between rounds when something does: the chat has the processor first
log = logging.getLogger(__name__)


async def keep_memory() -> None:
    """Runs until it is cancelled; a fault is logged and the next round tries again."""
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory")
    loop = asyncio.get_running_loop()
    try:
        while True:
            busy = False
            try:
                busy = await loop.run_in_executor(executor, _round)
            except Exception:
                log.exception("A round of memory upkeep failed; trying again.")
            await asyncio.sleep(BUSY_SECONDS if busy else IDLE_SECONDS)
    finally:
        executor.shutdown(wait=False)


def _round() -> bool:
    try:
        return upkeep.round_of_upkeep()
    finally:
        connections.close_all()
