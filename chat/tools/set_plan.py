"""Write the plan of a turn. Control tool: what the model proposes is validated before it is stored.

PlanDraft -> Plan.  Touches: planning.plans, planning.conditions.
"""

from typing import Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from chat.db import in_db
from chat.models import Turn
from chat.tools import planned
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext


class PlannedStep(Args):
    title: str = Field(description="one short sentence, no 'if'", max_length=300)
    tool: str = Field(description="the one tool it uses", max_length=120)
    after: list[int] | None = Field(None, description="numbers of the steps it must wait for; default: the one before")

    # Taken and not shown: a small model that reads of it asks "Is it raining?" there and plans nothing else.
    check: SkipJsonSchema[str] = Field("", max_length=300)


class PlannedCondition(Args):
    question: str = Field(description="a yes/no question", max_length=300)
    if_yes: str = Field(max_length=300)
    if_no: str = Field("", max_length=300)


class SetPlanArgs(Args):
    steps: list[PlannedStep] = Field(min_length=1)
    conditions: list[PlannedCondition] = Field(default_factory=list)


async def run(args: SetPlanArgs, ctx: ToolContext) -> Done:
    return await in_db(_run, args, ctx)


def _run(args: SetPlanArgs, ctx: ToolContext) -> Done:
    turn = Turn.objects.select_related("conversation").get(id=ctx.turn_id)
    return planned.store(turn, args.model_dump(exclude_none=True), approved=not turn.conversation.approve_plans)


SCHEMA: dict[str, Any] = {"type": "object", "required": ["steps"], "properties": {"steps": {"type": "integer"}}}

CONTRACT = Contract(
    name="set_plan",
    purpose=(
        "Write the plan: 1-8 steps in order, each about ONE tool call. A rule such as 'if … otherwise …' is no step: "
        "put it into conditions, and write one step for what it decides."
    ),
    not_for="changing a plan that exists (revise_plan)",
    args=SetPlanArgs,
    run=run,
    tier=Tier.LOCAL,
    returns=SCHEMA,
    returns_empty="never empty: a plan without steps is refused",
    failures=(
        FailureMode(when="the plan has faults", advice="mend all faults that the message names and call it again"),
    ),
    cost="free",
    latency="milliseconds",
    repeatable=True,
    pack="control",
)
