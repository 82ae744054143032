"""Conversations and what is said in them: the writer of Conversation, Message, Summary.

text -> Message.  Touches: its tables; events after commit.
"""

import re
import unicodedata
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from chat import events
from chat.models import Conversation, Message, Summary, Turn

TITLE_LENGTH = 60
MAX_TEXT = 200_000  # characters of one message; the model sees a shortened one far earlier


def create(user: Any) -> Conversation:
    """A new conversation; an empty one that was never used is taken again."""
    empty = Conversation.objects.filter(user=user, title="", turns__isnull=True).first()
    return empty or Conversation.objects.create(user=user)


def owned(user: Any, conversation_id: UUID | str) -> Conversation:
    """Raises Conversation.DoesNotExist for somebody else's."""
    return Conversation.objects.get(id=conversation_id, user=user)


def rename(conversation: Conversation, title: str) -> None:
    Conversation.objects.filter(id=conversation.id).update(title=clean(title)[:200])
    transaction.on_commit(lambda: events.tell_user_sync(conversation.user_id, "conversations-changed"))


def set_approve_plans(conversation: Conversation, on: bool) -> None:
    Conversation.objects.filter(id=conversation.id).update(approve_plans=on)


def latest_summary(conversation_id: UUID) -> Summary | None:
    return Summary.objects.filter(conversation_id=conversation_id).order_by("-version").first()


def add_summary(conversation_id: UUID, text: str, *, upto: int, kept: list[str], tokens: int) -> Summary:
    """The next version; the older ones stay, with what they covered."""
    last = latest_summary(conversation_id)
    version = last.version + 1 if last else 1
    return Summary.objects.create(
        conversation_id=conversation_id, version=version, text=text, upto=upto, kept=kept, tokens=tokens
    )


def delete(conversation: Conversation) -> None:
    user_id = conversation.user_id
    conversation.delete()
    transaction.on_commit(lambda: events.tell_user_sync(user_id, "conversations-changed"))


def add(turn: Turn, role: str, text: str, *, mark: str = "", data: dict[str, Any] | None = None) -> Message:
    """Write one message and move the conversation to the top of the list."""
    message = Message.objects.create(
        conversation_id=turn.conversation_id, turn=turn, role=role, text=clean(text), mark=mark, data=data or {}
    )
    touch(turn.conversation_id)
    return message


def add_from_person(turn: Turn, text: str, client_id: str | None, mark: str = "") -> Message:
    message = Message.objects.create(
        conversation_id=turn.conversation_id,
        turn=turn,
        role=Message.Role.USER,
        text=text,
        mark=mark,
        client_id=client_id,
    )
    touch(turn.conversation_id)
    return message


def touch(conversation_id: UUID, **fields: Any) -> None:
    Conversation.objects.filter(id=conversation_id).update(updated_at=timezone.now(), **fields)


def take_steering(turn_id: UUID) -> None:
    """Mark the person's words as read by the loop."""
    Message.objects.filter(turn_id=turn_id, mark=Message.Mark.STEERING).update(mark=Message.Mark.TAKEN)


def sent_before(conversation_id: UUID, client_id: str | None) -> Message | None:
    """The message a browser sends again after a reconnect."""
    return Message.objects.filter(conversation_id=conversation_id, client_id=client_id).first() if client_id else None


def title_from(text: str) -> str:
    """The first line of the first message, cut at a word."""
    line = re.sub(r"\s+", " ", text).strip()
    return line if len(line) <= TITLE_LENGTH else line[:TITLE_LENGTH].rsplit(" ", 1)[0] + "…"


def clean(text: str) -> str:
    """Drop what a database or a terminal cannot hold: NUL, other control characters, lone surrogates."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")


def belongs_to(user: AbstractBaseUser, conversation_id: UUID | str) -> bool:
    return Conversation.objects.filter(id=conversation_id, user_id=user.pk).exists()
