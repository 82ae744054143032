"""The working memory of one conversation: named values, changed by validated patches only.

patch -> StateSlot, SlotChange.  Touches: *writer* of both.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from memory.errors import SlotRefused
from memory.models import SlotChange, StateSlot
from memory.redaction import BLOT, Blotter
from memory.text import clean
from memory.types import SlotView

MOST_SLOTS = 100  # in one conversation
MOST_CHARACTERS = 2_000  # of one value as JSON
MOST_ATTRIBUTES = 40  # of one entity
Change = Mapping[str, Any]


def views(conversation_id: UUID | str) -> tuple[SlotView, ...]:
    return tuple(_view(slot) for slot in StateSlot.objects.filter(conversation_id=conversation_id))


def patch(
    conversation_id: UUID | str,
    changes: Sequence[Change],
    *,
    by: str,
    turn_id: UUID | str | None = None,
    iteration: int | None = None,
) -> list[dict[str, Any]]:
    """Apply all changes or none. Returns those that changed something; raises SlotRefused with every fault."""
    with transaction.atomic():
        # The lock makes two writers take turns on PostgreSQL; SQLite's transactions already do.
        held = {s.name: s for s in StateSlot.objects.select_for_update().filter(conversation_id=conversation_id)}
        wanted = [_readable(change, held) for change in changes]
        if faults := _faults(wanted, held):
            raise SlotRefused(faults)
        applied = []
        for change in wanted:
            before, after = _apply(conversation_id, change, held, by, turn_id, iteration)
            if before == after:
                continue
            row = SlotChange.objects.create(
                conversation_id=conversation_id,
                turn_id=turn_id,
                iteration=iteration,
                name=change["name"],
                before=before,
                after=after,
                by=by,
            )
            applied.append({"id": row.id, "name": row.name, "before": before, "after": after, "by": by})
        return applied


def history(conversation_id: UUID | str) -> list[SlotChange]:
    """All changes, oldest first."""
    return list(SlotChange.objects.filter(conversation_id=conversation_id))


def undo(conversation_id: UUID | str, change_id: int, by: str) -> list[dict[str, Any]]:
    """Put back what was before one change. Raises SlotRefused when the slot has changed again since."""
    with transaction.atomic():
        change = SlotChange.objects.get(id=change_id, conversation_id=conversation_id)
        newer = SlotChange.objects.filter(conversation_id=conversation_id, name=change.name, id__gt=change.id)
        if newer.exists():
            raise SlotRefused(
                [_("“%(name)s” has been changed again since; undo that change first.") % {"name": change.name}]
            )
        if change.before is None:
            return patch(conversation_id, [{"op": "remove", "name": change.name}], by=by)
        return patch(conversation_id, [{"op": "set", "name": change.name, **change.before}], by=by)


def as_of(conversation_id: UUID | str, turn_id: UUID | str, iteration: int) -> dict[str, Any]:
    """The values as they were when an iteration began, rebuilt from the changes alone."""
    values: dict[str, Any] = {}
    for change in SlotChange.objects.filter(conversation_id=conversation_id):
        if str(change.turn_id) == str(turn_id) and change.iteration is not None and change.iteration >= iteration:
            break
        if change.after is None:
            values.pop(change.name, None)
        else:
            values[change.name] = change.after["value"]
    return values


def blot(user_id: int, blotter: Blotter) -> int:
    """Take forgotten words out of the states of all this person's conversations, history included."""
    count = 0
    for slot in StateSlot.objects.filter(conversation__user_id=user_id):
        name, value = blotter.text(slot.name, machine=True), blotter.json(slot.value)
        if (name, value) == (slot.name, slot.value):
            continue
        count += 1
        if value == BLOT or name != slot.name:
            slot.delete()  # nothing is left of it
        else:
            slot.value = value
            slot.save()
    for change in SlotChange.objects.filter(conversation__user_id=user_id):
        held = (blotter.text(change.name, machine=True), blotter.json(change.before), blotter.json(change.after))
        if held != (change.name, change.before, change.after):
            change.name, change.before, change.after = held
            change.save()
    return count


def _view(slot: StateSlot) -> SlotView:
    return SlotView(name=slot.name, kind=slot.kind, value=slot.value, set_by=slot.set_by, iteration=slot.iteration)


def _readable(change: Change, held: Mapping[str, StateSlot]) -> dict[str, Any]:
    """A change with clean text; "hotel.phone" of a known entity becomes that entity with one more attribute."""
    name, value = clean(str(change.get("name", ""))), _clean_value(change.get("value"))
    kind = str(change.get("kind") or (held[name].kind if name in held else StateSlot.Kind.FACT))
    op = str(change.get("op", "set"))
    entity, dot, attribute = name.partition(".")
    if dot and attribute and name not in held and entity in held and held[entity].kind == StateSlot.Kind.ENTITY:
        attributes = dict(held[entity].value)
        if op == "remove":
            attributes.pop(attribute, None)
        else:
            attributes[attribute] = value
        return {"op": "set", "name": entity, "kind": StateSlot.Kind.ENTITY.value, "value": attributes}
    return {"op": op, "name": name, "kind": kind, "value": value}


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [_clean_value(item) for item in value]
    if isinstance(value, Mapping):
        return {clean(str(key)): _clean_value(item) for key, item in value.items()}
    return value


def _faults(changes: Sequence[dict[str, Any]], held: Mapping[str, StateSlot]) -> list[str]:
    faults: list[str] = []
    known = {name for name, slot in held.items() if slot.kind == StateSlot.Kind.ENTITY}
    known |= {change["name"] for change in changes if change["kind"] == StateSlot.Kind.ENTITY}
    for change in changes:
        faults += _faults_of(change, known, held)
    names = set(held) | {change["name"] for change in changes if change["op"] == "set"}
    if len(names) > MOST_SLOTS:
        faults.append(_("The state is full (%(n)d values): remove one first.") % {"n": MOST_SLOTS})
    return faults


def _faults_of(change: Change, entities: set[str], held: Mapping[str, StateSlot]) -> list[str]:
    name, value, kind = change["name"], change["value"], change["kind"]
    if not name or len(name) > 80:
        return [_("A name must have 1 to 80 characters.")]
    if change["op"] == "remove":
        return [] if name in held else [_("There is no “%(name)s”.") % {"name": name}]
    if change["op"] != "set":
        return [_("“%(op)s” is no change: use set or remove.") % {"op": change["op"]}]
    if kind not in StateSlot.Kind.values:
        return [
            _("“%(kind)s” is no kind: use one of %(kinds)s.")
            % {"kind": kind, "kinds": ", ".join(StateSlot.Kind.values)}
        ]
    faults = []
    if kind == StateSlot.Kind.ENTITY:
        if not isinstance(value, dict) or not value:
            faults.append(_("“%(name)s” is an entity: give its attributes as an object.") % {"name": name})
        elif len(value) > MOST_ATTRIBUTES:
            faults.append(_("“%(name)s” has too many attributes.") % {"name": name})
        elif "." in name and name not in held:
            faults.append(_("There is no entity “%(name)s” yet.") % {"name": name.partition(".")[0]})
    elif isinstance(value, dict) or value is None or value == "":
        faults.append(_("“%(name)s” needs a value: text, a number, yes or no, or a list.") % {"name": name})
    if isinstance(value, float) and not math.isfinite(value):
        faults.append(_("“%(name)s” must be a finite number.") % {"name": name})
    elif _size(value) > MOST_CHARACTERS:
        faults.append(_("“%(name)s” is too long: keep the bare value.") % {"name": name})
    faults += [_("There is no entity “%(name)s”.") % {"name": ref} for ref in _references(value) if ref not in entities]
    return faults


def _size(value: Any) -> int:
    try:
        return len(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError):
        return MOST_CHARACTERS + 1


def _references(value: Any) -> list[str]:
    """The entities a value points at: {"ref": "hotel"}, at any depth."""
    if isinstance(value, dict):
        own = [str(value["ref"])] if set(value) == {"ref"} else []
        return own + [ref for item in value.values() for ref in _references(item)]
    return [ref for item in value for ref in _references(item)] if isinstance(value, list) else []


def _apply(
    conversation_id: UUID | str,
    change: Change,
    held: dict[str, StateSlot],
    by: str,
    turn_id: UUID | str | None,
    iteration: int | None,
) -> tuple[Any, Any]:
    slot = held.get(change["name"])
    before = {"kind": slot.kind, "value": slot.value} if slot else None
    if change["op"] == "remove":
        if slot:
            held.pop(slot.name).delete()
        return before, None
    after = {"kind": change["kind"], "value": change["value"]}
    if before != after:
        slot = slot or StateSlot(conversation_id=conversation_id, name=change["name"])
        slot.kind, slot.value, slot.set_by = change["kind"], change["value"], by
        slot.turn_id, slot.iteration = turn_id, iteration
        slot.save()
        held[slot.name] = slot
    return before, after
