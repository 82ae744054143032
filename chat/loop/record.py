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
from chat.errors import ModelMistake
from chat.loop import offer, schemas
from chat.loop.fallback import fallback
from chat.loop.fit import fit
from chat.loop.observe import view_of
from chat.models import Approval, Iteration, Message, ToolCall, Turn
from chat.tools import policy, registry
from chat.tools.contract import Contract, Tier, digest
from chat.types import (
    Before,
    Call,
    Context,
    Decision,
    Outcome,
    Snapshot,
    TokenUse,
    ToolResult,
    Verdict,
    Written,
)
from memory import recall, slots
from planning import conditions, plans, views
from planning.types import PlanView

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
    notes = (*(decision.reply.notes if decision.reply else ()), *([snapshot.notice] if snapshot.notice else ()))
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
        notes=list(notes),
        prompt_tokens=use.prompt,
        reply_tokens=use.reply,
        cached_tokens=use.cached,
        estimated=use.estimated,
        cost=use.cost,
        model_ms=decision.model_ms,
    )
    keys = [""] * len(decision.calls)
    if step and not snapshot.replan:
        keys = offer.step_keys(step, snapshot.beside, [call.tool for call in decision.calls])
    rows = [_row(snapshot, decision, index, key, iteration) for index, key in enumerate(keys)]
    ToolCall.objects.bulk_create(rows)
    if snapshot.new_words:
        conversations.take_steering(snapshot.turn_id)
    if step and snapshot.plan and not snapshot.replan:
        plans.count_iteration(snapshot.plan.id, step.key)
    if snapshot.fresh:
        recall.count_recalled(snapshot.user_id, snapshot.fresh)
    known = tuple(_as_written(call, row) for call, row in zip(decision.calls, rows, strict=True))
    return replace(decision, calls=known, iteration_id=iteration.id, started_at=iteration.started_at, notes=notes)


def _row(snapshot: Snapshot, decision: Decision, index: int, key: str, iteration: Iteration) -> ToolCall:
    """What can be said of a call before it runs: refused, running from here on, or intended until it has been permitted."""
    call = decision.calls[index]
    row = ToolCall(
        iteration=iteration,
        turn_id=snapshot.turn_id,
        index=index,
        step_key=key,
        tool=call.tool[:120],
        tier=_tier(call.tool),
        proposed=dict(call.args),
    )
    try:
        contract, effective = fit(snapshot, decision, call)
    except ModelMistake as mistake:
        row.status, row.ended_at = Status.REFUSED, timezone.now()
        row.text, row.summary = f"Refused: {mistake}", str(mistake)[:300]
        return row
    if _is_free(snapshot, contract, effective.args, index):
        _effective(row, contract, effective.args, effective.notes)
        row.status, row.started_at = Status.RUNNING, timezone.now()
    return row


def _is_free(snapshot: Snapshot, contract: Contract, args: Mapping[str, Any], index: int) -> bool:
    """Whether a call needs neither the person nor a look at what ran before. `permit` decides on all others."""
    calls = len(snapshot.calls) + index
    return (
        contract.tier in {Tier.READ, Tier.LOCAL}
        and not contract.day_quota
        and calls < (contract.quota or calls + 1)
        and not policy.denied(contract)
        and not policy.asks(contract, args)
    )


def _effective(row: ToolCall, contract: Contract, args: Mapping[str, Any], notes: Sequence[str]) -> None:
    row.args, row.notes, row.version, row.tier = dict(args), list(notes), contract.version, contract.tier
    row.digest = digest(contract.name, contract.version, args)


def _as_written(call: Call, row: ToolCall) -> Call:
    args = row.args if row.status == Status.RUNNING else None
    return replace(call, id=row.id, status=row.status, effective=args, notes=tuple(row.notes))


@transaction.atomic
def permit(snapshot: Snapshot, call_id: UUID, contract: Contract, args: dict[str, Any], notes: Sequence[str]) -> Permit:
    """May this call run now? A write needs an approval in force, which is used up here, before the call."""
    row = ToolCall.objects.select_for_update().get(id=call_id)
    _effective(row, contract, args, notes)
    turns.hold(snapshot.turn_id, snapshot.fence)  # a worker that lost the turn must not run anything
    if row.status == Status.CANCELLED:  # the person took the step out of the plan a moment ago
        return Permit(run=False, status=row.status, text=row.text, summary=row.summary)
    if over := _over_limits(snapshot, contract):
        row.save()
        return Permit(run=False, status=Status.REFUSED, text=f"Refused: {over}", summary=over[:300])
    # What the person said of this very call comes before any standing permission: a rejected call stays rejected.
    if approval := Approval.objects.filter(call_id=call_id).first():
        return _by_approval(row, approval)
    free = not policy.asks(contract, args, spent=_spent(snapshot, contract))
    if free or approvals.granted(snapshot.conversation_id, contract, args):
        return _go(row)
    row.status = Status.WAITING
    row.save()
    why = row.iteration.thought or (snapshot.step.title if snapshot.step else "")
    because = {name: reason for name, (_value, reason) in schemas.bound(snapshot, contract.name).items()}
    approvals.ask(row, why=why, because=because)
    return Permit(run=False, status=Status.WAITING)


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


async def record(snapshot: Snapshot, decision: Decision, results: Sequence[ToolResult]) -> Written:
    """Also brings back what is then written, for the judgement to stand on."""
    written = await in_db(_record, snapshot, decision, results)
    if results:
        await events.tell(snapshot.conversation_id, "turn-changed", turn=snapshot.turn_id)
    return written


@transaction.atomic
def _record(snapshot: Snapshot, decision: Decision, results: Sequence[ToolResult]) -> Written:
    if results:
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
    return _written(snapshot, decision)


def _written(snapshot: Snapshot, decision: Decision) -> Written:
    """The rows of this iteration, and of the rest what may have changed meanwhile."""
    rows = list(ToolCall.objects.filter(iteration_id=decision.iteration_id).order_by("index").defer("traceback"))
    earlier = tuple(call for call in snapshot.calls if call.iteration != snapshot.number)
    planned = any(row.tool in {"set_plan", "revise_plan", "mark_step_failed"} for row in rows)
    checks = snapshot.step.checks if snapshot.step else ()
    times = [(row.ended_at - row.started_at) for row in rows if row.started_at and row.ended_at]
    return Written(
        calls=(*earlier, *(view_of(row, snapshot.number) for row in rows)),
        plan=views.newest(snapshot.turn_id, None if planned else _with_count(snapshot)),
        slots=slots.views(snapshot.conversation_id) if any(c.kind == "slot_present" for c in checks) else (),
        conditions=conditions.views(snapshot.turn_id) if planned or snapshot.conditions else (),
        thought=decision.text,
        tool_ms=round(sum((time.total_seconds() for time in times), 0.0) * 1000),
    )


# ---- at the end of an iteration ----------------------------------------------------------------------------


async def conclude(
    snapshot: Snapshot, decision: Decision, written: Written, verdict: Verdict, outcome: Outcome
) -> Before:
    before = await in_db(_conclude, snapshot, decision, written, verdict, outcome)
    await events.tell(
        snapshot.conversation_id,
        "turn-changed",
        "plan-changed",
        "state-changed",
        "memory-changed",
        "trace-changed",
        turn=snapshot.turn_id,
    )
    return before


@transaction.atomic
def _conclude(snapshot: Snapshot, decision: Decision, written: Written, verdict: Verdict, outcome: Outcome) -> Before:
    plan, step_done = _judge(snapshot, written.plan, verdict)
    for answer in verdict.decided:
        conditions.settle(
            snapshot.turn_id,
            answer.key,
            answer.status,
            quote=answer.quote,
            how=answer.how,
            iteration=snapshot.number,
        )
    changes = {
        "replan": verdict.replan,
        "faults": list(verdict.faults),
        "plain_text": not decision.calls,
        "step_done": step_done,
    }
    now = timezone.now()
    fields: dict[str, Any] = {
        "outcome": outcome.kind,
        "reason": outcome.reason,
        "ended_at": now,
        "changes": changes,
    }
    if verdict.notes:
        fields["notes"] = [*decision.notes, *verdict.notes]
    if verdict.use.prompt or verdict.use.reply:
        fields["prompt_tokens"] = F("prompt_tokens") + verdict.use.prompt
        fields["reply_tokens"] = F("reply_tokens") + verdict.use.reply
        turns.spend(
            snapshot.turn_id,
            snapshot.fence,
            prompt_tokens=F("prompt_tokens") + verdict.use.prompt,
            reply_tokens=F("reply_tokens") + verdict.use.reply,
            **_cost(snapshot, verdict.use.cost),
        )
    if (
        decision.started_at and not decision.paused
    ):  # a pause is the person's time, and what came before has been counted
        # From the reply to the end of the iteration, without the time that tools took.
        whole = round((now - decision.started_at).total_seconds() * 1000)
        fields["own_ms"] = max(0, whole - written.tool_ms)
    Iteration.objects.filter(id=decision.iteration_id).update(**fields)
    _leave(snapshot, verdict, outcome)
    return Before(snapshot=snapshot, calls=written.calls, plan=plan, conditions=written.conditions, changes=changes)


def _judge(snapshot: Snapshot, plan: PlanView | None, verdict: Verdict) -> tuple[PlanView | None, bool]:
    """Write what the verdict says of the step. Returns the plan as it then is, None where it must be read again."""
    key, done = snapshot.step.key if snapshot.step else "", False
    if verdict.judged:
        judged = plans.judge(snapshot.turn_id, key, verdict.checks, verdict.found)
        done = bool(judged and judged[1].status == "done")
        plan = plans.with_step(plan, judged[1]) if plan and judged and judged[0] == plan.id else None
    if verdict.attempt is not None:
        plans.fail_attempt(snapshot.turn_id, key, verdict.attempt)
        plan = None
    if verdict.step_failed:
        plans.fail_step(snapshot.turn_id, key, verdict.step_failed)
    for other in verdict.beside:
        plans.finish_beside(snapshot.turn_id, other.key, other.checks, other.found)
        plan = None
    return plan, done


def note_memory(turn_id: UUID, receipts: list[dict[str, Any]], tokens: int = 0) -> None:
    """What was kept or dropped after the turn stands with its last iteration; tokens: spent on asking the model about it."""
    last = Iteration.objects.filter(turn_id=turn_id).order_by("-number").first()
    if last is not None:
        spent = {"memory_tokens": last.changes.get("memory_tokens", 0) + tokens} if tokens else {}
        last.changes = {**last.changes, **spent, "memory": [*last.changes.get("memory", []), *receipts]}
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


def _with_count(snapshot: Snapshot) -> PlanView | None:
    """The plan that was observed, with the iteration that `intend` has counted since."""
    plan, step = snapshot.plan, snapshot.step
    if plan is None or step is None or snapshot.replan or snapshot.pending:
        return plan
    return plans.with_step(plan, replace(step, iterations=step.iterations + 1))


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
