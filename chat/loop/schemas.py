"""The function schemas of the tools offered now, narrowed to what is already decided.

Snapshot -> function schemas, catalogue lines.  Touches: nothing (pure).
"""

import copy
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from chat.loop.offer import unread
from chat.tools import describe, offer, registry
from chat.tools.contract import Tier
from chat.types import Json, Snapshot
from planning import conditions


def offered(snapshot: Snapshot) -> tuple[Json, ...]:
    """What the model reads of them. What a tool is not for is said where it must choose among several."""
    contracts = [contract for name in snapshot.offered if (contract := registry.find(name))]
    business = [contract for contract in contracts if contract.pack != "control"]
    hidden = unread(
        snapshot.step,
        only_reads=all(contract.tier == Tier.READ for contract in business),
        tried=[call.status for call in snapshot.evidence],
        mendable=bool(_last_fault(snapshot).get("mend")),
    )
    read = [contract for contract in contracts if contract.name not in hidden or snapshot.replan]
    return tuple(_narrow(describe.function_schema(one, choice=len(business) > 1), snapshot) for one in read)


def bound(snapshot: Snapshot, tool: str) -> dict[str, tuple[Any, str]]:
    """Arguments that a decided condition fixes: name -> (value, because).

    What the person says after the turn began wins over the rule they first gave, so then nothing is bound.
    """
    contract = registry.find(tool)
    if contract is None or snapshot.steering:
        return {}
    step = snapshot.step
    carried = step.when.get("condition", "") if step and tool in step.tools else ""
    return dict(conditions.bound_arguments(contract.schema(), snapshot.conditions, carried=carried))


def contradicted(snapshot: Snapshot, args: Mapping[str, Any]) -> list[str]:
    """Arguments that say what the branch not in force would have said, in words for the model."""
    return [] if snapshot.steering else conditions.contradicted(args, snapshot.conditions)


def from_outside(*names: str) -> bool:
    """Whether others write what one of these tools returns; a tool that is gone may have been such."""
    contracts = [registry.find(name) for name in names]
    return any(contract is None or contract.from_outside for contract in contracts)


def catalogue(snapshot: Snapshot) -> list[str]:
    """One line for each tool that fits the task best; the others stand by their name among the choices of a step."""
    tools = registry.business()
    return [describe.line(tools[name]) for name in plannable(snapshot)[: settings.AGENT_TOOLS_OFFERED]]


def plannable(snapshot: Snapshot) -> tuple[str, ...]:
    """The tools that fit the task, those the plan uses already, and those that find_tools brought up."""
    used = [name for step in (snapshot.plan.steps if snapshot.plan else ()) for name in step.tools]
    found = [
        name for call in snapshot.recent if call.tool == "find_tools" for name in (call.result or {}).get("tools", ())
    ]
    text = " ".join([snapshot.goal, *snapshot.steering])
    limit = settings.AGENT_TOOLS_OFFERED + settings.AGENT_TOOLS_NAMED
    return offer.fitting(registry.business(), text, limit=limit, named=[*used, *found])


def _last_fault(snapshot: Snapshot, tool: str = "") -> Mapping[str, Any]:
    """Of the step's newest call, when it failed (and is of this tool)."""
    last = snapshot.evidence[-1] if snapshot.step and snapshot.evidence else None
    if last is None or last.status != "failed" or snapshot.replan or tool not in {"", last.tool}:
        return {}
    return last.error or {}


def _narrow(schema: Json, snapshot: Snapshot) -> Json:
    """A copy of the schema with bound arguments as the only choice, and the real tool names for plan steps."""
    function = schema["function"]
    fixed = bound(snapshot, function["name"])
    known = _last_fault(snapshot, function["name"]).get("known") or {}
    if not fixed and not known and function["name"] not in {"set_plan", "revise_plan"}:
        return schema
    narrowed = copy.deepcopy(schema)
    parameters = narrowed["function"]["parameters"]
    for name, values in known.items():
        if name in parameters["properties"]:
            meant = [value for value in values if value in snapshot.today]  # a day that the task names
            parameters["properties"][name] |= {"enum": meant or values}
    for name, (value, _because) in fixed.items():
        parameters["properties"][name] = {"type": "string", "enum": [value]}
        parameters["required"] = sorted({*parameters.get("required", ()), name})
    if function["name"] in {"set_plan", "revise_plan"}:
        parameters["properties"]["steps"]["items"]["properties"]["tool"]["enum"] = sorted(plannable(snapshot))
    return narrowed
