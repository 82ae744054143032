"""The list of a person's conversations: newest first, in groups, with how each stands.

user, words to look for -> groups of entries.  Touches: rows (reads).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.models import Conversation, Message, Turn
from chat.status import Standing, progress_of, standing

PAGE = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    id: UUID
    title: str
    standing: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    groups: tuple[tuple[str, tuple[Entry, ...]], ...]  # heading, entries
    waiting: int  # conversations that wait for the person, shown here or not
    query: str
    limit: int
    more: bool  # there are older ones


def listing(user: User, query: str = "", limit: int = PAGE) -> Listing:
    """Three queries, however many conversations there are."""
    query = query.replace("\x00", "").strip()[:200]
    rows = _found(Conversation.objects.filter(user=user), query).order_by("-updated_at", "-id")[: limit + 1]
    found = list(_entries(rows))
    waits = Turn.objects.filter(
        conversation__user=user, status__in=[Turn.Status.WAITING_APPROVAL, Turn.Status.WAITING_USER]
    )
    groups = groupby(found[:limit], key=lambda pair: pair[0])
    return Listing(
        groups=tuple((heading, tuple(entry for _heading, entry in pairs)) for heading, pairs in groups),
        waiting=waits.count(),
        query=query,
        limit=limit,
        more=len(found) > limit,
    )


def entry(conversation: Conversation) -> Entry:
    """One entry as the list shows it."""
    [(_heading, shown)] = _entries(Conversation.objects.filter(pk=conversation.pk))
    return shown


def _entries(rows: QuerySet[Conversation]) -> Iterator[tuple[str, Entry]]:
    """Heading and entry of each. Two queries."""
    latest = Turn.objects.filter(conversation=OuterRef("pk")).order_by("-number")
    found = list(
        rows.annotate(
            turn_id=Subquery(latest.values("id")[:1]),
            turn_status=Subquery(latest.values("status")[:1]),
            turn_end=Subquery(latest.values("end")[:1]),
        )
    )
    running = progress_of(row.turn_id for row in found if row.turn_status == Turn.Status.RUNNING)
    today = timezone.localdate()
    for row in found:
        stands = standing(row.turn_status, row.turn_end or "", running.get(row.turn_id))
        yield _heading(row.updated_at, today), Entry(id=row.id, title=str(row), standing=stands)


def _found(rows: QuerySet[Conversation], query: str) -> QuerySet[Conversation]:
    """Those whose title or messages hold the words. Notices are the product's, not the conversation's."""
    if not query:
        return rows
    said = Message.objects.filter(conversation=OuterRef("pk"), text__icontains=query).exclude(role=Message.Role.NOTICE)
    return rows.filter(Q(title__icontains=query) | Exists(said))


def _heading(at: datetime, today: date) -> str:
    days = (today - timezone.localtime(at).date()) // timedelta(days=1)
    if days <= 0:
        return _("Today")
    return _("Yesterday") if days == 1 else _("Earlier")
