"""Whether a call may run, must ask, or is covered by what the person allowed; staff may only tighten.

contract, arguments, settings -> yes or no.  Touches: nothing (pure) but the settings.

Tier and price come from the contract. Nothing that a model or a result says is looked at here.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from django.conf import settings

from chat.tools.contract import Contract, Tier


def denied(contract: Contract) -> bool:
    """Staff switched it off: AGENT_DENY_TOOLS, names or patterns such as "web_*". The loop's own tools stay."""
    return contract.pack != "control" and _matches(contract.name, settings.AGENT_DENY_TOOLS)


def asks(contract: Contract, args: Mapping[str, Any], *, spent: float = 0.0) -> bool:
    """Whether this call needs the person's yes. spent: dollars that the tools of this turn have cost."""
    if contract.tier == Tier.WRITE or always_asks(contract.name):
        return True
    if contract.tier == Tier.EXPENSIVE:
        return spent + price(contract, args) > settings.AGENT_ASK_ABOVE
    return False


def always_asks(name: str) -> bool:
    """Staff want every call of it seen: AGENT_ASK_TOOLS. No standing permission covers it."""
    return _matches(name, settings.AGENT_ASK_TOOLS)


def price(contract: Contract, args: Mapping[str, Any]) -> float:
    """Dollars of one call; a contract that cannot say counts as too dear to run unasked."""
    if contract.tier != Tier.EXPENSIVE:
        return 0.0
    try:
        value = contract.args.model_validate(dict(args)) if contract.parameters is None else dict(args)
        return float(contract.price(value)) if contract.price else float("inf")
    except Exception:
        return float("inf")


def allowed_by_grant(contract: Contract, args: Mapping[str, Any], constraints: Mapping[str, Any]) -> bool:
    """ "Always allow" covers this call: each constrained argument has exactly the value that the person fixed.

    JSON values are compared with their types, so that 1 is neither "1" nor true; what is missing matches nothing.
    """
    if denied(contract) or always_asks(contract.name):
        return False
    return all(name in args and _same(args[name], fixed) for name, fixed in constraints.items())


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
