"""Decision -> tool results: validate, ask for approval, run, time out, translate faults.

Snapshot, Decision -> ToolResults.  Touches: tools; Approval rows are used up here, under a lock.

Reads run side by side, everything that changes something runs one at a time.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from django.conf import settings

from chat import events
from chat.db import in_db
from chat.errors import ModelMistake
from chat.loop import record
from chat.loop.fit import fit
from chat.models import ToolCall
from chat.tools import faults, registry, results
from chat.tools.contract import Contract, Tier, ToolContext
from chat.types import Call, Decision, Snapshot, ToolResult

Status = ToolCall.Status
AT_ONCE = 6  # reads side by side
READ_TRIES = 2
RESULT_CHARS = 6_000  # of one result as the model reads it


async def act(snapshot: Snapshot, decision: Decision) -> tuple[ToolResult, ...]:
    """Results of the calls that have none yet, in the order of the calls."""
    todo = [call for call in decision.calls if call.id and call.status not in ToolCall.SETTLED]
    limit = asyncio.Semaphore(AT_ONCE)

    async def read(call: Call) -> ToolResult:
        async with limit:
            return await _one(snapshot, decision, call)

    reads = [call for call in todo if _tier(call) == Tier.READ]
    results = dict(zip((call.id for call in reads), await asyncio.gather(*map(read, reads)), strict=True))
    for call in todo:
        if call.id not in results:
            results[call.id] = await _one(snapshot, decision, call)
    return tuple(results[call.id] for call in todo)


async def _one(snapshot: Snapshot, decision: Decision, call: Call) -> ToolResult:
    assert call.id is not None
    if call.status == Status.UNKNOWN:
        return ToolResult(call_id=call.id, status=Status.UNKNOWN)
    contract = registry.find(call.tool)
    if call.effective is not None and contract is not None:
        return await _run(snapshot, call.id, contract, call.effective, call.notes)
    try:
        contract, effective = fit(snapshot, decision, call)
    except ModelMistake as mistake:
        return _refused(call.id, str(mistake))
    permit = await in_db(record.permit, snapshot, call.id, contract, effective.args, effective.notes)
    if not permit.run:
        return ToolResult(call_id=call.id, status=permit.status, text=permit.text, summary=permit.summary)
    return await _run(snapshot, call.id, contract, permit.args, effective.notes)


async def _run(
    snapshot: Snapshot, call_id: UUID, contract: Contract, args: Mapping[str, Any], notes: tuple[str, ...]
) -> ToolResult:
    """Run one call within its time; whatever it raises is translated, never passed on as it is."""
    try:
        value = contract.args.model_validate(dict(args)) if contract.parameters is None else dict(args)
    except ValueError:  # approved for another version of the tool, or a validator that refuses its own output
        return _refused(call_id, f"{contract.name} does not take these arguments any more.")
    context = ToolContext(
        user_id=snapshot.user_id,
        conversation_id=snapshot.conversation_id,
        turn_id=snapshot.turn_id,
        iteration=snapshot.number,
        idempotency_key=str(call_id),
        workspace=settings.AGENT_DATA_DIR / "files" / str(snapshot.conversation_id),
        progress=_progress(snapshot, contract),
    )
    tries = READ_TRIES if contract.tier == Tier.READ else 1
    for attempt in range(1, tries + 1):
        try:
            async with asyncio.timeout(contract.timeout):
                returned = await contract.run(value, context)
            done, cut = results.fit(returned)
            text = faults.cut(done.text or faults.as_text(done.data), RESULT_CHARS)
            return ToolResult(
                call_id=call_id,
                status=Status.SUCCEEDED,
                data=done.data,
                text=text,
                summary=done.summary,
                notes=(*notes, *cut),
            )
        except (
            Exception,
            asyncio.CancelledError,
        ) as exc:  # a tool's fault is the model's to know, the loop's to survive
            if isinstance(exc, asyncio.CancelledError) and _stopping():
                raise
            error = faults.translate(exc, contract)
            if not (error["retry"] and attempt < tries):
                unknown = faults.outcome_unknown(exc, contract)
                return ToolResult(
                    call_id=call_id,
                    status=Status.UNKNOWN if unknown else Status.FAILED,
                    text=faults.for_model(error),
                    summary=faults.for_person(error),
                    error=error,
                    traceback=results.clean(traceback.format_exc()[-8_000:]),
                )
            await asyncio.sleep(0.2 * attempt)
    raise AssertionError("unreachable")


def _progress(snapshot: Snapshot, contract: Contract) -> Callable[[str], Awaitable[None]]:
    async def tell(words: str) -> None:
        turn, text = str(snapshot.turn_id), f"{contract.name}: {words}"
        await events.stream(snapshot.conversation_id, turn=turn, kind="notice", text=text)

    return tell


def _stopping() -> bool:
    """Whether it is this turn that is being cancelled, and not something inside a tool."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _refused(call_id: UUID, why: str) -> ToolResult:
    return ToolResult(call_id=call_id, status=Status.REFUSED, text=f"Refused: {why}", summary=why[:300])


def _tier(call: Call) -> str:
    contract = registry.find(call.tool)
    return contract.tier if contract else Tier.LOCAL
