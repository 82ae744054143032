"""The rows of the server under test, read straight from its database file, dead or alive.

SQLite file -> plain values.  Touches: the database (reads).
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

WRITES = ("write", "expensive")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    id: str
    number: int
    goal: str
    status: str
    end: str
    reason: str
    fence: int
    crashes: int


class Rows:
    def __init__(self, data: Path) -> None:
        self.connection = sqlite3.connect(data / "agentweb.sqlite3", timeout=20)
        self.connection.row_factory = sqlite3.Row

    def close(self) -> None:
        self.connection.close()

    def all(self, query: str, *values: Any) -> list[sqlite3.Row]:
        return self.connection.execute(query, values).fetchall()

    def turns(self) -> dict[str, TurnRow]:
        query = "SELECT id, number, goal, status, end, reason, fence, crashes FROM chat_turn ORDER BY created_at"
        return {row["id"]: TurnRow(**dict(row)) for row in self.all(query)}

    def running(self) -> dict[str, int]:
        """Turn -> fence, of the turns that a worker holds."""
        return {row["id"]: row["fence"] for row in self.all("SELECT id, fence FROM chat_turn WHERE status = 'running'")}

    def held_by(self, pid: int) -> list[str]:
        """Turns that the process with this id holds; what another one left behind is not its fault."""
        query = "SELECT id, owner FROM chat_turn WHERE status = 'running'"
        return [row["id"] for row in self.all(query) if f":{pid}:" in row["owner"]]

    def writes(self, *states: str) -> set[str]:
        """Ids of the calls that change something, in these states, as the tool gets them."""
        marks = ", ".join("?" * len(states))
        query = f"SELECT id FROM chat_toolcall WHERE tier IN ('write', 'expensive') AND status IN ({marks})"
        return {str(UUID(row["id"])) for row in self.all(query, *states)}

    def unknown_of(self) -> dict[str, str]:
        """Call whose outcome is unknown -> status of its turn."""
        query = """SELECT c.id, t.status FROM chat_toolcall c JOIN chat_turn t ON t.id = c.turn_id
                   WHERE c.status = 'unknown'"""
        return {str(UUID(row["id"])): row["status"] for row in self.all(query)}

    def asked(self) -> list[tuple[str, str]]:
        """(approval, digest) of the cards that wait, in turns that wait for them."""
        query = """SELECT a.id, a.digest FROM chat_approval a JOIN chat_turn t ON t.id = a.turn_id
                   WHERE a.status = 'asked' AND t.status = 'waiting_approval'"""
        return [(str(UUID(row["id"])), row["digest"]) for row in self.all(query)]

    def decisions(self) -> dict[tuple[str, int], str]:
        """(turn, number of the iteration) -> what it is: its row, what the model said, and its calls in order."""
        query = """SELECT i.turn_id, i.number, i.id || ' ' || i.raw || ' ' ||
                          coalesce((SELECT group_concat(c.id, ' ') FROM chat_toolcall c WHERE c.iteration_id = i.id), '')
                   FROM chat_iteration i"""
        return {(row[0], row[1]): row[2] for row in self.all(query)}
