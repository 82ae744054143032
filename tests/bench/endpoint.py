"""A scripted endpoint in a process of its own, over real HTTP, so that its work is in nobody's figures.

list of replies, sent beforehand -> the same replies, streamed or whole.  Touches: a free port of this machine.

    with serving() as base_url: play(base_url, "ours", [...]); OpenAILLM(base_url=f"{base_url}/ours/v1", ...)
"""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.request import Request, urlopen

Json = dict[str, Any]
scripts: dict[str, list[Any]] = {}
tokens: dict[str, int] = {}


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The address of a fresh endpoint, which ends with the block."""
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.endpoint"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.wait()


def play(base_url: str, label: str, replies: Sequence[Any]) -> int:
    """Have these replies given, one a request, to the clients of /label/v1. Returns the prompt tokens since the last time."""
    asked = Request(f"{base_url}/{label}/script", data=json.dumps(replies).encode())
    with urlopen(asked) as answer:
        return int(json.load(answer))


def reply_of(label: str, body: Json) -> bytes:
    """A text, or {"calls": [{"name", "args"}]}, in the form that the request asks for."""
    queue = scripts.get(label, [])
    reply = queue.pop(0) if queue else "The script has no more replies."
    message: Json = {"role": "assistant", "content": reply if isinstance(reply, str) else None}
    if isinstance(reply, dict):
        message["tool_calls"] = [
            {
                "id": f"call_{len(queue)}_{index}",
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
            }
            for index, call in enumerate(reply["calls"])
        ]
    finish = "tool_calls" if isinstance(reply, dict) else "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    base = {"id": "c", "created": 1, "model": "bench"}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish}
        whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
        return _http("application/json", json.dumps(whole).encode())
    for index, call in enumerate(message.get("tool_calls", ())):
        call["index"] = index
    events = [
        {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {
            **base,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
            "usage": usage,
        },
    ]
    lines = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    return _http("text/event-stream", lines + b"data: [DONE]\n\n")


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1].decode()  # /label/v1/chat/completions or /label/script
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            text = await reader.readexactly(int(lengths[0].split(b":")[1])) if lengths else b"{}"
            label = path.split("/")[1]
            if path.endswith("/script"):
                seen, tokens[label] = tokens.get(label, 0), 0
                scripts[label] = json.loads(text)
                writer.write(_http("application/json", json.dumps(seen).encode()))
            else:
                body = json.loads(text)
                tokens[label] = tokens.get(label, 0) + quarter(body)
                writer.write(reply_of(label, body))
            await writer.drain()
    writer.close()


def quarter(body: Json) -> int:
    """Prompt tokens, counted as the figures for append-everything loops were: characters / 4, schemas included."""
    chars = len(json.dumps(body.get("tools", []), ensure_ascii=False, separators=(",", ":")))
    for message in body["messages"]:
        made = message.get("tool_calls") or []
        chars += len(message.get("content") or "")
        chars += sum(len(c["function"]["name"]) + len(c["function"]["arguments"]) for c in made)
    return chars // 4 + 4 * len(body["messages"])


def _http(kind: str, body: bytes) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
