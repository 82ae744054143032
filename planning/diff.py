"""What changed between two revisions of a plan.

old steps, new steps -> diff.  Touches: nothing (pure).
"""

from collections.abc import Sequence
from typing import Any

from planning.types import StepView


def diff(old: Sequence[StepView], new: Sequence[StepView]) -> dict[str, list[Any]]:
    """kept, changed, added, removed, moved: titles, told by the identity of the steps."""
    before = {step.key: step for step in old}
    after = {step.key: step for step in new}
    shared = [step.key for step in new if step.key in before]
    order = [step.key for step in old if step.key in after]
    changed = [key for key in shared if _words(before[key]) != _words(after[key])]
    return {
        "kept": [after[key].title for key in shared if key not in changed],
        "changed": [{"from": before[key].title, "to": after[key].title} for key in changed],
        "added": [step.title for step in new if step.key not in before],
        "removed": [step.title for step in old if step.key not in after],
        "moved": [after[key].title for key, was in zip(shared, order, strict=True) if key != was],
    }


def _words(step: StepView) -> tuple[Any, ...]:
    checks = tuple((check.kind, repr(sorted(check.params.items()))) for check in step.checks)
    return step.title, step.tools, checks, step.status == "skipped"
