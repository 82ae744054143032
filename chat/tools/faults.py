"""Every fault of a tool in words: what happened, the likely cause, what to do next, and whether to try again.

exception -> {"what", "cause", "next", "retry", "mend", "known", "quoted"}.  Touches: nothing (pure).

The model never sees a traceback; staff find it in the trace.
"""

import asyncio
import json
from typing import Any

from django.utils.translation import gettext as _

from chat.errors import ModelMistake, OutcomeUnknown, ToolFailed
from chat.fence import fenced
from chat.tools.contract import Contract, Tier
from chat.tools.results import clean, line

LONGEST = 2_000  # characters of what happened
ADVICE = 600  # of the cause, of what to do next


def translate(exc: BaseException, contract: Contract) -> dict[str, Any]:
    if isinstance(exc, ToolFailed):
        advice = exc.next or _advice(contract)
        return _error(exc.what, exc.cause, advice, exc.retry, mend=exc.mend, known=exc.known, quoted=exc.quoted)
    if isinstance(exc, ModelMistake):
        return _error(str(exc), "", "Call it again with what the message asks for.", False, mend=True)
    if outcome_unknown(exc, contract):
        why = "did not answer in time" if isinstance(exc, TimeoutError) else "broke off"
        return _error(f"{contract.name} {why}. {_('Nobody knows whether it happened.')}", "", "", False)
    if isinstance(exc, TimeoutError):
        what = f"{contract.name} did not answer within {contract.timeout:g} seconds."
        return _error(
            what, "The service behind it is slow or down.", "Try once more, or go another way.", contract.repeatable
        )
    if isinstance(exc, OSError):
        return _error(
            f"{contract.name} could not reach its service.",
            "The network, the disk or the service is down.",
            _advice(contract),
            contract.repeatable,
        )
    if isinstance(exc, asyncio.CancelledError):
        what = f"{contract.name} gave up inside."
    else:
        what = f"{contract.name} failed inside ({type(exc).__name__})."
    return _error(what, "This is a fault of the tool.", "Go another way.", False)


def outcome_unknown(exc: BaseException, contract: Contract) -> bool:
    """A call that changes something and did not say how it ended may have happened, unless twice does no harm."""
    if isinstance(exc, OutcomeUnknown):
        return True
    said = isinstance(exc, ToolFailed | ModelMistake)
    return contract.tier in {Tier.WRITE, Tier.EXPENSIVE} and not contract.repeatable and not said


def for_model(error: dict[str, Any]) -> str:
    parts = [
        error["what"],
        error["quoted"] and fenced(error["quoted"]),
        error["cause"] and f"Likely cause: {error['cause']}",
        error["next"] and f"Next: {error['next']}",
    ]
    return " ".join(part for part in parts if part)


def for_person(error: dict[str, Any]) -> str:
    return line(f"{error['what']} {error['quoted']}")


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


def _error(
    what: str,
    cause: str,
    next_: str,
    retry: bool,
    *,
    mend: bool = False,
    known: dict[str, list[str]] | None = None,
    quoted: str = "",
) -> dict[str, Any]:
    return {
        "what": clean(str(what))[:LONGEST],
        "cause": clean(str(cause))[:ADVICE],
        "next": clean(str(next_))[:ADVICE],
        "retry": retry,
        "mend": mend,
        "known": known or {},
        "quoted": clean(str(quoted))[:LONGEST],
    }
