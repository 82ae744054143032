"""A short run of the crash campaigns: about twenty deaths of a served instance, and nothing lost or doubled.

Touches: processes, loopback. The long runs are `python -m tests.crash.campaign` and `python -m tests.crash.writes`.
"""

import pytest

from tests.crash import campaign, writes
from tests.crash.scene import scene

POINTS = [
    "before the intent row",
    "after the intent row",
    "during the call",
    "after the call",
    "result written, not committed",
    "after the result row",
]
pytestmark = pytest.mark.timeout(400)  # it waits for states, which take their time on a busy machine


async def test_kills_at_random_moments_lose_and_double_nothing() -> None:
    async with scene(lease=1.2, chance=7) as stage:
        tally = await campaign.campaign(stage, runs=14, at_once=3, calm=False, longest=2.0, minutes=5)
        broken = {name: found for name, found in stage.faults().items() if found}
    assert tally.kills and tally.caught
    assert not broken


async def test_a_write_is_unknown_exactly_when_it_is_unknown_and_never_runs_twice() -> None:
    async with scene(lease=1.2, chance=7) as stage:
        deaths = await writes.campaign(stage, POINTS, minutes=5)
        broken = {name: found for name, found in stage.faults().items() if found}
    assert [line for death in deaths for line in writes.wrong(death)] == []
    assert [death.name for death in deaths] == POINTS
    assert max(stage.world.executions.values()) == 1
    assert not broken
