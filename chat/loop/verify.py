"""Written tool results, as evidence -> Verdict on the step's acceptance checks and on the open conditions.

Snapshot, Written -> Verdict.  Touches: nothing but the model, for what code cannot decide; `conclude` writes it down.

The model never sets "done": a step moves when its checks pass on what tools really returned.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from django.utils.translation import gettext as _

from chat.errors import LLMUnavailable
from chat.llm.base import LLM
from chat.loop import ask, schemas
from chat.models import ToolCall
from chat.tools.contract import Tier
from chat.types import Beside, CallView, Decided, Snapshot, TokenUse, Verdict, Written
from planning import acceptance, conditions, plans
from planning.types import CheckView, ConditionView, Evidence, PlanView, StepView

Status = ToolCall.Status
BOOKKEEPING = {"set_plan", "revise_plan", "update_slots"}


@dataclass(slots=True)
class Findings:
    """What is found on the way; turned into the Verdict at the end."""

    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    replan: str = ""
    judged: bool = False
    checks: list[CheckView] = field(default_factory=list)
    step_done: bool = False
    attempt: str | None = None
    step_failed: str = ""
    beside: list[Beside] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)
    look_again: bool = False  # a try failed for a reason that the model may find: not the person's
    use: TokenUse = field(default_factory=TokenUse)


async def verify(snapshot: Snapshot, written: Written, llm: LLM) -> Verdict:
    """Judge what was written, not what was said."""
    last = [call for call in written.calls if call.iteration == snapshot.number]
    waiting = sum(call.status in {Status.WAITING, Status.UNKNOWN} for call in last)
    found = Findings()
    for call in last:
        if call.tool == "finish" and call.status == Status.SUCCEEDED:
            return Verdict(answer=_answer(written.plan, call))
        if call.tool == "ask_user" and call.status == Status.SUCCEEDED:
            return Verdict(question=str((call.result or {})["question"]))
    if not last:
        return _without_call(snapshot, written)
    if waiting:  # judged when all is decided: a first rejection must not close the step that the others belong to
        return Verdict(waiting=waiting, plan_unapproved=bool(written.plan and not written.plan.approved))
    if snapshot.step and not snapshot.replan:
        await _step(snapshot, snapshot.step, written, last, found, llm)
        _beside(snapshot.step, written, last, found)
    if any(call.status == Status.SUCCEEDED and call.tool not in BOOKKEEPING for call in last):
        await _conditions(snapshot, written, found, llm)
    mine = [call for call in written.calls if snapshot.step and call.step_key == snapshot.step.key]
    work = [call for call in mine if call.status == Status.SUCCEEDED and call.tier != Tier.LOCAL]
    return Verdict(
        judged=found.judged,
        checks=tuple(found.checks),
        step_done=found.step_done,
        found=work[-1].summary if work else "",
        attempt=found.attempt,
        step_failed=found.step_failed,
        beside=tuple(found.beside),
        decided=tuple(found.decided),
        replan=found.replan,
        plan_unapproved=bool(written.plan and not written.plan.approved),
        faults=tuple(found.faults),
        notes=tuple(found.notes),
        use=found.use,
    )


# ---- the step ------------------------------------------------------------------------------------------------


async def _step(
    snapshot: Snapshot, step: StepView, written: Written, last: Sequence[CallView], found: Findings, llm: LLM
) -> None:
    if any(call.tool == "mark_step_failed" and call.status == Status.SUCCEEDED for call in last):
        found.replan = _("Step %(index)s failed: %(title)s") % {"index": step.index, "title": step.title}
        return
    now = written.plan.step(step.key) if written.plan else None
    if now is None or now.status != "running":
        # The person took it out, or skipped it, while its call was under way.
        found.notes.append(_("Step %(title)s was taken out of the plan meanwhile.") % {"title": step.title})
        return
    step = now
    mine = [call for call in written.calls if call.step_key == step.key]
    work = [call for call in last if call.step_key == step.key and call.tool not in BOOKKEEPING]
    if any(call.status == Status.SUCCEEDED for call in work):
        known = {slot.name: slot.value for slot in written.slots}
        await _checks(step, [_evidence(call) for call in mine if _counts(call)], known, found, llm)
        if found.step_done:
            return
    _failures(step, mine, work, found)
    if step.attempts == 1 and found.look_again:
        tries = [call for call in mine if call.tool not in BOOKKEEPING]
        with contextlib.suppress(LLMUnavailable):  # advice: nothing depends on it
            told, use = await ask.reflect(llm, step, tries, found.faults, schemas.plannable(snapshot))
            found.use = ask.add(found.use, use)
            found.faults += [told] if told else []


def _beside(step: StepView, written: Written, last: Sequence[CallView], found: Findings) -> None:
    """Steps whose calls were made in the same go. One that is not done by them stays as it is, and is taken up in its turn."""
    known = {slot.name: slot.value for slot in written.slots}
    keys = {call.step_key for call in last if call.status == Status.SUCCEEDED} - {"", step.key}
    for other in written.plan.steps if written.plan else ():
        if other.key in keys and other.status == "pending":
            mine = [call for call in written.calls if call.step_key == other.key and _counts(call)]
            evidence = [_evidence(call) for call in mine]
            verdicts = [(check, acceptance.by_code(check, evidence, slots=known)) for check in other.checks]
            checks = tuple(_judged(check, verdict) for check, verdict in verdicts if verdict)
            if len(checks) == len(verdicts) and all(check.verdict == "passed" for check in checks):
                found.beside.append(Beside(key=other.key, checks=checks, found=mine[-1].summary))


async def _checks(
    step: StepView, evidence: list[Evidence], known: Mapping[str, Any], found: Findings, llm: LLM
) -> None:
    """Every check by code where code can; a judge only for the rest, and only when code found nothing wrong."""
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
    found.judged = True
    found.checks = [_judged(check, verdict) for check, verdict in verdicts]
    for check in found.checks:
        if check.verdict != "passed":
            found.faults.append(f"Step {step.index} is not done: {check.reason}")
    found.step_done = all(check.verdict == "passed" for check in found.checks)


def _judged(check: CheckView, verdict: acceptance.CheckVerdict) -> CheckView:
    return replace(
        check,
        verdict=verdict.verdict,
        reason=verdict.reason,
        evidence=verdict.evidence,
        call_id=verdict.call_id,
    )


def _failures(step: StepView, mine: Sequence[CallView], work: Sequence[CallView], found: Findings) -> None:
    """What a failed call means for the plan. A wrong argument never changes it: it is explained and made again."""
    failed = [call for call in work if call.status in {Status.FAILED, Status.REJECTED, Status.EXPIRED}]
    if not failed:
        if any(call.status == Status.SUCCEEDED for call in work):
            found.attempt = found.faults[-1] if found.faults else ""
            found.look_again = bool(found.faults)
            if _again(mine):
                found.replan = _("%(tool)s was called twice with the same arguments and the step is not done.") % {
                    "tool": work[-1].tool
                }
                found.step_failed = found.replan
        return
    call = failed[-1]
    error = call.error or {}
    # What the other side said of it is data: it stays in the call, fenced, and out of notes and reasons.
    what = str(error.get("what") or call.summary)[:300]
    found.attempt = what or str(Status(call.status).label)
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
    found.step_failed = found.replan


def _again(mine: Sequence[CallView]) -> bool:
    """Whether the last two actions of the step are one: a third would bring the same."""
    last = [(call.tool, call.args) for call in mine if call.tool not in BOOKKEEPING][-2:]
    return len(last) == 2 and last[0] == last[1]


# ---- conditions ------------------------------------------------------------------------------------------------


async def _conditions(snapshot: Snapshot, written: Written, found: Findings, llm: LLM) -> None:
    """Decide each open condition once, as soon as its evidence is there: by code, else by one narrow question."""
    for condition in written.conditions:
        if condition.status != "open":
            continue
        evidence = [
            _evidence(call) for call in written.calls if _counts(call) and condition.decided_by in ("", call.step_key)
        ]
        decided = conditions.by_code(condition, evidence[-4:])
        how: Literal["code", "model"] = "code"
        if decided is None and found.step_done and _due(snapshot, written.plan, condition):
            decided, use = await ask.condition(llm, snapshot.goal, condition, evidence[-2:])
            found.use, how = ask.add(found.use, use), "model"
        if decided is not None:
            status, quote = decided
            found.decided.append(Decided(key=condition.key, status=status, quote=quote, how=how))


def _due(snapshot: Snapshot, plan: PlanView | None, condition: ConditionView) -> bool:
    """The model is asked when the deciding step is done, or else when the step that carries the condition out is next."""
    step = plan.step(snapshot.step.key) if plan and snapshot.step else None
    if plan is None or step is None:
        return False
    carrier = next((one for one in plan.steps if one.when.get("condition") == condition.key), None)
    if condition.decided_by or carrier is None:
        return condition.decided_by in ("", step.key)
    plan = plans.with_step(plan, replace(step, status="done"))
    return carrier in plans.ready(plan) or all(one.index > carrier.index for one in plan.open_steps if one != carrier)


# ---- no call at all ----------------------------------------------------------------------------------------------


def _without_call(snapshot: Snapshot, written: Written) -> Verdict:
    """Plain text is no end: the loop says so once, then takes the text as the answer and notes it."""
    offered = ", ".join(snapshot.offered)
    if written.thought and snapshot.plain_text_before:
        note = _("The model answered without calling finish; its text was taken as the answer.")
        left = [step.title for step in snapshot.plan.open_steps] if snapshot.plan else []
        return Verdict(answer={"answer": written.thought, "sources": [], "open_points": left, "note": note})
    if not written.thought and snapshot.plain_text_before:
        return Verdict(faults=("Your reply was empty again.",))
    return Verdict(faults=(f"That was no call. Answer with a call to one of: {offered}.",))


def _answer(plan: PlanView | None, call: CallView) -> dict[str, Any]:
    """The conclusion the model gave, with what the plan says is still open: an answer cannot hide it."""
    given = dict(call.result or {})
    left = [step.title for step in plan.steps if step.status in {"pending", "running", "failed"}] if plan else []
    given["open_points"] = [
        *given.get("open_points", []),
        *(title for title in left if title not in given.get("open_points", [])),
    ]
    return given


def _counts(call: CallView) -> bool:
    return call.status in {Status.SUCCEEDED, Status.FAILED} and call.tool not in BOOKKEEPING


def _evidence(call: CallView) -> Evidence:
    return Evidence(
        call_id=call.id, tool=call.tool, succeeded=call.status == Status.SUCCEEDED, result=call.result, args=call.args
    )
