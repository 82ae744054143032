"""Kill the server at each named point around a write, and at the turn's other transitions; one kill is one run.

    python -m tests.crash.writes --runs 200
    python -m tests.crash.writes --turn --runs 34

--runs kills -> a table.  Touches: processes, loopback.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass
from itertools import cycle, islice

from tests.crash.campaign import spread
from tests.crash.person import Page
from tests.crash.points import POINTS, TURN, WRITE
from tests.crash.scene import Scene, end_cleanly, scene


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """What one run showed."""

    name: str
    executed: int  # of the first order of the turn, when the server was dead
    unknown: bool  # what the person was shown
    end: str
    orders: int  # both, at the end: two for a turn that finished
    seconds: float  # from the kill until the turn was taken up again or waited for the person


async def run(scene: Scene, page: Page, name: str) -> Death:
    """One turn with one death."""
    point, unknown_before = POINTS[name], set(scene.seen.unknown)
    if point.phase == "say":
        _arm(scene, name)
    number = await scene.say(page)
    if point.phase == "approve":
        assert await scene.until(lambda: bool(scene.rows.asked()), acts=False), f"{name}: no card came"
        _arm(scene, name)
    # What is approved first is the first order; after the death the person goes on.
    assert await scene.until(lambda: not scene.served.is_alive(), acts=True), f"{name}: it was never passed"
    killed = await scene.kill()
    executed, caught, cut_off = scene.world.orders[f"{number}/2"], scene.rows.running(), scene.rows.writes("running")
    await scene.start()
    assert await scene.until(lambda: _goes_on(scene, caught), acts=False), f"{name}: not taken up"
    seconds = time.monotonic() - killed
    if cut_off:
        await scene.until(lambda: bool(scene.rows.unknown_of()), acts=False, patience=10)
    scene.seen.unknown |= scene.rows.unknown_of().keys()
    assert await scene.until(scene.all_over), f"{name}: the turn did not end"
    turn = list(scene.rows.turns().values())[-1]
    orders = sum(times for order, times in scene.world.orders.items() if order.startswith(f"{number}/"))
    unknown = bool(scene.seen.unknown - unknown_before)
    return Death(name=name, executed=executed, unknown=unknown, end=turn.end, orders=orders, seconds=seconds)


def _arm(scene: Scene, name: str) -> None:
    if POINTS[name].moment == "during":
        scene.world.on_order = scene.served.hit
    else:
        scene.served.armed.write_text(name)


def _goes_on(scene: Scene, caught: dict[str, int]) -> bool:
    turns = scene.rows.turns()
    return all(turns[turn].fence > fence for turn, fence in caught.items())


async def campaign(scene: Scene, names: list[str], *, minutes: float) -> list[Death]:
    ends = time.monotonic() + 60 * minutes
    page, deaths = await scene.begin(), []
    await scene.until(scene.all_over)
    for name in names:
        if time.monotonic() > ends:
            break
        deaths.append(await run(scene, page, name))
        if len(deaths) % 20 == 0:
            print(f"  {len(deaths)} deaths", file=sys.stderr, flush=True)
    return deaths


def wrong(death: Death) -> list[str]:
    """Whether the person was shown what is so."""
    faults = []
    if death.unknown != POINTS[death.name].unknown:
        faults.append(f"{death.name}: {'UNKNOWN' if death.unknown else 'not UNKNOWN'}")
    if (death.end, death.orders) != ("finished", 2):
        faults.append(f"{death.name}: {death.end} with {death.orders} orders")
    return faults


def table(deaths: list[Death]) -> str:
    lines = [
        "| killed | runs | it had happened | shown as UNKNOWN | finished, each order once |",
        "|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(death.name for death in deaths):
        mine = [death for death in deaths if death.name == name]
        happened, unknown = sum(death.executed for death in mine), sum(death.unknown for death in mine)
        finished = Counter((death.end, death.orders) for death in mine)["finished", 2]
        lines.append(f"| {name} | {len(mine)} | {happened} | {unknown} | {finished} |")
    return "\n".join([*lines, "", f"Taken up again after, s: {spread([death.seconds for death in deaths])}"])


async def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--minutes", type=float, default=120, help="end earlier, with what has been done")
    options.add_argument("--turn", action="store_true", help="the turn's other transitions, instead of the write's")
    options.add_argument("--lease", type=float, default=1.2, help="AGENT_LEASE_SECONDS of the server")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    end_cleanly()
    names = list(islice(cycle(TURN if given.turn else WRITE), given.runs))
    async with scene(lease=given.lease, chance=given.seed) as stage:
        deaths = await campaign(stage, names, minutes=given.minutes)
        print(table(deaths))
        broken = {name: found for name, found in stage.faults().items() if found}
        if untrue := [line for death in deaths for line in wrong(death)]:
            broken["not shown as it is"] = untrue
        executions = max(stage.world.executions.values(), default=0)
        print(f"Executions of one write, at most: {executions}")
        for name, found in broken.items():
            print(f"\n{name}:", *found[:20], sep="\n  ")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
