"""What the model reads of a contract: one function schema, one line for a plan; short, for every token is paid each time.

Contract -> function schema, line.  Touches: nothing (pure).
"""

import json
from typing import Any

from chat.tokens import estimate
from chat.tools.contract import Contract
from chat.types import Json

CHECKED = {"maxLength", "minLength", "maxItems", "minItems", "default", "additionalProperties", "pattern", "format"}


def function_schema(contract: Contract, *, choice: bool = True) -> Json:
    """What the API is sent. Limits that code checks anyway are left out, and what it is not for where there is no choice."""
    says = (
        f"{contract.purpose} Not for {contract.not_for}." if choice and contract.pack != "control" else contract.purpose
    )
    function = {"name": contract.name, "description": says, "parameters": _short(contract.schema())}
    return {"type": "function", "function": function}


def _short(node: Any, *, names: bool = False) -> Any:
    """A copy of a schema without what a model does not need to read. `names`: the keys are names, not keywords."""
    if isinstance(node, list):
        return [_short(item) for item in node]
    if not isinstance(node, dict):
        return node
    if not names and len(options := [one for one in node.get("anyOf", ()) if one != {"type": "null"}]) == 1:
        node = {**options[0], **{key: value for key, value in node.items() if key != "anyOf"}}
    return {
        key: _short(value, names=key == "properties" and not names)
        for key, value in node.items()
        if names or key not in CHECKED
    }


def line(contract: Contract) -> str:
    """For the catalogue that plans are made from."""
    text = f"{contract.name}: {contract.purpose.rstrip('.')} ({contract.tier})"
    return f"{text}; needs {' and '.join(contract.needs)} first" if contract.needs else text


def tokens(contract: Contract) -> int:
    return estimate(json.dumps(function_schema(contract), ensure_ascii=False))
