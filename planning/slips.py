"""Harmless slips of single steps, mended by code: a tool spelled otherwise, a step that only thinks, numbers from 0.

steps, tools -> steps, where each one went, notes.  Touches: nothing (pure).
"""

import re
from collections.abc import Mapping, Sequence

from planning import words
from planning.drafts import StepDraft, waits_for
from planning.types import ToolFacts

THINKING = re.compile(
    r"^\W*(?:finally,?\s+|then\s+|最后|然后)?(?:think|reason|analy[sz]e|decide|consider|evaluate|summari[sz]e|answer|report|respond|"
    r"reply|tell|present|inform|conclude|explain|compare|determine|choose|pick|review|understand|reflect|give|finish|"
    r"思考|分析|总结|归纳|回答|告诉|汇报|判断|决定|比较|选择|考虑|理解|答复|给出|完成回答)",
    re.IGNORECASE,
)
NO_TOOL = {
    "",
    "none",
    "null",
    "na",
    "no",
    "notool",
    "finish",
    "answer",
    "respond",
    "think",
    "llm",
    "model",
    "self",
    "finalanswer",
    "reasoning",
}
# What a question says that only asks whether the step went well, which its tool's own check answers.
WENT_WELL = set(
    "is are was were did does do has have been be the a an of in for on at to it its this that there and with from by "
    "result results correct correctly right success successful successfully succeed succeeded done complete completed "
    "completely finished step tool call called return returned returns found find got retrieved valid available "
    "checked check searched saved read looked up worked out "
    "是 否 已 经 成 功 完 成 结 果 正 确 吗 了 的 有 没 查 询 到 得 步 骤 工 具 返 回 执 行".split()
)
ENDS = {"finish", "answer", "respond", "finalanswer", "think", "reasoning"}


def mend(
    steps: Sequence[StepDraft], tools: Mapping[str, ToolFacts]
) -> tuple[list[StepDraft], dict[int, int], tuple[str, ...]]:
    """The steps as they were meant; where each number went (a step that is gone: the one before it); notes."""
    steps = _from_one([_asked(_spelled(step, tools), tools) for step in steps])
    gone = {number for number, step in enumerate(steps, 1) if _is_no_step(step)}
    if len(gone) == len(steps):
        gone = set()  # nothing would be left to say what is wrong with
    notes = tuple(f'"{steps[number - 1].title[:60]}" needs no tool and is no step.' for number in sorted(gone))
    kept, moved = without(steps, gone)
    return kept, moved, notes


def without(steps: Sequence[StepDraft], gone: set[int]) -> tuple[list[StepDraft], dict[int, int]]:
    """The steps without some; who waited for one of those waits for what it waited for. And where each number went."""
    moved: dict[int, int] = {}
    place = 0
    for number in range(1, len(steps) + 1):
        place += number not in gone
        moved[number] = place  # 0: nothing before it is left
    kept = []
    for number, step in enumerate(steps, 1):
        if number not in gone:
            after = step.after and sorted({moved.get(n, n) for n in _real(steps, step.after, gone)})
            kept.append(step if not gone else step.model_copy(update={"after": after}))
    return kept, moved


def _real(steps: Sequence[StepDraft], numbers: Sequence[int], gone: set[int]) -> set[int]:
    """The steps that stand behind some numbers once those that are gone are looked through."""
    found, left, seen = set(), list(numbers), set()
    while left:
        number = left.pop()
        if number in seen:
            continue
        seen.add(number)
        if number in gone:
            left += waits_for(steps, number)
        else:
            found.add(number)
    return found


def _spelled(step: StepDraft, tools: Mapping[str, ToolFacts]) -> StepDraft:
    """The tool's real name where case and punctuation are all that differs, or where only the title says it."""
    real = {_plain(name): name for name in tools}
    named = [real.get(_plain(name), name) for name in (step.tool, *step.also) if name]
    named = [name for name in dict.fromkeys(named) if name in tools or _plain(name) not in NO_TOOL]
    if not named and _plain(step.tool) in NO_TOOL and (found := _in_title(step.title, tools)):
        named = [found]
    if not named:  # "finish" is kept as a word: it says that no tool is meant
        return step.model_copy(update={"tool": step.tool if _plain(step.tool) in ENDS else "", "also": []})
    title = step.title or (tools[named[0]].purpose.rstrip(".")[:160] if named[0] in tools else "")
    return step.model_copy(update={"tool": named[0], "also": named[1:], "title": title})


def _asked(step: StepDraft, tools: Mapping[str, ToolFacts]) -> StepDraft:
    """Without questions that the tool's own check answers, and none of what changes something: a judge in doubt would
    have it done twice."""
    reads = step.tool in tools and tools[step.tool].tier == "read"
    said = WENT_WELL | set(words.words(step.title))
    kept = [c for c in step.checks if c.kind != "judge" or (reads and set(words.words(c.question)) - said)]
    return step if len(kept) == len(step.checks) else step.model_copy(update={"checks": kept})


def _in_title(title: str, tools: Mapping[str, ToolFacts]) -> str:
    """The one tool whose name, or all of whose name's words, the title holds."""
    verbatim = [name for name in tools if re.search(rf"(?<![a-z0-9_]){re.escape(name)}(?![a-z0-9_])", title.casefold())]
    said = {_stem(word) for word in words.words(title)}
    spoken = [name for name in tools if "_" in name and {_stem(word) for word in words.words(name)} <= said]
    found = verbatim or spoken
    return found[0] if len(found) == 1 else ""


def _is_no_step(step: StepDraft) -> bool:
    if _plain(step.tool) in ENDS:
        return True
    return not step.tool and bool(THINKING.match(step.title))


def _from_one(steps: list[StepDraft]) -> list[StepDraft]:
    """Numbers from 0: seen by a 0 that a later step waits for, and true of all if no step then waits for itself.

    A step that waits for itself can only mean the one before it.
    """
    zero = any(0 in (step.after or ()) for step in steps[1:])
    fits = all(n + 1 < number for number, step in enumerate(steps, 1) for n in step.after or () if number > 1)
    shift = 1 if zero and fits else 0
    mended = []
    for number, step in enumerate(steps, 1):
        after = step.after
        if after is not None:
            after = [] if shift and number == 1 else [n + shift for n in after if n + shift > 0]
            own = number in after
            after = [n for n in after if n != number]
            after = None if own and not after else after
        mended.append(step if after == step.after else step.model_copy(update={"after": after}))
    return mended


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def _stem(word: str) -> str:
    return re.sub(r"(?:ing|es|s|e)$", "", word) if len(word) > 3 else word
