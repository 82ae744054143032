"""What set_plan and revise_plan share: from the model's words to a stored plan, or all faults at once.

proposal -> stored Plan.  Touches: planning.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from chat.errors import ModelMistake
from chat.models import Turn
from chat.tools import registry
from chat.tools.contract import Done
from planning import conditions, exclusions, normalise, plans
from planning.drafts import PlanDraft
from planning.errors import PlanRefused
from planning.types import PlanView, ToolFacts


def facts() -> dict[str, ToolFacts]:
    """What the plan validator must know of each tool that a step may use."""
    return {
        name: ToolFacts(
            name=name,
            tier=str(contract.tier),
            purpose=contract.purpose,
            checks=contract.checks,
            needs=contract.needs,
            choices=tuple(tuple(p["enum"]) for p in contract.schema()["properties"].values() if p.get("enum")),
        )
        for name, contract in registry.business().items()
    }


def store(
    turn: Turn, proposal: Mapping[str, Any], *, approved: bool, reason: str = "", ruled_out: Sequence[str] = ()
) -> Done:
    """Store a first plan, or a revision when there is one. Raises ModelMistake with every fault."""
    tools = facts()
    current = plans.current(turn.id)
    draft, notes = normalise.normalise(
        PlanDraft.model_validate(dict(proposal)), turn.goal, tools=tools, current=current
    )
    excluded = (*exclusions.names(turn.conversation_id), *ruled_out)
    try:
        if current is None:
            plan = plans.set_plan(
                turn.id,
                turn.conversation_id,
                turn.goal,
                draft,
                tools=tools,
                exclusions=excluded,
                approved=approved,
            )
        else:
            plan = plans.revise(turn.id, draft, reason=reason, tools=tools, exclusions=excluded, approved=approved)
    except PlanRefused as refusal:
        lines = "\n".join(f"- {fault}" for fault in refusal.faults)
        raise ModelMistake(
            f"The plan has faults:\n{lines}\nSend the whole plan again with all of them mended."
        ) from refusal
    if not conditions.views(turn.id):
        conditions.store(turn.id, draft.conditions, [step.key for step in plan.steps])
    return _done(plan, draft, notes)


def _done(plan: PlanView, draft: PlanDraft, notes: tuple[str, ...]) -> Done:
    count, questions = len(plan.steps), len(draft.conditions)
    summary = f"{count} step{'s' if count != 1 else ''}"
    if questions:
        summary += f" and {questions} condition{'s' if questions != 1 else ''}"
    return Done(
        data={"steps": count, "revision": plan.revision, "notes": list(notes)},
        summary=summary,
        text="The plan is stored.",
    )
