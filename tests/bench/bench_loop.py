"""What the loop costs beside the endpoint: a turn against a hand loop, its parts, long conversations, many memories.

    python -m tests.bench.bench_loop [--parts] [--long] [--first-token] [--rounds 5]

an endpoint over HTTP without delay -> printed figures.  Touches: a data directory of its own, thrown away afterwards;
the database of AGENT_DATABASE_URL, where that is set.

raw: a hand loop on `AsyncOpenAI` that appends everything and stores nothing, against the same endpoint, in the same
process, round by round with ours. Compare figures within one run: the machine's other work is in all of them.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ |= {
    "AGENT_DATA_DIR": tempfile.mkdtemp(prefix="agentweb-bench-"),
    "AGENT_EMBEDDER": os.environ.get("AGENT_EMBEDDER", "use"),
    "AGENT_MODEL": "demo",
    "AGENT_LEARN_BY_MODEL": "0",
    "AGENT_MAX_ITERATIONS": "200",
    "AGENT_MAX_TOKENS": "10000000",
    "AGENT_STEP_ITERATIONS": "200",
    "AGENT_SUMMARY_TOKENS": "10000000",  # a summary would be asked of the script
    "DJANGO_SETTINGS_MODULE": "agentweb.settings",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

import django

django.setup()

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from openai import AsyncOpenAI

from chat.db import in_db
from chat.llm.base import Request
from chat.llm.openai_api import OpenAILLM
from chat.llm.scripted import ScriptedLLM, call
from chat.models import Conversation, Message, Turn
from memory import outbox
from tests.bench import endpoint, parts
from tests.bench.memories import fill
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage

TOOL = {
    "type": "function",
    "function": {
        "name": "calculate",
        "description": "Work out an arithmetic expression.",
        "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
    },
}


def script(calls: int) -> list[Any]:
    """A plan of up to seven steps; no two calls are the same."""
    titles = [(f"Read part {n}", "calculate") for n in range(1, 8)]
    sums = [call("calculate", expression=f"{n} + {n}") for n in range(7)]
    share = -(-max(0, calls - 7) // 7) or 1  # a step keeps what it has so far in one slot
    more = [call("update_slots", name=f"part_{n // share + 1}", value=n) for n in range(max(0, calls - 7))]
    steps = chain.from_iterable([*more[i * share : (i + 1) * share], sums[i]] for i in range(7))
    return [plan(*titles), *islice(steps, calls), finish("It is done.")]


class Page(Stage):
    """A page that waits for what it is told, and never asks: polling would be in the figures."""

    def __init__(self, user: User, llm: Any) -> None:
        super().__init__(user, llm)
        self.news = asyncio.Event()

    async def _read(self) -> None:
        while True:
            self.events.append(await self.socket.receive_json_from(timeout=3_600))
            self.news.set()

    async def turn(self, text: str) -> tuple[float, Turn]:
        """Seconds from sending the message until the page is told that the turn has ended."""
        seen = len(self.events)
        started = time.perf_counter()
        await self.socket.send_json_to({"type": "say", "text": text, "id": os.urandom(8).hex()})
        turn_id = (await self._told(seen, lambda event: event["type"] == "said"))["turn"]
        while True:
            seen = len(self.events)
            ended = await in_db(Turn.objects.filter(id=turn_id, status="ended").first)
            if ended is not None:
                return time.perf_counter() - started, ended
            await self._told(seen, lambda event: "conversations-changed" in event.get("changed", ()))

    async def _told(self, seen: int, fits: Any) -> Any:
        while True:
            self.news.clear()
            found = next((event for event in self.events[seen:] if fits(event)), None)
            if found is not None:
                return found
            await asyncio.wait_for(self.news.wait(), 60)


class Bench:
    """Both loops against one endpoint."""

    def __init__(self, base_url: str, user: User) -> None:
        self.base_url, self.user = base_url, user
        self.llm = OpenAILLM(base_url=f"{base_url}/ours/v1", model="bench", wire="native")
        self.client = AsyncOpenAI(base_url=f"{base_url}/raw/v1", api_key="none", max_retries=0)

    async def play(self, label: str, replies: list[Any]) -> int:
        return await asyncio.to_thread(endpoint.play, self.base_url, label, replies)

    def page(self) -> Page:
        return Page(self.user, self.llm)

    async def ours(self, page: Page, calls: int) -> tuple[float, Turn]:
        await self.play("ours", script(calls))
        return await page.turn(f"Read {calls} parts")

    async def raw(self, calls: int, messages: list[Any] | None = None, *, stream: bool = False) -> float:
        """The floor: ask, append, ask again. `messages` grows."""
        messages = [] if messages is None else messages
        ask = self._streamed if stream else self._whole
        await self.play("raw", [*(call("calculate", expression=f"{n} + {n}") for n in range(calls)), "It is done."])
        started = time.perf_counter()
        messages.append({"role": "user", "content": f"Read {calls} parts"})
        while True:
            text, made = await ask(messages)
            if not made:
                messages.append({"role": "assistant", "content": text})
                return time.perf_counter() - started
            told = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in made]
            messages.append({"role": "assistant", "content": "", "tool_calls": told})
            for id_, _name, arguments in made:
                said = f"{json.loads(arguments)['expression']} = 12"
                messages.append({"role": "tool", "tool_call_id": id_, "content": said})

    async def _whole(self, messages: list[Any]) -> tuple[str, list[tuple[str, str, str]]]:
        reply = await self.client.chat.completions.create(model="bench", messages=messages, tools=[TOOL])  # type: ignore[list-item]
        message = reply.choices[0].message
        made = [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or () if c.type == "function"]
        return message.content or "", made

    async def _streamed(self, messages: list[Any]) -> tuple[str, list[tuple[str, str, str]]]:
        text, made = "", []
        stream = await self.client.chat.completions.create(model="bench", messages=messages, tools=[TOOL], stream=True)  # type: ignore[list-item]
        async for chunk in stream:
            delta = chunk.choices[0].delta
            text += delta.content or ""
            made += [(c.id, c.function.name, c.function.arguments) for c in delta.tool_calls or () if c.function]
        return text, made


# ---- tables ----


async def turns(bench: Bench, rounds: int) -> None:
    """A turn of N calls: the plan, N calls, the answer; the hand loop needs no plan."""
    print(
        "| calls in the turn | ms a turn | raw | times raw | raw, streamed | CPU ms per iteration | raw | queries | "
        "KB written per iteration |\n|---|---|---|---|---|---|---|---|---|"
    )
    for calls in (10, 30):
        times, floors, streamed, used, floor_used = [], [], [], 0.0, 0.0
        for _round in range(rounds):
            cpu = time.process_time()
            floors.append(await bench.raw(calls))
            floor_used += time.process_time() - cpu
            async with bench.page() as page:
                cpu = time.process_time()
                seconds, ended = await bench.ours(page, calls)
                used += time.process_time() - cpu
            times.append(seconds)
            streamed.append(await bench.raw(calls, stream=True))
        async with bench.page() as page:
            before = await in_db(size)
            with parts.counting() as tally:
                _seconds, ended = await bench.ours(page, calls)
            kilobytes = (await in_db(size) - before) / 1024 / ended.iterations_used
        ours, floor, by_stream = (statistics.median(all_of) * 1000 for all_of in (times, floors, streamed))
        each, floor_each = used * 1000 / rounds / ended.iterations_used, floor_used * 1000 / rounds / (calls + 1)
        print(
            f"| {calls} | {ours:.0f} | {floor:.0f} | {ours / floor:.1f} | {by_stream:.0f} | {each:.1f} | "
            f"{floor_each:.1f} | {tally.all_queries():.1f} | {kilobytes:.1f} |",
            flush=True,
        )


async def table_of_parts(bench: Bench, rounds: int) -> None:
    print("\n| part of an iteration | ms | queries |\n|---|---|---|")
    async with bench.page() as page:
        await bench.ours(page, 10)
        with parts.counting() as tally:
            for _round in range(rounds):
                await bench.ours(page, 10)
    for name, ms, queries in tally.rows():
        print(f"| {name} | {ms:.2f} | {queries:.1f} |", flush=True)
    print(
        f"| all of an iteration | {sum(ms for name, ms, _queries in tally.rows() if name in parts.VERBS):.2f} | {tally.all_queries():.1f} |"
    )


async def growth(bench: Bench) -> None:
    """What must not grow: turns of one conversation, its messages, the person's memories."""
    print("\n| ten turns of ten calls, ms | ours | raw |\n|---|---|---|")
    messages: list[Any] = []
    async with bench.page() as page:
        pairs = [((await bench.ours(page, 10))[0], await bench.raw(10, messages)) for _turn in range(10)]
        for number in (1, 2, 5, 10):
            print(f"| turn {number} | {pairs[number - 1][0] * 1000:.0f} | {pairs[number - 1][1] * 1000:.0f} |")
        print(
            f"| turn 10 against turn 1 | {pairs[9][0] / pairs[0][0]:.2f} | {pairs[9][1] / pairs[0][1]:.2f} |",
            flush=True,
        )
    print("\n| a turn of ten calls, ms | time | queries per iteration |\n|---|---|---|")
    await measured(bench, "a new conversation")
    await measured(bench, "after 500 messages", said=500)
    await in_db(fill, bench.user, 10_000, random.Random(7))
    with patch("chat.upkeep.keep_memory", asyncio.Event().wait):  # else the index would be filled meanwhile
        await measured(bench, "10,000 memories")
        await measured(bench, "10,000 memories, after 500 messages", said=500)


async def measured(bench: Bench, what: str, *, said: int = 0) -> None:
    async with bench.page() as page:
        await in_db(talk, page.conversation, said)
        await bench.ours(page, 10)
        times = [(await bench.ours(page, 10))[0] for _round in range(5)]
        with parts.counting() as tally:
            await bench.ours(page, 10)
    print(f"| {what} | {statistics.median(times) * 1000:.0f} | {tally.all_queries():.1f} |", flush=True)


def talk(conversation: Conversation, messages: int) -> None:
    """Earlier turns of two messages each."""
    rows = [
        Turn(conversation=conversation, number=number, goal=f"Question {number}", status="ended", end="finished")
        for number in range(1, messages // 2 + 1)
    ]
    Turn.objects.bulk_create(rows)
    Message.objects.bulk_create(
        Message(conversation=conversation, turn=row, role=role, text=f"{role} {row.number}: " + "some words " * 20)
        for row in rows
        for role in ("user", "agent")
    )


async def first_token(user: User) -> None:
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
    ours, theirs = statistics.median(over_ws), statistics.median(direct)
    print(f"\nFirst token: {ours:.1f} ms on the page by websocket, {theirs:.1f} ms from the endpoint directly.")


def size() -> int:
    """Bytes of the database, all of it on its disk."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return sum(path.stat().st_size for path in Path(settings.AGENT_DATA_DIR).glob("agentweb.sqlite3*"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


async def main(chosen: argparse.Namespace) -> None:
    await in_db(call_command, "migrate", verbosity=0)
    user = await in_db(User.objects.create_user, f"bench-{os.getpid()}")
    with endpoint.serving() as base_url:
        bench = Bench(base_url, user)
        await bench.raw(3)  # the first call of a process loads what later ones have
        async with bench.page() as page:
            await bench.ours(page, 3)
        await asyncio.to_thread(outbox.drain_all)
        print(f"{connection.vendor}, embedder {settings.AGENT_EMBEDDER}\n")
        await turns(bench, chosen.rounds)
        if chosen.parts:
            await table_of_parts(bench, chosen.rounds)
        if chosen.long:
            await growth(bench)
        if chosen.first_token:
            await first_token(user)
        await bench.client.close()


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--parts", action="store_true", help="the verbs of the loop, each with its queries")
    given.add_argument("--long", action="store_true", help="ten turns, 500 messages, 10,000 memories")
    given.add_argument("--first-token", action="store_true")
    given.add_argument("--rounds", type=int, default=5)
    asyncio.run(main(given.parse_args()))
