"""Which steps of a new plan are steps of the old one, and what changed between two revisions.

old steps, new steps -> identity, diff.  Touches: nothing (pure).
"""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from planning import words
from planning.drafts import StepDraft
from planning.types import StepView

ALIKE = 0.75  # of two titles: the same step in other words


def diff(old: Sequence[StepView], new: Sequence[StepView]) -> dict[str, list[Any]]:
    """kept, changed, added, removed, moved, again: titles, told by the identity of the steps.

    again: steps that failed and are tried anew; they have a new identity, for nothing of the failed try counts for them.
    """
    before = {step.key: step for step in old}
    after = {step.key: step for step in new}
    shared = [step.key for step in new if step.key in before]
    order = [step.key for step in old if step.key in after]
    still = _in_order(order, shared)
    changed = [key for key in shared if _words(before[key]) != _words(after[key])]
    gone = [step for step in old if step.key not in after]
    fresh = [step for step in new if step.key not in before]
    again = [step for step in fresh if any(_act(step) == _act(other) for other in gone)]
    return {
        "kept": [after[key].title for key in shared if key not in changed],
        "changed": [{"from": before[key].title, "to": after[key].title} for key in changed],
        "added": [step.title for step in fresh if step not in again],
        "removed": [step.title for step in gone if not any(_act(step) == _act(other) for other in again)],
        "moved": [after[key].title for key in shared if key not in still],
        "again": [step.title for step in again],
    }


def identity(old: Sequence[StepView], drafts: Sequence[StepDraft]) -> Mapping[int, StepView]:
    """Draft (from 0) -> the old step it goes on with: one not yet done in which nothing has failed."""
    left = [step for step in old if step.status in {"pending", "running"} and not step.attempts]
    found: dict[int, StepView] = {}
    for exact in (True, False):
        for index, draft in enumerate(drafts):
            fitting = [step for step in left if index not in found and _alike(draft, step, exact=exact)]
            if fitting:
                found[index] = max(fitting, key=lambda step, draft=draft: _ratio(draft.title, step.title))  # type: ignore[misc]
                left.remove(found[index])
    return found


def _alike(draft: StepDraft, step: StepView, *, exact: bool) -> bool:
    if step.tools[:1] != ((draft.tool,) if draft.tool else ()):
        return False
    # Other numbers are another act: the weather of the first is not the weather of the second.
    one, other = words.norm(draft.title), words.norm(step.title)
    if exact:
        return one == other
    return _ratio(one, other) >= ALIKE and _digits(one) == _digits(other)


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio()


def _digits(text: str) -> list[str]:
    return [word for word in words.words(text) if word.isdigit()]


def _act(step: StepView) -> tuple[Any, ...]:
    return step.tools, words.norm(step.title)


def _in_order(order: Sequence[str], shared: Sequence[str]) -> set[str]:
    """The longest run of steps that kept their order among each other: the others are the ones that moved."""
    best: list[tuple[str, ...]] = [()]
    for key in shared:
        before = [run for run in best if not run or order.index(run[-1]) < order.index(key)]
        best.append((*_longest(before), key))
    return set(_longest(best))


def _longest(runs: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return sorted(runs, key=len)[-1]


def _words(step: StepView) -> tuple[Any, ...]:
    checks = tuple((check.kind, repr(sorted(check.params.items()))) for check in step.checks)
    return step.title, step.tools, checks, step.status == "skipped"
