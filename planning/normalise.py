"""Harmless slips of a plan, mended by code and noted, so that a small model need not be told twice.

PlanDraft, goal -> PlanDraft, notes.  Touches: nothing (pure).

Four slips are mended, each with one meaning only: the two branches of a condition written as two steps, a step that
only decides a condition, a missing step whose result another step cannot do without, and a rule of the task left out
of the conditions although code can read it.
"""

import re
from collections.abc import Mapping

from planning import conditions
from planning.drafts import ConditionDraft, PlanDraft, StepDraft
from planning.types import PlanView, ToolFacts

BRANCH = re.compile(
    r"^\s*(if\b|when\b|in case\b|otherwise\b|else\b|unless\b|should\b|如果|若|要是|假如|否则|不然|下雨|不下雨)", re.IGNORECASE
)
DECIDES = re.compile(
    r"^\s*((check|determine|decide|evaluate|verify|see|find out|compare|test)\s+(if|whether)\b|(判断|确定|检查|比较).{0,12}(是否|大于|小于))",
    re.IGNORECASE,
)
LEAD = re.compile(r"^\s*(if|when|unless|in case)\b[^,;:]*[,;:]\s*|^\s*(otherwise|else)\b[,:]?\s*|^\s*(否则|不然)[，,]?\s*", re.IGNORECASE)


def normalise(
    draft: PlanDraft, goal: str, *, tools: Mapping[str, ToolFacts], current: PlanView | None
) -> tuple[PlanDraft, tuple[str, ...]]:
    """The draft as it was meant, and what was mended, in words for the person."""
    notes: list[str] = []
    rules = conditions.split_rule(goal) if current is None else []
    asked = _conditions(draft, rules, notes)
    steps = _renumber(_fold(_drop(draft.steps, asked, notes), asked, notes), draft.steps)
    steps = _needed(_named(steps, asked, tools, notes), tools, current, notes)
    return draft.model_copy(update={"steps": steps, "conditions": asked}), tuple(notes)


def _conditions(draft: PlanDraft, rules: list[ConditionDraft], notes: list[str]) -> list[ConditionDraft]:
    """What the model wrote, with the verbatim rule where code can read it; the code's own reading when it wrote none."""
    if not rules:
        return list(draft.conditions)
    if not draft.conditions:
        notes.append("The rule in the task was kept as a condition.")
        return rules
    if len(rules) == len(draft.conditions) == 1:
        return [_merged(draft.conditions[0], rules[0])]
    return list(draft.conditions)


def _merged(theirs: ConditionDraft, ours: ConditionDraft) -> ConditionDraft:
    """The model's question reads better; the person's own words name the branches more surely than its retelling."""
    same, other = _share(theirs.if_yes, ours.if_yes), _share(theirs.if_yes, ours.if_no)
    if same > other:
        return ours.model_copy(update={"question": theirs.question, "decided_by": theirs.decided_by})
    if other > same:  # The model asked the opposite question: its yes is the rule's otherwise.
        update = {"question": theirs.question, "if_yes": ours.if_no, "if_no": ours.if_yes}
        return ours.model_copy(update={**update, "decided_by": theirs.decided_by})
    return ours.model_copy(update={"decided_by": theirs.decided_by})


def _share(one: str, other: str) -> float:
    """The share of the shorter text's words that the longer one has too."""
    first, second = (set(re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.casefold())) for text in (one, other))
    return len(first & second) / max(1, min(len(first), len(second)))


def _drop(steps: list[StepDraft], asked: list[ConditionDraft], notes: list[str]) -> list[StepDraft]:
    """A step that only decides a condition is no step: the loop decides it on the evidence of the step before."""
    kept: list[StepDraft] = []
    for step in steps:
        if asked and kept and DECIDES.match(step.title):
            notes.append(f'"{step.title}" is decided by the loop and needs no step.')
        else:
            kept.append(step)
    return kept


def _fold(steps: list[StepDraft], asked: list[ConditionDraft], notes: list[str]) -> list[StepDraft]:
    """Two branches that use the same tool become one step; which branch holds is decided before it starts."""
    kept: list[StepDraft] = []
    for step in steps:
        before = kept[-1] if kept else None
        if asked and before and before.tool == step.tool and BRANCH.match(step.title) and BRANCH.match(before.title):
            title = f"{_plain(before.title)}, or {_plain(step.title, first=False)}: as the condition decides"
            kept[-1] = before.model_copy(update={"title": title})
            notes.append("The two branches of the condition are one step.")
        else:
            kept.append(step)
    return kept


def _plain(title: str, *, first: bool = True) -> str:
    text = LEAD.sub("", title).strip(" .。") or title
    return text[0].upper() + text[1:] if first else text[0].lower() + text[1:]


def _renumber(kept: list[StepDraft], before: list[StepDraft]) -> list[StepDraft]:
    """Steps that were taken out make the numbers in `after` wrong: fall back to one after the other."""
    return kept if len(kept) == len(before) else [step.model_copy(update={"after": None}) for step in kept]


def _named(
    steps: list[StepDraft], asked: list[ConditionDraft], tools: Mapping[str, ToolFacts], notes: list[str]
) -> list[StepDraft]:
    """When the branches name two values of one tool's argument, the step that carries them out uses that tool."""
    for condition in asked:
        fitting = [name for name, facts in tools.items() if any(_chosen(condition, values) for values in facts.choices)]
        if len(fitting) != 1 or any(step.tool == fitting[0] for step in steps):
            continue
        branch = next((step for step in steps if BRANCH.search(step.title) or _chosen_in(step.title, condition)), None)
        notes.append(f"{fitting[0]} is the tool that the condition decides about.")
        if branch is not None:
            return [step.model_copy(update={"tool": fitting[0]}) if step is branch else step for step in steps]
        return [*steps, StepDraft(title=f"{condition.if_yes}, or {condition.if_no}", tool=fitting[0])]
    return steps


def _chosen(condition: ConditionDraft, values: tuple[str, ...]) -> bool:
    yes = [value for value in values if conditions.names(condition.if_yes, value)]
    no = [value for value in values if conditions.names(condition.if_no, value)]
    return len(yes) == 1 and len(no) == 1 and yes != no


def _chosen_in(title: str, condition: ConditionDraft) -> bool:
    return _share(title, condition.if_yes) > 0.7 or _share(title, condition.if_no) > 0.7


def _needed(
    steps: list[StepDraft], tools: Mapping[str, ToolFacts], current: PlanView | None, notes: list[str]
) -> list[StepDraft]:
    """A step for each result that another step cannot do without."""
    have = {name for step in current.steps if step.status == "done" for name in step.tools} if current else set()
    kept: list[StepDraft] = []
    for step in steps:
        for need in tools[step.tool].needs if step.tool in tools else ():
            if need in tools and need not in have:
                kept.append(StepDraft(title=tools[need].purpose.rstrip(".")[:160], tool=need))
                have.add(need)
                notes.append(f"A step with {need} was added: {step.tool} needs its result.")
        kept.append(step)
        have.add(step.tool)
    return _renumber(kept, steps)
