"""Type the reply into the open pages while it streams: grouped by time, with positions, saved about once a second.

text so far -> deltas.  Touches: events; Turn.partial.

One frame per token would cost more than reading the token; a person cannot see 30 ms.
"""

import asyncio
import logging
import time
from uuid import UUID

import jiter

from chat import events, turns
from chat.db import in_db
from chat.types import Snapshot

log = logging.getLogger(__name__)
GROUP_SECONDS = 0.03
SAVE_SECONDS = 1.0
SAVES = 20  # in a second, all running turns of this process together: with many each is saved less often
KEPT = 200_000  # characters: a page is never sent more

# What the running turns of this process have typed and not yet stored: for a page that joins, and for Stop.
live: dict[UUID, str] = {}


class Typist:
    """Sends what is new of a growing text. The first piece goes at once, later ones in groups."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.text = ""
        self.sent = 0
        self.sent_at = 0.0
        self.saved_at = time.monotonic()
        self.saving: asyncio.Task[None] | None = None
        live[snapshot.turn_id] = ""

    async def thought(self, kind: str, delta: str) -> None:
        """Plain text beside a call: typed as it comes; it becomes the answer only if no call follows."""
        if kind == "answer":  # "thought" is the model's reasoning: never the answer
            await self._grow(self.text + delta)

    async def call(self, index: int, name: str, arguments: str) -> None:
        """The growing arguments of a call; only the answer of `finish` is for the person's eyes."""
        if name == "finish" and (answer := answer_so_far(arguments)):
            await self._grow(answer)

    async def notice(self, text: str) -> None:
        await events.stream(self.snapshot.conversation_id, turn=str(self.snapshot.turn_id), kind="notice", text=text)

    async def flush(self) -> None:
        await self._send()
        if self.saving is not None:
            await self.saving

    def close(self) -> None:
        live.pop(self.snapshot.turn_id, None)

    async def _grow(self, text: str) -> None:
        self.text = text[:KEPT]
        live[self.snapshot.turn_id] = self.text
        now = time.monotonic()
        if now - self.sent_at >= GROUP_SECONDS:
            await self._send()
            self.sent_at = now
        if now - self.saved_at >= max(SAVE_SECONDS, len(live) / SAVES) and (self.saving is None or self.saving.done()):
            self.saved_at = now
            # Beside the typing: what waits for the rows must not hold up the text.
            self.saving = asyncio.create_task(self._save())

    async def _save(self) -> None:
        try:
            await in_db(turns.save_partial, self.snapshot.turn_id, self.snapshot.fence, self.text)
        except Exception:
            log.exception("What turn %s has typed could not be saved; trying again.", self.snapshot.turn_id)

    async def _send(self) -> None:
        if len(self.text) > self.sent:
            at, self.sent = self.sent, len(self.text)
            await events.stream(
                self.snapshot.conversation_id,
                turn=str(self.snapshot.turn_id),
                iteration=self.snapshot.number,
                kind="answer",
                at=at,
                text=self.text[at:],
            )


def answer_so_far(arguments: str) -> str:
    """The `answer` in JSON text that is still growing; empty while it has not begun."""
    try:
        parsed = jiter.from_json(arguments.encode(), partial_mode="trailing-strings")
    except ValueError:
        return ""
    answer = parsed.get("answer") if isinstance(parsed, dict) else None
    return answer if isinstance(answer, str) else ""
