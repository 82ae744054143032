"""Speak the wire format of an endpoint from rules in this process: no port, no network.

policy (request body -> reply) -> an HTTP transport for the openai client.  Touches: nothing outside the process.

A policy is any function, sync or async, that takes the body of a chat completion request and returns what to answer:
a text, or a dict with some of
  text, reasoning    what the model says and thinks
  calls              [{"name", "args" (an object) or "arguments" (JSON text), "id"}]
  finish, usage      the reason of the end; token counts (None: none are reported)
  delay              seconds before each piece, in place of the transport's own
  raw                bytes sent as they are, in place of all of this; floats among them are pauses
  status, headers, error   an HTTP fault
  drop               True: the connection breaks after the last piece
"""

import asyncio
import inspect
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any

import httpx2

from chat.tokens import estimate, estimate_request
from chat.types import Json

Policy = Callable[[Json], Any | Awaitable[Any]]

DONE = b"data: [DONE]\n\n"
_PIECES = re.compile(r"\s*\S{1,12}|\s+")


class PolicyTransport(httpx2.AsyncBaseTransport):
    """Answers POST .../chat/completions by the policy and GET .../models with the model's name."""

    def __init__(self, policy: Policy, *, model: str = "demo", delay: float = 0.0, keep: bool = True) -> None:
        self.policy, self.model, self.delay, self.keep = policy, model, delay, keep
        self.bodies: list[Json] = []  # every request seen, if they are kept
        self.left_early = 0  # streams that the client closed before their end

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200, json={"object": "list", "data": [{"id": self.model, "object": "model"}]})
        body: Json = json.loads(await request.aread())
        if self.keep:
            self.bodies.append(body)
        answer = self.policy(body)
        if inspect.isawaitable(answer):
            answer = await answer
        reply: Json = {"text": answer} if isinstance(answer, str) else dict(answer)
        if reply.get("status", 200) != 200:
            error = reply.get("error") or {"message": "fault"}
            return httpx2.Response(reply["status"], headers=reply.get("headers"), json={"error": error})
        if not body.get("stream") and "raw" not in reply:
            return httpx2.Response(200, json=completion(body, reply, self.model))
        pieces = reply["raw"] if "raw" in reply else [sse(chunk) for chunk in chunks(body, reply, self.model)]
        if "raw" not in reply and not reply.get("drop"):
            pieces.append(DONE)
        stream = _Stream(self, pieces, reply.get("delay", self.delay), drop=bool(reply.get("drop")))
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)


class _Stream(httpx2.AsyncByteStream):
    """The body, piece by piece."""

    def __init__(
        self, transport: PolicyTransport, pieces: Iterable[bytes | float], delay: float, *, drop: bool
    ) -> None:
        self.transport, self.pieces, self.delay, self.drop, self.ended = transport, pieces, delay, drop, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, bytes):
                yield piece
                await asyncio.sleep(self.delay)
            else:
                await asyncio.sleep(piece)
        self.ended = True
        if self.drop:
            raise httpx2.RemoteProtocolError("peer closed connection without sending complete message body")

    async def aclose(self) -> None:
        if not self.ended:
            self.ended = True
            self.transport.left_early += 1


def sse(event: Json) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n\n"


def chunks(body: Json, reply: Json, model: str) -> list[Json]:
    """The reply as the events of a stream."""

    def chunk(delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "chatcmpl-0", "object": "chat.completion.chunk", "model": model, "choices": [choice]}

    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"reasoning_content": piece}) for piece in _PIECES.findall(reply.get("reasoning") or "")]
    events += [chunk({"content": piece}) for piece in _PIECES.findall(reply.get("text") or "")]
    for index, call in enumerate(reply.get("calls") or ()):
        head = {"index": index, "id": call.get("id") or f"call_{index}", "type": "function"}
        events.append(chunk({"tool_calls": [{**head, "function": {"name": call["name"], "arguments": ""}}]}))
        for piece in _PIECES.findall(arguments_of(call)):
            events.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    if reply.get("finish", "") is not None:
        events.append(chunk({}, _finish(reply)))
    if usage := _usage(body, reply):
        events.append({**chunk({}), "choices": [], "usage": usage})
    return events


def completion(body: Json, reply: Json, model: str) -> Json:
    """The reply as one document."""
    message: Json = {"role": "assistant", "content": reply.get("text")}
    if reply.get("reasoning"):
        message["reasoning_content"] = reply["reasoning"]
    if reply.get("calls"):
        message["tool_calls"] = [
            {
                "id": call.get("id") or f"call_{index}",
                "type": "function",
                "function": {"name": call["name"], "arguments": arguments_of(call)},
            }
            for index, call in enumerate(reply["calls"])
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    usage = _usage(body, reply)
    return {"id": "chatcmpl-0", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


def arguments_of(call: Json) -> str:
    return str(call["arguments"]) if "arguments" in call else json.dumps(call.get("args") or {}, ensure_ascii=False)


def _finish(reply: Json) -> str:
    return reply.get("finish") or ("tool_calls" if reply.get("calls") else "stop")


def _usage(body: Json, reply: Json) -> Json | None:
    if "usage" in reply:
        given: Json | None = reply["usage"]
        return given
    said: Sequence[str] = [
        reply.get("text") or "",
        reply.get("reasoning") or "",
        *map(arguments_of, reply.get("calls") or ()),
    ]
    prompt = estimate_request(body.get("messages") or (), body.get("tools") or ())
    answer = sum(map(estimate, said)) + 1
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
