"""Whether a call fits the moment, and with which arguments: its tool is offered, they suit it, nothing decided says otherwise.

Snapshot, Call -> contract, effective arguments.  Touches: nothing (pure).
"""

from collections.abc import Mapping
from typing import Any

from chat.errors import ModelMistake
from chat.loop import offer, schemas
from chat.tools import arguments, registry
from chat.tools.contract import Contract
from chat.types import Call, Decision, Snapshot


def fit(snapshot: Snapshot, decision: Decision, call: Call) -> tuple[Contract, arguments.Effective]:
    """Raises ModelMistake, in words for the model."""
    contract = registry.find(call.tool)
    if call.fault or contract is None or call.tool not in snapshot.offered:
        raise ModelMistake(call.fault or _unknown(call.tool, contract, snapshot))
    if call.tool in {"finish", "ask_user"} and not _alone(call, decision):
        raise ModelMistake(f"{call.tool} must be called alone, after the other results are there.")
    effective = arguments.effective(contract, call.args)
    _check_bound(snapshot, call.tool, effective.args)
    return contract, effective


def _alone(call: Call, decision: Decision) -> bool:
    """An end that an endpoint says several times in one reply is one end: the first counts."""
    return call is decision.calls[0] and all(other.tool == call.tool for other in decision.calls)


def _check_bound(snapshot: Snapshot, tool: str, args: Mapping[str, Any]) -> None:
    """A decided condition fixes an argument; another value is explained and the call made again."""
    for name, (value, because) in schemas.bound(snapshot, tool).items():
        if args.get(name) != value:
            raise ModelMistake(
                f"{name} must be {value!r}, because it was decided: {because}. You gave {args.get(name)!r}."
            )
    if wrong := schemas.contradicted(snapshot, args):
        raise ModelMistake(" ".join(wrong))


def _unknown(name: str, contract: Contract | None, snapshot: Snapshot) -> str:
    if contract is None:
        return f"There is no tool {name!r}. Offered now: {', '.join(snapshot.offered)}."
    return offer.why_not(name, snapshot.plan, snapshot.step, snapshot.offered)
