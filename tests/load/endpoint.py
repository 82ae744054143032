"""A scripted endpoint in a process of its own: it streams answers whose every token is the time it was sent.

    python -m tests.load.endpoint [--delay 0.02]

request with load:<kind>:<tokens>:<name> in it -> a stream.  Touches: one free port of this machine, which it prints.

The kinds: `stream` answers at once; `mail` makes a plan, asks to send an e-mail, then answers.
"""

import argparse
import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

TASK = re.compile(rb"load:(\w+):(\d+):([\w-]+)")
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
EVENT = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "load"}
PLAN = {"steps": [{"title": "Send the mail", "tool": "send_email"}]}
MAIL = {"to": ["somebody@example.org"], "subject": "Load", "text": "Sent by a load test."}
STEPS = {"stream": [], "mail": [("set_plan", PLAN), ("send_email", MAIL)]}


def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    data = {**EVENT, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return chunk(b"data: " + json.dumps(data).encode() + b"\n\n")


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def call(name: str) -> bytes:
    head = {"index": 0, "id": f"call_{time.monotonic_ns()}", "type": "function"}
    return event({"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]})


def arguments(text: str) -> bytes:
    return event({"tool_calls": [{"index": 0, "function": {"arguments": text}}]})


def ending(tokens: int) -> bytes:
    usage = {"prompt_tokens": 10, "completion_tokens": tokens}
    return event({}, "tool_calls", usage=usage) + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"


async def pieces(tokens: int, delay: float) -> AsyncIterator[bytes]:
    """The answer, token by token: the first at once, each at its time however late the one before it was."""
    yield call("finish") + arguments('{"answer": "')
    began = time.monotonic()
    for number in range(tokens):
        if (early := began + number * delay - time.monotonic()) > 0:
            await asyncio.sleep(early)
        yield arguments(f"{time.monotonic():.4f} ")
    yield arguments('"}') + ending(tokens)


async def serve(delay: float) -> None:
    made: Counter[bytes] = Counter()  # calls that each task has been answered with

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).lower():
                length = re.search(rb"content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                tasks = TASK.findall(body)
                if not tasks:
                    listed = json.dumps({"object": "list", "data": [{"id": "load"}]}).encode()
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(listed), listed))
                    continue
                kind, count, name = tasks[-1]  # earlier ones are in what was said before
                steps, tokens = STEPS[kind.decode()], int(count)
                writer.write(HEAD)
                if made[name] < len(steps):
                    tool, args = steps[made[name]]
                    made[name] += 1
                    writer.write(call(tool) + arguments(json.dumps(args)) + ending(20))
                    continue
                async for piece in pieces(tokens, delay):
                    if writer.is_closing():
                        return
                    writer.write(piece)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.02, help="seconds between two tokens")
    asyncio.run(serve(parser.parse_args().delay))
