"""Tell a person elsewhere that something waits for them: an e-mail, or a request to an address that the operator set.

turns that wait -> one message for each pause, with a link.  Touches: Notice; the mail server, one address.

Off by default. The row is written before the message is sent, so that of several processes one sends it, and once; what
went wrong stands in the row. Nothing is decided by it: the link leads to the page, where one signs in.
"""

import asyncio
import json
import logging
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from chat import approval_card, words
from chat.db import in_db
from chat.errors import ToolFailed
from chat.models import Approval, Notice, ToolCall, Turn
from chat.tools import guarded

MOST = 20  # in one round
LINES = 10  # of what waits, in one message
WAITING = (Turn.Status.WAITING_APPROVAL, Turn.Status.WAITING_USER)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    notice_id: int
    user: str
    email: str
    conversation_id: UUID
    title: str
    waits: tuple[str, ...]
    link: str


async def send_due() -> None:
    """Tell of what has waited for AGENT_NOTIFY_AFTER seconds and was not told of."""
    if not (settings.AGENT_NOTIFY_EMAIL or settings.AGENT_NOTIFY_WEBHOOK):
        return
    for message in await in_db(_take_due):
        faults = [fault for fault in (await _mail(message), await _post(message)) if fault]
        if faults:
            log.warning("Nobody could be told that something waits: %s", " ".join(faults))
        await in_db(_sent, message.notice_id, " ".join(faults))


def _take_due() -> list[Message]:
    """Claim the pauses that nobody was told of."""
    late = timezone.now() - timedelta(seconds=settings.AGENT_NOTIFY_AFTER)
    paused = (
        Turn.objects.filter(status__in=WAITING, conversation__user__is_active=True)
        .annotate(pause=Max("iterations__number"), since=Max("iterations__ended_at"))
        .filter(since__lte=late)
        .select_related("conversation__user")
        .order_by("since")
    )
    told = set(Notice.objects.filter(turn__status__in=WAITING).values_list("turn_id", "iteration"))
    due = [turn for turn in paused[:500] if (turn.id, turn.pause) not in told]
    with translation.override(settings.LANGUAGE_CODE):  # nobody's page is open whose language it could be
        return [message for turn in due[:MOST] if (message := _take(turn, turn.pause)) is not None]


def _take(turn: Turn, number: int) -> Message | None:
    try:
        with transaction.atomic():
            notice = Notice.objects.create(turn=turn, iteration=number)
    except IntegrityError:  # another process was first
        return None
    user, conversation = turn.conversation.user, turn.conversation
    return Message(
        notice_id=notice.id,
        user=user.get_username(),
        email=user.email,
        conversation_id=conversation.id,
        title=words.seen(str(conversation)[:120]),
        waits=tuple(_waits(turn)),
        link=settings.AGENT_URL.rstrip("/") + reverse("conversation", args=[conversation.id]),
    )


def _waits(turn: Turn) -> list[str]:
    """What waits, a line each, as its card says it."""
    asked = Approval.objects.filter(turn=turn, status=Approval.Status.ASKED, expires_at__gt=timezone.now())
    related = asked.select_related("call__iteration", "call__turn__conversation", "turn__conversation", "decided_by")
    cards = [approval_card.of(one, user_id=0, waits=0) for one in related.order_by("asked_at")[:LINES]]
    lines = [f"{card.title} ({card.expires_in})" if card.expires_in else card.title for card in cards]
    if ToolCall.objects.filter(turn=turn, status=ToolCall.Status.UNKNOWN).exists():
        lines.append(_("It is not known whether an action ran."))
    return lines or [words.seen(turn.reason[:300])]


def _sent(notice_id: int, fault: str) -> None:
    Notice.objects.filter(id=notice_id).update(sent_at=timezone.now(), fault=fault[:300])


async def _mail(message: Message) -> str:
    """Empty, or what went wrong."""
    if not settings.AGENT_NOTIFY_EMAIL or not message.email:
        return ""
    with translation.override(settings.LANGUAGE_CODE):
        head = _("Something waits for you in “%(title)s”:") % {"title": message.title}
        end = _("Look at it and decide: %(link)s") % {"link": message.link}
        subject = _("agentweb: something waits for you")
    text = "\n".join([head, "", *(f"- {line}" for line in message.waits), "", end])
    mail = EmailMessage(subject, text, to=[message.email])
    try:
        await asyncio.to_thread(mail.send)
    except Exception as fault:  # of whatever backend is set: the turn waits on, told or not
        return f"E-mail: {type(fault).__name__}."
    return ""


async def _post(message: Message) -> str:
    """Empty, or what went wrong. Guarded as a tool's request is: a private address must stand in AGENT_FETCH_ALLOW."""
    if not settings.AGENT_NOTIFY_WEBHOOK:
        return ""
    body = {
        "event": "waiting",
        "user": message.user,
        "conversation": str(message.conversation_id),
        "title": message.title,
        "waits": message.waits,
        "link": message.link,
    }
    headers = {"Content-Type": "application/json", "Idempotency-Key": f"notice-{message.notice_id}"}
    try:
        page = await guarded.fetch(
            "POST", settings.AGENT_NOTIFY_WEBHOOK, headers=headers, body=json.dumps(body, ensure_ascii=False)
        )
    except ToolFailed as fault:
        return f"Webhook: {fault.what}"
    return "" if page.status < 300 else f"Webhook: status {page.status}."
