"""Which of the turns that wait may begin, in an order that is fair between people.

waiting turns, what each person has under way, limits -> those admitted.  Touches: nothing (pure).

Each waiting turn is ranked by how many turns of its person come before it: those that run and the older ones that wait.
So people take turns, whoever has least under way comes first, and within one person the oldest does.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    turn_id: UUID
    person: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many turns may run at once; 0: no limit."""

    per_person: int = 0
    in_all: int = 0


def order(waiting: Iterable[Waiting], running: Mapping[int, int]) -> list[tuple[int, Waiting]]:
    """Turns that wait, the next one first, each with its rank. waiting: oldest first; running: turns of each person."""
    before = Counter(running)
    ranked = []
    for turn in waiting:
        ranked.append((before[turn.person], turn))
        before[turn.person] += 1
    ranked.sort(key=lambda pair: pair[0])  # stable: the older one comes first
    return ranked


def admitted(ordered: Sequence[tuple[int, Waiting]], running: Mapping[int, int], limits: Limits) -> list[UUID]:
    """Those that may begin now."""
    room = max(0, limits.in_all - sum(running.values())) if limits.in_all else None
    return [turn.turn_id for rank, turn in ordered if not limits.per_person or rank < limits.per_person][:room]
