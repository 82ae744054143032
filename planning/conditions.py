"""Conditions are state: a narrow question, the evidence that decides it, what follows either way. The writer of Condition.

drafts -> Condition -> decided once.  Touches: its table.

Code decides the branch from the yes or no; a model is never asked to follow the raw rule. How a rule is read out of a
task is in rules.py, what code can decide in deciding.py, what follows in branches.py.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from planning.branches import bound_arguments, contradicted, decided_title, follows, resolve
from planning.deciding import by_code, passage
from planning.drafts import ConditionDraft
from planning.models import Condition
from planning.rules import looks_conditional, split_rule
from planning.types import ConditionView
from planning.words import names, norm

__all__ = [
    "bound_arguments",
    "by_code",
    "contradicted",
    "correct",
    "decided_title",
    "follows",
    "looks_conditional",
    "names",
    "passage",
    "question_schema",
    "resolve",
    "settle",
    "split_rule",
    "store",
    "views",
]

Status = Condition.Status


@transaction.atomic
def store(turn_id: UUID, drafts: Sequence[ConditionDraft], keys: Sequence[str] = ()) -> None:
    """Keep what is not kept yet. keys: of the plan's steps in order, so that `decided_by` survives a revision."""
    have = list(Condition.objects.filter(turn_id=turn_id).values_list("question", "rule"))
    known = {norm(question) for question, _rule in have} | {norm(rule) for _question, rule in have if rule}
    new = [draft for draft in drafts if not known & {norm(draft.question), norm(draft.rule) or None}]
    Condition.objects.bulk_create(
        Condition(
            turn_id=turn_id,
            key=f"c{number}",
            question=draft.question[:300],
            then=draft.if_yes[:300],
            otherwise=draft.if_no[:300],
            rule=draft.rule,
            decided_by=_key(draft.decided_by, keys),
        )
        for number, draft in enumerate(new, len(have) + 1)
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
    """Decide an open condition, once; False when it was decided already. Raises ValueError for anything but yes or no."""
    return bool(
        Condition.objects.filter(turn_id=turn_id, key=key, status=Status.OPEN).update(
            status=_answer(status), quote=quote[:500], how=how, iteration=iteration
        )
    )


def correct(turn_id: UUID, key: str, status: str) -> bool:
    """The person knows better: decides it, or turns it round."""
    return bool(Condition.objects.filter(turn_id=turn_id, key=key).update(status=_answer(status), how="person"))


def question_schema() -> dict[str, Any]:
    """No third answer: a small model that may say "unknown" says it of everything that is a no."""
    return {
        "type": "object",
        "properties": {"quote": {"type": "string"}, "answer": {"type": "string", "enum": ["yes", "no"]}},
        "required": ["quote", "answer"],
        "additionalProperties": False,
    }


def _answer(status: str) -> str:
    if status not in {Status.YES, Status.NO}:
        raise ValueError(f"A condition is decided by yes or no, not by {status!r}.")
    return status


def _key(number: int | None, keys: Sequence[str]) -> str:
    return keys[number - 1] if number and 0 < number <= len(keys) else ""
