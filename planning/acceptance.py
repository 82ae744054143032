"""Run acceptance checks against evidence: by code where code can, else by a judge whose quotes are checked.

CheckView, Evidence -> CheckVerdict.  Touches: nothing (pure).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import jsonschema
from django.utils.translation import gettext as _

from planning.types import CheckView, Evidence

EVIDENCE_CHARS = 300
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
            there = exists(name) if exists else False
            return _said(
                there, _("%(record)s exists") % {"record": name}, _("%(record)s does not exist") % {"record": name}
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
    reason = str(answer.get("reason", "")) or _("the judge gave no reason")
    quotes = [str(quote) for quote in answer.get("quotes") or [] if str(quote).strip()]
    if answer.get("verdict") != "passed":
        return CheckVerdict(verdict="failed", reason=reason)
    text = _squash(" ".join(as_text(item.result) for item in evidence))
    missing = [quote for quote in quotes if _squash(quote) not in text]
    if not quotes or missing:
        quoted = missing[0] if missing else ""
        return CheckVerdict(
            verdict="failed", reason=_('the proof "%(quote)s" is not in the evidence') % {"quote": quoted[:80]}
        )
    return CheckVerdict(verdict="passed", reason=reason, evidence=quotes[0][:EVIDENCE_CHARS], call_id=_last(evidence))


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
            try:
                jsonschema.validate(item.result, dict(schema))
            except jsonschema.ValidationError as error:
                where = ".".join(map(str, error.absolute_path))
                fault = _("the result of %(tool)s does not fit: %(what)s") % {
                    "tool": item.tool,
                    "what": f"{where} {error.message}".strip()[:160],
                }
            except jsonschema.SchemaError:
                fault = _("the check itself is broken: its schema is not valid")
            else:
                return _passed(_described(item.tool, schema), item)
    return CheckVerdict(verdict="failed", reason=fault)


def _described(tool: str, schema: Mapping[str, Any]) -> str:
    """ "search_hotels returned hotels": what the schema asked for, in words."""
    names = ", ".join(schema.get("required", ())) or _("what was asked for")
    return _("%(tool)s returned %(names)s") % {"tool": tool, "names": names}


def _passed(reason: str, item: Evidence) -> CheckVerdict:
    return CheckVerdict(
        verdict="passed", reason=reason, evidence=as_text(item.result)[:EVIDENCE_CHARS], call_id=item.call_id
    )


def _said(there: bool, yes: str, no: str) -> CheckVerdict:
    return CheckVerdict(verdict="passed" if there else "failed", reason=yes if there else no)


def _squash(text: str) -> str:
    return re.sub(r"[\s\"'“”‘’「」]+", "", text).casefold()


def _last(evidence: Sequence[Evidence]) -> UUID | None:
    return evidence[-1].call_id if evidence else None
