"""Where an iteration's time goes: milliseconds and queries of each verb of the loop, seen from outside.

a block of turns -> Tally.  Touches: wraps the verbs, events and the database cursors while the block runs.
"""

import contextlib
import functools
import inspect
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from django.db.backends.utils import CursorWrapper

from chat import events
from chat.llm.openai_api import OpenAILLM
from chat.loop import turn

VERBS = ("observe", "assemble", "decide", "intend", "act", "record", "verify", "gate", "conclude")
CONTROL = ("BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "COMMIT", "SET ")

part: ContextVar[str] = ContextVar("part", default="")  # goes along into the threads of the database


@dataclass(slots=True)
class Tally:
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    queries: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    iterations: list[list[str]] = field(default_factory=list)  # the SQL of each

    def rows(self) -> list[tuple[str, float, float]]:
        """(part, ms, queries) of an iteration."""
        names = [*VERBS, "reply", "events"]
        many = max(1, len(self.iterations))
        return [(name, self.seconds[name] * 1000 / many, self.queries[name] / many) for name in names]

    def all_queries(self) -> float:
        return sum(self.queries.values()) / max(1, len(self.iterations))


@contextlib.contextmanager
def counting() -> Iterator[Tally]:
    """Count what the loop does meanwhile. `reply` lies within decide, `events` within the others."""
    tally = Tally()
    with contextlib.ExitStack() as stack:
        for name in VERBS:
            stack.enter_context(patch.object(turn, name, _timed(getattr(turn, name), name, tally)))
        stack.enter_context(patch.object(OpenAILLM, "_stream", _timed(OpenAILLM._stream, "reply", tally, inner=True)))
        for name in ("tell", "stream"):
            stack.enter_context(patch.object(events, name, _timed(getattr(events, name), "events", tally, inner=True)))
        for name in ("execute", "executemany"):
            stack.enter_context(patch.object(CursorWrapper, name, _seen(getattr(CursorWrapper, name), tally)))
        yield tally


def _timed(function: Callable[..., Any], name: str, tally: Tally, *, inner: bool = False) -> Callable[..., Any]:
    if not inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                tally.seconds[name] += time.perf_counter() - started

        return plain

    @functools.wraps(function)
    async def timed(*args: Any, **kwargs: Any) -> Any:
        token = None if inner else part.set(name)
        if name == "observe":
            tally.iterations.append([])
        started = time.perf_counter()
        try:
            return await function(*args, **kwargs)
        finally:
            tally.seconds[name] += time.perf_counter() - started
            if token is not None:
                part.reset(token)

    return timed


def _seen(execute: Callable[..., Any], tally: Tally) -> Callable[..., Any]:
    @functools.wraps(execute)
    def seen(self: Any, sql: Any, params: Any = None) -> Any:
        name = part.get()
        if name and not str(sql).startswith(CONTROL):
            tally.queries[name] += 1
            tally.iterations[-1].append(str(sql))
        return execute(self, sql, params)

    return seen
