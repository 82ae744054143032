"""Every fault of a tool in words: what happened, the likely cause, what to do next, and whether to try again.

exception -> {"what", "cause", "next", "retry", "mend"}.  Touches: nothing (pure).

The model never sees a traceback; staff find it in the trace.
"""

import json
from typing import Any

from chat.errors import ModelMistake, ToolFailed
from chat.tools.contract import Contract


def translate(exc: BaseException, contract: Contract) -> dict[str, Any]:
    if isinstance(exc, ToolFailed):
        return _error(exc.what, exc.cause, exc.next or _advice(contract), exc.retry, mend=exc.mend)
    if isinstance(exc, ModelMistake):
        return _error(str(exc), "", "Call it again with what the message asks for.", False, mend=True)
    if isinstance(exc, TimeoutError):
        what = f"{contract.name} did not answer within {contract.timeout:g} seconds."
        return _error(
            what, "The service behind it is slow or down.", "Try once more, or go another way.", contract.repeatable
        )
    if isinstance(exc, ConnectionError | OSError):
        return _error(
            f"{contract.name} could not reach its service.",
            "The network or the service is down.",
            _advice(contract),
            contract.repeatable,
        )
    return _error(
        f"{contract.name} failed inside ({type(exc).__name__}).",
        "This is a fault of the tool.",
        "Go another way.",
        False,
    )


def for_model(error: dict[str, Any]) -> str:
    parts = [
        error["what"],
        error["cause"] and f"Likely cause: {error['cause']}",
        error["next"] and f"Next: {error['next']}",
    ]
    return " ".join(part for part in parts if part)


def as_text(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)


def cut(text: str, chars: int) -> str:
    """The head and the tail of a long result, with what was left out said."""
    if len(text) <= chars:
        return text
    head, tail = int(chars * 0.75), int(chars * 0.2)
    return f"{text[:head]}\n… ({len(text) - head - tail:,} characters left out) …\n{text[-tail:]}"


def _advice(contract: Contract) -> str:
    return contract.failures[0].advice if contract.failures else ""


def _error(what: str, cause: str, next_: str, retry: bool, *, mend: bool = False) -> dict[str, Any]:
    return {"what": what, "cause": cause, "next": next_, "retry": retry, "mend": mend}
