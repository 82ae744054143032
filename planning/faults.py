"""What is wrong with a draft of a plan: all faults at once, each short and with what to do about it.

PlanDraft -> faults.  Touches: nothing (pure).
"""

import difflib
import json
import re
from collections.abc import Mapping, Sequence

from planning import acceptance, words
from planning.drafts import CheckDraft, PlanDraft, StepDraft, waits_for
from planning.types import PlanView, StepView, ToolFacts

MAX_STEPS = 8
MAX_TITLE = 200
MAX_TOOLS = 2
NAMED = 12  # tools a fault lists at most
EVERYTHING = re.compile(
    r"\b(?:whole|entire|complete)\s+(?:task|project|thing|job|request|goal)\b|\bdo everything\b|\ball (?:the )?steps\b|"
    r"(?:完成|执行|做完)(?:整个|全部|所有|这个)(?:任务|项目|事情|步骤|要求)|一次性完成",
    re.IGNORECASE,
)
ASKS = re.compile(
    r"^\W*(?:ask|confirm with|check with)\b.*\b(?:user|person|you|customer|them|him|her)\b|^\W*(?:询问|问|请)(?:用户|你|您)",
    re.I,
)
# Words that make a step look new and change nothing about it.
ASIDE = set(
    "the an again retry try once more please then now first next finally also to of for in on at by with and using use "
    "via step it its this that 再 次 重 新 请 然 后 用 的 了 一 先 试".split()
)
# Before the excluded words: they are being avoided, not tried.
AVOIDS = re.compile(
    r"\b(?:not|no|without|avoid(?:ing)?|except|excluding|instead of|other than|rather than|besides|skip(?:ping)?)\b|"
    r"除了|不用|不要|不|避开|避免|而非|而不是|排除|跳过",
    re.IGNORECASE,
)
LEADING_NOT = re.compile(
    r"^(?:(?:do not|don t|not|no|never|avoid|without)(?: use| try| using)? |不要用?|不用|不是|别用?|不)", re.I
)
ARTICLES = re.compile(r"\b(?:the|an)\b ")


def faults(
    draft: PlanDraft,
    *,
    tools: Mapping[str, ToolFacts],
    done: Sequence[StepView] = (),
    failed: PlanView | None = None,
    exclusions: Sequence[str] = (),
) -> list[str]:
    """All faults of a draft. Empty: it may be stored. failed: the plan that the draft must differ from."""
    steps = draft.steps
    if not steps:
        return [
            "The plan has no steps. Write at least one step with the tool it uses, or call finish if no tool is needed."
        ]
    found = []
    if len(steps) > MAX_STEPS:
        found.append(f"The plan has {len(steps)} steps; at most {MAX_STEPS} are allowed. Keep those that need a tool.")
    for number, step in enumerate(steps[: 2 * MAX_STEPS], 1):
        found += _step(number, step, tools)
        found += [
            f"Step {number} ({step.title[:60]}) is done already. Leave it out." for old in done if is_same(step, old)
        ]
        found += [
            f'Step {number} tries "{text[:80]}", which was ruled out. Choose another way.'
            for text in exclusions
            if offers(step, text)
        ]
        for wrong in [n for n in waits_for(steps, number) if n > len(steps)]:
            found.append(f"Step {number} waits for step {wrong}, which does not exist. There are {len(steps)} steps.")
    found += _twice(steps)
    if ring := _cycle(steps):
        found.append(_ring(ring))
    for number, condition in enumerate(draft.conditions, 1):
        if not condition.question.strip() or not (condition.if_yes.strip() or condition.if_no.strip()):
            found.append(
                f"Condition {number} needs a yes/no question and what follows if yes (if_yes) and if no (if_no)."
            )
    if failed is not None and not found and repeats(steps, failed):
        found.append(
            "This is the plan that failed. Use another tool, another order or other steps."
            if failed.failed_steps
            else "This is the plan as it stands already. Change something, or go on with it."
        )
    return found


def substance(title: str) -> frozenset[str]:
    """The words of a title that say what is done; "again" and "please" do not."""
    every = words.words(title)
    return frozenset(every) - ASIDE or frozenset(every)


def is_same(step: StepDraft, old: StepView) -> bool:
    """The same act in other words: one tool, the same words that matter."""
    return step.tool in old.tools and substance(step.title) == substance(old.title)


def repeats(steps: Sequence[StepDraft], failed: PlanView) -> bool:
    """Equal in substance to what was still to do: the same acts in the same order."""
    then = [(step.tools[:1], substance(step.title)) for step in failed.steps if step.status not in {"done", "skipped"}]
    now = [((step.tool,) if step.tool else (), substance(step.title)) for step in steps]
    return bool(then) and then == now


def offers(step: StepDraft, excluded: str) -> bool:
    """Whether the step tries the very thing that was excluded, and does not say that it avoids it."""
    text = LEADING_NOT.sub("", words.norm(excluded)).strip()
    text = ARTICLES.sub("", f"{text} ").strip()
    if not text:
        return False
    if text == words.norm(step.tool):
        return True
    title = ARTICLES.sub("", words.norm(step.title))
    at = re.search(rf"(?<![a-z0-9]){re.escape(text)}(?![a-z0-9])", title)
    return at is not None and not AVOIDS.search(title[: at.start()])


# ---- parts -----------------------------------------------------------------------------------------------------------


def _step(number: int, step: StepDraft, tools: Mapping[str, ToolFacts]) -> list[str]:
    found = []
    named = [name for name in (step.tool, *step.also) if name]
    if not named and ASKS.match(step.title):
        found.append(f"Step {number} asks the person. Call ask_user for that; plan only steps that use a tool.")
    elif not named:
        found.append(
            f"Step {number} ({step.title[:60]}) names no tool. Fold it into the step before it, or name the tool: {_some(tools)}."
        )
    found += [_unknown(number, name, tools) for name in named if name not in tools]
    if len(named) > MAX_TOOLS or len(step.title) > MAX_TITLE or EVERYTHING.search(step.title):
        found.append(f"Step {number} is too large. One step is about one tool call; say in one short sentence which.")
    for check in step.checks:
        found += _check(number, step, check, tools)
    return found


def _unknown(number: int, name: str, tools: Mapping[str, ToolFacts]) -> str:
    """The tools that are spelled alike, or that share a word with it."""
    alike = difflib.get_close_matches(name.casefold(), tools, n=2, cutoff=0.6)
    if not alike:
        said = set(words.words(name))
        alike = [tool for tool in tools if said & set(words.words(tool))] or difflib.get_close_matches(
            name, tools, n=1, cutoff=0.4
        )
    hint = f"Did you mean {' or '.join(alike[:2])}?" if alike else f"Tools: {_some(tools)}."
    return f"Step {number} uses `{name[:60]}`, which is not a tool. {hint}"


def _check(number: int, step: StepDraft, check: CheckDraft, tools: Mapping[str, ToolFacts]) -> list[str]:
    about = check.tool or step.tool
    if check.tool and check.tool not in tools:
        return [f"The check of step {number} reads `{check.tool[:60]}`, which is not a tool. Leave the check out."]
    if check.kind in {"tool_succeeded", "result_matches"} and about not in {step.tool, *step.also}:
        return [f"The check of step {number} reads {about}, but the step uses {step.tool}. Use the step's own tool."]
    if check.kind == "result_matches" and (wrong := acceptance.unusable(check.json_schema)):
        return [f"The check of step {number} {wrong}. Leave the check out, or name the fields it needs."]
    missing = {
        "slot_present": ("" if check.slot else "slot"),
        "record_exists": ("" if check.record else "record"),
        "judge": ("" if len(check.question.strip()) > 8 else "question"),
    }.get(check.kind, "")
    return [f"The check {check.kind} of step {number} lacks its {missing}, so nobody can decide it."] if missing else []


def _twice(steps: Sequence[StepDraft]) -> list[str]:
    seen: dict[tuple[str, frozenset[str], str], int] = {}
    found = []
    for number, step in enumerate(steps, 1):
        same = (step.tool, substance(step.title), json.dumps(step.when, sort_keys=True))
        if same in seen:
            found.append(f"Steps {seen[same]} and {number} are the same. Keep one.")
        seen.setdefault(same, number)
    return found[:3]


def _cycle(steps: Sequence[StepDraft]) -> list[int]:
    """The numbers of steps that can never start, because they wait for each other."""
    left = set(range(1, len(steps) + 1))
    while ready := {n for n in left if not set(waits_for(steps, n)) & left}:
        left -= ready
    # Without those that only wait for the ring.
    while idle := {n for n in left if not any(n in waits_for(steps, other) for other in left)}:
        left -= idle
    return sorted(left)


def _ring(ring: Sequence[int]) -> str:
    if len(ring) == 1:
        return f"Step {ring[0]} waits for itself. Put into `after` only steps that come before it."
    return f"Steps {' and '.join(map(str, ring))} wait for each other. Let one of them go first."


def _some(tools: Mapping[str, ToolFacts]) -> str:
    names = sorted(tools)
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
