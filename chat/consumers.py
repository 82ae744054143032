"""Websocket door: authorise, hand what a person says to turns, forward events.

frame -> turns; event -> frame.  Touches: turns, events; sessions (reads).

A page has one socket. It carries no truth: what it tells a page is what to fetch, and streamed text.
"""

import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any
from uuid import UUID

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib import auth
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Max
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation import gettext as _

from chat import conversations, events, turns
from chat.db import in_db
from chat.errors import AgentError, Busy, Refused
from chat.loop import typist
from chat.models import Turn

log = logging.getLogger(__name__)

SIGNED_OUT = 4401  # the page reloads, and so comes to the sign-in page
NOT_FOUND = 4404
TOO_BIG = 4409  # the library lets an application use 1000 and 3000 to 4999 only
RESTARTING = 4412  # the browser comes back by itself, to the next process
LONGEST_FRAME = 2_000_000  # characters; the longest message as JSON escapes fits in
RECHECK = 60  # seconds until a socket that receives events has its session looked up again


class SignedOut(AgentError):
    """You are not signed in any more."""


class ConversationConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One page that shows one conversation."""

    conversation_id: UUID
    joined: tuple[str, ...] = ()
    checked: float = 0.0

    async def connect(self) -> None:
        # A browser learns the reason only from a socket that was opened; a refused one looks like a dead network.
        await self.accept()
        self.conversation_id = self.scope["url_route"]["kwargs"]["conversation_id"]
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            await self.close(SIGNED_OUT)
            return
        if not await in_db(conversations.belongs_to, user, self.conversation_id):
            await self.close(NOT_FOUND)
            return
        self.checked = time.monotonic()
        self.joined = (events.conversation_group(self.conversation_id), events.user_group(user.pk))
        for group in self.joined:
            await self.channel_layer.group_add(group, self.channel_name)
        events.watch(self.conversation_id, self.agent_delta)
        await self._live()

    async def disconnect(self, code: int) -> None:
        for group in self.joined:
            await self.channel_layer.group_discard(group, self.channel_name)
        if self.joined:
            events.unwatch(self.conversation_id, self.agent_delta)
        self.joined = ()

    # ---- from the browser ----------------------------------------------------------------------

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not self.joined or text_data is None:
            return
        if len(text_data) > LONGEST_FRAME:
            await self.close(TOO_BIG)
            return
        try:
            frame = json.loads(text_data)
        except (ValueError, RecursionError):
            return
        handlers: dict[str, Callable[[Mapping[str, Any]], Awaitable[None]]] = {
            "say": self._say,
            "stop": self._stop,
            "resync": self._resync,
            "ping": self._pong,
        }
        handler = handlers.get(str(frame.get("type"))) if isinstance(frame, dict) else None
        if handler is not None:
            await handler(frame)

    async def _say(self, frame: Mapping[str, Any]) -> None:
        text, client_id = frame.get("text"), frame.get("id")
        if not isinstance(text, str) or not isinstance(client_id, str) or not 0 < len(client_id) <= 64:
            return
        try:
            message = await in_db(self._as_person, turns.say, self.conversation_id, text, client_id)
        except SignedOut:
            await self.close(SIGNED_OUT)
            return
        except ObjectDoesNotExist:
            await self.close(NOT_FOUND)
            return
        except Refused as fault:
            await self._tell(type="refused", id=client_id, message=str(fault), again=isinstance(fault, Busy))
            return
        except Exception:
            # The browser still has the words; silence would leave them hanging there.
            log.exception("A message could not be taken in.")
            words = _("This could not be saved: something is wrong on the server. Try again in a moment.")
            await self._tell(type="refused", id=client_id, message=words, again=True)
            return
        await self._tell(type="said", id=client_id, turn=str(message.turn_id))

    async def _stop(self, frame: Mapping[str, Any]) -> None:
        try:
            await in_db(self._as_person, turns.stop, UUID(str(frame.get("turn"))))
        except SignedOut:
            await self.close(SIGNED_OUT)
        except (ValueError, ObjectDoesNotExist, Refused):
            # It has ended by itself meanwhile: the page is told what is so, which is what it shows then.
            await self._tell(type="changed", changed=["turn-changed"], turn=None)

    async def _resync(self, frame: Mapping[str, Any]) -> None:
        await self._live()

    async def _pong(self, frame: Mapping[str, Any]) -> None:
        await self._tell(type="pong")

    # ---- from the channel layer ----------------------------------------------------------------

    async def agent_changed(self, event: Mapping[str, Any]) -> None:
        if time.monotonic() - self.checked > RECHECK:
            self.checked = time.monotonic()
            try:
                await in_db(self._as_person, conversations.belongs_to, self.conversation_id)
            except SignedOut:
                await self.close(SIGNED_OUT)
                return
        await self._tell(type="changed", changed=event["changed"], turn=event.get("turn"))

    async def agent_delta(self, event: Mapping[str, Any]) -> None:
        """Called by the channel layer, and straight by this process's own turns."""
        if event.get("process") == events.PROCESS:
            return
        fields = {name: value for name, value in event.items() if name not in {"type", "process"}}
        kind = fields.get("kind")
        await self._tell(**fields, type=kind if kind in {"notice", "place", "restarting"} else "delta")
        if kind == "restarting":
            await self.close(RESTARTING)

    # ---- parts ---------------------------------------------------------------------------------

    async def _live(self) -> None:
        """What has been streamed so far, so that the page can go on from there."""
        await self._tell(type="live", **await in_db(live, self.conversation_id))

    async def _tell(self, **frame: Any) -> None:
        await self.send(text_data=json.dumps(frame, ensure_ascii=False, default=str))

    def _as_person(self, act: Callable[..., Any], *args: Any) -> Any:
        """Do something as the person this socket belongs to, in their language. Raises SignedOut."""
        request = self._request()
        user = self.scope["user"]
        if request is not None:
            user = auth.get_user(request)  # the session may be over, or the account closed
            if not user.is_authenticated or user.pk != self.scope["user"].pk:
                raise SignedOut
        with translation.override(translation.get_language_from_request(request) if request else None):
            return act(user, *args)

    def _request(self) -> HttpRequest | None:
        """The session and language of this socket as an HTTP request carries them; None without a session."""
        session = self.scope.get("session")
        if session is None:
            return None
        request = HttpRequest()
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(session.session_key)
        request.COOKIES = dict(self.scope.get("cookies", {}))
        languages = [value for name, value in self.scope["headers"] if name == b"accept-language"]
        request.META["HTTP_ACCEPT_LANGUAGE"] = languages[0].decode("latin-1") if languages else ""
        return request


def live(conversation_id: UUID) -> dict[str, Any]:
    """The open turn of a conversation and the text that its running iteration has streamed."""
    turn = (
        Turn.objects.filter(conversation_id=conversation_id)
        .exclude(status=Turn.Status.ENDED)
        .annotate(last=Max("iterations__number"))
        .only("id", "partial")
        .first()
    )
    if turn is None:
        return {"turn": None, "iteration": 0, "text": ""}
    # The row lags by a second; a turn of this process is known to the letter.
    text = typist.live.get(turn.id) or turn.partial
    return {"turn": str(turn.id), "iteration": (turn.last or 0) + 1, "text": text}
