"""`intend` before acting, `permit` before a call runs, `record` after, `conclude` at the end of an iteration.

values -> rows, one transaction each.  Touches: the writer of Iteration and ToolCall (with settle.py); turns, approvals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chat import approvals, conversations, events, turns
from chat.db import in_db
from chat.loop import schemas
from chat.loop.fallback import fallback
from chat.models import Approval, Iteration, Message, ToolCall, Turn
from chat.tools import policy, registry
from chat.tools.contract import Contract, Tier, digest
from chat.types import Context, Decision, Outcome, Snapshot, TokenUse, ToolResult, Verdict
from memory import recall
from planning import plans

Status = ToolCall.Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """Whether a call may run now, and with which arguments."""

    run: bool
    args: Mapping[str, Any] = field(default_factory=dict)
    status: str = ""
    text: str = ""
    summary: str = ""


# ---- before acting -------------------------------------------------------------------------------------


async def intend(snapshot: Snapshot, decision: Decision) -> Decision:
    """Write down what is about to be done. A decision taken up again is there already."""
    if decision.iteration_id:
        return decision
    decision = await in_db(_intend, snapshot, decision)
    await events.tell(snapshot.conversation_id, "turn-changed", turn=snapshot.turn_id)
    return decision


@transaction.atomic
def _intend(snapshot: Snapshot, decision: Decision) -> Decision:
    use = decision.reply.usage if decision.reply else TokenUse()
    turns.spend(
        snapshot.turn_id,
        snapshot.fence,
        iterations_used=snapshot.number,
        prompt_tokens=F("prompt_tokens") + use.prompt,
        reply_tokens=F("reply_tokens") + use.reply,
        seconds=F("seconds") + decision.model_ms / 1000,
        partial="",
        **_cost(snapshot, use.cost),
    )
    step = snapshot.step
    iteration = Iteration.objects.create(
        turn_id=snapshot.turn_id,
        number=snapshot.number,
        step_key=step.key if step else "",
        plan_revision=snapshot.plan.revision if snapshot.plan else 0,
        sections=_sections(decision.context),
        offered=list(snapshot.offered),
        receipt=[asdict(item) for item in snapshot.recalls],
        raw=_raw(decision),
        thought=decision.text,
        notes=[*(decision.reply.notes if decision.reply else ()), *([snapshot.notice] if snapshot.notice else ())],
        prompt_tokens=use.prompt,
        reply_tokens=use.reply,
        cached_tokens=use.cached,
        estimated=use.estimated,
        cost=use.cost,
        model_ms=decision.model_ms,
    )
    calls = ToolCall.objects.bulk_create(
        ToolCall(
            iteration=iteration,
            turn_id=snapshot.turn_id,
            index=index,
            step_key=step.key if step and not snapshot.replan else "",
            tool=call.tool[:120],
            tier=_tier(call.tool),
            proposed=dict(call.args),
        )
        for index, call in enumerate(decision.calls)
    )
    if snapshot.new_words:
        conversations.take_steering(snapshot.turn_id)
    if step and not snapshot.replan:
        plans.count_iteration(snapshot.turn_id, step.key)
    shown = [item.id for item in snapshot.recalls if item.fate == "shown"]
    if shown:
        recall.count_recalled(snapshot.user_id, shown)
    known = tuple(replace(call, id=row.id) for call, row in zip(decision.calls, calls, strict=True))
    return replace(decision, calls=known, iteration_id=iteration.id)


@transaction.atomic
def permit(snapshot: Snapshot, call_id: UUID, contract: Contract, args: dict[str, Any], notes: Sequence[str]) -> Permit:
    """May this call run now? A write needs an approval in force, which is used up here, before the call."""
    row = ToolCall.objects.select_for_update().get(id=call_id)
    row.args, row.notes, row.version, row.tier = args, list(notes), contract.version, contract.tier
    row.digest = digest(contract.name, contract.version, args)
    turns.hold(snapshot.turn_id, snapshot.fence)  # a worker that lost the turn must not run anything
    if row.status == Status.CANCELLED:  # the person took the step out of the plan a moment ago
        return Permit(run=False, status=row.status, text=row.text, summary=row.summary)
    if over := _over_limits(snapshot, contract):
        row.save()
        return Permit(run=False, status=Status.REFUSED, text=f"Refused: {over}", summary=over[:300])
    free = not policy.asks(contract, args, spent=_spent(snapshot, contract))
    if free or approvals.granted(snapshot.conversation_id, contract, args):
        return _go(row)
    approval = Approval.objects.filter(call_id=call_id).first()
    if approval is None:
        row.status = Status.WAITING
        row.save()
        why = row.iteration.thought or (snapshot.step.title if snapshot.step else "")
        because = {name: reason for name, (_value, reason) in schemas.bound(snapshot, contract.name).items()}
        approvals.ask(row, why=why, because=because)
        return Permit(run=False, status=Status.WAITING)
    return _by_approval(row, approval)


def _by_approval(row: ToolCall, approval: Approval) -> Permit:
    said = f" Their words: {approval.reason}" if approval.reason else ""
    match approval.status:
        case Approval.Status.ASKED:
            return Permit(run=False, status=Status.WAITING)
        case Approval.Status.DENIED:
            text = f"The person rejected this call; it was not run. Do not ask for it again as it is.{said}"
            return Permit(run=False, status=Status.REJECTED, text=text, summary=approval.reason[:300])
        case Approval.Status.GRANTED if used := approvals.use(approval.id, row.version):
            row.args, row.digest = used.args, used.digest
            return _go(row)
    text = "The approval is no longer in force, or the tool has changed since; the call was not run."
    return Permit(run=False, status=Status.EXPIRED, text=text, summary=text)


def _go(row: ToolCall) -> Permit:
    """The intent row: from here to the result, a crash leaves a write UNKNOWN."""
    row.status, row.started_at = Status.RUNNING, timezone.now()
    row.save()
    return Permit(run=True, args=row.args)


def _over_limits(snapshot: Snapshot, contract: Contract) -> str:
    if policy.denied(contract):
        return f"{contract.name} was switched off by the operator. Go another way, or tell the person."
    ran = ToolCall.objects.filter(tool=contract.name, started_at__isnull=False)
    if contract.quota and ran.filter(turn_id=snapshot.turn_id).count() >= contract.quota:
        return f"{contract.name} may run {contract.quota} times in a turn; that is used up. Go on with what is known."
    today = timezone.now() - timedelta(days=1)
    if contract.day_quota and (
        ran.filter(turn__conversation__user_id=snapshot.user_id, started_at__gte=today).count() >= contract.day_quota
    ):
        return f"{contract.name} may run {contract.day_quota} times a day; that is used up."
    return ""


def _spent(snapshot: Snapshot, contract: Contract) -> float:
    """Dollars that this turn's calls of the tool have cost; what does not cost is not looked up."""
    if contract.tier != Tier.EXPENSIVE:
        return 0.0
    ran = ToolCall.objects.filter(turn_id=snapshot.turn_id, tool=contract.name, started_at__isnull=False)
    prices = (policy.price(contract, args) for args in ran.values_list("args", flat=True))
    return sum(price for price in prices if price != float("inf"))


# ---- after acting ----------------------------------------------------------------------------------------


async def record(snapshot: Snapshot, decision: Decision, results: Sequence[ToolResult]) -> None:
    if results:
        await in_db(_record, snapshot, results)
        await events.tell(snapshot.conversation_id, "turn-changed", turn=snapshot.turn_id)


@transaction.atomic
def _record(snapshot: Snapshot, results: Sequence[ToolResult]) -> None:
    turns.hold(snapshot.turn_id, snapshot.fence)
    for result in results:
        if result.status == Status.UNKNOWN and not result.error:
            continue  # it still waits for the person's word; what is known of it stands there
        waits = result.status in {Status.WAITING, Status.UNKNOWN}
        ToolCall.objects.filter(id=result.call_id).exclude(status=Status.CANCELLED).update(
            status=result.status,
            result=result.data,
            text=result.text,
            summary=result.summary,
            error=result.error,
            traceback=result.traceback,
            ended_at=None if waits else timezone.now(),
            **({"notes": list(result.notes)} if result.notes else {}),
        )


# ---- at the end of an iteration ----------------------------------------------------------------------------


async def conclude(snapshot: Snapshot, decision: Decision, verdict: Verdict, outcome: Outcome) -> None:
    await in_db(_conclude, snapshot, decision, verdict, outcome)
    await events.tell(
        snapshot.conversation_id,
        "turn-changed",
        "plan-changed",
        "state-changed",
        "memory-changed",
        "trace-changed",
        turn=snapshot.turn_id,
    )


@transaction.atomic
def _conclude(snapshot: Snapshot, decision: Decision, verdict: Verdict, outcome: Outcome) -> None:
    iteration = Iteration.objects.get(id=decision.iteration_id)
    was = iteration.outcome
    iteration.outcome, iteration.reason, iteration.ended_at = outcome.kind, outcome.reason, timezone.now()
    iteration.notes = [*iteration.notes, *verdict.notes]
    iteration.changes = {
        "replan": verdict.replan,
        "faults": list(verdict.faults),
        "plain_text": bool(not decision.calls and decision.text),
        "step_done": verdict.step_done,
    }
    if verdict.use.prompt or verdict.use.reply:
        iteration.prompt_tokens += verdict.use.prompt
        iteration.reply_tokens += verdict.use.reply
        turns.spend(
            snapshot.turn_id,
            snapshot.fence,
            prompt_tokens=F("prompt_tokens") + verdict.use.prompt,
            reply_tokens=F("reply_tokens") + verdict.use.reply,
            **_cost(snapshot, verdict.use.cost),
        )
    if was != "pause":  # a pause is the person's time, and what came before it has been counted
        iteration.own_ms = _own_ms(iteration)
    iteration.save()
    _leave(snapshot, verdict, outcome)


def _own_ms(iteration: Iteration) -> int:
    """From the reply to the end of the iteration, without the time that tools took."""
    ran = iteration.calls.filter(started_at__isnull=False, ended_at__isnull=False)
    times = ran.values_list("started_at", "ended_at")
    tools = sum((ended - started).total_seconds() for started, ended in times if started and ended)
    whole = ((iteration.ended_at or timezone.now()) - iteration.started_at).total_seconds()
    return max(0, round((whole - tools) * 1000))


def note_memory(turn_id: UUID, receipts: list[dict[str, Any]]) -> None:
    """What was kept or dropped after the turn stands with its last iteration."""
    last = Iteration.objects.filter(turn_id=turn_id).order_by("-number").first()
    if last is not None:
        last.changes = {**last.changes, "memory": [*last.changes.get("memory", []), *receipts]}
        last.save(update_fields=["changes"])


def _leave(snapshot: Snapshot, verdict: Verdict, outcome: Outcome) -> None:
    """Pause or end the turn as the gate said."""
    if outcome.kind == "continue":
        return
    if outcome.kind == "pause":
        if verdict.question:  # a plan that waits for approval is shown, not asked about
            turn = Turn.objects.get(id=snapshot.turn_id)
            conversations.add(turn, Message.Role.AGENT, outcome.reason, mark=Message.Mark.QUESTION)
        turns.pause(snapshot.turn_id, snapshot.fence, outcome.waits_for, outcome.reason)
        return
    turn = Turn.objects.select_related("conversation").get(id=snapshot.turn_id)
    how = Turn.End.FINISHED if outcome.kind == "finish" else Turn.End.EXHAUSTED
    answer = outcome.answer or fallback(turn.id, outcome.reason)
    turns.end(turn, snapshot.fence, how, reason=outcome.reason, gate=outcome.gate, answer=answer)


def _cost(snapshot: Snapshot, cost: float | None) -> dict[str, Any]:
    return {"cost": (snapshot.usage.cost or 0.0) + cost} if cost is not None else {}


def _sections(context: Context | None) -> list[dict[str, Any]]:
    return [asdict(section) for section in context.sections] if context else []


def _raw(decision: Decision) -> dict[str, Any]:
    reply = decision.reply
    if reply is None:
        return {}
    calls = [{"name": call.name, "arguments": call.arguments} for call in reply.calls]
    return {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "calls": calls,
        "finish": reply.finish,
        "model": reply.model,
    }


def _tier(name: str) -> str:
    contract = registry.find(name)
    return str(contract.tier) if contract else ""
