"""The frozen values of the memory room.

Touches: nothing (pure).
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotView:
    name: str
    kind: str
    value: Any
    set_by: str
    iteration: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """A memory brought back for this iteration, with the reason it is here or was cut."""

    id: str
    kind: str
    text: str
    score: float
    semantic: float
    lexical: float
    recency: float
    confidence: float
    fate: str  # shown, below_floor, over_limit, over_budget, not_fitting
    source: str  # in plain words: "you said so on 12 May"
    pinned: bool = False
