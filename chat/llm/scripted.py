"""A model that plays a script through the real wire, for tests and demonstrations.

list of replies -> the same replies, one after another.  Touches: nothing outside the process.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from chat.llm.base import OnCall, OnNotice, OnText, Request
from chat.llm.openai_api import OpenAILLM
from chat.llm.wire import PolicyTransport
from chat.types import Json, Reply

# A text, a dict as in chat.llm.wire, or a function of the request's body that returns one of them.
Script = Any


def call(name: str, /, **args: Any) -> Json:
    """A reply that calls one tool."""
    return {"calls": [{"name": name, "args": args}]}


def calls(*pairs: tuple[str, Json]) -> Json:
    """A reply that calls several tools."""
    return {"calls": [{"name": name, "args": args} for name, args in pairs]}


def fault(status: int, message: str = "fault", **headers: str) -> Json:
    """An HTTP fault; header names are written with underscores."""
    return {
        "status": status,
        "error": {"message": message},
        "headers": {key.replace("_", "-"): value for key, value in headers.items()},
    }


def structured(value: Any) -> str:
    """A reply to a request that asks for JSON."""
    return json.dumps(value, ensure_ascii=False)


class ScriptedLLM:
    """Plays the replies in order; `requests` keeps the bodies it was sent. When they run out it says so as a fault.

    delay: seconds between streamed pieces. A request for structured output may have a script of its own, so that a
    test of calls need not know how often the loop asks a small question.
    """

    is_demo = False

    def __init__(
        self,
        replies: Iterable[Script] | Callable[[Json], Script],
        *,
        structured: Iterable[Script] | Callable[[Json], Script] | None = None,
        delay: float = 0.0,
        wire: str = "native",
        name: str = "scripted",
    ) -> None:
        self._play = replies if callable(replies) else _player(replies)
        self._play_structured = structured if callable(structured) or structured is None else _player(structured)
        self.transport = PolicyTransport(self._answer, model=name, delay=delay)
        self.llm = OpenAILLM(base_url="http://scripted.invalid/v1", model=name, wire=wire, transport=self.transport)

    @property
    def name(self) -> str:
        return self.llm.model

    @property
    def requests(self) -> list[Json]:
        return self.transport.bodies

    async def reply(
        self,
        request: Request,
        *,
        on_text: OnText | None = None,
        on_call: OnCall | None = None,
        on_notice: OnNotice | None = None,
    ) -> Reply:
        return await self.llm.reply(request, on_text=on_text, on_call=on_call, on_notice=on_notice)

    def _answer(self, body: Json) -> Any:
        if self._play_structured is not None and "response_format" in body and "tools" not in body:
            return self._play_structured(body)
        return self._play(body)


def _player(replies: Iterable[Script]) -> Callable[[Json], Script]:
    left = iter(replies)

    def play(body: Json) -> Script:
        reply = next(left, None)
        if reply is None:
            return fault(400, "the script has no more replies")
        return reply(body) if callable(reply) else reply

    return play
