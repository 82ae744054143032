"""Finished plans kept for similar goals, with named blanks: the writer of PlanTemplate.

finished Plan -> PlanTemplate -> a filled draft.  Touches: its table; reads plans.
"""

import re
from collections.abc import Collection, Mapping
from uuid import UUID

from planning import plans, words
from planning.drafts import PlanDraft
from planning.models import PlanTemplate

# What differs from one use to the next: dates, numbers, quoted words.
BLANK = re.compile(
    r"\d{4}-\d{2}-\d{2}|\d{1,2}月\d{1,2}[日号]|(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December) \d{1,2}\b|\"[^\"]+\"|“[^”]+”|(?<![A-Za-z0-9_.])\d+(?:\.\d+)?(?![A-Za-z0-9_])"
)
# They are in every request, so they make no two of them alike.
ASIDE = set(
    "the and for from then that this with please what when can could would you your have into its get tell".split()
)
ASIDE |= set("的了请把我你在是一个有和就给帮下")
ALIKE = 0.5  # share of the words of the shorter goal
OFFERED = 3  # at most
LINE_CHARS = 400  # of one kept plan as the model reads it


def keep(turn_id: UUID, user_id: int, name: str) -> PlanTemplate:
    """Keep the plan of a turn, its exact values turned into blanks. Raises ValueError without a plan."""
    plan = plans.current(turn_id)
    if plan is None:
        raise ValueError("There is no plan to keep.")
    blanks: dict[str, str] = {}
    goal = _blanked(plan.goal, blanks)
    used = [step for step in plan.steps if step.status != "skipped"]
    number = {step.key: index for index, step in enumerate(used, 1)}
    steps = [
        {
            "title": _blanked(step.title, blanks),
            "tool": step.tools[0] if step.tools else "",
            "also": list(step.tools[1:]),
            "after": [number[key] for key in step.depends_on if key in number],
            "checks": [{"kind": "judge", **check.params} for check in step.checks if check.kind == "judge"],
        }
        for step in used
    ]
    return PlanTemplate.objects.create(
        user_id=user_id, name=name, goal=goal, steps=steps, blanks=sorted(blanks.values())
    )


def similar(user_id: int, goal: str) -> list[PlanTemplate]:
    """The person's templates whose goal shares half of its words, best first, at most three."""
    said = _words(goal)
    rated = []
    for template in PlanTemplate.objects.filter(user_id=user_id).order_by("-id")[:200]:
        theirs = _words(template.goal)
        share = len(said & theirs) / max(1, min(len(said), len(theirs)))
        if share >= ALIKE:
            rated.append((share, len(said & theirs), template))
    return [template for *_rank, template in sorted(rated, key=lambda item: item[:2], reverse=True)[:OFFERED]]


def lines(user_id: int, goal: str, tools: Collection[str]) -> tuple[str, ...]:
    """What the model may be offered before it plans: one line for each plan whose tools are all there still."""
    found = []
    for template in similar(user_id, goal):
        if all(step["tool"] in tools for step in template.steps):
            steps = [f"{n} {step['title']} ({step['tool']})" for n, step in enumerate(template.steps, 1)]
            found.append(f"{' '.join(template.name.split())}: {'; '.join(steps)}"[:LINE_CHARS])
    return tuple(found)


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
        blanks.setdefault(value, f"{_kind(value)}_{len(blanks) + 1}")
        return "{" + blanks[value] + "}"

    return BLANK.sub(name, text)


def _kind(value: str) -> str:
    """A blank is named for what goes into it: a date or another value."""
    return "date" if words.dates(value) else "value"


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: str(values.get(m[1], m[0])), text)


def _words(text: str) -> set[str]:
    plain = re.sub(r"\{\w+\}", " ", text.casefold())
    return set(re.findall(r"[a-z]{3,}|[\u4e00-\u9fff]", plain)) - ASIDE
