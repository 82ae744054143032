"""What the model reads of a contract: one function schema, one line for a plan; short, for every token is paid each time.

Contract -> function schema, line.  Touches: nothing (pure).
"""

import json

from chat.tokens import estimate
from chat.tools.contract import Contract
from chat.types import Json


def function_schema(contract: Contract) -> Json:
    """Callers that narrow it make a copy."""
    description = contract.purpose + (f" Not for {contract.not_for}." if contract.not_for else "")
    function = {"name": contract.name, "description": description, "parameters": contract.schema()}
    return {"type": "function", "function": function}


def line(contract: Contract) -> str:
    """For the catalogue that plans are made from."""
    text = f"{contract.name}: {contract.purpose.rstrip('.')} ({contract.tier})"
    return f"{text}; needs {' and '.join(contract.needs)} first" if contract.needs else text


def tokens(contract: Contract) -> int:
    return estimate(json.dumps(function_schema(contract), ensure_ascii=False))
