"""Kill the server at random moments, again and again, while turns are under way; then ask the rows what was lost.

    python -m tests.crash.campaign --runs 500

--runs kills -> a table.  Touches: processes, loopback.

One run is one kill -9, or, one time in ten, a SIGTERM. With --calm the next kill waits until every turn of the last one has been taken up again, so
that the time to recovery is measured whole.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.crash.person import Page
from tests.crash.scene import GLANCE, Scene, end_cleanly, scene

GENTLY = 0.1  # share of the ends that are a clean shutdown (SIGTERM)
STEERS = 0.1  # share of the person's messages that go to a turn that is open already


@dataclass(slots=True, kw_only=True)
class Tally:
    kills: int = 0
    gently: int = 0  # of them with SIGTERM
    caught: int = 0  # turns that were running at a kill
    idle: int = 0  # kills at which no turn was running
    recovered: list[float] = field(default_factory=list)  # seconds from the kill until the turn was taken up again
    down: list[float] = field(default_factory=list)  # seconds from the kill until pages were served again
    overtaken: int = 0  # turns that the next kill came before


async def campaign(scene: Scene, *, runs: int, at_once: int, calm: bool, longest: float, minutes: float) -> Tally:
    tally = Tally()
    pages = [await scene.begin() for _page in range(at_once)]
    ends = time.monotonic() + 60 * minutes
    while tally.kills < runs and time.monotonic() < ends:
        gently = scene.random.random() < GENTLY
        caught = scene.rows.running() if gently else {}
        killed = await scene.kill(gently=gently)
        tally.kills += 1
        tally.gently += gently
        caught = caught or scene.rows.running()
        tally.caught += len(caught)
        tally.idle += not caught
        await scene.start()
        tally.down.append(time.monotonic() - killed)
        life = 0.05 + scene.random.random() ** 2 * longest  # often short, now and then long enough for a turn to end
        await _live(scene, pages, tally, caught, killed, life=life, calm=calm)
        if tally.kills % 25 == 0:
            print(f"  {tally.kills} kills, {len(scene.rows.turns())} turns", file=sys.stderr, flush=True)
    await scene.until(scene.all_over, patience=180)
    return tally


async def _live(
    scene: Scene, pages: list[Page], tally: Tally, caught: dict[str, int], killed: float, *, life: float, calm: bool
) -> None:
    """The person goes on until it is time for the next kill; noted is when each turn that was running is taken up."""
    deadline, left = time.monotonic() + life, dict(caught)
    await _talk(scene, pages, steers=True)
    while time.monotonic() < deadline or (calm and left):
        turns = scene.rows.turns()
        for turn, fence in list(left.items()):
            if turns[turn].fence > fence or turns[turn].status == "ended":
                tally.recovered.append(time.monotonic() - killed)
                del left[turn]
        await scene.act(patience=2.0)
        await _talk(scene, pages)
        await asyncio.sleep(GLANCE)
    tally.overtaken += len(left)


async def _talk(scene: Scene, pages: list[Page], *, steers: bool = False) -> None:
    """Every conversation whose turn has ended gets a new task; now and then the person adds a word to an open one."""
    query = """SELECT DISTINCT c.id FROM chat_conversation c JOIN chat_turn t ON t.conversation_id = c.id
               WHERE t.status != 'ended'"""
    busy = {row[0] for row in scene.rows.all(query)}
    for page in pages:
        if page.conversation.replace("-", "") not in busy and not page.unsaid:
            await scene.say(page)
        elif steers and scene.random.random() < STEERS and not page.unsaid:
            await scene.steer(page)


def table(scene: Scene, tally: Tally, *, seconds: float) -> str:
    turns = scene.rows.turns().values()
    ends = Counter(turn.end or turn.status for turn in turns)
    parked = sum(turn.end == "failed" and turn.crashes >= 3 for turn in turns)
    iterations = len(scene.rows.decisions())
    repeated = scene.world.requests - iterations
    lines = [
        (
            "kills",
            f"{tally.kills} in {seconds / 60:.0f} min, {tally.idle} with no turn running; {tally.gently} of them SIGTERM",
        ),
        ("turns", f"{len(turns)}: {', '.join(f'{count} {end}' for end, count in ends.most_common())}"),
        ("of them parked after three crashes", str(parked)),
        ("turns running at a kill", str(tally.caught)),
        ("messages sent", str(len(scene.seen.sent))),
        ("iterations; requests to the model beyond them", f"{iterations}; {repeated}"),
        ("writes executed", str(sum(scene.world.executions.values()))),
        ("writes cut off; shown as UNKNOWN", f"{len(scene.seen.cut_off)}; {len(scene.seen.unknown)}"),
        ("pages served again after a kill, s", spread(tally.down)),
        (
            "turn taken up again after a kill, s",
            f"{spread(tally.recovered)}; {tally.overtaken} met the next kill first",
        ),
    ]
    lines += [(name, str(len(found))) for name, found in scene.faults().items()]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in lines)])


def spread(values: list[float]) -> str:
    if len(values) < 2:
        return "–"
    parts = statistics.quantiles(values, n=20, method="inclusive")
    return f"median {statistics.median(values):.1f}, p95 {parts[-1]:.1f}, longest {max(values):.1f}"


async def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=500)
    options.add_argument("--minutes", type=float, default=120, help="end earlier, with what has been done")
    options.add_argument("--at-once", type=int, default=4, help="conversations")
    options.add_argument("--lease", type=float, default=1.5, help="AGENT_LEASE_SECONDS of the server")
    options.add_argument("--longest", type=float, default=6.0, help="seconds of life at most before a kill")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--calm", action="store_true", help="let every turn be taken up before the next kill")
    options.add_argument("--cold", action="store_true", help="start `manage.py serve` afresh, imports included")
    given = options.parse_args()
    end_cleanly()
    began = time.monotonic()
    async with scene(lease=given.lease, chance=given.seed, cold=given.cold) as stage:
        tally = await campaign(
            stage, runs=given.runs, at_once=given.at_once, calm=given.calm, longest=given.longest, minutes=given.minutes
        )
        print(table(stage, tally, seconds=time.monotonic() - began))
        broken = {name: found for name, found in stage.faults().items() if found}
        for name, found in broken.items():
            print(f"\n{name}:", *found[:20], sep="\n  ")
        if broken:
            print(f"\nThe data is kept in {stage.served.folder}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
