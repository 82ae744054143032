"""What a server is to be asked by, what it lists, what it answered.

Touches: nothing (pure).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """How one server is reached, its secrets open: never stored, logged or shown."""

    id: int
    name: str
    command: tuple[str, ...] = ()  # empty: over HTTP
    url: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)  # environment or headers
    timeout: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A tool as the server lists it: nothing in it is believed yet."""

    name: str
    description: str = ""
    schema: Any = None
    read_only: bool = False
    repeatable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A picture, sound or file of an answer, for the conversation's folder."""

    name: str  # made here, from what it holds
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call came to, cut and cleaned."""

    text: str
    structured: Any = None
    error: bool = False
    files: tuple[Kept, ...] = ()
    asked: tuple[str, ...] = ()  # what the server wanted to know of the person and was not told


MOST = 64_000_000  # bytes that may come for one call


@dataclass(slots=True, kw_only=True)
class Flow:
    """What has come from a server, and whether the connection is over; counted anew for each call."""

    bytes: int = 0
    over: str = ""  # why it is over, in words; empty: it lives
    said: str = ""  # the end of its error output

    def came(self, count: int) -> None:
        self.bytes += count
        if self.bytes > MOST:
            self.over = self.over or f"It sent more than {MOST // 1_000_000} MB for one call."


class Trouble(Exception):
    """A call got no answer. `sent`: it may have reached the server; `refused`: the server itself said no.

    `said`: the end of what a program complained of, for staff alone.
    """

    def __init__(self, words: str, *, sent: bool = True, refused: bool = False, said: str = "") -> None:
        super().__init__(words)
        self.sent, self.refused, self.said = sent, refused, said

    @property
    def for_staff(self) -> str:
        return f"{self} {self.said}".strip()
