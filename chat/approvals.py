"""A human's answer to one tool call: the writer of Approval and Grant.

waiting call -> Approval asked -> granted, denied, expired, withdrawn -> used once.
Touches: Approval, Grant.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.errors import Refused
from chat.models import Approval, Grant, ToolCall
from chat.tools import policy
from chat.tools.contract import Contract, digest

Status = Approval.Status


def ask(call: ToolCall, *, why: str, because: dict[str, str]) -> Approval:
    """Put a call before the person. Asking again for the same call returns the same card."""
    approval, _created = Approval.objects.get_or_create(
        call=call,
        defaults={
            "turn_id": call.turn_id,
            "tool": call.tool,
            "version": call.version,
            "tier": call.tier,
            "args": call.args,
            "digest": call.digest,
            "why": why,
            "because": because,
            "expires_at": timezone.now() + timedelta(hours=settings.AGENT_APPROVAL_HOURS),
        },
    )
    return approval


def answer(
    approval_id: UUID, user: Any, *, grant: bool, args: dict[str, Any] | None, reason: str, seen_digest: str
) -> Approval:
    """Write the person's decision. Must run in a transaction. Raises Refused when it comes too late or is stale."""
    approval = (
        Approval.objects.select_for_update(of=("self",))
        .select_related("turn")
        .get(id=approval_id, turn__conversation__user=user)
    )
    expired = approval.status == Status.ASKED and approval.expires_at <= timezone.now()
    if expired or approval.status != Status.ASKED:
        raise Refused(too_late(Status.EXPIRED if expired else approval.status))
    if not approval.turn.is_open:
        raise Refused(_("The turn has ended; nothing was run."))
    if seen_digest and seen_digest != approval.digest:
        raise Refused(_("The action changed since this page was loaded. Look at it again before you decide."))
    if grant and args is not None and args != approval.args:
        approval.args, approval.edited = args, True
        approval.digest = digest(approval.tool, approval.version, args)
    approval.status = Status.GRANTED if grant else Status.DENIED
    approval.reason, approval.decided_by, approval.decided_at = reason, user, timezone.now()
    approval.save()
    return approval


def too_late(status: str) -> str:
    """Why a decision changes nothing any more, and what became of the action."""
    match status:
        case Status.EXPIRED:
            return _("This request has expired. Nothing was run; ask the agent again if you still want it.")
        case Status.WITHDRAWN:
            return _("This request was withdrawn, for its turn or its step is no longer wanted. Nothing was run.")
        case Status.DENIED:
            return _("Already decided: it was rejected, and nothing was run.")
    return _("Already decided: it was approved, and it runs once.")


def use(approval_id: UUID, version: str) -> Approval | None:
    """Take the one use of a granted approval; None when it is not in force. Must run in a transaction.

    version: of the tool as it is now. A tool that changed since is not what the person saw.
    """
    approval = Approval.objects.select_for_update().get(id=approval_id)
    right = digest(approval.tool, version, approval.args)
    if approval.status != Status.GRANTED or approval.digest != right:
        return None
    approval.status = Status.USED
    approval.save(update_fields=["status"])
    return approval


def withdraw(turn_id: UUID, calls: Collection[UUID] | None = None) -> int:
    """Nothing of a stopped turn may be approved later. calls: only these, of steps that were taken out of the plan."""
    open_ones = Approval.objects.filter(turn_id=turn_id, status__in=[Status.ASKED, Status.GRANTED])
    if calls is not None:
        open_ones = open_ones.filter(call_id__in=calls)
    return open_ones.update(status=Status.WITHDRAWN, decided_at=timezone.now())


def expire_due() -> list[UUID]:
    """Expire what waited too long; returns the turns that can go on without it."""
    with transaction.atomic():
        due = Approval.objects.filter(status=Status.ASKED, expires_at__lte=timezone.now())
        turns = list(due.values_list("turn_id", flat=True))
        due.update(status=Status.EXPIRED, decided_at=timezone.now())
    return turns


def reask(approval: Approval) -> None:
    """ "Try again" after an unknown outcome: the same call, put before the person once more."""
    Approval.objects.filter(id=approval.id).update(
        status=Status.ASKED,
        decided_at=None,
        decided_by=None,
        expires_at=timezone.now() + timedelta(hours=settings.AGENT_APPROVAL_HOURS),
    )


def always(approval: Approval, user: Any, constraints: dict[str, Any]) -> Grant:
    """Allow this tool in this conversation from now on, within the constraints."""
    return Grant.objects.create(
        conversation_id=approval.turn.conversation_id,
        tool=approval.tool,
        version=approval.version,
        constraints=constraints,
        created_by=user,
    )


def granted(conversation_id: UUID, contract: Contract, args: dict[str, Any]) -> Grant | None:
    """The grant that covers these arguments, if the person gave one for this very version of the tool."""
    grants = Grant.objects.filter(
        conversation_id=conversation_id, tool=contract.name, version=contract.version, revoked_at=None
    )
    return next((grant for grant in grants if policy.allowed_by_grant(contract, args, grant.constraints)), None)


def revoke(grant_id: int, user: Any) -> None:
    """Raises Grant.DoesNotExist for somebody else's."""
    grant = Grant.objects.get(id=grant_id, conversation__user=user)
    Grant.objects.filter(id=grant.id, revoked_at=None).update(revoked_at=timezone.now())
