"""Pass on streamed text in groups: the first at once, later ones a few times a second, never one per token.

pieces of text and calls -> on_text, on_call.  Touches: a task of its own while a reply streams.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from chat.llm.base import OnCall, OnText

GROUP_SECONDS = 0.03


async def tell(result: Awaitable[None] | None) -> None:
    """Callbacks may be plain functions or coroutines."""
    if inspect.isawaitable(result):
        await result


class Relay:
    """Collects what has come, and lets a task of its own carry it on. A fault of a callback ends the reply.

    When a reply is asked for again, what has been shown is not shown twice; from where the second one differs
    nothing more is shown, and the page gets the whole text at the end.
    """

    def __init__(self, on_text: OnText | None, on_call: OnCall | None) -> None:
        self.on_text, self.on_call = on_text, on_call
        self.call_so_far: Callable[[int], tuple[str, str]] = lambda number: ("", "")
        self._texts: list[tuple[str, str]] = []
        self._calls: set[int] = set()
        self._shown: dict[str, list[str]] = {}
        self._expected: dict[str, str] = {}  # what a reply asked for again must begin with
        self._muted: set[str] = set()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._sending = self._closing = False

    async def __aenter__(self) -> Self:
        if self.on_text is not None or self.on_call is not None:
            self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task is None:
            return
        self._closing = True
        if fault is not None or not self._sending:
            self._task.cancel()
        failed = (await asyncio.gather(self._task, return_exceptions=True))[0]
        if fault is None:
            if failed is not None and not isinstance(failed, asyncio.CancelledError):
                raise failed
            await self._send()

    def text(self, kind: str, text: str) -> None:
        if self.on_text is None or kind in self._muted:
            return
        if expected := self._expected.get(kind):
            both = min(len(expected), len(text))
            if expected[:both] != text[:both]:
                self._muted.add(kind)
                return
            self._expected[kind], text = expected[both:], text[both:]
            if not text:
                return
        self._shown.setdefault(kind, []).append(text)
        if self._texts and self._texts[-1][0] == kind:
            self._texts[-1] = (kind, self._texts[-1][1] + text)
        else:
            self._texts.append((kind, text))
        self._news.set()

    def calls(self, numbers: set[int]) -> None:
        if self.on_call is not None and numbers:
            self._calls |= numbers
            self._news.set()

    def begin_again(self) -> None:
        """The reply is asked for a second time."""
        self._expected = {kind: "".join(texts) for kind, texts in self._shown.items()}
        self._calls.clear()

    def check(self) -> None:
        """Raise what a callback raised."""
        if self._task is not None and self._task.done():
            self._task.result()

    async def _run(self) -> None:
        while not self._closing:
            await self._news.wait()
            self._sending = True
            await self._send()
            self._sending = False
            if not self._closing:
                await asyncio.sleep(GROUP_SECONDS)

    async def _send(self) -> None:
        self._news.clear()
        texts, self._texts = self._texts, []
        numbers, self._calls = sorted(self._calls), set()
        for kind, text in texts:
            if self.on_text is not None:
                await tell(self.on_text(kind, text))
        for number in numbers:
            if self.on_call is not None:
                await tell(self.on_call(number, *self.call_so_far(number)))
