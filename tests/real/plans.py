"""How often a real model writes a valid plan at the first try, after one explanation of its faults, later, or never.

    OPENAI_BASE_URL=http://127.0.0.1:8080/v1 AGENT_MODEL=qwen-1.5b python -m tests.real.plans --goals 20

endpoint -> a line for each goal, and the shares.  Touches: a data directory of its own, thrown away afterwards.

A plan is shown to the person before anything runs, so that a turn is over once its plan is stored.
"""

import argparse
import asyncio
import collections
import os
import sys
import tempfile
import time
from dataclasses import dataclass

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentweb.settings")
os.environ["AGENT_DATA_DIR"] = tempfile.mkdtemp(prefix="agentweb-real-")

import django

django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command

from chat import turns
from chat.db import in_db
from chat.models import Conversation, ToolCall, Turn
from chat.runner import Runner
from planning import plans
from tests.real.goals import GOALS, Goal

PATIENCE = 240  # seconds for one plan
TRIES = 4  # after as many refused plans a goal counts as never planned
FIRST, SECOND, LATER, NEVER, NONE = "first try", "after one explanation", "later", "never", "no plan was tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What became of one goal."""

    when: str
    mended: bool  # code mended slips in the plan that was stored
    fits: bool  # it uses the tools that the goal needs
    tools: tuple[str, ...]
    said: str  # the faults of the first plan, or what was done instead of planning
    seconds: float


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--goals", type=int, default=len(GOALS), help="how many of the goals, from the first")
    parser.add_argument("--show", action="store_true", help="print what the model proposed")
    chosen = parser.parse_args()
    await in_db(call_command, "migrate", verbosity=0)
    user = await in_db(User.objects.create_user, "real")
    runner = Runner()
    await runner.start()
    print(
        "| goal | valid | right tools | mended by code | seconds | first faults |\n|---|---|---|---|---|---|",
        flush=True,
    )
    found = []
    for goal in GOALS[: chosen.goals]:
        planned = await measure(user, goal, chosen.show)
        found.append(planned)
        row = [
            goal.text,
            planned.when,
            _yes(planned.fits),
            _yes(planned.mended),
            f"{planned.seconds:.0f}",
            planned.said,
        ]
        print("| " + " | ".join(cell.replace("\n", " ").replace("|", "/") for cell in row) + " |", flush=True)
    await runner.stop()
    counts = collections.Counter(planned.when for planned in found)
    print()
    for when in (FIRST, SECOND, LATER, NEVER, NONE):
        print(f"{when}: {counts[when]} of {len(found)} ({counts[when] / len(found):.0%})")
    print(f"with the tools the goal needs: {sum(p.fits for p in found)} of {len(found)}")
    print(f"mended by code: {sum(p.mended for p in found)} of {len(found)}")


async def measure(user: User, goal: Goal, show: bool) -> Planned:
    """One turn up to its plan."""
    started = time.monotonic()
    conversation = await in_db(Conversation.objects.create, user=user, approve_plans=True)
    message = await in_db(turns.say, user, conversation.id, goal.text)
    while time.monotonic() < started + PATIENCE:
        turn = await in_db(Turn.objects.get, id=message.turn_id)
        if not turn.is_open or turn.status == Turn.Status.WAITING_USER or len(await in_db(refused, turn)) >= TRIES:
            break
        await asyncio.sleep(0.1)
    if turn.is_open:
        await in_db(turns.stop, user, turn.id)
    return await in_db(judged, goal, turn, time.monotonic() - started, show)


def refused(turn: Turn) -> list[ToolCall]:
    bad = {ToolCall.Status.REFUSED, ToolCall.Status.FAILED}
    return list(turn.calls.filter(tool="set_plan", status__in=bad).order_by("iteration__number", "index"))


def judged(goal: Goal, turn: Turn, seconds: float, show: bool) -> Planned:
    bad, plan = refused(turn), plans.current(turn.id)
    calls = list(turn.calls.order_by("iteration__number", "index"))
    if show:
        for call in calls:
            print(f"  {call.tool} {call.proposed or call.args} -> {call.status} {call.text}", file=sys.stderr)
    tools = tuple(tool for step in plan.steps for tool in step.tools) if plan else ()
    stored = next((call for call in calls if call.tool == "set_plan" and call.status == "succeeded"), None)
    said = bad[0].text if bad else "" if plan else "; ".join(f"{call.tool}: {call.summary}" for call in calls[:2])
    return Planned(
        when=_when(bool(plan), len(bad)),
        mended=bool(stored and (stored.result or {}).get("notes")),
        fits=goal.tools <= set(tools),
        tools=tools,
        said=said[:200],
        seconds=seconds,
    )


def _when(planned: bool, refusals: int) -> str:
    if planned:
        return {0: FIRST, 1: SECOND}.get(refusals, LATER)
    return NEVER if refusals else NONE


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


if __name__ == "__main__":
    asyncio.run(main())
