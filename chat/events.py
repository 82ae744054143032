"""What a browser can be told, and how to tell it.

event -> the sockets of one conversation, or of all of one user's.  Touches: the channel layer; this process's sockets.

Events carry no truth: they name what changed, and the page fetches it. Only streamed text travels here,
as deltas with the position they start at, so that a reader can see a gap and ask for the text so far.

Streamed text goes straight to the sockets of this process: through a channel layer it would cost twenty times as much.
"""

import logging
import os
import time
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal
from uuid import UUID

from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer, get_channel_layer

Page = Callable[[Mapping[str, Any]], Awaitable[None]]

Changed = Literal[
    "turn-changed",  # {"turn"}: its status, iterations, calls, cards, messages
    "plan-changed",
    "state-changed",
    "memory-changed",
    "trace-changed",
    "conversations-changed",  # list, titles, what waits
]
SAY_EVERY = 10.0  # seconds between complaints in the log: a turn sends thirty events a second
log = logging.getLogger(__name__)
_said_at = 0.0
_pages: dict[str, set[Page]] = defaultdict(set)  # sockets of this process, by conversation
PROCESS = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"


def watch(conversation_id: UUID | str, page: Page) -> None:
    """Hand the streamed text of a conversation to this socket, which is on this event loop."""
    _pages[str(conversation_id)].add(page)


def unwatch(conversation_id: UUID | str, page: Page) -> None:
    pages = _pages[str(conversation_id)]
    pages.discard(page)
    if not pages:
        del _pages[str(conversation_id)]


async def farewell() -> None:
    """This process restarts: tell its sockets, which come back to the next one by themselves."""
    for page in [page for pages in _pages.values() for page in pages]:
        await page({"type": "agent.delta", "kind": "restarting"})


def conversation_group(conversation_id: UUID | str) -> str:
    return f"conversation-{conversation_id}"


def user_group(user_id: int) -> str:
    return f"user-{user_id}"


async def tell(conversation_id: UUID | str, *changed: Changed, turn: UUID | str | None = None) -> None:
    """Tell every open page of a conversation what changed."""
    if changed:
        message = {"type": "agent.changed", "changed": list(changed), "turn": str(turn) if turn else None}
        await _send(conversation_group(conversation_id), message)


async def tell_user(user_id: int, *changed: Changed) -> None:
    """Tell every open page of a user, whichever conversation it shows."""
    await _send(user_group(user_id), {"type": "agent.changed", "changed": list(changed), "turn": None})


async def stream(conversation_id: UUID | str, **fields: Any) -> None:
    """Send streamed text: turn, iteration, kind (answer, thought), at (position), text; or a notice."""
    event = {"type": "agent.delta", **fields}
    for page in tuple(_pages.get(str(conversation_id), ())):
        try:
            await page(event)
        except Exception as fault:  # a socket that is going away: whatever it raises, the turn goes on
            log.info("A page could not be reached: %r", fault)
    if not isinstance(get_channel_layer(), InMemoryChannelLayer):  # others have sockets too
        await _send(conversation_group(conversation_id), {**event, "process": PROCESS})


async def place(conversation_id: UUID | str, turn_id: UUID, before: int | None) -> None:
    """Tell the open pages how many turns come before this one; None: it has begun."""
    message = {"type": "agent.delta", "turn": str(turn_id), "kind": "place", "before": before}
    await _send(conversation_group(conversation_id), message)


async def _send(group: str, message: Mapping[str, Any]) -> None:
    """A turn must not end for want of an event: a page that was not told asks anew when it connects again."""
    global _said_at
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        await layer.group_send(group, message)
    except Exception as fault:  # what the layer raises is its server's affair
        if time.monotonic() - _said_at > SAY_EVERY:
            _said_at = time.monotonic()
            log.warning("Pages are not told of what happens: %r", fault)


place_sync = async_to_sync(place)
tell_sync = async_to_sync(tell)
tell_user_sync = async_to_sync(tell_user)
