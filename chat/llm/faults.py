"""Say what a fault of the endpoint means: for the person, for the operator, and for the next try.

status, headers, body, exception -> Fault.  Touches: nothing (pure).
"""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from django.utils.translation import gettext as _

from chat.errors import LLMUnavailable
from chat.llm.arguments import mend
from chat.llm.base import ContextTooLong

LONGEST_WAIT = 60.0  # seconds; an endpoint that asks for more is given up

_CONTEXT = re.compile(
    r"exceed_context_size|context_length_exceeded|(maximum|available|model'?s?) context|context (size|length|window)"
    r"|prompt is too long|(input|request|prompt).{0,40}too (long|large|many tokens)"
    r"|reduce (the|your) (length|prompt|input)"
    r"|too many (input )?tokens|max(imum)?_?( model| input)?_?(len|length|tokens).{0,40}exceed|no user query found",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"insufficient_quota|billing|credit|payment|exceeded your current quota", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of an endpoint."""

    message: str  # for the person
    kind: Literal["busy", "down", "broken", "refused", "context", "final"]
    advice: str = ""  # for the operator
    wait: float | None = None  # seconds the endpoint asks to wait
    said: str = ""  # its own words
    limit: int = 0  # context size, when it is told
    sent: int = 0  # size of the request, when it is told

    @property
    def may_pass(self) -> bool:
        return self.kind in {"busy", "down", "broken"}

    def as_error(self) -> LLMUnavailable:
        message = self.message if self.message[-1:] in ".!?。！？…" else f"{self.message}."
        if self.kind == "context":
            return ContextTooLong(message, limit=self.limit, sent=self.sent)
        return LLMUnavailable(message, self.advice)


def of_status(status: int, body: Any, text: str, headers: Mapping[str, str], *, model: str, where: str) -> Fault:
    """The fault behind an HTTP status."""
    said = words(body) or _short(text) or f"HTTP {status}"
    names = {"where": where, "model": model, "said": said}
    whole = f"{said} {_dump(body)}"
    if status in {400, 413, 422, 500} and _CONTEXT.search(whole):
        return _context(said, body)
    if status in {401, 403}:
        message = _("The endpoint %(where)s refused the key: %(said)s") % names
        return Fault(message=message, kind="final", advice=_("Check OPENAI_API_KEY, then send again."), said=said)
    if status == 402 or (status == 429 and _QUOTA.search(whole)):
        message = _("The account at %(where)s has no credit left: %(said)s") % names
        advice = _("Top up the account or use another endpoint.")
        return Fault(message=message, kind="final", advice=advice, said=said)
    if status == 404:
        message = _("The endpoint %(where)s does not know the model %(model)s or this address: %(said)s") % names
        advice = _("Set AGENT_MODEL to a model that the endpoint has.") + " " + _check_url()
        return Fault(message=message, kind="final", advice=advice, said=said)
    if status in {408, 409, 425, 429, 503, 529}:
        message = _("The endpoint %(where)s is busy: %(said)s") % names
        return Fault(message=message, kind="busy", wait=_wait(headers), said=said, advice=_("Send again in a while."))
    if status >= 500:
        message = _("The endpoint %(where)s has a fault: %(said)s") % names
        advice = _("Look at the endpoint's log, then send again.")
        return Fault(message=message, kind="down", wait=_wait(headers), said=said, advice=advice)
    message = _("The endpoint %(where)s refused the request: %(said)s") % names
    advice = _("The request does not suit this endpoint; its words above say what it does not take.")
    return Fault(message=message, kind="refused", said=said, advice=advice)


def of_report(error: Any, *, where: str) -> Fault:
    """The fault that an endpoint reports inside a stream or a body that began well."""
    said = words({"error": error}) or _("no reason given")
    if _CONTEXT.search(f"{said} {_dump(error)}"):
        return _context(said, error)
    code = error.get("code") if isinstance(error, dict) else None
    final = str(code) in {"400", "401", "402", "403", "404", "422"}
    message = _("The endpoint %(where)s broke off with an error: %(said)s") % {"where": where, "said": said}
    advice = _("Send again in a while.")
    return Fault(message=message, kind="final" if final else "broken", said=said, advice=advice)


def of_exception(fault: BaseException, *, where: str, timeout: float) -> Fault:
    """The fault behind a connection that failed."""
    text = f"{type(fault).__name__} {type(fault.__cause__).__name__} {fault} {fault.__cause__ or ''}"
    names = {"where": where, "seconds": f"{timeout:g}"}
    if "ConnectTimeout" in text:
        return Fault(message=_("The endpoint %(where)s did not take the connection within 5 s.") % names, kind="down")
    if "Timeout" in text:
        message = _("The endpoint %(where)s was silent for %(seconds)s s.") % names
        advice = _("Is the model loading or the machine overloaded? AGENT_LLM_TIMEOUT sets how long to wait.")
        return Fault(message=message, kind="down", advice=advice)
    if "ConnectError" in text:
        return Fault(message=_("The endpoint %(where)s cannot be reached.") % names, kind="down")
    message = _("The connection to %(where)s broke off.") % names
    return Fault(message=message, kind="broken", advice=_("Send again; if it stays, look at the endpoint's log."))


def of_nonsense(unread: str, *, where: str) -> Fault:
    """An answer that is no chat completion at all."""
    message = _("%(where)s answered with something that is no chat reply.") % {"where": where}
    if unread:
        message += " " + _("It begins with: %(begin)s") % {"begin": _short(unread, 80)}
    return Fault(message=message, kind="broken", advice=_check_url())


def _check_url() -> str:
    return _("Check OPENAI_BASE_URL: it usually ends in /v1.")


def words(body: Any) -> str:
    """The endpoint's own words in an error body of any of the usual shapes."""
    if isinstance(body, str):
        return _short(body)
    if isinstance(body, list):
        return _short("; ".join(filter(None, map(words, body))))
    if isinstance(body, dict):
        for key in ("error", "message", "msg", "detail", "error_description"):
            if said := words(body.get(key)):
                return said
    return ""


def _context(said: str, body: Any) -> Fault:
    numbers = _numbers(body)
    found = [int(n) for n in re.findall(r"\d{3,}", said)]
    limit = numbers.get("n_ctx") or (min(found) if len(found) > 1 else 0)
    sent = numbers.get("n_prompt_tokens") or (max(found) if len(found) > 1 else 0)
    message = _("The request is longer than the model can read: %(said)s") % {"said": said}
    return Fault(message=message, kind="context", limit=limit, sent=sent)


def _numbers(body: Any) -> dict[str, int]:
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    return {key: value for key, value in body.items() if isinstance(value, int)} if isinstance(body, dict) else {}


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds from Retry-After (a number or a date) or retry-after-ms."""
    try:
        if raw := headers.get("retry-after-ms"):
            return max(0.0, float(raw) / 1000)
        if raw := headers.get("retry-after"):
            return max(
                0.0,
                float(raw) if re.fullmatch(r"[\d.]+", raw) else parsedate_to_datetime(raw).timestamp() - time.time(),
            )
    except (ValueError, TypeError):
        pass
    return None


# Providers repeat the key they refuse, and the message is shown to whoever chats.
_SECRET = re.compile(r"\b(?:sk|pk|gsk|key|hf|xai)[-_][\w*.-]{4,}|(?<=Bearer )\S+", re.IGNORECASE)


def _short(text: str, limit: int = 300) -> str:
    text = " ".join(mend(re.sub(r"<[^>]*>", " ", text)).split())
    text = _SECRET.sub("…", text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _dump(body: Any) -> str:
    try:
        return json.dumps(body, ensure_ascii=False, default=str)[:2000]
    except (ValueError, RecursionError):
        return ""
