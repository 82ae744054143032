"""How one kind of memory is kept, ranked, shown and merged.

Touches: nothing (pure).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


def as_it_is(text: str, when: datetime) -> str:
    return text


def always(question: str) -> bool:
    return True


def fullest(texts: Sequence[str]) -> str:
    """Of several texts that say the same, the one that says most; the newest of equals."""
    return max(reversed(texts), key=len)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    name: str
    label: Any  # what a person reads
    half_life: float  # days until its recency counts half
    ttl: float | None = None  # days until it expires by itself; None: never
    dedupe: bool = True  # the same text again is the same memory
    floor_extra: float = 0.0  # how much closer than others it must fit to be shown
    unasked: Callable[[str], bool] = always  # whether it comes up by itself for this question
    shown: Callable[[str, datetime], str] = as_it_is  # as the model reads it
    merged: Callable[[Sequence[str]], str] = fullest  # one text for several near-duplicates
