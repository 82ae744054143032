"""What is so about whom, from when to when: facts of entities, each new value closing the old one.

subject, attribute, value -> EntityFact.  Touches: *writer* of EntityFact.

Only the very subject and attribute are ever touched: moving house says nothing about a sister, nor about the job.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from memory.models import EntityFact, MemoryRecord
from memory.names import MANY, ME, attribute_name, subject_name
from memory.redaction import Blotter
from memory.text import normal
from memory.types import FactDraft, FactView

HABITS = ("drinks", "eats", "likes", "uses", "plays", "smokes", "takes", "wears", "drives", "learns")
VERBS = frozenset({*HABITS, "lives in", "works at", "dislikes", "is", "has", "speaks"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    made: tuple[EntityFact, ...]
    ended: tuple[EntityFact, ...]


def state(
    user_id: int,
    subject: str,
    attribute: str,
    value: str,
    *,
    many: bool = False,
    when: datetime | None = None,
    source: dict[str, Any],
    record: MemoryRecord | None = None,
) -> tuple[EntityFact, list[EntityFact]]:
    """Say that something is so from `when` on. Returns the fact and those it put out of force."""
    when = when or timezone.now()
    subject, attribute, value = subject_name(subject), attribute_name(attribute), value.strip()
    many = many or attribute in MANY
    live = list(_live(user_id, subject, attribute))
    same = [fact for fact in live if normal(fact.value) == normal(value)]
    if same:
        if record is not None:
            same[0].records.add(record)
        return same[0], []
    if not many and (later := [fact for fact in live if fact.valid_from > when]):
        # News of the past: it was so until the newer one, and ends nothing.
        return _create(
            user_id, subject, attribute, value, many, when, source, record, valid_to=later[-1].valid_from
        ), []
    fact = _create(user_id, subject, attribute, value, many, when, source, record)
    ended = [] if many else live
    for old in ended:
        _close(old, when, fact)
    return fact, ended


def end(
    user_id: int, subject: str, attribute: str, value: str = "", *, when: datetime | None = None
) -> list[EntityFact]:
    """Say that something is no longer so; without a value, whatever it was. Returns what ended."""
    ended = list(_live(user_id, subject_name(subject), attribute_name(attribute)))
    if value:
        ended = [fact for fact in ended if _meets(fact.value, value)]
    for fact in ended:
        _close(fact, when or timezone.now(), None)
    return ended


def apply(
    user_id: int,
    drafts: Sequence[FactDraft],
    *,
    when: datetime,
    source: dict[str, Any],
    record: MemoryRecord | None,
    conversation_id: UUID | str | None = None,
) -> Applied:
    """Take in what a text states, in its order: what ends first, then what is so."""
    made: list[EntityFact] = []
    ended: list[EntityFact] = []
    last = ""  # the attribute of what ended, for a value that names none: "I stopped, now coffee"
    for draft in drafts:
        if draft.ends:
            over = _end_draft(user_id, draft, when, conversation_id)
            last = over[0].attribute if over else draft.attribute
            ended += over
        elif attribute := draft.attribute or last:
            fact, over = state(
                user_id, draft.subject, attribute, draft.value, many=draft.many, when=when, source=source, record=record
            )
            if last:
                for old in (item for item in ended if item.superseded_by_id is None and item.attribute == attribute):
                    old.superseded_by = fact
                    old.save(update_fields=["superseded_by"])
            made.append(fact)
            ended += over
    return Applied(made=tuple(made), ended=tuple(ended))


def _end_draft(user_id: int, draft: FactDraft, when: datetime, conversation_id: UUID | str | None) -> list[EntityFact]:
    if draft.attribute and draft.value:
        return end(user_id, draft.subject, draft.attribute, draft.value, when=when)
    # Half of it was left out: it is about the newest habit, in this conversation if there is one.
    habits = EntityFact.objects.select_for_update().filter(
        user_id=user_id, subject=subject_name(draft.subject), attribute__in=HABITS, valid_to=None
    )
    if draft.attribute:
        habits = habits.filter(attribute=attribute_name(draft.attribute))
    found = [
        fact for fact in habits.order_by("-valid_from", "-id") if not draft.value or _meets(fact.value, draft.value)
    ]
    if not draft.value and conversation_id:
        found.sort(key=lambda fact: str(fact.source.get("conversation", "")) != str(conversation_id))
    for fact in found[:1]:
        _close(fact, when, None)
    return found[:1]


def records_of(ended: Iterable[EntityFact]) -> set[UUID]:
    """The memories that state these facts."""
    links = EntityFact.records.through.objects.filter(entityfact_id__in=[fact.pk for fact in ended])
    return set(links.values_list("memoryrecord_id", flat=True))


def reopen(user_id: int, record_ids: Iterable[UUID]) -> int:
    """Put facts of restored memories back in force, where nothing newer contradicts them."""
    count = 0
    for fact in _stated_by(user_id, record_ids).exclude(valid_to=None):
        if fact.many or not _live(user_id, fact.subject, fact.attribute).exists():
            fact.valid_to, fact.superseded_by = None, None
            fact.save(update_fields=["valid_to", "superseded_by"])
            count += 1
    return count


def close_of(user_id: int, record_ids: Iterable[UUID], when: datetime | None = None) -> None:
    """End the facts of retired memories that no memory in force states any more."""
    for fact in _stated_by(user_id, record_ids).filter(valid_to=None):
        if not fact.records.filter(status=MemoryRecord.Status.LIVE).exists():
            _close(fact, when or timezone.now(), None)


def share(user_id: int, from_ids: Iterable[UUID], to: MemoryRecord) -> None:
    """A merged memory states what its sources state."""
    for fact in _stated_by(user_id, from_ids).filter(valid_to=None):
        fact.records.add(to)


def live_of(user_id: int, record_id: UUID) -> list[EntityFact]:
    """Facts in force of a memory that no memory in force states."""
    mine = _stated_by(user_id, [record_id]).filter(valid_to=None)
    return [fact for fact in mine if not fact.records.filter(status=MemoryRecord.Status.LIVE).exists()]


def give(fact: EntityFact, record: MemoryRecord) -> None:
    """This memory states the fact, too."""
    fact.records.add(record)


def erase(user_id: int, record_ids: Iterable[UUID]) -> int:
    """Delete the facts that these memories alone state; for forgetting and for correcting."""
    ids = set(record_ids)
    gone = 0
    for fact in _stated_by(user_id, ids).prefetch_related("records"):
        if {row.pk for row in fact.records.all()} <= ids:
            fact.delete()
            gone += 1
        else:
            fact.records.remove(*(row for row in fact.records.all() if row.pk in ids))
    return gone


def erase_loose(user_id: int) -> int:
    """Delete facts that no memory states."""
    return EntityFact.objects.filter(user_id=user_id, records=None).delete()[0]


def blot(user_id: int, blotter: Blotter) -> None:
    """Take forgotten words out of the sources of facts that stay."""
    for fact in EntityFact.objects.filter(user_id=user_id):
        source = blotter.json(fact.source, machine=False)
        if source != fact.source:
            fact.source = source
            fact.save(update_fields=["source"])


def live(user_id: int) -> list[FactView]:
    return [_view(fact) for fact in EntityFact.objects.filter(user_id=user_id, valid_to=None)]


def stated_by(user_id: int, record_ids: Iterable[UUID]) -> list[EntityFact]:
    """The facts that these memories state, in force or not."""
    return list(_stated_by(user_id, record_ids))


def as_of(user_id: int, when: datetime) -> list[FactView]:
    """What was so at a moment: "what was true in May?"."""
    then = EntityFact.objects.filter(user_id=user_id, valid_from__lte=when)
    return [_view(fact) for fact in then.filter(Q(valid_to=None) | Q(valid_to__gt=when))]


def history(user_id: int, subject: str = "", attribute: str = "") -> list[FactView]:
    rows = EntityFact.objects.filter(user_id=user_id)
    if subject:
        rows = rows.filter(subject=subject_name(subject))
    if attribute:
        rows = rows.filter(attribute=attribute_name(attribute))
    return [_view(fact) for fact in rows.order_by("valid_from", "id")]


def sentence(fact: EntityFact | FactView) -> str:
    """A fact as a line of text, for a memory whose own words are no longer all true."""
    who = "The user" if fact.subject == ME else fact.subject.capitalize()
    if fact.attribute == "allergic to":
        return f"{who} is allergic to {fact.value}"
    if fact.attribute in VERBS:
        return f"{who} {fact.attribute} {fact.value}"
    return f"{who}: {fact.attribute} = {fact.value}"


def _stated_by(user_id: int, record_ids: Iterable[UUID]) -> QuerySet[EntityFact]:
    return EntityFact.objects.filter(user_id=user_id, records__in=list(record_ids)).distinct()


def _live(user_id: int, subject: str, attribute: str) -> Any:
    rows = EntityFact.objects.select_for_update().filter(user_id=user_id, subject=subject, attribute=attribute)
    return rows.filter(valid_to=None).order_by("valid_from", "id")


def _meets(held: str, said: str) -> bool:
    """ "tea" ends "green tea", for a person shortens; it does not end "tea ceremonies", nor "green tea" "tea"."""
    one, two = normal(held), normal(said)
    if one == two or one.endswith(f" {two}") or re.match(rf"{re.escape(two)} (?:for|in|at|with|on|every|to)\b", one):
        return True
    return not two.isascii() and one.endswith(two)


def _create(
    user_id: int,
    subject: str,
    attribute: str,
    value: str,
    many: bool,
    when: datetime,
    source: dict[str, Any],
    record: MemoryRecord | None,
    valid_to: datetime | None = None,
) -> EntityFact:
    fact = EntityFact.objects.create(
        user_id=user_id,
        subject=subject,
        attribute=attribute,
        value=value,
        many=many,
        valid_from=when,
        valid_to=valid_to,
        source=source,
    )
    if record is not None:
        fact.records.add(record)
    return fact


def _close(fact: EntityFact, when: datetime, by: EntityFact | None) -> None:
    fact.valid_to, fact.superseded_by = max(when, fact.valid_from), by
    fact.save(update_fields=["valid_to", "superseded_by"])


def _view(fact: EntityFact) -> FactView:
    return FactView(
        id=fact.id,
        subject=fact.subject,
        attribute=fact.attribute,
        value=fact.value,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
    )
