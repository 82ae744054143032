"""Blot forgotten memories out of everything that conversations have stored.

what is forgotten -> rows without it.  Touches: the text columns of this room's tables and of the plans.

The one exception to "one writer for each table": forgetting reaches every text of one person, whichever part of the
product wrote it. It looks at the models, not at a list, so that a new column is not forgotten here.
"""

from collections.abc import Iterator
from typing import Any

from django.db import models

from chat.models import Approval, Conversation, Grant, Iteration, Message, Summary, ToolCall, Turn
from memory import forget
from memory.redaction import Blotter
from memory.types import Forgotten
from planning.models import AcceptanceCheck, Condition, Exclusion, Plan, PlanTemplate, Step

# Model -> the way to its person, and what a receipt calls its passages.
REACHED: tuple[tuple[type[models.Model], str, str], ...] = (
    (Conversation, "user_id", "summaries"),
    (Summary, "conversation__user_id", "summaries"),
    (Message, "conversation__user_id", "messages"),
    (Turn, "conversation__user_id", "messages"),
    (Iteration, "turn__conversation__user_id", "contexts"),
    (ToolCall, "turn__conversation__user_id", "calls"),
    (Approval, "turn__conversation__user_id", "calls"),
    (Grant, "conversation__user_id", "calls"),
    (Plan, "conversation__user_id", "plans"),
    (Step, "plan__conversation__user_id", "plans"),
    (AcceptanceCheck, "step__plan__conversation__user_id", "plans"),
    (Condition, "turn__conversation__user_id", "plans"),
    (Exclusion, "conversation__user_id", "plans"),
    (PlanTemplate, "user_id", "plans"),
)
# Names and codes of ours, which hold no words of anybody.
NOT_WORDS = frozenset(
    "status end gate model owner mark role client_id tool version tier digest step_key key kind how limits".split()
)
# What the person wrote: only the very statement is taken out of it, unless it is where the memory came from.
PERSONS = {Turn: {"goal"}, Plan: {"goal"}, Conversation: {"title"}, PlanTemplate: {"goal", "name"}}


def redact(user_id: int, forgotten: Forgotten) -> dict[str, int]:
    return dict(_walk(user_id, forgotten, write=True))


def count(user_id: int, forgotten: Forgotten) -> dict[str, int]:
    return dict(_walk(user_id, forgotten, write=False))


def _walk(user_id: int, forgotten: Forgotten, *, write: bool) -> Iterator[tuple[str, int]]:
    blotter = Blotter(forgotten)
    counts: dict[str, int] = {}
    for model, owner, name in REACHED:
        before = blotter.hits
        fields = [field for field in model._meta.concrete_fields if _holds_words(field)]
        for row in model._default_manager.filter(**{owner: user_id}).iterator(200):
            changed = _blot(row, fields, blotter)
            if changed and write:
                row.save(update_fields=changed)
        counts[name] = counts.get(name, 0) + blotter.hits - before
    yield from counts.items()


def _holds_words(field: "models.Field[Any, Any]") -> bool:
    words = isinstance(field, models.TextField | models.CharField | models.JSONField)
    return words and not field.choices and field.name not in NOT_WORDS


def _blot(row: models.Model, fields: "list[models.Field[Any, Any]]", blotter: Blotter) -> list[str]:
    """Blot one row in memory. Returns the names of the columns that changed."""
    changed = []
    for field in fields:
        held = getattr(row, field.name)
        machine = _by_machine(row, field.name, blotter.forgotten)
        fresh = blotter.text(held, machine=machine) if isinstance(held, str) else blotter.json(held, machine=machine)
        if fresh != held:
            most = getattr(field, "max_length", None)
            setattr(row, field.name, fresh[:most] if isinstance(fresh, str) else fresh)
            changed.append(field.name)
    return changed


def _by_machine(row: models.Model, name: str, forgotten: Forgotten) -> bool:
    if isinstance(row, Message):
        return row.role != Message.Role.USER or row.pk in forgotten.messages
    return name not in PERSONS.get(type(row), set()) or str(row.pk) in forgotten.places


def register() -> None:
    """Called once when the apps are ready."""
    if not any(item.redact is redact for item in forget.REDACTORS):
        forget.REDACTORS.append(forget.Redactor(count=count, redact=redact))
