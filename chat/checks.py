"""System checks that refuse an incomplete tool contract at start-up.

contracts -> check messages.  Touches: the registry.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import jsonschema
from django.core.checks import CheckMessage, Error

from chat.tools import registry
from chat.tools.contract import Contract, Tier

WORDS = ("purpose", "not_for", "returns_empty", "cost", "latency")


def check_tools(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    try:
        contracts = registry.builtin()
    except ValueError as fault:
        return [Error(str(fault), id="agentweb.E001")]
    return [
        Error(text, obj=name, id="agentweb.E002") for name, contract in contracts.items() for text in faults(contract)
    ]


def faults(contract: Contract) -> Iterator[str]:
    """What is missing or wrong in one contract."""
    for word in WORDS:
        if not getattr(contract, word).strip():
            yield f"The contract says nothing about {word}."
    if not contract.failures or any(not mode.when or not mode.advice for mode in contract.failures):
        yield "Each way to fail needs its advice."
    if contract.tier == Tier.WRITE and contract.effect is None:
        yield "A write tool must say its effect in words for the approval card."
    if contract.tier == Tier.EXPENSIVE and not (contract.quota and contract.day_quota):
        yield "An expensive tool needs a quota for a turn and for a day."
    if not 0 < contract.timeout <= 300:
        yield "The timeout must be between 0 and 300 seconds."
    for name, prop in contract.schema().get("properties", {}).items():
        if prop.get("type") == "string" and not prop.get("enum") and not (prop.get("maxLength") or prop.get("format")):
            yield f"The text argument {name} has no limit."
    try:
        jsonschema.Draft202012Validator.check_schema(dict(contract.returns))
    except jsonschema.SchemaError:
        yield "The result shape is not a valid JSON Schema."
    unknown = [need for need in contract.needs if need not in registry.builtin()]
    if unknown:
        yield f"It needs {unknown[0]}, which is no tool."
