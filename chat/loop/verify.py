"""Written tool results, as evidence -> Verdict on the step's acceptance checks and on the open conditions.

Snapshot, ToolResults -> Verdict.  Touches: planning (checks, steps, conditions); the model, for what code cannot decide.

The model never sets "done": a step moves when its checks pass on what tools really returned.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _

from chat.db import in_db
from chat.errors import LLMUnavailable
from chat.llm.base import LLM
from chat.loop import ask, schemas
from chat.models import ToolCall, Turn
from chat.types import Snapshot, TokenUse, ToolResult, Verdict
from memory import slots
from planning import acceptance, conditions, plans
from planning.errors import NotDone
from planning.types import CheckView, ConditionView, Evidence, StepView

Status = ToolCall.Status
BOOKKEEPING = {"set_plan", "revise_plan", "update_slots"}


@dataclass(slots=True)
class Findings:
    """What is found on the way; turned into the Verdict at the end."""

    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    replan: str = ""
    step_done: bool = False
    look_again: bool = False  # a try failed for a reason that the model may find: not the person's
    use: TokenUse = field(default_factory=TokenUse)


async def verify(snapshot: Snapshot, results: Sequence[ToolResult], llm: LLM) -> Verdict:
    """Judge what was written, not what was said."""
    calls = await in_db(_written, snapshot)
    last = [call for call in calls if call.iteration.number == snapshot.number]
    waiting = sum(call.status in {Status.WAITING, Status.UNKNOWN} for call in last)
    found = Findings()
    for call in last:
        if call.tool == "finish" and call.status == Status.SUCCEEDED:
            return Verdict(answer=await in_db(_answer, snapshot, call))
        if call.tool == "ask_user" and call.status == Status.SUCCEEDED:
            return Verdict(question=str((call.result or {})["question"]))
    if not last:
        return await in_db(_without_call, snapshot)
    if snapshot.step and not snapshot.replan:
        await _step(snapshot, snapshot.step, calls, last, found, llm)
    if any(call.status == Status.SUCCEEDED and call.tool not in BOOKKEEPING for call in last):
        await _conditions(snapshot, calls, found, llm)
    plan = await in_db(plans.current, snapshot.turn_id)
    return Verdict(
        step_key=snapshot.step.key if snapshot.step else "",
        step_done=found.step_done,
        plan_done=bool(plan and not plan.open_steps),
        replan=found.replan,
        waiting=waiting,
        plan_unapproved=bool(plan and not plan.approved),
        faults=tuple(found.faults),
        notes=tuple(found.notes),
        use=found.use,
    )


def _written(snapshot: Snapshot) -> list[ToolCall]:
    """The calls of this turn that may be evidence, as rows have them."""
    return list(
        ToolCall.objects.filter(turn_id=snapshot.turn_id)
        .select_related("iteration")
        .order_by("iteration__number", "index")
    )


# ---- the step ------------------------------------------------------------------------------------------------


async def _step(
    snapshot: Snapshot, step: StepView, calls: Sequence[ToolCall], last: Sequence[ToolCall], found: Findings, llm: LLM
) -> None:
    if any(call.tool == "mark_step_failed" and call.status == Status.SUCCEEDED for call in last):
        found.replan = _("Step %(index)s failed: %(title)s") % {"index": step.index, "title": step.title}
        return
    plan = await in_db(plans.current, snapshot.turn_id)
    now = plan.step(step.key) if plan else None
    if now is None or now.status != "running":
        # The person took it out, or skipped it, while its call was under way.
        found.notes.append(_("Step %(title)s was taken out of the plan meanwhile.") % {"title": step.title})
        return
    step = now
    mine = [call for call in calls if call.step_key == step.key]
    work = [call for call in last if call.tool not in BOOKKEEPING]
    if any(call.status == Status.SUCCEEDED for call in work):
        await _checks(snapshot, step, [_evidence(call) for call in mine if _counts(call)], found, llm)
        if found.step_done:
            return
    await in_db(_failures, snapshot, step, mine, work, found)
    if step.attempts == 1 and found.look_again:
        tries = [call for call in mine if call.tool not in BOOKKEEPING]
        with contextlib.suppress(LLMUnavailable):  # advice: nothing depends on it
            told, use = await ask.reflect(llm, step, tries, found.faults, schemas.plannable(snapshot))
            found.use = ask.add(found.use, use)
            found.faults += [told] if told else []


async def _checks(snapshot: Snapshot, step: StepView, evidence: list[Evidence], found: Findings, llm: LLM) -> None:
    """Every check by code where code can; a judge only for the rest, and only when code found nothing wrong."""
    known = {slot.name: slot.value for slot in await in_db(slots.views, snapshot.conversation_id)}
    verdicts: list[tuple[CheckView, acceptance.CheckVerdict]] = []
    unsure: list[CheckView] = []
    for check in step.checks:
        if check.verdict == "passed":
            continue
        verdict = acceptance.by_code(check, evidence, slots=known)
        if verdict is None:
            unsure.append(check)
        else:
            verdicts.append((check, verdict))
    if all(verdict.verdict == "passed" for _check, verdict in verdicts):
        for check in unsure:
            verdict, use = await ask.judge(llm, step, check, evidence)
            found.use = ask.add(found.use, use)
            verdicts.append((check, verdict))
    await in_db(_write_verdicts, snapshot, step, verdicts, evidence, found)


def _write_verdicts(
    snapshot: Snapshot,
    step: StepView,
    verdicts: Sequence[tuple[CheckView, acceptance.CheckVerdict]],
    evidence: Sequence[Evidence],
    found: Findings,
) -> None:
    for check, verdict in verdicts:
        plans.record_verdict(check.id, verdict.verdict, verdict.reason, verdict.evidence, verdict.call_id)
        if verdict.verdict != "passed":
            found.faults.append(f"Step {step.index} is not done: {verdict.reason}")
    if all(verdict.verdict == "passed" for _check, verdict in verdicts):
        calls = ToolCall.objects.filter(turn_id=snapshot.turn_id, step_key=step.key, status=Status.SUCCEEDED)
        summary = calls.exclude(tier="local").order_by("-started_at").values_list("summary", flat=True).first()
        with contextlib.suppress(NotDone):  # the plan was edited in this very moment: the next iteration looks again
            plans.finish_step(snapshot.turn_id, step.key, summary or "")
            found.step_done = True


def _failures(
    snapshot: Snapshot, step: StepView, mine: Sequence[ToolCall], work: Sequence[ToolCall], found: Findings
) -> None:
    """What a failed call means for the plan. A wrong argument never changes it: it is explained and made again."""
    failed = [call for call in work if call.status in {Status.FAILED, Status.REJECTED, Status.EXPIRED}]
    if not failed:
        if any(call.status == Status.SUCCEEDED for call in work):
            plans.fail_attempt(snapshot.turn_id, step.key, found.faults[-1] if found.faults else "")
            found.look_again = bool(found.faults)
            if _again(mine):
                found.replan = _("%(tool)s was called twice with the same arguments and the step is not done.") % {
                    "tool": work[-1].tool
                }
                plans.fail_step(snapshot.turn_id, step.key, found.replan)
        return
    call = failed[-1]
    error = call.error or {}
    # What the other side said of it is data: it stays in the call, fenced, and out of notes and reasons.
    what = str(error.get("what") or call.summary)[:300]
    plans.fail_attempt(snapshot.turn_id, step.key, what or call.get_status_display())
    found.look_again = call.status == Status.FAILED
    same = [one for one in mine if one.status == call.status and one.tool == call.tool]
    if call.status == Status.REJECTED:
        why = _("You rejected %(tool)s.") % {"tool": call.tool}
        found.replan = f"{why} {call.summary}".strip()
    elif call.status == Status.EXPIRED:
        found.replan = _("The approval for %(tool)s expired.") % {"tool": call.tool}
    elif not (error.get("retry") or error.get("mend")):
        found.replan = _("%(tool)s failed: %(what)s") % {"tool": call.tool, "what": what}
    elif len(same) >= 2:
        found.replan = _("%(tool)s failed twice: %(what)s") % {"tool": call.tool, "what": what}
    if found.replan:
        plans.fail_step(snapshot.turn_id, step.key, found.replan)


def _again(mine: Sequence[ToolCall]) -> bool:
    """Whether the last two actions of the step are one: a third would bring the same."""
    last = [(call.tool, call.args) for call in mine if call.tool not in BOOKKEEPING][-2:]
    return len(last) == 2 and last[0] == last[1]


# ---- conditions ------------------------------------------------------------------------------------------------


async def _conditions(snapshot: Snapshot, calls: Sequence[ToolCall], found: Findings, llm: LLM) -> None:
    """Decide each open condition once, as soon as its evidence is there: by code, else by one narrow question."""
    for condition in await in_db(conditions.views, snapshot.turn_id):
        if condition.status != "open":
            continue
        evidence = [_evidence(call) for call in calls if _counts(call) and condition.decided_by in ("", call.step_key)]
        decided = conditions.by_code(condition, evidence[-4:])
        how = "code"
        if decided is None and found.step_done and await in_db(_due, snapshot, condition):
            decided, use = await ask.condition(llm, snapshot.goal, condition, evidence[-2:])
            found.use, how = ask.add(found.use, use), "model"
        if decided is None:
            continue
        status, quote = decided
        await in_db(
            conditions.settle, snapshot.turn_id, condition.key, status, quote=quote, how=how, iteration=snapshot.number
        )


def _due(snapshot: Snapshot, condition: ConditionView) -> bool:
    """The model is asked when the deciding step is done, or else when the step that carries the condition out is next."""
    plan = plans.current(snapshot.turn_id)
    if plan is None or snapshot.step is None:
        return False
    carrier = next((step for step in plan.steps if step.when.get("condition") == condition.key), None)
    if condition.decided_by or carrier is None:
        return condition.decided_by in ("", snapshot.step.key)
    return carrier in plans.ready(plan) or all(
        step.index > carrier.index for step in plan.open_steps if step != carrier
    )


# ---- no call at all ----------------------------------------------------------------------------------------------


def _without_call(snapshot: Snapshot) -> Verdict:
    """Plain text is no end: the loop says so once, then takes the text as the answer and notes it."""
    iteration = Turn.objects.get(id=snapshot.turn_id).iterations.get(number=snapshot.number)
    offered = ", ".join(snapshot.offered)
    if iteration.thought and snapshot.plain_text_before:
        note = _("The model answered without calling finish; its text was taken as the answer.")
        left = [step.title for step in snapshot.plan.open_steps] if snapshot.plan else []
        return Verdict(answer={"answer": iteration.thought, "sources": [], "open_points": left, "note": note})
    if not iteration.thought and snapshot.plain_text_before:
        return Verdict(faults=("Your reply was empty again.",))
    return Verdict(faults=(f"That was no call. Answer with a call to one of: {offered}.",))


def _answer(snapshot: Snapshot, call: ToolCall) -> dict[str, Any]:
    """The conclusion the model gave, with what the plan says is still open: an answer cannot hide it."""
    given = dict(call.result or {})
    plan = plans.current(snapshot.turn_id)
    left = [step.title for step in plan.steps if step.status in {"pending", "running", "failed"}] if plan else []
    given["open_points"] = [
        *given.get("open_points", []),
        *(title for title in left if title not in given.get("open_points", [])),
    ]
    return given


def _counts(call: ToolCall) -> bool:
    return call.status in {Status.SUCCEEDED, Status.FAILED} and call.tool not in BOOKKEEPING


def _evidence(call: ToolCall) -> Evidence:
    return Evidence(
        call_id=call.id, tool=call.tool, succeeded=call.status == Status.SUCCEEDED, result=call.result, args=call.args
    )
