"""What the gateway costs: CPU for each streamed token and for each call, beside bare clients in the same run.

    python -m tests.bench.bench_gateway [--streams 100] [--tokens 200] [--delay 0.02]

nothing -> two tables.  Touches: a scripted endpoint in a process of its own, on a free port of this machine.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentweb.settings")
os.environ["AGENT_ALLOW_LLM"] = "1"

import django

django.setup()

import aiohttp
import httpx2
from openai import AsyncOpenAI

from chat.llm.base import Request
from chat.llm.openai_api import OpenAILLM, close_clients
from chat.types import Json

Ask = Callable[[list[Json]], Awaitable[int]]
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


# ---- the endpoint ----


async def serve(tokens: int, delay: float) -> None:
    """Answers every request with the same stream; each token is a write of its own."""
    usage = {"prompt_tokens": 10, "completion_tokens": tokens}
    event = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "bench"}
    token = _frame({**event, "choices": [{"index": 0, "delta": {"content": " word"}, "finish_reason": None}]})
    end = _frame({**event, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage})

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
                await reader.readexactly(int(length.split(b":")[1]))
                writer.write(HEAD)
                for _ in range(tokens):
                    writer.write(token)
                    if delay:
                        await asyncio.sleep(delay)
                writer.write(end + _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _frame(event: Json) -> bytes:
    return _chunk(b"data: " + json.dumps(event).encode() + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


# ---- the clients ----


@asynccontextmanager
async def gateway(base_url: str) -> AsyncIterator[Ask]:
    llm = OpenAILLM(base_url=base_url, model="bench", wire="native")

    async def ask(messages: list[Json]) -> int:
        shown: list[str] = []
        request = Request(messages=tuple(messages), max_tokens=300)
        reply = await llm.reply(request, on_text=lambda kind, text: shown.append(text))
        assert "".join(shown).strip() == reply.text
        return reply.usage.reply

    yield ask
    await close_clients()


@asynccontextmanager
async def sdk(base_url: str) -> AsyncIterator[Ask]:
    async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:

        async def ask(messages: list[Any]) -> int:
            count = 0
            async for chunk in await client.chat.completions.create(model="bench", messages=messages, stream=True):
                count += bool(chunk.choices and chunk.choices[0].delta.content)
            return count

        yield ask


@asynccontextmanager
async def httpx_lines(base_url: str) -> AsyncIterator[Ask]:
    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=1000), timeout=60) as client:

        async def ask(messages: list[Json]) -> int:
            body = {"model": "bench", "messages": messages, "stream": True}
            count = 0
            async with client.stream("POST", f"{base_url}/chat/completions", json=body) as response:
                async for line in response.aiter_lines():
                    if line.startswith("data: {"):
                        count += bool(json.loads(line[6:])["choices"][0]["delta"].get("content"))
            return count

        yield ask


@asynccontextmanager
async def bare(base_url: str) -> AsyncIterator[Ask]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(messages: list[Json]) -> int:
            body = {"model": "bench", "messages": messages, "stream": True}
            count = 0
            async with session.post(f"{base_url}/chat/completions", json=body) as response:
                async for line in response.content:
                    if line.startswith(b"data: {"):
                        count += bool(json.loads(line[6:])["choices"][0]["delta"].get("content"))
            return count

        yield ask


CLIENTS: dict[str, Callable[[str], AbstractAsyncContextManager[Ask]]] = {
    "bare (aiohttp, lines, json)": bare,
    "httpx2, lines, json": httpx_lines,
    "openai client, objects": sdk,
    "gateway, with relay": gateway,
}


# ---- the measures ----


async def tokens_at_once(name: str, url: str, streams: int, tokens: int, delay: float) -> None:
    hi = [{"role": "user", "content": "hi"}]
    async with CLIENTS[name](url) as ask:
        await ask(hi)  # warm
        cpu, wall = time.process_time(), time.perf_counter()
        counts = await asyncio.gather(*(ask(hi) for _ in range(streams)))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    assert set(counts) == {tokens}, set(counts)
    ideal = f"{wall / (tokens * delay):.2f}" if delay else "-"
    print(f"| {name} | {cpu / (streams * tokens) * 1e6:.0f} | {ideal} |", flush=True)


async def calls(name: str, url: str, lengths: tuple[int, ...]) -> None:
    cells = []
    async with CLIENTS[name](url) as ask:
        for length in lengths:
            talk = [{"role": ("user", "assistant")[n % 2], "content": f"message {n} " * 20} for n in range(length)]
            await ask(talk)
            spent = []
            for _ in range(20):
                cpu = time.process_time()
                await ask(talk)
                spent.append((time.process_time() - cpu) * 1000)
            cells.append(f"{statistics.median(spent):.1f}")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


async def main(streams: int, tokens: int, delay: float) -> None:
    lengths = (1, 50, 200, 600)
    with endpoint(tokens, delay) as url:
        print(f"{streams} streams of {tokens} tokens, {delay * 1000:g} ms apart")
        print("| client | CPU µs per token | total against ideal |\n|---|---|---|")
        for name in CLIENTS:
            await tokens_at_once(name, url, streams, tokens, delay)
    with endpoint(1, 0.0) as url:
        print("\nCPU ms per call (one token), by messages in the request")
        print(f"| client | {' | '.join(map(str, lengths))} |\n|---|{'---|' * len(lengths)}")
        for name in CLIENTS:
            await calls(name, url, lengths)


class endpoint:
    """The scripted endpoint in a process of its own, so that its CPU is not counted."""

    def __init__(self, tokens: int, delay: float) -> None:
        arguments = ["--serve", "--tokens", str(tokens), "--delay", str(delay)]
        self.command = [sys.executable, "-m", "tests.bench.bench_gateway", *arguments]

    def __enter__(self) -> str:
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        return f"http://127.0.0.1:{int(self.process.stdout.readline())}/v1"

    def __exit__(self, *fault: object) -> None:
        self.process.terminate()
        self.process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--delay", type=float, default=0.02)
    parser.add_argument("--serve", action="store_true")
    chosen = parser.parse_args()
    work = serve(chosen.tokens, chosen.delay) if chosen.serve else main(chosen.streams, chosen.tokens, chosen.delay)
    asyncio.run(work)
