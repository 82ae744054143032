"""Harmless slips of a plan, mended by code and noted, so that a small model need not be told twice.

PlanDraft, goal -> PlanDraft, notes.  Touches: nothing (pure).

Mended is what has one meaning only: the branches of a condition written as steps of their own, a step that only
decides a condition, a missing step whose result another step cannot do without, the wrong tool for a branch whose
words name another tool's choices, and a rule of the task left out of the conditions although code can read it.
"""

import re
from collections.abc import Mapping, Sequence

from planning import conditions, slips, words
from planning.drafts import ConditionDraft, PlanDraft, StepDraft
from planning.faults import MAX_TITLE
from planning.types import PlanView, ToolFacts

BRANCH = re.compile(r"\b(if|when|in case|otherwise|else|unless)\b|如果|若|要是|假如|否则|不然", re.IGNORECASE)
DECIDES = re.compile(
    r"^\s*((check|determine|decide|evaluate|verify|see|find out|compare|test)\s+(if|whether)\b|(判断|确定|检查|比较).{0,12}(是否|大于|小于))",
    re.IGNORECASE,
)
WEATHER = re.compile(r"weather|forecast|天气|气象|预报", re.IGNORECASE)
ASIDE = set("is are was does do did it that true the a an will there of in on to be has have".split())


def normalise(
    draft: PlanDraft, goal: str, *, tools: Mapping[str, ToolFacts], current: PlanView | None
) -> tuple[PlanDraft, tuple[str, ...]]:
    """The draft as it was meant, and what was mended, in words for the person."""
    steps, _moved, said = slips.mend(draft.steps, tools)
    notes = list(said)
    rules = conditions.split_rule(goal) if current is None else []
    asked = _conditions(draft, rules, goal, notes)
    steps = _fold(_drop(steps, asked, notes), asked, tools, notes)
    asked = _decided_by(steps, asked)
    steps, moved = _needed(_named(steps, asked, tools, notes), tools, current, notes)
    asked = [c.model_copy(update={"decided_by": moved.get(c.decided_by or 0)}) for c in asked]
    return draft.model_copy(update={"steps": steps, "conditions": asked}), tuple(notes)


def _conditions(draft: PlanDraft, rules: list[ConditionDraft], goal: str, notes: list[str]) -> list[ConditionDraft]:
    """What the model wrote, with the verbatim rule where code can read it; the code's own reading where it wrote none."""
    left = list(draft.conditions)
    asked = []
    for rule in rules:
        same = [theirs for theirs in left if _same_rule(theirs, rule)]
        if not same:
            notes.append("The rule in the task was kept as a condition.")
        asked.append(_merged(same[0], rule, goal) if same else rule)
        left = [theirs for theirs in left if theirs not in same]  # a second one for the other branch is the same rule
    return [*asked, *left]


def _same_rule(theirs: ConditionDraft, ours: ConditionDraft) -> bool:
    """Whether the model's condition is about the rule: one of its branches is one of the rule's, or it asks the same."""
    pairs = [
        (one, other) for one in (theirs.if_yes, theirs.if_no) for other in (ours.if_yes, ours.if_no) if one and other
    ]
    return _same_question(theirs.question, ours.question) or any(words.share(*pair) >= 0.6 for pair in pairs)


def _merged(theirs: ConditionDraft, ours: ConditionDraft, goal: str) -> ConditionDraft:
    """The person's own words, and which branch hangs on which answer, are surer than the model's retelling.

    Its question may stay, for it often says of which place and day; but only where it asks the very same thing, of a day
    that the task names. A question turned round, or branches that traded places, would carry out the wrong branch.
    """
    update: dict[str, object] = {"decided_by": theirs.decided_by}
    if _same_question(theirs.question, ours.question) and words.dates(theirs.question) <= words.dates(goal):
        update["question"] = theirs.question
    return ours.model_copy(update=update)


def _same_question(theirs: str, ours: str) -> bool:
    """Both say the words that matter, and neither says "not" where the other does not."""
    if words.negated(theirs) != words.negated(ours) or _numbers(theirs) != _numbers(ours):
        return False
    for family in words.FAMILIES:
        asked = words.members(ours, family)
        if asked:
            return words.members(theirs, family) == asked
    said = {word[:5] for word in words.words(ours)} - ASIDE
    return bool(said) and said <= {word[:5] for word in words.words(theirs)}


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", words.without_dates(text))


def _drop(steps: list[StepDraft], asked: list[ConditionDraft], notes: list[str]) -> list[StepDraft]:
    """A step that only decides a condition is no step: the loop decides it on the evidence of the step before."""
    gone = {number for number, step in enumerate(steps, 1) if asked and number > 1 and DECIDES.match(step.title)}
    notes += [f'"{steps[number - 1].title}" is decided by the loop and needs no step.' for number in sorted(gone)]
    return slips.without(steps, gone)[0]


def _fold(
    steps: list[StepDraft], asked: list[ConditionDraft], tools: Mapping[str, ToolFacts], notes: list[str]
) -> list[StepDraft]:
    """The branches of a condition become one step that carries out whichever holds, after all steps before it."""
    folded = list(steps)
    carriers: dict[int, int] = {}  # condition -> step
    gone: set[int] = set()
    for number, step in enumerate(steps, 1):
        condition = _carries_out(step, asked) if number > 1 and not step.when else None
        if condition is not None and not _may_carry(step, steps, asked[condition - 1], tools):
            condition = None
        if condition is None:
            continue
        if condition in carriers:
            notes.append("The branches of the condition are one step.")
            gone.add(number)
            first = folded[carriers[condition] - 1]
            if first.tool != step.tool and DECIDES.match(steps[carriers[condition] - 1].title):
                folded[carriers[condition] - 1] = first.model_copy(update={"tool": step.tool})
            continue
        carriers[condition] = number
        update = {
            "title": _branches(asked[condition - 1]),
            "when": {"condition": f"c{condition}"},
            "after": [before for before in range(1, number) if before not in gone],
        }
        folded[number - 1] = step.model_copy(update=update)
    for condition in set(range(1, len(asked) + 1)) - set(carriers):
        able = _fitting(asked[condition - 1], tools)
        using = [index for index, step in enumerate(folded) if step.tool in able and not step.when]
        if len(using) == 1:  # "Book the room": whichever the branch says
            folded[using[0]] = folded[using[0]].model_copy(update={"when": {"condition": f"c{condition}"}})
    return slips.without(folded, gone)[0]


def _may_carry(
    step: StepDraft, steps: list[StepDraft], condition: ConditionDraft, tools: Mapping[str, ToolFacts]
) -> bool:
    """A search "for a suite" does not carry out the branch when there is a step that can book one."""
    able = _fitting(condition, tools)
    return not able or step.tool in able or not any(other.tool in able for other in steps)


def _branches(condition: ConditionDraft) -> str:
    """Both branches, as the title of the step that carries one of them out; the decided one replaces it later."""
    return ", or: ".join(branch for branch in (condition.if_yes, condition.if_no) if branch)[:MAX_TITLE]


def _decided_by(steps: list[StepDraft], asked: list[ConditionDraft]) -> list[ConditionDraft]:
    """The step that brings the evidence, where that is plain: the only one before the step that carries the condition out,
    or the only one about the weather for a question about the weather. Else any evidence may decide it.
    """
    carriers = {step.when.get("condition", ""): number for number, step in enumerate(steps, 1) if step.when}
    found = []
    for number, condition in enumerate(asked, 1):
        carrier = carriers.get(f"c{number}")
        before: Sequence[int] = range(1, carrier or 1)
        if words.members(condition.question, words.FAMILIES[0]):
            before = range(1, carrier or len(steps) + 1)
            before = [n for n in before if WEATHER.search(f"{steps[n - 1].tool} {steps[n - 1].title}")]
        only = before[0] if len(before) == 1 else None
        found.append(condition.model_copy(update={"decided_by": condition.decided_by or only}))
    return found


def _carries_out(step: StepDraft, asked: list[ConditionDraft]) -> int | None:
    """The number of the condition whose branch the step is, from 1."""
    shares = [
        max(words.share(step.title, c.if_yes), words.share(step.title, c.if_no)) if c.if_yes else 0.0 for c in asked
    ]
    if not shares:
        return None
    best = max(range(len(shares)), key=shares.__getitem__)
    needed = 0.4 if BRANCH.search(step.title) else 0.9
    return best + 1 if shares[best] >= needed else None


def _named(
    steps: list[StepDraft], asked: list[ConditionDraft], tools: Mapping[str, ToolFacts], notes: list[str]
) -> list[StepDraft]:
    """When the branches name two values of one tool's argument, the step that carries them out uses that tool."""
    for condition in asked:
        fitting = _fitting(condition, tools)
        if len(fitting) != 1 or any(step.tool == fitting[0] for step in steps):
            continue
        branch = next((step for step in steps if BRANCH.search(step.title) or _chosen_in(step.title, condition)), None)
        notes.append(f"{fitting[0]} is the tool that the condition decides about.")
        if branch is not None:
            return [step.model_copy(update={"tool": fitting[0]}) if step is branch else step for step in steps]
        return [*steps, StepDraft(title=_branches(condition), tool=fitting[0])]
    return steps


def _fitting(condition: ConditionDraft, tools: Mapping[str, ToolFacts]) -> list[str]:
    """The tools with an argument whose values the two branches name."""
    return [name for name, facts in tools.items() if any(_chosen(condition, values) for values in facts.choices)]


def _chosen(condition: ConditionDraft, values: tuple[str, ...]) -> bool:
    yes = [value for value in values if conditions.names(condition.if_yes, value)]
    no = [value for value in values if conditions.names(condition.if_no, value)]
    return len(yes) == 1 and len(no) == 1 and yes != no


def _chosen_in(title: str, condition: ConditionDraft) -> bool:
    return words.share(title, condition.if_yes) > 0.7 or words.share(title, condition.if_no) > 0.7


def _needed(
    steps: list[StepDraft], tools: Mapping[str, ToolFacts], current: PlanView | None, notes: list[str]
) -> tuple[list[StepDraft], dict[int, int]]:
    """A step for each result that another step cannot do without; and where each step moved to."""
    have = {name for step in current.steps if step.status == "done" for name in step.tools} if current else set()
    kept: list[StepDraft] = []
    moved: dict[int, int] = {}
    for number, step in enumerate(steps, 1):
        for need in tools[step.tool].needs if step.tool in tools else ():
            if need in tools and need not in have:
                kept.append(StepDraft(title=tools[need].purpose.rstrip(".")[:160], tool=need))
                have.add(need)
                notes.append(f"A step with {need} was added: {step.tool} needs its result.")
        after = step.after and [moved.get(n, n) for n in step.after]
        kept.append(step.model_copy(update={"after": None if len(kept) >= number else after}))
        moved[number] = len(kept)
        have.add(step.tool)
    return kept, moved
