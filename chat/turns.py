"""Start, steer, pause, resume and end a turn: the writer of Turn, and the doors' way in.

a person's act, or the loop's outcome -> one guarded transition.  Touches: Turn; messages, approvals; wakes the runner.

Every function is one transaction. Status moves by guarded update: filter on the old status, expect one row;
otherwise somebody else was first and the caller is told. docs/states.md draws the transitions.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Max, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat import admission, approvals, budget, conversations, events, wake
from chat.db import one_at_a_time
from chat.errors import Busy, LostClaim, Refused
from chat.loop import settle
from chat.models import Approval, Conversation, Message, ToolCall, Turn
from chat.tools import arguments, registry
from planning import plans

Status = Turn.Status
End = Turn.End


# ---- what a person does ------------------------------------------------------------------------


def say(user: Any, conversation_id: UUID | str, text: str, client_id: str | None = None) -> Message:
    """Start a turn, steer the open one, or answer its question. The same client_id twice is one message."""
    with transaction.atomic():
        # The lock makes two tabs that send at once take turns: one starts, the other steers.
        conversation = Conversation.objects.select_for_update().get(id=conversation_id, user=user)
        if sent := conversations.sent_before(conversation.id, client_id):
            return sent
        text = _readable(text)
        turn = Turn.objects.filter(conversation=conversation).exclude(status=Status.ENDED).first()
        if turn is None:
            _room_in_queue(user.pk)
            turn = _start(conversation, text)
            message = conversations.add_from_person(turn, text, client_id)
        else:
            message = conversations.add_from_person(turn, text, client_id, Message.Mark.STEERING)
            _move(turn.id, [Status.WAITING_USER], Status.QUEUED)
        _changed(turn, "turn-changed")
        wake.wake(turn)
    return message


def stop(user: Any, turn_id: UUID | str) -> None:
    """End a turn that waits at once; ask the worker of a running one to let go of it."""
    with transaction.atomic():
        _lock(turn_id)
        turn = _own(user, turn_id)
        Turn.objects.filter(id=turn.id).exclude(status=Status.ENDED).update(stop_requested=True)
        if turn.status in {Status.QUEUED, Status.WAITING_APPROVAL, Status.WAITING_USER}:
            end_stopped(turn.id, turn.fence)
        _changed(turn, "turn-changed")


def decide_approval(
    user: Any,
    approval_id: UUID,
    *,
    grant: bool,
    args: dict[str, Any] | None = None,
    reason: str = "",
    always: bool = False,
    constraints: dict[str, Any] | None = None,
    digest: str = "",
) -> Approval:
    """Approve (perhaps edited) or reject one call; the turn goes on with what is decided.

    Raises Refused when it is too late or stale, ModelMistake when edited arguments do not fit the contract.
    """
    with transaction.atomic():
        if waits := Approval.objects.filter(id=approval_id, turn__conversation__user=user).first():
            _lock(waits.turn_id)
        if args is not None:
            asked = Approval.objects.get(id=approval_id, turn__conversation__user=user)
            contract = registry.find(asked.tool)
            if contract is None:
                raise Refused(_("The tool is no longer available."))
            args = arguments.effective(contract, args).args
        approval = approvals.answer(
            approval_id, user, grant=grant, args=args, reason=conversations.clean(reason)[:2000], seen_digest=digest
        )
        if grant and always:
            approvals.always(approval, user, constraints or {})
        _move(approval.turn_id, [Status.WAITING_APPROVAL], Status.QUEUED)
        _changed(approval.turn, "turn-changed")
        wake.wake(approval.turn)
    return approval


def settle_unknown(user: Any, call_id: UUID, answer: str) -> None:
    """The person says what became of a write that was cut off: happened, did_not, or again."""
    with transaction.atomic():
        if unsettled := ToolCall.objects.filter(id=call_id, turn__conversation__user=user).first():
            _lock(unsettled.turn_id)
        call = ToolCall.objects.select_for_update(of=("self",)).get(id=call_id, turn__conversation__user=user)
        turn = call.turn
        if call.status != ToolCall.Status.UNKNOWN:
            raise Refused(_("This has been settled already."))
        if answer == "again" and not turn.is_open:
            raise Refused(_("The turn has ended, so nothing of it is run again. Say whether it happened."))
        if answer == "again":
            settle.again(call)
        else:
            settle.by_person(call, happened=answer == "happened")
        _move(turn.id, [Status.WAITING_APPROVAL], Status.QUEUED)
        _changed(turn, "turn-changed", "trace-changed")
        wake.wake(turn)


def approve_plan(user: Any, turn_id: UUID, *, ok: bool, reason: str = "") -> None:
    """Let the turn start with its plan, or send it back with the person's words."""
    with transaction.atomic():
        _lock(turn_id)
        turn = _own(user, turn_id)
        if turn.status != Status.WAITING_USER:
            raise Refused(_("The plan is not waiting for you any more."))
        if ok:
            plans.approve(turn.id)
        else:
            plans.disapprove(turn.id, reason)
            conversations.add_from_person(turn, reason or _("Change the plan."), None, Message.Mark.STEERING)
        _move(turn.id, [Status.WAITING_USER], Status.QUEUED)
        _changed(turn, "turn-changed", "plan-changed")
        wake.wake(turn)


def continue_with_more(user: Any, turn_id: UUID) -> None:
    """Take a turn that a gate ended up again where it stood, with a larger budget."""
    with transaction.atomic():
        turn = _own(user, turn_id)
        _free(turn.conversation_id)
        _room_in_queue(user.pk)
        moved = Turn.objects.filter(id=turn.id, status=Status.ENDED, end=End.EXHAUSTED).update(
            status=Status.QUEUED,
            end="",
            gate="",
            reason="",
            ended_at=None,
            stop_requested=False,
            limits=budget.larger(turn.limits),
        )
        if not moved:
            raise Refused(_("Only a turn that reached a limit can go on."))
        _changed(turn, "turn-changed")
        wake.wake(turn)


def retry(user: Any, turn_id: UUID) -> Turn:
    """Try the task of an ended turn again, as a new turn."""
    with transaction.atomic():
        old = _own(user, turn_id)
        _free(old.conversation_id)
        _room_in_queue(user.pk)
        turn = _start(old.conversation, old.goal)
        conversations.add_from_person(turn, old.goal, None)
        _changed(turn, "turn-changed")
        wake.wake(turn)
    return turn


def revoke_grant(user: Any, grant_id: int) -> None:
    approvals.revoke(grant_id, user)


def set_goal(user: Any, turn_id: UUID, goal: str) -> None:
    """The person edits the goal of the open turn; the plan must then be revised."""
    with transaction.atomic():
        turn = _own(user, turn_id)
        if not Turn.objects.filter(id=turn.id).exclude(status=Status.ENDED).update(goal=_readable(goal)):
            raise Refused(_("The turn has ended."))
        _changed(turn, "turn-changed", "plan-changed")


def plan_edited(user: Any, turn_id: UUID) -> None:
    """The person edited the plan: what waits for them on behalf of a step that is gone is withdrawn, and the turn goes on."""
    with transaction.atomic():
        _lock(turn_id)
        turn = _own(user, turn_id)
        cancelled = settle.cancel_left_out(turn.id)
        if cancelled:
            approvals.withdraw(turn.id, calls=cancelled)
            _move(turn.id, [Status.WAITING_APPROVAL], Status.QUEUED)
            wake.wake(turn)
        _changed(turn, "turn-changed", "plan-changed")


# ---- what the runner and the loop do -------------------------------------------------------------


def claim(turn_id: UUID, owner: str) -> Turn | None:
    """Take a queued turn, or one whose worker went silent; None when somebody else has it. A new fence each time."""
    now = timezone.now()
    lease = now + timedelta(seconds=settings.AGENT_LEASE_SECONDS)
    with transaction.atomic():
        one_at_a_time("admission")  # two workers that count at once would both find the last place free
        taken = Turn.objects.filter(id=turn_id, status=Status.RUNNING, lease_until__lt=now).update(
            owner=owner, lease_until=lease, fence=F("fence") + 1, crashes=F("crashes") + 1
        )
        if not taken and turn_id in _admitted():
            taken = Turn.objects.filter(id=turn_id, status=Status.QUEUED).update(
                status=Status.RUNNING, owner=owner, lease_until=lease, fence=F("fence") + 1
            )
        if not taken:
            return None
        turn = Turn.objects.select_related("conversation").get(id=turn_id)
        transaction.on_commit(lambda: events.place_sync(turn.conversation_id, turn.id, None))
    return turn


def ready() -> list[UUID]:
    """Turns that may be taken up: those whose worker went silent, then those admitted, the next one first."""
    silent = Turn.objects.filter(status=Status.RUNNING, lease_until__lt=timezone.now()).order_by("created_at")
    return [*silent.values_list("id", flat=True)[:200], *_admitted()[:200]]


def places() -> dict[UUID, int]:
    """How many turns come before each one that waits."""
    ordered = admission.order(*_queue())
    return {turn.turn_id: before for before, (_rank, turn) in enumerate(ordered)}


def tell_places() -> None:
    """Tell the pages of the turns that wait how many come before theirs."""
    waiting = places()
    rows = Turn.objects.filter(id__in=list(waiting)).values_list("id", "conversation_id") if waiting else ()
    for turn_id, conversation_id in rows:
        events.place_sync(conversation_id, turn_id, waiting[turn_id])


def heartbeat(owner: str, turn_ids: list[UUID]) -> set[UUID]:
    """Renew the leases of one worker; returns the turns whose person pressed Stop."""
    lease = timezone.now() + timedelta(seconds=settings.AGENT_LEASE_SECONDS)
    mine = Turn.objects.filter(id__in=turn_ids, owner=owner, status=Status.RUNNING)
    mine.update(lease_until=lease)
    return set(mine.filter(stop_requested=True).values_list("id", flat=True))


def hand_back(turn_id: UUID, fence: int) -> None:
    """A worker that shuts down puts its turn back into the queue; a write that it cut off is UNKNOWN, as after a crash."""
    with transaction.atomic():
        mine = Turn.objects.filter(id=turn_id, fence=fence, status=Status.RUNNING)
        if mine.update(status=Status.QUEUED, owner="", lease_until=None):
            settle.cut_off(turn_id)
            wake.wake(Turn.objects.get(id=turn_id))


def hand_back_all(owner: str) -> None:
    """What a worker that shuts down still holds, such as a turn that it had just claimed and not begun."""
    for turn in Turn.objects.filter(owner=owner, status=Status.RUNNING):
        hand_back(turn.id, turn.fence)


def spend(turn_id: UUID, fence: int, **counters: Any) -> None:
    """Add to the counters of a running turn. Raises LostClaim when another worker has it."""
    guarded = Turn.objects.filter(id=turn_id, fence=fence, status=Status.RUNNING)
    if not guarded.update(**counters):
        raise LostClaim


def hold(turn_id: UUID, fence: int) -> None:
    """Lock a running turn for this transaction. Raises LostClaim when another worker has it."""
    spend(turn_id, fence, owner=F("owner"))


def pause(turn_id: UUID, fence: int, waits_for: str, reason: str) -> None:
    """Wait for the person; nothing is held meanwhile. What they did in the meantime is not lost."""
    status = Status.WAITING_APPROVAL if waits_for == "approval" else Status.WAITING_USER
    spend(turn_id, fence, status=status, reason=reason, owner="", lease_until=None)
    turn = Turn.objects.get(id=turn_id)
    decided = Approval.objects.filter(turn_id=turn_id, status__in=[Approval.Status.GRANTED, Approval.Status.DENIED])
    waiting = turn.calls.filter(status__in=[ToolCall.Status.WAITING, ToolCall.Status.UNKNOWN])
    # A decision, an edit or a stop that fell between the last look and this pause would otherwise wait for ever.
    if waits_for == "approval":
        missed = decided.filter(call__in=waiting).exists() or not waiting.exists()
    else:
        missed = turn.messages.filter(mark=Message.Mark.STEERING).exists()
    if turn.stop_requested:
        end_stopped(turn_id, fence)
    elif missed and _move(turn_id, [status], Status.QUEUED):
        wake.wake(turn)
    _changed(turn, "turn-changed")


def end(
    turn: Turn, fence: int, how: str, *, reason: str, gate: str = "", answer: Mapping[str, Any] | None = None
) -> None:
    """End a running turn: status, answer and events in one transaction. Raises LostClaim."""
    with transaction.atomic():
        _end(turn.id, fence, [Status.RUNNING], how, reason, gate)
        if answer is not None:
            data = {name: value for name, value in answer.items() if name not in {"answer", "mark"}}
            conversations.add(turn, Message.Role.AGENT, answer["answer"], mark=answer.get("mark", ""), data=data)
        _changed(turn, "turn-changed", "plan-changed", "memory-changed", "trace-changed")


def end_stopped(turn_id: UUID, fence: int) -> None:
    """End a turn that the person stopped, keeping what had been streamed."""
    with transaction.atomic():
        turn = Turn.objects.get(id=turn_id)
        _end(turn_id, fence, Turn.OPEN, End.STOPPED, _("You stopped this turn."), "")
        if turn.partial.strip():
            conversations.add(turn, Message.Role.AGENT, turn.partial, mark=Message.Mark.STOPPED)
        _changed(turn, "turn-changed", "plan-changed", "trace-changed")


def expire_approvals() -> None:
    """Approvals that waited too long: their turns go on and hear of it."""
    for turn_id in approvals.expire_due():
        with transaction.atomic():
            if _move(turn_id, [Status.WAITING_APPROVAL], Status.QUEUED):
                turn = Turn.objects.select_related("conversation").get(id=turn_id)
                _changed(turn, "turn-changed")
                wake.wake(turn)


def save_partial(turn_id: UUID, fence: int, text: str) -> None:
    Turn.objects.filter(id=turn_id, fence=fence).update(partial=text)


# ---- parts -----------------------------------------------------------------------------------------


def _queue() -> tuple[list[admission.Waiting], dict[int, int]]:
    """Turns that wait, oldest first, and how many of each person run. Two queries; the queue is bounded."""
    queued = Turn.objects.filter(status=Status.QUEUED).order_by("created_at", "id")
    rows = queued.values_list("id", "conversation__user_id")
    running = Turn.objects.filter(status=Status.RUNNING).values_list("conversation__user_id").annotate(Count("id"))
    return [admission.Waiting(turn_id=turn_id, person=person) for turn_id, person in rows], dict(running)


def _admitted() -> list[UUID]:
    waiting, running = _queue()
    limits = admission.Limits(per_person=settings.AGENT_TURNS_PER_PERSON, in_all=settings.AGENT_TURNS_IN_ALL)
    return admission.admitted(admission.order(waiting, running), running, limits)


def _room_in_queue(person: int) -> None:
    """Refuse new work while more waits than can be done in a reasonable time; what is under way goes on."""
    queued = Turn.objects.filter(status=Status.QUEUED)
    waiting = queued.aggregate(all=Count("id"), own=Count("id", filter=Q(conversation__user_id=person)))
    if settings.AGENT_QUEUE_PER_PERSON and waiting["own"] >= settings.AGENT_QUEUE_PER_PERSON:
        raise Busy(
            ngettext(
                "%(count)d task of yours waits already. Nothing is lost: try again when it has begun.",
                "%(count)d tasks of yours wait already. Nothing is lost: try again when some have begun.",
                waiting["own"],
            )
            % {"count": waiting["own"]}
        )
    if settings.AGENT_QUEUE_LIMIT and waiting["all"] >= settings.AGENT_QUEUE_LIMIT:
        raise Busy(
            _("Too much is waiting: %(count)d tasks. Nothing is lost: try again in a few minutes.")
            % {"count": waiting["all"]}
        )


def _start(conversation: Conversation, text: str) -> Turn:
    number = (Turn.objects.filter(conversation=conversation).aggregate(last=Max("number"))["last"] or 0) + 1
    turn = Turn.objects.create(conversation=conversation, number=number, goal=text, limits=budget.from_settings())
    if not conversation.title:
        conversations.touch(conversation.id, title=conversations.title_from(text))
    return turn


def _end(turn_id: UUID, fence: int, states: Any, how: str, reason: str, gate: str) -> None:
    ended = Turn.objects.filter(id=turn_id, fence=fence, status__in=states).update(
        status=Status.ENDED,
        end=how,
        reason=reason,
        gate=gate,
        ended_at=timezone.now(),
        owner="",
        lease_until=None,
        partial="",
    )
    if not ended:
        raise LostClaim
    settle.cancel_open(turn_id)
    approvals.withdraw(turn_id)
    conversations.take_steering(turn_id)


def _move(turn_id: UUID, states: list[str], to: str) -> bool:
    _lock(turn_id)
    return bool(Turn.objects.filter(id=turn_id, status__in=states).update(status=to))


def _lock(turn_id: UUID | str) -> None:
    """Wait for a transition that is under way: PostgreSQL would else look at the status that it is about to replace.

    Always before the turn's calls and approvals are locked, so that nobody waits in a circle.
    """
    Turn.objects.select_for_update().only("id").filter(id=turn_id).first()


def _own(user: Any, turn_id: UUID | str) -> Turn:
    return Turn.objects.select_related("conversation").get(id=turn_id, conversation__user=user)


def _free(conversation_id: UUID) -> None:
    Conversation.objects.select_for_update().get(id=conversation_id)
    if Turn.objects.filter(conversation_id=conversation_id).exclude(status=Status.ENDED).exists():
        raise Refused(_("Another turn of this conversation is still open."))


def _readable(text: str) -> str:
    text = conversations.clean(text).strip()
    if not any(
        character.isprintable() and not character.isspace() for character in text
    ):  # zero-width ones alone say nothing
        text = ""
    if not text:
        raise Refused(_("The message is empty."))
    if len(text) > conversations.MAX_TEXT:
        raise Refused(
            _("The message is longer than %(limit)s characters. Send it in parts.")
            % {"limit": f"{conversations.MAX_TEXT:,}"}
        )
    return text


def _changed(turn: Turn, *changed: events.Changed) -> None:
    user_id = turn.conversation.user_id

    def send() -> None:
        events.tell_sync(turn.conversation_id, *changed, turn=turn.id)
        events.tell_user_sync(user_id, "conversations-changed")

    transaction.on_commit(send)
