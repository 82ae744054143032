"""What the State panel draws: the slots by kind, what the last iteration changed, and the history.

Conversation, newest Turn -> context.  Touches: rows (reads).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from chat import words
from chat.models import Conversation, Turn
from chat.tools import files
from memory.models import SlotChange, StateSlot

HISTORY = 20  # changes on one page
ORDER = [kind.value for kind in StateSlot.Kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRow:
    slot: StateSlot
    text: str  # the value on one line; empty for an entity
    attributes: tuple[tuple[str, str], ...]  # of an entity
    type: str  # text, number, yes or no, list
    origin: str  # "iteration 2, the agent"
    changed: bool  # in the last iteration


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    change: SlotChange
    kind: str  # set, changed, removed
    before: str
    after: str
    origin: str
    may_undo: bool  # only the newest change of a slot can be taken back


def read(conversation: Conversation, turn: Turn | None, options: Mapping[str, str]) -> dict[str, Any]:
    slots = list(StateSlot.objects.filter(conversation=conversation))
    page = max(int(options["page"]), 1) if options.get("page", "").isdecimal() else 1
    start = (page - 1) * HISTORY
    changes = list(SlotChange.objects.filter(conversation=conversation).order_by("-id")[start : start + HISTORY + 1])
    rows = [slot_row(slot, turn) for slot in slots]
    return {
        "groups": [
            (StateSlot.Kind(kind).label, [row for row in rows if row.slot.kind == kind])
            for kind in ORDER
            if any(row.slot.kind == kind for row in rows)
        ],
        "kinds": StateSlot.Kind.choices,
        "changed": sum(row.changed for row in rows),
        "changes": change_rows(changes[:HISTORY], newest=page == 1),
        "page": page,
        "older": page + 1 if len(changes) > HISTORY else 0,
        "newer": page - 1,
        "files": files.saved(conversation.pk),
        "editing": options.get("edit", ""),
        "adding": options.get("mode") == "add",
    }


def slot_row(slot: StateSlot, turn: Turn | None) -> SlotRow:
    fields = slot.value if isinstance(slot.value, dict) else {}
    return SlotRow(
        slot=slot,
        text="" if fields else words.plain(slot.value),
        attributes=tuple((str(name), words.plain(value)) for name, value in fields.items()),
        type=type_words(slot.value),
        origin=origin(slot.iteration, slot.set_by),
        changed=turn is not None
        and slot.turn_id == turn.id
        and slot.iteration is not None
        and slot.iteration == turn.iterations_used,
    )


def change_rows(changes: Sequence[SlotChange], *, newest: bool) -> list[ChangeRow]:
    seen: set[str] = set()
    rows = []
    for change in changes:
        rows.append(change_row(change, may_undo=newest and change.name not in seen))
        seen.add(change.name)
    return rows


def changes_in(turn_id: UUID, iteration: int) -> list[ChangeRow]:
    """What one iteration changed, for its trace."""
    rows = SlotChange.objects.filter(turn_id=turn_id, iteration=iteration).order_by("id")
    return [change_row(change, may_undo=False) for change in rows]


def change_row(change: SlotChange, *, may_undo: bool) -> ChangeRow:
    before, after = bare(change.before), bare(change.after)
    kind = "removed" if change.after is None else "set" if change.before is None else "changed"
    return ChangeRow(
        change=change,
        kind=kind,
        before="" if change.before is None else words.plain(before),
        after="" if change.after is None else words.plain(after),
        origin=origin(change.iteration, change.by),
        may_undo=may_undo,
    )


def bare(stored: Any) -> Any:
    """A change keeps kind and value together; the history shows the value."""
    return stored["value"] if isinstance(stored, dict) and set(stored) == {"kind", "value"} else stored


def origin(iteration: int | None, by: str) -> str:
    if iteration:
        return _("iteration %(n)s, %(who)s") % {"n": iteration, "who": words.who(by)}
    return words.who(by)


def type_words(value: Any) -> str:
    if isinstance(value, bool):
        return _("yes or no")
    if isinstance(value, int | float):
        return _("number")
    if isinstance(value, list):
        return pgettext("type of a value", "list")
    return _("attributes") if isinstance(value, dict) else pgettext("type of a value", "text")


def typed(text: str, before: Any) -> Any:
    """What a person typed, in the type the slot had: a number stays a number, a list a list."""
    text = text.replace("\r\n", "\n").strip()
    if isinstance(before, bool):
        return text.casefold() in {"yes", "true", "1", "on", _("yes").casefold()}
    if isinstance(before, int | float):
        try:
            number = float(text.replace(",", ""))
        except ValueError:
            return text
        return int(number) if number.is_integer() and "." not in text else number
    if isinstance(before, list):
        return [item.strip() for item in text.split(",") if item.strip()]
    return text
