"""A server, its world and its person, with what they do while it dies and comes back.

settings -> Scene.  Touches: processes, loopback.
"""

import asyncio
import contextlib
import random
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.crash.checks import Seen, faults
from tests.crash.forked import Forked
from tests.crash.person import Page, Person
from tests.crash.rows import Rows
from tests.crash.world import World
from tests.support.served import Served

GLANCE = 0.05  # seconds between two looks at the rows
TASK = "Find the price and place order no. {number} in two halves."


class Scene:
    """chance: a seed, so that a run can be repeated as far as time lets it."""

    def __init__(self, served: Served, world: World, person: Person, rows: Rows, *, chance: int) -> None:
        self.served, self.world, self.person, self.rows = served, world, person, rows
        self.random = random.Random(chance)
        self.seen = Seen()
        self.number = 0
        self.again = True  # whether the person tries cut-off writes again, rather than only say what happened
        self.waited: dict[str, float] = {}  # approval or call -> when the person first saw it

    async def begin(self) -> Page:
        """A page with a conversation of its own: an empty one is given again, so something is said at once."""
        page = await self.person.open()
        await self.say(page)
        assert await self.until(lambda: not page.unsaid)
        return page

    async def say(self, page: Page) -> int:
        self.number += 1
        self.seen.sent.add(await page.say(TASK.format(number=self.number)))
        return self.number

    async def steer(self, page: Page) -> None:
        self.seen.sent.add(await page.say("And tell me when it is done."))

    async def act(self, patience: float = 0.3) -> None:
        """The person decides what waits for them, after some moments, and says truthfully what became of cut-off writes."""
        now = time.monotonic()
        for approval, digest in self.rows.asked():
            if now - self.waited.setdefault(approval, now) >= self.random.random() * patience:
                await self.person.approve(approval, digest)
        for call, turn in self.rows.unknown_of().items():
            self.seen.unknown.add(call)
            if self.world.executions[call]:
                await self.person.settle(call, "happened")
            else:
                again = turn != "ended" and self.again and self.random.random() < 0.7
                await self.person.settle(call, "again" if again else "did_not")

    async def kill(self, *, gently: bool = False) -> float:
        """kill -9, or gently a SIGTERM; returns when. What the rows say at that moment is noted."""
        await asyncio.to_thread(self.served.stop if gently else self.served.kill)
        self.seen.at_end(self.rows, gently=gently, pid=self.served.pid)
        return time.monotonic()

    async def start(self) -> None:
        await asyncio.to_thread(self.served.start)

    async def until(self, found: Callable[[], bool], *, patience: float = 60, acts: bool = True) -> bool:
        """Wait for a state, as the person goes on; False when it does not come."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if acts:
                await self.act()
            if found():
                return True
            await asyncio.sleep(GLANCE)
        return False

    def all_over(self) -> bool:
        """Everything that was said is in the rows, and every turn has ended."""
        unsaid = any(page.unsaid for page in self.person.pages)
        return not unsaid and all(turn.status == "ended" for turn in self.rows.turns().values())

    def faults(self) -> dict[str, list[str]]:
        return faults(self.rows, self.world, self.seen)


def end_cleanly() -> None:
    """SIGTERM ends the campaign as Ctrl-C does: its servers end with it."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


@asynccontextmanager
async def scene(
    *, lease: float, chance: int, cold: bool = False, delay: float = 0.004, slow: float = 0.05
) -> AsyncIterator[Scene]:
    """cold: each start is a fresh `manage.py serve`, imports included."""
    async with World(delay=delay, slow=slow) as world:
        settings = {**world.settings(), "AGENT_LEASE_SECONDS": str(lease)}
        served = await asyncio.to_thread(lambda: (Served if cold else Forked)(**settings))
        rows = Rows(served.folder / "data")
        try:
            async with Person(served) as person:
                yield Scene(served, world, person, rows, chance=chance)
        finally:
            rows.close()
            with contextlib.suppress(ProcessLookupError):
                served.close()
