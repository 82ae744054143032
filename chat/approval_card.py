"""What an approval card shows: the effect in words, the effective arguments, why, until when, what was decided.

Approval or unknown ToolCall -> Card.  Touches: rows (reads); the contract's own preview.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from chat import words
from chat.approval_form import bare
from chat.errors import ModelMistake
from chat.models import Approval, ToolCall, Turn
from chat.tools import arguments, registry
from chat.tools.contract import Contract, ToolContext

LONG = 160  # a longer value is shown as a block that scrolls


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgRow:
    name: str
    label: str
    text: str
    because: str
    block: bool  # long or structured: shown as a block
    items: tuple[str, ...] = ()  # a list of simple values, each on its own

    @property
    def brief(self) -> str:
        return ", ".join(self.items) or self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    approval: Approval | None
    call: ToolCall
    state: str  # asked, expired, decided, unknown
    title: str
    tier: str
    tier_words: str
    tool: str
    rows: tuple[ArgRow, ...]
    why: str
    preview: str
    expires_in: str
    expires_at: datetime | None
    decided: str  # "Approved by you", "Rejected"
    outcome: str  # what became of the call, in words
    waits: int  # other decisions that wait in the same turn
    changed: bool  # the tool is not the one that was asked for any more
    proposed: tuple[ArgRow, ...] = ()  # what the agent had asked for, where the person changed it

    @property
    def preview_block(self) -> bool:
        return len(self.preview) > LONG or "\n" in self.preview

    @property
    def id(self) -> UUID:
        return self.approval.id if self.approval else self.call.id


def of(approval: Approval, *, user_id: int, waits: int | None = None) -> Card:
    """The card of one approval, which must come with its call and turn."""
    contract = registry.find(approval.tool)
    now = timezone.now()
    state = "asked" if approval.status == Approval.Status.ASKED else "decided"
    if state == "asked" and approval.expires_at <= now:
        state = "expired"
    elif state == "asked" and not approval.turn.is_open:
        state = "decided"
    if waits is None:
        waits = waiting(approval.turn) - (1 if state == "asked" else 0)
    if approval.call.status == ToolCall.Status.UNKNOWN:
        state = "unknown"
    return Card(
        approval=approval,
        call=approval.call,
        state=state,
        title=title(contract, approval.tool, approval.args),
        tier=approval.tier,
        tier_words=words.tier(approval.tier),
        tool=approval.tool,
        rows=rows(contract, approval.args, reasons(approval)),
        why=approval.why,
        preview=preview(contract, approval) if state == "asked" else "",
        expires_in=words.left(approval.expires_at, now),
        expires_at=approval.expires_at,
        decided=decided(approval, user_id),
        outcome=outcome(approval.call),
        waits=max(waits, 0),
        changed=state == "asked" and (contract is None or contract.version != approval.version),
        proposed=proposed(contract, approval) if approval.edited else (),
    )


def of_call(call: ToolCall) -> Card:
    """The card of a call whose outcome is not known and which no approval stands behind (a standing permission)."""
    contract = registry.find(call.tool)
    return Card(
        approval=None,
        call=call,
        state="unknown" if call.status == ToolCall.Status.UNKNOWN else "decided",
        title=title(contract, call.tool, call.args),
        tier=call.tier,
        tier_words=words.tier(call.tier),
        tool=call.tool,
        rows=rows(contract, call.args, {}),
        why="",
        preview="",
        expires_in="",
        expires_at=None,
        decided="",
        outcome=outcome(call),
        waits=0,
        changed=False,
    )


def of_turns(turns: Iterable[Turn], *, user_id: int) -> dict[UUID, Card]:
    """Call id -> card, for every call of these turns that has one; a fixed number of queries."""
    turns = list(turns)
    approvals = list(
        Approval.objects.filter(turn__in=turns).select_related(
            "call__iteration", "call__turn__conversation", "turn__conversation", "decided_by"
        )
    )
    open_by_turn: dict[UUID, int] = {}
    for approval in approvals:
        asked = approval.status == Approval.Status.ASKED
        open_by_turn[approval.turn_id] = open_by_turn.get(approval.turn_id, 0) + asked
    cards = {
        approval.call_id: of(
            approval,
            user_id=user_id,
            waits=open_by_turn[approval.turn_id] - (approval.status == Approval.Status.ASKED),
        )
        for approval in approvals
    }
    unknown = ToolCall.objects.filter(turn__in=turns, status=ToolCall.Status.UNKNOWN, approval=None)
    for call in unknown.select_related("iteration", "turn__conversation"):
        cards[call.id] = of_call(call)
    return cards


def reasons(approval: Approval) -> dict[str, Any]:
    """The decided facts; none beside a value that the person changed."""
    asked = approval.call.proposed if approval.edited else approval.args
    return {name: why for name, why in approval.because.items() if approval.args.get(name) == asked.get(name)}


def proposed(contract: Contract | None, approval: Approval) -> tuple[ArgRow, ...]:
    """The arguments that the person changed, as the agent had them."""
    args = approval.call.proposed
    if contract is not None:
        try:
            args = arguments.effective(contract, args).args
        except ModelMistake:  # the tool takes others by now; what was proposed is still what was proposed
            pass
    return rows(contract, {name: args[name] for name in args if args[name] != approval.args.get(name)}, {})


def waiting(turn: Turn) -> int:
    return turn.approvals.filter(status=Approval.Status.ASKED, expires_at__gt=timezone.now()).count()


def title(contract: Contract | None, tool: str, args: Mapping[str, Any]) -> str:
    """The effect in words, as the contract puts it; else the tool's name."""
    if contract is not None and contract.effect is not None:
        try:
            text = contract.effect(contract.args.model_validate(dict(args))).strip()
        except Exception:  # a contract's words must never hide the card itself
            text = ""
        if text:
            return words.seen(text)
    return _("Run %(tool)s?") % {"tool": tool}


def rows(contract: Contract | None, args: Mapping[str, Any], because: Mapping[str, Any]) -> tuple[ArgRow, ...]:
    """The effective arguments in the contract's order, each with the decided fact behind it."""
    properties = contract.schema().get("properties", {}) if contract else {}
    labels = contract.labels if contract else {}
    ordered = [name for name in properties if name in args] + [name for name in args if name not in properties]
    return tuple(
        arg_row(name, args[name], properties.get(name) or {}, labels.get(name, ""), str(because.get(name, "")))
        for name in ordered
    )


def arg_row(name: str, value: Any, schema: Mapping[str, Any], label: str, because: str) -> ArgRow:
    simple = isinstance(value, str | int | float | bool | None)
    text = words.plain(value) if simple else words.pretty(value)
    if isinstance(value, str) and bare(schema).get("format") == "date":
        text = words.calendar(value)
    items: tuple[str, ...] = ()
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        text, items = "", tuple(words.seen(words.plain(item)) for item in value)
    return ArgRow(
        name=name,
        label=_(label) if label else words.seen(name.replace("_", " ").capitalize()),
        text=words.seen(text) if text else _("(empty)"),
        because=reason_words(because),
        block=len(text) > LONG or "\n" in text,
        items=items,
    )


def reason_words(because: str) -> str:
    """The decided fact, led in by "because" unless it says so itself."""
    text = Truncator(because).chars(240)
    if not text or text.casefold().startswith(("because", "from", "as ", "因", "由")):
        return text
    return _("because: %(fact)s") % {"fact": text}


def preview(contract: Contract | None, approval: Approval) -> str:
    """What the contract shows beside the fields, such as a difference; empty when it cannot be made."""
    if contract is None or contract.preview is None:
        return ""
    try:
        args = contract.args.model_validate(approval.args)
        return words.seen(contract.preview(args, context_for(approval.call)))
    except Exception:  # a preview reads files and prices, which may be gone; the card must still be shown
        return ""


def context_for(call: ToolCall) -> ToolContext:
    """The context the call would run in."""
    conversation = call.turn.conversation
    return ToolContext(
        user_id=conversation.user_id,
        conversation_id=conversation.id,
        turn_id=call.turn_id,
        iteration=call.iteration.number,
        idempotency_key=call.idempotency_key,
        workspace=settings.AGENT_DATA_DIR / "files" / str(conversation.id),
    )


def decided(approval: Approval, user_id: int) -> str:
    by = ""
    if approval.decided_by is not None:
        by = _("you") if approval.decided_by_id == user_id else approval.decided_by.get_username()
    status = approval.get_status_display()
    if approval.status == Approval.Status.USED:
        status = str(Approval.Status.GRANTED.label)
    if approval.status == Approval.Status.ASKED:
        return str(_("Withdrawn"))
    edited = _(", edited") if approval.edited else ""
    return _("%(status)s by %(who)s%(edited)s") % {"status": status, "who": by, "edited": edited} if by else status


def outcome(call: ToolCall) -> str:
    """Honest about what is so: approved is not yet done."""
    if call.status in {ToolCall.Status.INTENDED, ToolCall.Status.WAITING, ToolCall.Status.REJECTED}:
        return ""
    if call.status == ToolCall.Status.SUCCEEDED:
        return call.summary or str(call.get_status_display())
    error = call.error or {}
    return str(error.get("what") or call.summary or call.get_status_display())
