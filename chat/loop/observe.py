"""Rows and recall -> Snapshot: what is so at the start of an iteration.

Turn -> Snapshot.  Touches: reads; starts the next plan step.

The number of queries is constant: it does not grow with the conversation, the turn or the memories. After the first
iteration, what this worker has just written itself is not read again; a turn taken up anew is read from its rows alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from chat import budget, conversations
from chat.days import days_in
from chat.db import in_db
from chat.errors import LostClaim
from chat.fence import fenced
from chat.loop import offer, schemas
from chat.models import Iteration, Message, ToolCall, Turn
from chat.tools import registry
from chat.tools.contract import Tier
from chat.types import Before, Call, CallView, Decision, Json, Said, Snapshot, Usage
from memory import recall, slots
from memory.types import Recall
from planning import conditions, exclusions, plans, templates, views
from planning.types import ConditionView, PlanView, StepView

WINDOW = 8  # earlier turns the model may read
RECENT = 12  # calls the gates look back on
CALLS = 60  # of the turn, read back


async def observe(turn: Turn, before: Before | None = None) -> Snapshot:
    """before: what this worker wrote an iteration ago. What others may have changed since is read again all the same."""
    return await in_db(read, turn.id, turn.fence, turn.conversation.user_id, before)


def read(turn_id: UUID, fence: int, user_id: int, before: Before | None) -> Snapshot:
    """Raises LostClaim when another worker has the turn."""
    turn = Turn.objects.get(id=turn_id)
    if turn.fence != fence or turn.status != Turn.Status.RUNNING:
        raise LostClaim
    known = recall.known(user_id)
    epoch = known.epoch if known else 0
    if before and before.snapshot.epoch != epoch:
        before = None  # words were forgotten: nobody may go on with a copy of them
    last = _last(turn, before)
    calls = before.calls[-CALLS:] if before else _calls(turn)
    pending = _pending(last, calls) if last else None
    intent = _intent(turn, last, before, resumed=pending is not None)
    plan, step, replan = intent.plan, intent.step, intent.replan
    said = list(turn.messages.filter(role=Message.Role.USER).order_by("id").only("text", "mark"))[1:]
    new_words = any(message.mark == Message.Mark.STEERING for message in said)
    found = recall.recall(
        user_id,
        _question(step) if step else turn.goal[:500],
        limit=settings.AGENT_RECALL_LIMIT,
        floor=settings.AGENT_RECALL_FLOOR,
        state=known,
    )
    may_finish = bool(intent.revisions or any(call.status in {"rejected", "expired"} for call in calls))
    summary, window = _talk(turn, before)
    return Snapshot(
        conversation_id=turn.conversation_id,
        turn_id=turn.id,
        user_id=user_id,
        fence=fence,
        number=(last.number if last else 0) + (0 if pending else 1),
        goal=turn.goal,
        plan=plan,
        step=step,
        # Only the agent's planning brings conditions up, and then they have been read since.
        conditions=intent.conditions,
        exclusions=exclusions.names(turn.conversation_id),
        slots=slots.views(turn.conversation_id),
        recalls=found.recalls,
        summary=summary,
        window=window,
        steering=tuple(message.text for message in said),
        new_words=new_words,
        evidence=_evidence(calls, step, replan),
        results=_results(calls, plan),
        recent=calls[-RECENT:],
        faults=tuple(last.changes.get("faults", ())) if last and not pending else (),
        replan=replan,
        offered=offer.offered(
            plan,
            step,
            replan,
            may_revise=intent.may_revise,
            may_finish=may_finish,
            new_words=new_words,
            more_tools=len(registry.business()) > settings.AGENT_TOOLS_OFFERED,
            beside=intent.beside,
        ),
        limits=budget.limits(turn.limits),
        usage=_usage(turn, intent.revisions),
        pending=pending,
        plain_text_before=bool(last and not pending and last.changes.get("plain_text")),
        today=_today(turn.goal),
        notice=found.notice,
        beside=intent.beside,
        kept_plans=() if plan else templates.lines(user_id, turn.goal, registry.business()),
        calls=calls,
        epoch=epoch,
        fresh=_fresh(found.recalls, before),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is intended now: the plan, its step in focus, and why it must be revised, if it must."""

    plan: PlanView | None
    step: StepView | None
    replan: str
    revisions: int
    may_revise: bool
    conditions: tuple[ConditionView, ...]
    beside: tuple[StepView, ...]


def _intent(turn: Turn, last: "Last | None", before: Before | None, *, resumed: bool) -> Intent:
    """Begins the next step, unless an iteration is taken up again (`resumed`): then its own step stays in focus."""
    plan = views.newest(turn.id, before.plan if before else None)
    revisions = plans.revisions(turn.id) if plan and plan.revision > 1 else 0
    may_revise = revisions < turn.limits["revisions"]
    goals = plans.goals(turn.id) if plan and plan.revision > 1 else ()
    replan = _replan(plan, last) or (_other_goal(goals) if may_revise and not resumed else "")
    step = None
    if plan and plan.approved and not replan:
        if resumed:
            step = plan.step(last.step_key if last else "")
        else:
            plan, step = plans.begin(turn.id, plan)
        replan = _stuck(plan, step, turn.limits["step_iterations"])
    asked = conditions.views(turn.id) if before is None or before.conditions else ()
    asked = tuple(one for one in asked if not goals or goals[0][1] == turn.goal or (one.rule and one.rule in turn.goal))
    beside = _beside(plan, step, asked) if plan and step and not replan and not resumed else ()
    return Intent(
        plan=plan,
        step=step,
        replan=replan,
        revisions=revisions,
        may_revise=may_revise,
        conditions=asked,
        beside=beside,
    )


def _usage(turn: Turn, revisions: int) -> Usage:
    return Usage(
        iterations=turn.iterations_used,
        tokens=turn.prompt_tokens + turn.reply_tokens,
        seconds=turn.seconds,
        cost=turn.cost,
        revisions=revisions,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """What the next iteration must know of the last one."""

    number: int
    step_key: str
    plan_revision: int
    changes: Json
    outcome: str = "continue"
    row: Iteration | None = None  # None: it is known without reading


def _last(turn: Turn, before: Before | None) -> Last | None:
    if before:
        was = before.snapshot
        key, revision = was.step.key if was.step else "", was.plan.revision if was.plan else 0
        return Last(number=was.number, step_key=key, plan_revision=revision, changes=before.changes)
    row = turn.iterations.order_by("-number").defer("sections", "receipt", "raw", "offered").first()
    if row is None:
        return None
    return Last(
        number=row.number,
        step_key=row.step_key,
        plan_revision=row.plan_revision,
        changes=row.changes,
        outcome=row.outcome,
        row=row,
    )


def _calls(turn: Turn) -> tuple[CallView, ...]:
    rows = turn.calls.annotate(number=F("iteration__number")).order_by("-number", "-index").defer("traceback")
    return tuple(view_of(row, row.number) for row in rows[:CALLS])[::-1]


def view_of(call: ToolCall, iteration: int) -> CallView:
    return CallView(
        id=call.id,
        iteration=iteration,
        index=call.index,
        step_key=call.step_key,
        tool=call.tool,
        tier=call.tier,
        status=call.status,
        args=call.args or call.proposed,
        proposed=call.proposed,
        digest=call.digest,
        result=call.result,
        text=call.text,
        summary=call.summary,
        error=call.error,
    )


def _pending(last: Last, calls: Sequence[CallView]) -> Decision | None:
    """The last decision, when some of its calls have no result yet."""
    row = last.row
    if row is None or row.outcome not in {"", "pause"}:
        return None
    mine = [call for call in calls if call.iteration == row.number]
    # After a question or a plan to look at, the loop asks anew; what the person settled by hand is still to be judged.
    if not mine or (row.outcome == "pause" and all(call.tier == "local" for call in mine)):
        return None
    again = tuple(Call(tool=call.tool, args=call.proposed, id=call.id, status=call.status) for call in mine)
    return Decision(
        calls=again,
        text=row.thought,
        iteration_id=row.id,
        started_at=row.started_at,
        notes=tuple(row.notes),
        paused=row.outcome == "pause",
    )


def _replan(plan: PlanView | None, last: Last | None) -> str:
    """Why the plan must be revised now. A reason holds until a newer revision is there."""
    if plan is None or last is None:
        return ""
    if not plan.approved:
        return "The person wants another plan than this one."
    if last.changes.get("replan") and last.plan_revision >= plan.revision:
        return str(last.changes["replan"])
    failed = plan.failed_steps
    return f"Step {failed[0].index} failed: {failed[0].note or failed[0].title}" if failed else ""


def _other_goal(goals: Sequence[tuple[str, str]]) -> str:
    """The person edited the goal since the agent last planned: the steps were made for another one."""
    planned_for = next((goal for author, goal in reversed(goals) if author == "agent"), "")
    if not goals or planned_for == goals[-1][1]:
        return ""
    return "The person changed the goal. The steps that are left were made for the old one."


def _stuck(plan: PlanView, step: StepView | None, most: int) -> str:
    if step and step.iterations >= most:
        return f"Step {step.index} ({step.title}) used its {most} iterations without passing its check."
    if step is None and any(item.status == "pending" for item in plan.steps):
        return "The steps that are left depend on a step that did not succeed."
    return ""


def _beside(plan: PlanView, step: StepView, asked: Sequence[ConditionView]) -> tuple[StepView, ...]:
    """None while a condition is open: what decides it comes first."""
    if any(condition.status == "open" for condition in asked):
        return ()
    reads = {name for name, contract in registry.business().items() if contract.tier == Tier.READ}
    return plans.beside(plan, step, reads)


def _evidence(calls: tuple[CallView, ...], step: StepView | None, replan: str) -> tuple[CallView, ...]:
    """The calls the model reads in full: those of the step in focus, else what it just tried in vain."""
    if step and not replan:
        return tuple(call for call in calls if call.step_key == step.key)
    last = next((n for n in range(len(calls), 0, -1) if calls[n - 1].step_key), 0)
    return tuple(call for call in calls[last:] if call.status != "succeeded")


def _question(step: StepView) -> str:
    """What recall is asked: the step's own words and what its tools do, since a title alone may be two words."""
    purposes = [contract.purpose for name in step.tools if (contract := registry.find(name))]
    return " ".join([step.title, *purposes])


def _results(calls: tuple[CallView, ...], plan: PlanView | None) -> tuple[CallView, ...]:
    """What the done steps brought: the facts a later step takes its values from."""
    last = {call.step_key: call for call in calls if call.status == "succeeded" and call.tier != "local"}
    return tuple(last[step.key] for step in plan.steps if step.key in last) if plan else ()


def _fresh(recalls: Sequence[Recall], before: Before | None) -> tuple[str, ...]:
    shown = {item.id for item in before.snapshot.recalls if item.fate == "shown"} if before else set()
    return tuple(item.id for item in recalls if item.fate == "shown" and item.id not in shown)


def _talk(turn: Turn, before: Before | None) -> tuple[str, tuple[Said, ...]]:
    """The summary and the window after it. Earlier turns have ended: during one turn they stay as they are."""
    if before:
        return before.snapshot.summary, before.snapshot.window
    summary = conversations.latest_summary(turn.conversation_id)
    return (summary.text if summary else ""), _window(turn, summary.upto if summary else 0)


def _window(turn: Turn, after: int) -> tuple[Said, ...]:
    """What was said in the turns before, with what the agent did, oldest first."""
    earlier = list(
        Turn.objects.filter(conversation=turn.conversation_id, number__lt=turn.number, number__gte=turn.number - WINDOW)
        .order_by("number")
        .prefetch_related("messages")
    )
    done = ToolCall.objects.filter(turn__in=earlier, status=ToolCall.Status.SUCCEEDED).exclude(tier="local")
    traces: dict[UUID, list[str]] = {}
    for turn_id, tool, summary in done.order_by("started_at").values_list("turn_id", "tool", "summary"):
        outside = schemas.from_outside(tool)
        traces.setdefault(turn_id, []).append(f"{tool}: {fenced(summary) if outside else summary}")
    said = []
    for item in earlier:
        for message in item.messages.all():
            if message.role != Message.Role.NOTICE and message.id > after:
                agent = message.role == Message.Role.AGENT
                trace = "; ".join(traces.get(item.id, ())) if agent else ""
                said.append(Said(role=message.role, text=message.text, trace=trace))
    return tuple(said)


def _today(goal: str) -> str:
    """The days that the task names, worked out by code; else today. A small model that sees both takes today."""
    now: datetime = timezone.localtime()
    named = [f"{words} = {day}" if words != str(day) else words for words, day in days_in(goal[:2_000], now.date())]
    return f"Dates in the task: {'; '.join(dict.fromkeys(named[:4]))}" if named else f"Today: {now:%A %Y-%m-%d}"
