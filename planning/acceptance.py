"""Run acceptance checks against evidence: by code where code can, else by a judge whose quotes are checked.

CheckView, Evidence -> CheckVerdict.  Touches: nothing (pure).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

import jsonschema
from django.utils.translation import gettext as _

from planning.types import CheckView, Evidence

EVIDENCE_CHARS = 300
MAX_SCHEMA = 2_000  # characters of a schema that a model wrote
MIN_QUOTE = 2  # characters; a single letter is in every text
# Words of JSON Schema that take for ever or reach out when a model writes them.
UNSAFE = ("pattern", "patternProperties", "$ref", "$dynamicRef", "$schema", "$id", "format")
# The result of a write whose outcome nobody knew until the person looked.
CONFIRMED = {"confirmed_by_person": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckVerdict:
    verdict: str  # passed or failed
    reason: str  # in plain words
    evidence: str = ""  # what the check read, cut
    call_id: UUID | None = None


def by_code(
    check: CheckView,
    evidence: Sequence[Evidence],
    *,
    slots: Mapping[str, Any],
    exists: Callable[[str], bool] | None = None,
    confirmed: bool = False,
) -> CheckVerdict | None:
    """None: only a judge can answer. The newest fitting evidence decides."""
    tool = str(check.params.get("tool", ""))
    match check.kind:
        case "tool_succeeded":
            return _succeeded(tool, evidence)
        case "result_matches":
            return _matches(tool, check.params.get("schema", {}), evidence)
        case "slot_present":
            name = str(check.params.get("slot", ""))
            there = slots.get(name) not in (None, "", [], {})
            return _said(
                there, _("%(slot)s is known") % {"slot": name}, _("%(slot)s is not known yet") % {"slot": name}
            )
        case "record_exists":
            name = str(check.params.get("record", ""))
            if exists is None:
                return CheckVerdict(
                    verdict="failed", reason=_("nothing here can tell whether %(record)s exists") % {"record": name}
                )
            return _said(
                exists(name),
                _("%(record)s exists") % {"record": name},
                _("%(record)s does not exist") % {"record": name},
            )
        case "user_confirmed":
            return _said(confirmed, _("you confirmed it"), _("you have not confirmed it yet"))
    return None


def judge_question(check: CheckView, evidence: Sequence[Evidence]) -> tuple[str, dict[str, Any]]:
    """The question and the schema of its answer: the reason first, so that the verdict follows from it."""
    schema = {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "verdict": {"type": "string", "enum": ["passed", "failed"]},
            "quotes": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": ["reason", "verdict", "quotes"],
        "additionalProperties": False,
    }
    return str(check.params.get("question", "")), schema


def from_judge(check: CheckView, evidence: Sequence[Evidence], answer: Mapping[str, Any]) -> CheckVerdict:
    """A verdict without a quote that stands in the evidence, word for word, fails the check."""
    reason = str(answer.get("reason") or "") or _("the judge gave no reason")
    given = answer.get("quotes") or []
    quotes = [str(quote) for quote in (given if isinstance(given, list) else [given])]
    if answer.get("verdict") != "passed":
        return CheckVerdict(verdict="failed", reason=reason)
    sources = [source_of(quote, evidence) for quote in quotes]
    missing = [quote for quote, source in zip(quotes, sources, strict=True) if source is None]
    if missing or not sources:
        said = {"quote": missing[0][:80] if missing else ""}
        return CheckVerdict(verdict="failed", reason=_('the proof "%(quote)s" is not in the evidence') % said)
    call_id = next((source.call_id for source in sources if source), None)
    return CheckVerdict(verdict="passed", reason=reason, evidence=quotes[0][:EVIDENCE_CHARS], call_id=call_id)


def source_of(quote: str, evidence: Sequence[Evidence]) -> Evidence | None:
    """The evidence that a quote stands in, as it is or as JSON writes it; None: it was made up."""
    wanted = _squash(quote)
    if len(wanted) < MIN_QUOTE:
        return None
    for item in reversed(evidence):
        forms = {as_text(item.result), json.dumps(item.result, ensure_ascii=False, default=str)}
        if item.succeeded and any(wanted in _squash(form) for form in forms):
            return item
    return None


def unusable(schema: Mapping[str, Any]) -> str:
    """Why a schema that a model wrote cannot be a check; empty: it can."""
    text = json.dumps(schema, default=str)
    if not schema or schema == {"type": "object"}:
        return "accepts any result"
    if len(text) > MAX_SCHEMA or text.count("{") > 60:
        return "is too long"
    used = [word for word in UNSAFE if f'"{word}":' in text]
    if used:
        return f"uses {used[0]}, which is not allowed"
    try:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        return f"is no valid JSON Schema ({error.message[:80]})"
    return ""


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _succeeded(tool: str, evidence: Sequence[Evidence]) -> CheckVerdict:
    for item in reversed(evidence):
        if item.tool == tool and item.succeeded:
            return _passed(_("%(tool)s returned a result") % {"tool": tool}, item)
    return CheckVerdict(verdict="failed", reason=_("%(tool)s has not succeeded") % {"tool": tool})


def _matches(tool: str, schema: Mapping[str, Any], evidence: Sequence[Evidence]) -> CheckVerdict:
    fault = _("%(tool)s has not succeeded") % {"tool": tool}
    for item in reversed(evidence):
        if item.succeeded and tool in ("", item.tool):
            if item.result == CONFIRMED:
                return _passed(_("you confirmed that it happened"), item)
            wrong = _mismatch(item.result, schema)
            if not wrong:
                return _passed(_described(item.tool, schema), item, part=_read(item.result, schema))
            fault = _("the result of %(tool)s does not fit: %(what)s") % {"tool": item.tool, "what": wrong}
    return CheckVerdict(verdict="failed", reason=fault)


def _mismatch(result: Any, schema: Mapping[str, Any]) -> str:
    """What does not fit, in words; empty: it fits."""
    validator = _validator(json.dumps(schema, default=str))
    if validator is None:
        return _("the check itself is broken: its schema is not valid")
    error = jsonschema.exceptions.best_match(validator.iter_errors(result))
    if error is None:
        return ""
    where = ".".join(map(str, error.absolute_path))
    return f"{where} {error.message}".strip()[:160]


@lru_cache(maxsize=256)
def _validator(schema: str) -> jsonschema.Draft202012Validator | None:
    """None: the schema is not valid, or would reach out for another one. To look takes longer than to validate."""
    if "$ref" in schema:
        return None
    try:
        jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    except jsonschema.SchemaError:
        return None
    return jsonschema.Draft202012Validator(json.loads(schema))


def _read(result: Any, schema: Mapping[str, Any]) -> Any:
    """The part of a result that the check looked at."""
    names = {*schema.get("required", ()), *schema.get("properties", {})}
    if not isinstance(result, Mapping) or not names:
        return result
    return {name: value for name, value in result.items() if name in names} or result


def _described(tool: str, schema: Mapping[str, Any]) -> str:
    """ "search_hotels returned hotels": what the schema asked for, in words."""
    names = ", ".join(schema.get("required", ())) or _("what was asked for")
    return _("%(tool)s returned %(names)s") % {"tool": tool, "names": names}


def _passed(reason: str, item: Evidence, *, part: Any = None) -> CheckVerdict:
    read = item.result if part is None else part
    return CheckVerdict(verdict="passed", reason=reason, evidence=as_text(read)[:EVIDENCE_CHARS], call_id=item.call_id)


def _said(there: bool, yes: str, no: str) -> CheckVerdict:
    return CheckVerdict(verdict="passed" if there else "failed", reason=yes if there else no)


def _squash(text: str) -> str:
    """Without what a copy by hand gets wrong: spaces, quotation marks, line ends written out, case."""
    return re.sub(r"\\[nrt]|[\s\"'“”‘’「」\\]+", "", text).casefold()
