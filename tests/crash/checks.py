"""What must be so after any number of crashes: the invariants, each a question to the rows and to the world outside.

Rows, World, what was seen on the way -> faults in words.  Touches: the database (reads).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from tests.crash.rows import Rows
from tests.crash.world import World


@dataclass(slots=True, kw_only=True)
class Seen:
    """What was noted while the server died and came back."""

    sent: set[str] = field(default_factory=set)  # ids of the messages that the person sent
    decisions: dict[tuple[str, int], str] = field(default_factory=dict)  # at the kills
    cut_off: set[str] = field(default_factory=set)  # writes that were under way at a kill
    unknown: set[str] = field(default_factory=set)  # calls that were shown as UNKNOWN

    left: list[str] = field(default_factory=list)  # what a clean shutdown left running

    def at_end(self, rows: Rows, *, gently: bool, pid: int) -> None:
        self.decisions |= rows.decisions()
        self.cut_off |= rows.writes("running")
        if gently:
            self.cut_off |= rows.writes("unknown")
            self.left += rows.held_by(pid)


def faults(rows: Rows, world: World, seen: Seen) -> dict[str, list[str]]:
    """Invariant -> what breaks it; empty lists are what one hopes for."""
    return {
        "message lost or doubled": list(_messages(rows, seen)),
        "turn stuck": [str(turn) for turn in rows.turns().values() if turn.status != "ended"],
        "turn without an answer or a reason": list(_unanswered(rows)),
        "iteration lost or changed": list(_changed(rows, seen)),
        "iteration numbered twice or left out": list(_numbering(rows)),
        "write executed more than once": [f"{key}: {times}" for key, times in world.executions.items() if times > 1],
        "order placed more than once": [f"{key}: {times}" for key, times in world.orders.items() if times > 1],
        "call said to have run that did not, or the reverse": list(_claims(rows, world)),
        "left running by a clean shutdown": seen.left,
        "cut off, yet never UNKNOWN": sorted(seen.cut_off - seen.unknown),
        "UNKNOWN, yet not cut off": sorted(seen.unknown - seen.cut_off),
    }


def _messages(rows: Rows, seen: Seen) -> Iterator[str]:
    query = "SELECT client_id, count(*) FROM chat_message WHERE client_id IS NOT NULL AND client_id != '' GROUP BY 1"
    kept = {row[0]: row[1] for row in rows.all(query)}
    yield from (f"lost {key}" for key in seen.sent - kept.keys())
    yield from (f"{key}: {times}" for key, times in kept.items() if times > 1)
    waits = "SELECT id FROM chat_message WHERE mark = 'steering'"
    yield from (f"never read: {row[0]}" for row in rows.all(waits))


def _unanswered(rows: Rows) -> Iterator[str]:
    answered = {row[0] for row in rows.all("SELECT DISTINCT turn_id FROM chat_message WHERE role = 'agent'")}
    for turn in rows.turns().values():
        if turn.status == "ended" and not (turn.id in answered if turn.end == "finished" else turn.reason):
            yield str(turn)
    twice = """SELECT turn_id, count(*) FROM chat_message WHERE role = 'agent' AND mark = '' GROUP BY 1
               HAVING count(*) > 1"""
    yield from (f"answered twice: {row[0]}" for row in rows.all(twice))


def _changed(rows: Rows, seen: Seen) -> Iterator[str]:
    now = rows.decisions()
    yield from (
        f"{turn} · {number}" for (turn, number), was in seen.decisions.items() if now.get((turn, number)) != was
    )


def _numbering(rows: Rows) -> Iterator[str]:
    numbers: dict[str, list[int]] = {}
    for turn, number in sorted(rows.decisions()):
        numbers.setdefault(turn, []).append(number)
    used = {row[0]: row[1] for row in rows.all("SELECT id, iterations_used FROM chat_turn")}
    for turn, found in numbers.items():
        if found != list(range(1, len(found) + 1)) or used[turn] != len(found):
            yield f"{turn}: {found}, {used[turn]} counted"


def _claims(rows: Rows, world: World) -> Iterator[str]:
    ran = {key for key, times in world.executions.items() if times}
    for key in rows.writes("succeeded") - ran:
        yield f"{key} succeeded and never ran"
    for key in ran & rows.writes("failed", "refused", "rejected", "expired", "cancelled", "waiting", "intended"):
        yield f"{key} ran and is said not to have run"
    known = {str(UUID(row["id"])) for row in rows.all("SELECT id FROM chat_toolcall")}
    yield from (f"{key} ran and has no row" for key in ran - known)
