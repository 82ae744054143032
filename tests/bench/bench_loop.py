"""What the loop costs beside the endpoint: milliseconds, queries and bytes written per iteration, time to first token.

    python -m tests.bench.bench_loop

scripted endpoint without delay -> printed figures.  Touches: a data directory of its own, thrown away afterwards.

raw: a hand loop on the same wire through the openai client, appending everything, without any row. Compare figures
within one run: the machine's other work is in all of them.
"""

import asyncio
import json
import os
import re
import statistics
import tempfile
import time
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

os.environ |= {
    "AGENT_DATA_DIR": tempfile.mkdtemp(prefix="agentweb-bench-"),
    "AGENT_EMBEDDER": os.environ.get("AGENT_EMBEDDER", "use"),
    "AGENT_MODEL": "demo",
    "AGENT_MAX_ITERATIONS": "200",
    "AGENT_MAX_TOKENS": "10000000",
    "AGENT_STEP_ITERATIONS": "200",
    "DJANGO_SETTINGS_MODULE": "agentweb.settings",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

import django

django.setup()

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, reset_queries

from chat.db import in_db
from chat.llm.base import Request
from chat.llm.scripted import ScriptedLLM, call
from chat.models import Iteration, Turn
from tests.stories.scripts import finish, kept_prefix, plan
from tests.stories.stage import Stage

CITY = "Xi'an"


def script(calls: int) -> list[Any]:
    """A plan of up to eight steps; each call reads another day, so that no two are the same."""
    titles = [(f"Read part {n}", "calculate") for n in range(1, 8)]
    sums = [call("calculate", expression=f"{n} + {n}") for n in range(7)]
    share = -(-max(0, calls - 7) // 7) or 1  # a step keeps what it has so far in one slot
    more = [call("update_slots", name=f"part_{n // share + 1}", value=n) for n in range(max(0, calls - 7))]
    steps = chain.from_iterable([*more[i * share : (i + 1) * share], sums[i]] for i in range(7))
    return [plan(*titles), *islice(steps, calls), finish("It is done.")]


async def turn(user: User, calls: int) -> tuple[float, Turn, list[int], ScriptedLLM]:
    llm = ScriptedLLM(script(calls))
    async with Stage(user, llm) as stage:
        started = time.perf_counter()
        ended = await stage.ended(await stage.say(f"Read {calls} parts"))
        seconds = time.perf_counter() - started
        numbers = await in_db(lambda: list(Iteration.objects.filter(turn=ended).values_list("own_ms", flat=True)))
    return seconds, ended, numbers, llm


async def raw(calls: int) -> float:
    """The floor: ask, append, ask again."""
    llm = ScriptedLLM(script(calls))
    messages: list[dict[str, Any]] = [{"role": "system", "content": "x"}, {"role": "user", "content": "Read"}]
    tool = {"type": "function", "function": {"name": "calculate", "parameters": {"type": "object", "properties": {}}}}
    started = time.perf_counter()
    for _call in range(calls + 2):
        reply = await llm.reply(Request(messages=tuple(messages), tools=(tool,), must_call=True, max_tokens=500))
        made = reply.calls[0]
        messages += [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": made.id, "type": "function", "function": {"name": made.name, "arguments": made.arguments}}
                ],
            },
            {"role": "tool", "tool_call_id": made.id, "content": "12"},
        ]
    return time.perf_counter() - started


async def first_token(user: User) -> tuple[float, float]:
    """Milliseconds to the first typed text: on the page by websocket, and from the endpoint directly."""
    words = "word " * 200
    llm = ScriptedLLM(cycle([finish(words)]), delay=0.002)
    over_ws, direct = [], []
    async with Stage(user, llm) as stage:
        for _turn in range(8):
            seen = len(stage.events)
            started = time.perf_counter()
            sent = asyncio.create_task(stage.say("hi"))
            while not any(event["type"] == "delta" for event in stage.events[seen:]):
                await asyncio.sleep(0.0005)
            over_ws.append((time.perf_counter() - started) * 1000)
            await stage.ended(await sent)
        for _turn in range(8):
            first = asyncio.get_running_loop().create_future()
            body = llm.requests[0]
            started = time.perf_counter()

            def seen_call(_i: int, _n: str, text: str, first: Any = first, started: float = started) -> None:
                if '"answer": "w' in text.replace('":"', '": "') and not first.done():
                    first.set_result((time.perf_counter() - started) * 1000)

            await llm.reply(
                Request(messages=tuple(body["messages"]), tools=tuple(body["tools"]), must_call=True, max_tokens=500),
                on_call=seen_call,
            )
            direct.append(await first)
    return statistics.median(over_ws), statistics.median(direct)


def quarter(llm: ScriptedLLM) -> int:
    """Prompt tokens of all requests, counted as the figures for append-everything loops were: characters / 4."""
    total = 0
    for body in llm.requests:
        chars = len(json.dumps(body.get("tools", []), ensure_ascii=False, separators=(",", ":")))
        for message in body["messages"]:
            made = message.get("tool_calls") or []
            chars += len(message.get("content") or "")
            chars += sum(len(c["function"]["name"]) + len(c["function"]["arguments"]) for c in made)
        total += chars // 4 + 4 * len(body["messages"])
    return total


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


def size() -> int:
    return sum(path.stat().st_size for path in Path(settings.AGENT_DATA_DIR).glob("agentweb.sqlite3*"))


async def main() -> None:
    await in_db(call_command, "migrate", verbosity=0)
    user = await in_db(User.objects.create_user, "bench")
    await turn(user, 3)
    await raw(3)
    print(
        "| calls in the turn | ms per iteration | raw loop | times raw | queries per iteration | KB written per iteration |"
    )
    print("|---|---|---|---|---|---|")
    for calls in (10, 30):
        times, floors = [], []
        for _round in range(3):
            floors.append(await raw(calls) / (calls + 2))
            seconds, ended, _own, llm = await turn(user, calls)
            times.append(seconds / ended.iterations_used)
        await in_db(_checkpoint)
        before = size()
        await in_db(_count)
        seconds, ended, _own, llm = await turn(user, calls)
        queries = await in_db(lambda: len(connection.queries_log)) / ended.iterations_used
        await in_db(_checkpoint)
        kilobytes = (size() - before) / 1024 / ended.iterations_used
        ours, floor = statistics.median(times) * 1000, statistics.median(floors) * 1000
        print(
            f"| {calls} | {ours:.1f} | {floor:.1f} | {ours / floor:.1f} | {queries:.0f} | {kilobytes:.1f} |",
            flush=True,
        )
    await in_db(setattr, connection, "force_debug_cursor", False)
    print(
        "\n| calls in the turn | prompt tokens | a request | append-everything | prefix kept within a step, least and median |"
    )
    print("|---|---|---|---|---|")
    for calls in (10, 20, 30, 40):
        stranger = await in_db(User.objects.create_user, f"bench-{calls}")  # of whom nothing is remembered
        _seconds, _ended, _own, llm = await turn(stranger, calls)
        tokens, kept = quarter(llm), prefixes(llm)
        peers = {10: "4,263", 30: "28,895"}.get(calls, "")
        print(
            f"| {calls} | {tokens:,} | {tokens / len(llm.requests):.0f} | {peers} | {min(kept):.0%}, {statistics.median(kept):.0%} |",
            flush=True,
        )
    over_ws, direct = await first_token(user)
    print(f"\nFirst token: {over_ws:.1f} ms on the page by websocket, {direct:.1f} ms from the endpoint directly.")


def _checkpoint() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _count() -> None:
    connection.force_debug_cursor = True
    connection.queries_log.clear()
    reset_queries()


if __name__ == "__main__":
    asyncio.run(main())
