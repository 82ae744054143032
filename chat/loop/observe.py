"""Rows and recall -> Snapshot: what is so at the start of an iteration.

Turn -> Snapshot.  Touches: reads; starts the next plan step.

The number of queries is constant: it does not grow with the conversation, the turn or the memories.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from chat import budget, conversations
from chat.db import in_db
from chat.errors import LostClaim
from chat.fence import fenced
from chat.loop import offer, schemas
from chat.models import Iteration, Message, ToolCall, Turn
from chat.tools import registry
from chat.types import Call, CallView, Decision, Said, Snapshot, Usage
from memory import recall, slots
from planning import conditions, exclusions, plans, templates
from planning.types import PlanView, StepView

WINDOW = 8  # earlier turns the model may read
RECENT = 12  # calls the gates look back on


async def observe(turn: Turn) -> Snapshot:
    return await in_db(read, turn.id, turn.fence)


def read(turn_id: UUID, fence: int) -> Snapshot:
    """Raises LostClaim when another worker has the turn."""
    turn = Turn.objects.select_related("conversation").get(id=turn_id)
    if turn.fence != fence or turn.status != Turn.Status.RUNNING:
        raise LostClaim
    last = turn.iterations.order_by("-number").first()
    calls = list(turn.calls.select_related("iteration").order_by("-iteration__number", "-index")[:60])[::-1]
    pending = _pending(last, calls)
    plan = plans.current(turn.id)
    replan = _replan(plan, last)
    step = None
    if plan and plan.approved and not replan:
        step = plans.next_step(turn.id) if pending is None else plan.step(last.step_key if last else "")
        plan = plans.current(turn.id) if step and step.status == "running" else plan
        replan = _stuck(plan, step, turn.limits["step_iterations"]) if plan else ""
    messages = list(turn.messages.filter(role=Message.Role.USER).order_by("id"))[1:]
    more_tools = len(registry.business()) > settings.AGENT_TOOLS_OFFERED
    found = recall.recall(
        turn.conversation.user_id,
        _question(step) if step else turn.goal[:500],
        limit=settings.AGENT_RECALL_LIMIT,
        floor=settings.AGENT_RECALL_FLOOR,
    )
    decided = conditions.views(turn.id)
    summary = conversations.latest_summary(turn.conversation_id)
    view = tuple(view_of(call) for call in calls)
    new_words = any(message.mark == Message.Mark.STEERING for message in messages)
    limits = budget.limits(turn.limits)
    revisions = plans.revisions(turn.id) if plan else 0
    may_revise = revisions < limits.revisions
    may_finish = bool(revisions or any(call.status in {"rejected", "expired"} for call in view))
    number = (last.number if last else 0) + (0 if pending else 1)
    asked_plain = bool(last and not pending and last.changes.get("plain_text"))
    return Snapshot(
        conversation_id=turn.conversation_id,
        turn_id=turn.id,
        user_id=turn.conversation.user_id,
        fence=fence,
        number=number,
        goal=turn.goal,
        plan=plan,
        step=step,
        conditions=decided,
        exclusions=exclusions.names(turn.conversation_id),
        slots=slots.views(turn.conversation_id),
        recalls=found.recalls,
        summary=summary.text if summary else "",
        window=_window(turn, summary.upto if summary else 0),
        steering=tuple(message.text for message in messages),
        new_words=new_words,
        evidence=_evidence(view, step, replan),
        results=_results(view, plan),
        recent=view[-RECENT:],
        faults=tuple(last.changes.get("faults", ())) if last and not pending else (),
        replan=replan,
        offered=offer.offered(
            plan, step, replan, may_revise=may_revise, may_finish=may_finish, new_words=new_words, more_tools=more_tools
        ),
        limits=limits,
        usage=Usage(
            iterations=turn.iterations_used,
            tokens=turn.prompt_tokens + turn.reply_tokens,
            seconds=turn.seconds,
            cost=turn.cost,
            revisions=revisions,
        ),
        pending=pending,
        plain_text_before=asked_plain,
        today=_today(),
        notice=found.notice,
        kept_plans=() if plan else templates.lines(turn.conversation.user_id, turn.goal, registry.business()),
    )


def view_of(call: ToolCall) -> CallView:
    return CallView(
        id=call.id,
        iteration=call.iteration.number,
        index=call.index,
        step_key=call.step_key,
        tool=call.tool,
        tier=call.tier,
        status=call.status,
        args=call.args or call.proposed,
        digest=call.digest,
        result=call.result,
        text=call.text,
        summary=call.summary,
        error=call.error,
    )


def _pending(last: Iteration | None, calls: Iterable[ToolCall]) -> Decision | None:
    """The last decision, when some of its calls have no result yet."""
    if last is None or last.outcome not in {"", "pause"}:
        return None
    mine = [call for call in calls if call.iteration_id == last.id]
    # After a question or a plan to look at, the loop asks anew; what the person settled by hand is still to be judged.
    if not mine or (last.outcome == "pause" and all(call.tier == "local" for call in mine)):
        return None
    again = tuple(Call(tool=call.tool, args=call.proposed, id=call.id, status=call.status) for call in mine)
    return Decision(calls=again, text=last.thought, iteration_id=last.id)


def _replan(plan: PlanView | None, last: Iteration | None) -> str:
    """Why the plan must be revised now. A reason holds until a newer revision is there."""
    if plan is None or last is None:
        return ""
    if not plan.approved:
        return "The person wants another plan than this one."
    if last.changes.get("replan") and last.plan_revision >= plan.revision:
        return str(last.changes["replan"])
    failed = plan.failed_steps
    return f"Step {failed[0].index} failed: {failed[0].note or failed[0].title}" if failed else ""


def _stuck(plan: PlanView, step: StepView | None, most: int) -> str:
    if step and step.iterations >= most:
        return f"Step {step.index} ({step.title}) used its {most} iterations without passing its check."
    if step is None and any(item.status == "pending" for item in plan.steps):
        return "The steps that are left depend on a step that did not succeed."
    return ""


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


def _today() -> str:
    now: datetime = timezone.localtime()
    return now.strftime("%A %Y-%m-%d")
