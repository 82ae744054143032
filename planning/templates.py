"""Finished plans kept for similar goals, with named blanks: the writer of PlanTemplate.

finished Plan -> PlanTemplate -> a filled draft.  Touches: its table; reads plans.
"""

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from planning import plans
from planning.drafts import PlanDraft
from planning.models import PlanTemplate

# What differs from one use to the next: dates, numbers, quoted words.
BLANK = re.compile(
    r"\d{4}-\d{2}-\d{2}|\d{1,2}月\d{1,2}[日号]|(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December) \d{1,2}|\"[^\"]+\"|“[^”]+”|\b\d+(?:\.\d+)?\b"
)
WORD = re.compile(r"[a-z]{3,}|[\u4e00-\u9fff]")
ALIKE = 0.5  # share of the words of the shorter goal


def keep(turn_id: UUID, user_id: int, name: str) -> PlanTemplate:
    """Keep the plan of a turn, its exact values turned into blanks. Raises ValueError without a plan."""
    plan = plans.current(turn_id)
    if plan is None:
        raise ValueError("There is no plan to keep.")
    blanks: dict[str, str] = {}
    goal = _blanked(plan.goal, blanks)
    number = {step.key: step.index for step in plan.steps}
    steps = [
        {
            "title": _blanked(step.title, blanks),
            "tool": step.tools[0] if step.tools else "",
            "after": [number[key] for key in step.depends_on if key in number],
        }
        for step in plan.steps
        if step.status != "skipped"
    ]
    return PlanTemplate.objects.create(
        user_id=user_id, name=name, goal=goal, steps=steps, blanks=sorted(blanks.values())
    )


def similar(user_id: int, goal: str) -> list[PlanTemplate]:
    """The person's templates whose goal shares half of its words, best first, at most three."""
    words = _words(goal)
    rated = []
    for template in PlanTemplate.objects.filter(user_id=user_id).order_by("-id")[:200]:
        theirs = _words(template.goal)
        share = len(words & theirs) / max(1, min(len(words), len(theirs)))
        if share >= ALIKE:
            rated.append((share, template))
    return [template for _share, template in sorted(rated, key=lambda pair: -pair[0])[:3]]


def fill(template: PlanTemplate, values: Mapping[str, str]) -> PlanDraft:
    """The template as a draft; a blank without a value stays, in braces, for the model to fill."""
    steps = [{**step, "title": _filled(step["title"], values)} for step in template.steps]
    return PlanDraft.model_validate({"steps": steps})


def forget(user_id: int, template_id: int) -> None:
    PlanTemplate.objects.filter(user_id=user_id, id=template_id).delete()


def _blanked(text: str, blanks: dict[str, str]) -> str:
    """The same value is the same blank wherever it stands."""

    def name(match: re.Match[str]) -> str:
        value = match.group()
        kind = "date" if re.search(r"[-月]|[A-Z]", value) and any(c.isdigit() for c in value) else "value"
        blanks.setdefault(value, f"{kind}_{len(blanks) + 1}")
        return "{" + blanks[value] + "}"

    return BLANK.sub(name, text)


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: str(values.get(m[1], m[0])), text)


def _words(text: str) -> set[str]:
    return set(WORD.findall(re.sub(r"\{\w+\}", " ", text.casefold())))


def lines(user_id: int, goal: str) -> list[dict[str, Any]]:
    """What the model is offered before it plans."""
    return [{"name": t.name, "steps": [step["title"] for step in t.steps]} for t in similar(user_id, goal)]
