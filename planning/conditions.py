"""Conditions are state: a narrow question, the evidence that decides it, what follows either way. The writer of Condition.

drafts -> Condition -> decided once.  Touches: its table.

Code decides the branch from the yes or no; a model is never asked to follow the raw rule.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from planning.drafts import ConditionDraft
from planning.models import Condition
from planning.rules import looks_conditional, split_rule
from planning.types import ConditionView, Evidence

__all__ = [
    "bound_arguments",
    "by_code",
    "decided_title",
    "looks_conditional",
    "names",
    "question_schema",
    "resolve",
    "settle",
    "split_rule",
    "store",
    "views",
]

YesNo = Literal["yes", "no"]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# Words of a comparison -> (what it means, whether equality counts).
COMPARISONS: tuple[tuple[str, str], ...] = (
    (
        r"at least|no less than|not less than|greater than or equal|≥|>=|不少于|不小于|不低于|至少|大于等于|大于或等于",
        ">=",
    ),
    (
        r"at most|no more than|not more than|less than or equal|≤|<=|不超过|不多于|不大于|不高于|至多|小于等于|小于或等于",
        "<=",
    ),
    (
        r"greater than|more than|larger than|bigger than|higher than|over|above|exceeds?|beyond|>|大于|超过|多于|高于",
        ">",
    ),
    (r"less than|fewer than|smaller than|lower than|under|below|<|小于|少于|低于|不足|不到", "<"),
    (r"equals?|equal to|exactly|==?|等于", "=="),
)
WORDED = re.compile(
    r"(?:contains?|mentions?|includes?|has the word|包含|提到|含有|出现)\s*(?:the word\s*)?[\"'“‘「『](?P<word>[^\"'”’」』]+)[\"'”’」』]",
    re.IGNORECASE,
)


def store(turn_id: UUID, drafts: Sequence[ConditionDraft], keys: Sequence[str] = ()) -> None:
    """keys: the keys of the plan's steps in order, so that `decided_by` survives a revision."""
    Condition.objects.bulk_create(
        Condition(
            turn_id=turn_id,
            key=f"c{number}",
            question=draft.question[:300],
            then=draft.if_yes[:300],
            otherwise=draft.if_no[:300],
            rule=draft.rule,
            decided_by=keys[draft.decided_by - 1] if draft.decided_by and draft.decided_by <= len(keys) else "",
        )
        for number, draft in enumerate(drafts, 1)
    )


def views(turn_id: UUID) -> tuple[ConditionView, ...]:
    return tuple(
        ConditionView(
            key=row.key,
            question=row.question,
            then=row.then,
            otherwise=row.otherwise,
            rule=row.rule,
            decided_by=row.decided_by,
            status=row.status,
            follows=row.follows,
            quote=row.quote,
        )
        for row in Condition.objects.filter(turn_id=turn_id)
    )


def settle(turn_id: UUID, key: str, status: str, *, quote: str, how: str, iteration: int | None) -> bool:
    """Decide an open condition, once; False when it was decided already."""
    return bool(
        Condition.objects.filter(turn_id=turn_id, key=key, status=Condition.Status.OPEN).update(
            status=status, quote=quote[:500], how=how, iteration=iteration
        )
    )


def correct(turn_id: UUID, key: str, status: str) -> None:
    """The person knows better."""
    Condition.objects.filter(turn_id=turn_id, key=key).update(status=status, how="person")


def question_schema() -> dict[str, Any]:
    """No third answer: a small model that may say "unknown" says it of everything that is a no."""
    return {
        "type": "object",
        "properties": {"quote": {"type": "string"}, "answer": {"type": "string", "enum": ["yes", "no"]}},
        "required": ["quote", "answer"],
        "additionalProperties": False,
    }


# ---- decided by code ------------------------------------------------------------------------------------------


def by_code(condition: ConditionView, evidence: Sequence[Evidence]) -> tuple[YesNo, str] | None:
    """The verdict and the words that decide it, only where code can be sure; None: ask the model."""
    good = [item for item in evidence if item.succeeded]
    if not good:
        return None
    if (word := WORDED.search(condition.question)) and isinstance(good[-1].result, Mapping):
        return _has_word(word["word"], good[-1].result)
    return _compare(condition.question, good[-1].result)


def _has_word(word: str, result: Mapping[str, Any]) -> tuple[YesNo, str] | None:
    texts = [value for value in result.values() if isinstance(value, str) and len(value) >= len(word)]
    if not texts:
        return None
    for text in texts:
        if (at := text.casefold().find(word.casefold())) >= 0:
            return "yes", text[max(0, at - 40) : at + len(word) + 40]
    return "no", max(texts, key=len)[:120]


def _compare(question: str, result: Any) -> tuple[YesNo, str] | None:
    """A comparison with the one number of the question, when the result holds one number only."""
    limits = NUMBER.findall(re.sub(r"\d+(?:\.\d+)?\s*[-*+/×÷x]\s*\d+(?:\.\d+)?", " ", question))
    found = _numbers(result)
    if len(limits) != 1 or len(found) != 1:
        return None
    value, limit = found[0], float(limits[0])
    for words, sign in COMPARISONS:
        if re.search(words, question, re.IGNORECASE):
            holds = {
                ">=": value >= limit,
                "<=": value <= limit,
                ">": value > limit,
                "<": value < limit,
                "==": value == limit,
            }[sign]
            return ("yes" if holds else "no"), f"{value:g} {sign if holds else 'is not ' + sign} {limit:g}"
    return None


def _numbers(result: Any) -> list[float]:
    """The numbers of a result that stand alone: not those inside texts."""
    if isinstance(result, bool):
        return []
    if isinstance(result, int | float):
        return [float(result)]
    if isinstance(result, Mapping):
        return [number for value in result.values() for number in _numbers(value)]
    return []


# ---- what follows -----------------------------------------------------------------------------------------------


def resolve(goal: str, conditions: Sequence[ConditionView]) -> str:
    """The goal with each decided rule replaced by what follows, so that a later step reads the fact, not the rule."""
    for condition in conditions:
        if condition.status != "open" and condition.rule and condition.follows:
            goal = goal.replace(condition.rule, condition.follows)
    return goal


def decided_title(title: str, when: Mapping[str, str], conditions: Sequence[ConditionView]) -> str:
    """The title of the step that carries a condition out: the branch in force once it is decided."""
    mine = next((c for c in conditions if c.key == when.get("condition") and not when.get("branch")), None)
    return mine.follows if mine and mine.follows else title


def bound_arguments(schema: Mapping[str, Any], conditions: Sequence[ConditionView]) -> dict[str, tuple[Any, str]]:
    """Arguments whose value a decided branch names: name -> (value, because). Nothing where it is ambiguous."""
    bound: dict[str, tuple[Any, str]] = {}
    for name, prop in schema.get("properties", {}).items():
        choices = [choice for choice in prop.get("enum", ()) if isinstance(choice, str)]
        if len(choices) < 2:
            continue
        for condition in conditions:
            named = [choice for choice in choices if names(condition.follows, choice)]
            if condition.status != "open" and len(named) == 1:
                bound[name] = (named[0], f"{condition.question} {condition.status}")
    return bound


def names(text: str, choice: str) -> bool:
    """Whether the words name the choice as a word of its own ("suite" in 订suite counts, in "suites" too)."""
    pattern = rf"(?<![a-z0-9_]){re.escape(choice.casefold())}(?:s|es)?(?![a-z0-9_])"
    return bool(text) and re.search(pattern, text.casefold()) is not None
