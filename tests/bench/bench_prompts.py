"""What the prompts of a turn cost, and how much of each the endpoint has seen before.

    python -m tests.bench.bench_prompts

a scripted endpoint inside the process -> a table.  Touches: a data directory of its own, thrown away afterwards.
"""

import asyncio
import json
import re
import statistics
from typing import Any

from tests.bench.bench_loop import Page, script  # first: it sets the environment before Django loads

# isort: split
from django.contrib.auth.models import User
from django.core.management import call_command

from chat.db import in_db
from chat.llm.scripted import ScriptedLLM
from tests.bench.endpoint import quarter
from tests.stories.scripts import kept_prefix

PEERS = {10: "4,263", 30: "28,895"}  # of a loop that appends everything


def prefixes(llm: ScriptedLLM) -> list[float]:
    """Of each request that goes on with the step of the one before: the share of that one it begins with."""
    texts = [_written(body) for body in llm.requests]
    steps = [re.findall(r"Now do step (\d+)", text) for text in texts]
    return [
        kept_prefix(before, after)
        for before, after, step, same in zip(texts, texts[1:], steps, steps[1:], strict=False)
        if step and step == same
    ]


def _written(body: dict[str, Any]) -> str:
    """A request in the order in which chat templates lay it out; the same text is the same tokens."""
    system, *rest = body["messages"]
    said = [json.dumps({**one, "tool_calls": one.get("tool_calls") or []}, ensure_ascii=False) for one in rest]
    return "\n".join([system["content"], json.dumps(body.get("tools", []), ensure_ascii=False), *said])


async def main() -> None:
    await in_db(call_command, "migrate", verbosity=0)
    print(
        "| calls in the turn | prompt tokens | a request | append-everything | prefix kept within a step, least and median |"
    )
    print("|---|---|---|---|---|")
    for calls in (10, 20, 30, 40):
        stranger = await in_db(User.objects.create_user, f"bench-{calls}")  # of whom nothing is remembered
        llm = ScriptedLLM(script(calls))
        async with Page(stranger, llm) as page:
            await page.turn(f"Read {calls} parts")
        tokens, kept = sum(map(quarter, llm.requests)), prefixes(llm)
        print(
            f"| {calls} | {tokens:,} | {tokens / len(llm.requests):.0f} | {PEERS.get(calls, '')} | "
            f"{min(kept):.0%}, {statistics.median(kept):.0%} |",
            flush=True,
        )


if __name__ == "__main__":
    asyncio.run(main())
