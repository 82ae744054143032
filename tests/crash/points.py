"""The named points at which a server under test kills itself with SIGKILL.

a file that names a point -> a process that dies there, once.  Touches: functions of the product, patched in the server under test.

A point is a named function of the product and a moment: before it is called, after it has returned (its transaction
is committed), or inside, after its last statement and before the commit. Nothing of this is in the product.
"""

import functools
import importlib
import inspect
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """phase: what the person does once the point is armed: "say" starts a turn, "approve" lets its write run.

    unknown: whether the write under way is shown as UNKNOWN after a death here.
    """

    where: str  # module:function
    moment: str  # before, inside, after
    phase: str = "approve"
    unknown: bool = False


# Around a write, in the order in which they are passed once the person has approved it.
WRITE = {
    "before the intent row": Point(where="chat.loop.record:permit", moment="before"),
    "intent written, not committed": Point(where="chat.loop.record:_go", moment="after"),
    "after the intent row": Point(where="chat.loop.record:permit", moment="after", unknown=True),
    "before the call": Point(where="chat.tools.guarded:fetch", moment="before", unknown=True),
    "during the call": Point(where="service", moment="during", unknown=True),
    "after the call": Point(where="chat.tools.guarded:fetch", moment="after", unknown=True),
    "before the result row": Point(where="chat.loop.record:_record", moment="before", unknown=True),
    "result written, not committed": Point(where="chat.loop.record:_record", moment="inside", unknown=True),
    "after the result row": Point(where="chat.loop.record:_record", moment="after"),
}
# The other transitions of a turn.
TURN = {
    "message stored, not said": Point(where="chat.turns:say", moment="after", phase="say"),
    "message not committed": Point(where="chat.turns:say", moment="inside", phase="say"),
    "before the claim": Point(where="chat.turns:claim", moment="before", phase="say"),
    "after the claim": Point(where="chat.turns:claim", moment="after", phase="say"),
    "before the model is asked": Point(where="chat.loop.turn:decide", moment="before", phase="say"),
    "after the model's reply": Point(where="chat.loop.turn:decide", moment="after", phase="say"),
    "decision written, not committed": Point(where="chat.loop.record:_intend", moment="inside", phase="say"),
    "after the decision is written": Point(where="chat.loop.record:_intend", moment="after", phase="say"),
    "before a read's result": Point(where="chat.loop.record:_record", moment="before", phase="say"),
    "after a read's result": Point(where="chat.loop.record:_record", moment="after", phase="say"),
    "end of the iteration, not committed": Point(where="chat.loop.record:_conclude", moment="inside", phase="say"),
    "after the iteration": Point(where="chat.loop.record:_conclude", moment="after", phase="say"),
    "pause written, not committed": Point(where="chat.turns:pause", moment="after", phase="say"),
    "decision of the person stored": Point(where="chat.turns:decide_approval", moment="after"),
    "before the end": Point(where="chat.turns:end", moment="before"),
    "end written, not committed": Point(where="chat.turns:end", moment="after"),
    "after the end": Point(where="chat.runner:Runner._afterwards", moment="before"),
}
POINTS = {**WRITE, **TURN}


def set_up(armed: str) -> None:
    """Patch every point; each looks at the file when it is passed, and only one is armed at a time."""
    for name, point in POINTS.items():
        if point.moment == "during":
            continue  # the service outside knows when: world.py
        module, _, path = point.where.partition(":")
        owner = functools.reduce(getattr, path.split(".")[:-1], importlib.import_module(module))
        attribute = path.rpartition(".")[2]
        die = functools.partial(_die, Path(armed), name)
        setattr(owner, attribute, WRAP[point.moment](getattr(owner, attribute), die))


def _die(armed: Path, name: str) -> None:
    try:
        if armed.read_text() != name:
            return
    except FileNotFoundError:
        return
    armed.unlink()  # the next server lives
    os.kill(os.getpid(), signal.SIGKILL)


def _before(function: Callable[..., Any], die: Callable[[], None]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        die()
        return function(*args, **kwargs)

    return wrapped


def _after(function: Callable[..., Any], die: Callable[[], None]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(inspect.unwrap(function)):

        @functools.wraps(function)
        async def waited(*args: Any, **kwargs: Any) -> Any:
            result = await function(*args, **kwargs)
            die()
            return result

        return waited

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        die()
        return result

    return wrapped


def _inside(function: Callable[..., Any], die: Callable[[], None]) -> Callable[..., Any]:
    """In the function's own transaction, or in one around it, that never comes to its commit."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with transaction.atomic():
            result = function(*args, **kwargs)
            die()
            return result

    return wrapped


WRAP: dict[str, Callable[..., Any]] = {"before": _before, "after": _after, "inside": _inside}
