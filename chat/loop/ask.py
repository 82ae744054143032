"""One small question to the model, with a structured answer: a condition, a check that code cannot decide, a second failure.

evidence -> verdict, tokens used.  Touches: the model.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from django.conf import settings
from django.template.loader import render_to_string

from chat.fence import harmless
from chat.llm.arguments import parse_arguments
from chat.llm.base import LLM, Request
from chat.types import CallView, Json, TokenUse
from planning import acceptance, conditions
from planning.types import CheckView, ConditionView, Evidence, StepView

EVIDENCE_CHARS = 1_500  # of each result; a narrow question needs no more
TRIES = 3  # the model looks back on
SAID_CHARS = 200  # of each answer about a failure
ANSWERS: Mapping[str, Literal["yes", "no"]] = {"yes": "yes", "no": "no"}
REFLECTION: Json = {
    "type": "object",
    "properties": {
        "missing": {"type": "string"},
        "tool": {"type": "string"},
        "arguments": {"anyOf": [{"type": "object"}, {"type": "string"}]},
        "advice": {"type": "string"},
    },
    "required": ["missing", "tool", "arguments", "advice"],
    "additionalProperties": False,
}


async def condition(
    llm: LLM, goal: str, asked: ConditionView, evidence: Sequence[Evidence]
) -> tuple[tuple[Literal["yes", "no"], str] | None, TokenUse]:
    """The verdict with words of the evidence; None: the evidence does not say.

    A quote that is not in the evidence is asked for once more. The same answer twice holds, with the words that code
    finds nearest to the question; two answers are none.
    """
    values = {"evidence": _text(evidence), "question": asked.question, "about": goal[:500]}
    used, before = TokenUse(), None
    for missing in (False, True):
        answer, use = await _structured(
            llm, "condition.txt", {**values, "missing": missing}, conditions.question_schema()
        )
        used = add(used, use)
        verdict, quote = ANSWERS.get(str(answer.get("answer", "")).lower()), str(answer.get("quote", ""))
        if verdict is None:
            return None, used
        if acceptance.source_of(quote, evidence):
            return (verdict, quote), used
        if verdict == before:
            return (verdict, conditions.passage(asked.question, evidence)), used
        before = verdict
    return None, used


async def judge(
    llm: LLM, step: StepView, check: CheckView, evidence: Sequence[Evidence]
) -> tuple[acceptance.CheckVerdict, TokenUse]:
    """A quote that is not in the evidence fails the check."""
    question, schema = acceptance.judge_question(check, evidence)
    values = {"step": step.title, "evidence": _text(evidence[-3:]), "question": question}
    answer, use = await _structured(llm, "judge.txt", values, schema)
    return acceptance.from_judge(check, evidence, answer), use


async def reflect(
    llm: LLM, step: StepView, calls: Sequence[CallView], faults: Sequence[str], tools: Sequence[str]
) -> tuple[str, TokenUse]:
    """What was missing and what to try instead, as one line for the next request; empty when nothing of use was said.

    Only a tool that there is and arguments that have not failed are passed on; what may be called does not change by it.
    """
    tries = [f"{call.tool} {_json(call.args or call.proposed)}: {call.text or call.summary}" for call in calls[-TRIES:]]
    lines = [harmless(line[:EVIDENCE_CHARS]) for line in [*tries, *faults]]
    values = {"step": step.title, "tools": ", ".join(tools), "tries": "\n".join(lines)}
    answer, use = await _structured(llm, "reflect.txt", values, REFLECTION)
    missing, advice = _said(answer, "missing"), _said(answer, "advice")
    found = (f"Missing: {missing}." if missing else "", _another(answer, step, calls, tools), advice and f"{advice}.")
    told = " ".join(part for part in found if part)
    return (f"You looked at what failed twice. {told}" if told else ""), use


def _another(answer: Mapping[str, Any], step: StepView, calls: Sequence[CallView], tools: Sequence[str]) -> str:
    """The call that the answer names, unless there is no such tool or just this has been tried."""
    tool, args = _said(answer, "tool"), answer.get("arguments")
    args = parse_arguments(args) if isinstance(args, str) and args.strip() else args
    if tool not in step.tools:
        return f"{tool} may do it instead, in a revised plan." if tool in tools else ""
    if not isinstance(args, dict) or not args:
        return ""
    tried = any(call.tool == tool and args in (call.args, call.proposed) for call in calls)
    return "" if tried else f"Not tried yet: {tool} {_json(args)[: 2 * SAID_CHARS]}."


def _said(answer: Mapping[str, Any], name: str) -> str:
    return " ".join(str(answer.get(name) or "").split())[:SAID_CHARS].rstrip(".。 ")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


async def _structured(llm: LLM, template: str, values: Mapping[str, Any], schema: Json) -> tuple[Json, TokenUse]:
    prompt = render_to_string(template, dict(values), using="prompts").strip()
    system = render_to_string("system_question.txt", {}, using="prompts").strip()
    reply = await llm.reply(
        Request(
            messages=({"role": "system", "content": system}, {"role": "user", "content": prompt}),
            schema=schema,
            max_tokens=min(300, settings.AGENT_REPLY_TOKENS),
        )
    )
    answer = parse_arguments(reply.text)
    return (answer if isinstance(answer, dict) else {}), reply.usage


def _text(evidence: Sequence[Evidence]) -> str:
    lines = [f"{item.tool} {_json(item.args)} returned {_json(item.result)}" for item in evidence]
    return "\n".join(harmless(line[:EVIDENCE_CHARS]) for line in lines)  # the template puts the fence around it


def add(one: TokenUse, other: TokenUse) -> TokenUse:
    """What two calls used together."""
    cost = (one.cost or 0.0) + other.cost if other.cost is not None else one.cost
    return TokenUse(prompt=one.prompt + other.prompt, reply=one.reply + other.reply, cost=cost)
