"""One small question to the model, with a structured answer: a condition, or a check that code cannot decide.

evidence -> verdict, tokens used.  Touches: the model.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from django.conf import settings
from django.template.loader import render_to_string

from chat.llm.arguments import parse_arguments
from chat.llm.base import LLM, Request
from chat.types import Json, TokenUse
from planning import acceptance, conditions
from planning.types import CheckView, ConditionView, Evidence, StepView

EVIDENCE_CHARS = 1_500  # of each result; a narrow question needs no more


async def condition(
    llm: LLM, goal: str, asked: ConditionView, evidence: Sequence[Evidence]
) -> tuple[tuple[Literal["yes", "no"], str] | None, TokenUse]:
    """None: the evidence does not say."""
    values = {"evidence": _text(evidence), "question": asked.question, "about": goal[:500]}
    answer, use = await _structured(llm, "condition.txt", values, conditions.question_schema())
    verdict = str(answer.get("answer", "")).lower()
    if verdict == "yes":
        return ("yes", str(answer.get("quote", ""))), use
    if verdict == "no":
        return ("no", str(answer.get("quote", ""))), use
    return None, use


async def judge(
    llm: LLM, step: StepView, check: CheckView, evidence: Sequence[Evidence]
) -> tuple[acceptance.CheckVerdict, TokenUse]:
    """A quote that is not in the evidence fails the check."""
    question, schema = acceptance.judge_question(check, evidence)
    values = {"step": step.title, "evidence": _text(evidence[-3:]), "question": question}
    answer, use = await _structured(llm, "judge.txt", values, schema)
    return acceptance.from_judge(check, evidence, answer), use


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
    lines = [
        f"{item.tool} {json.dumps(item.args, ensure_ascii=False)} returned {json.dumps(item.result, ensure_ascii=False)}"
        for item in evidence
    ]
    return "\n".join(line[:EVIDENCE_CHARS] for line in lines)
