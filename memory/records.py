"""Remember, correct, retire, restore and merge memories; the person's mode.

text -> Receipt.  Touches: *writer* of MemoryRecord, RecordEdit and UserMemory; facts, tombstones.

Every change raises the person's revision in the same transaction, so that no process ranks with an old copy, and
leaves the row pending for the index. The text is embedded before the transaction: an endpoint may be slow.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import facts, near, removals, statements, tombstones
from memory.kinds import registry
from memory.kinds.base import Kind
from memory.models import MemoryRecord, RecordEdit, UserMemory
from memory.near import Surface
from memory.redaction import Blotter
from memory.secrets import secret_in
from memory.text import bare, clean, digest
from memory.types import FactDraft, Receipt, Retired

MOST_CHARACTERS = 2_000  # of one memory; more is a document
Status = MemoryRecord.Status
Mode = UserMemory.Mode


# ---- the person's own settings and revision ------------------------------------------------------


def mode(user_id: int) -> str:
    return UserMemory.objects.filter(user_id=user_id).values_list("mode", flat=True).first() or Mode.AUTO.value


def set_mode(user_id: int, value: str) -> None:
    """Raises ValueError for a mode that does not exist."""
    UserMemory.objects.update_or_create(user_id=user_id, defaults={"mode": Mode(value)})


def note_consolidated(user_id: int) -> None:
    UserMemory.objects.filter(user_id=user_id).update(consolidated_at=timezone.now())


def next_revision(user_id: int, *, forgets: bool = False) -> int:
    """Call inside a transaction that changes what is searchable: the lock it takes orders one person's writers."""
    state = locked(user_id)
    # Never below the clock: a number used by a transaction that was rolled back is not used for another state.
    state.revision = max(state.revision + 1, time.time_ns() // 1000)
    if forgets:
        state.epoch = state.revision
    state.save(update_fields=["revision", "epoch"])
    return state.revision


def locked(user_id: int) -> UserMemory:
    """One writer at a time for one person, until the transaction ends."""
    held = UserMemory.objects.select_for_update()
    return held.filter(user_id=user_id).first() or held.get_or_create(user_id=user_id)[0]


# ---- writing --------------------------------------------------------------------------------------


def remember(
    user_id: int,
    text: str,
    *,
    kind: str = "fact",
    source: Mapping[str, Any],
    conversation_id: UUID | str | None = None,
    confidence: float = 0.7,
    expires_at: datetime | None = None,
    facts: Sequence[FactDraft] = (),
    when: datetime | None = None,
    confirmed: bool = False,
    review: bool = False,
) -> Receipt:
    """Keep a text, or say why not.

    confirmed: the person wants it, whatever mode and tombstones say; review: they are asked first, whatever the mode.
    """
    text = bare(clean(text))
    confirmed = confirmed or (source.get("by") in {"person", "staff"} and not source.get("turn"))
    drafts = tuple(facts) or statements.facts_in(text)
    quote = str(source.get("quote") or "")
    if reason := _why_not(user_id, text, kind, confirmed):
        return Receipt(status="refused", text=text, reason=reason)
    if not confirmed and tombstones.lies_on(user_id, [text, quote], drafts):
        reason = _("You asked to forget this; it is kept again only if you say so yourself.")
        return Receipt(status="refused", text=text, reason=reason, may_confirm=True)
    if confirmed:
        tombstones.lift(user_id, [text, quote], drafts)
    surface = near.surface(text, when or timezone.now())
    asks = review or (not confirmed and mode(user_id) == Mode.ASK)
    with transaction.atomic():
        # Looked up before the revision moves: a copy made in the middle of a change would miss the rest of it.
        found = near.look(locked(user_id), text, surface) if registry.find(kind).dedupe else near.NOTHING
        record = MemoryRecord(
            user_id=user_id,
            kind=kind,
            text=text,
            digest=digest(user_id, text),
            confidence=min(max(confidence, 0.0), 1.0),
            status=Status.REVIEW if asks else Status.LIVE,
            source=_source(source, conversation_id, drafts if asks else ()),
            conversation_id=conversation_id,
            expires_at=expires_at or _expiry(registry.find(kind), when),
            created_at=when or timezone.now(),
            revision=next_revision(user_id),
        )
        _put_surface(record, surface)
        if found.same:
            return _known_already(found.same, record, drafts)
        record.save(force_insert=True)
        if asks:
            return Receipt(status="review", text=text, record_id=str(record.id), reason=_("It waits for your review."))
        return _take_effect(record, drafts, found)


def accept(user_id: int, record_id: UUID | str, text: str = "") -> Receipt:
    """Keep a memory from the review tray, as it is or reworded."""
    with transaction.atomic():
        record = _own(user_id, record_id)
        if record.status != Status.REVIEW:
            return Receipt(
                status="duplicate", text=record.text, record_id=str(record.id), reason=_("It is decided already.")
            )
        text = clean(text) or record.text
        surface = near.surface(text, record.created_at)
        found = near.look(locked(user_id), text, surface, beside=record.id)
        record.revision = next_revision(user_id)
        drafts = [FactDraft(**draft) for draft in record.source.pop("facts", [])]
        if text != record.text:
            _reword(record, text, None, surface)
            drafts = []
        if found.same:
            receipt = _known_already(found.same, record, drafts)
            _erase([record.id], user_id, erase=False)
            return receipt
        record.status, record.index_state = Status.LIVE, MemoryRecord.Index.PENDING
        record.save()
        return _take_effect(record, drafts or statements.facts_in(record.text), found)


def decline(user_id: int, record_id: UUID | str) -> None:
    """Throw a proposal away; it is not proposed again."""
    with transaction.atomic():
        record = _own(user_id, record_id)
        if record.status == Status.REVIEW:
            tombstones.lay(user_id, [record.text, str(record.source.get("quote") or "")])
            _erase([record.id], user_id, erase=False)


def edit(user_id: int, record_id: UUID | str, text: str, by: int | None) -> Receipt:
    """Correct a memory: the old text is kept as history, words, vector, facts and index follow the new one."""
    text = clean(text)
    if not text or len(text) > MOST_CHARACTERS:
        return Receipt(status="refused", text=text, reason=_length_fault(text))
    if reason := secret_in(text):
        return Receipt(status="refused", text=text, reason=reason)
    surface = near.surface(text, _own_unlocked(user_id, record_id).created_at)
    with transaction.atomic():
        record = _own(user_id, record_id)
        if text == record.text:
            return Receipt(status="duplicate", text=text, record_id=str(record.id), reason=_("Nothing changed."))
        record.revision = next_revision(user_id)
        _reword(record, text, by, surface)
        record.confidence = max(record.confidence, 0.9)  # a person looked at it
        record.save()
        facts.erase(user_id, [record.id])
        retired = _state_facts(record, statements.facts_in(text)) if record.status == Status.LIVE else ()
    return Receipt(status="kept", text=text, record_id=str(record.id), retired=retired)


def retire(user_id: int, record_id: UUID | str, reason: str = "") -> None:
    """Put a memory out of force; it can be restored."""
    with transaction.atomic():
        record = _own(user_id, record_id)
        if record.status in {Status.LIVE, Status.REVIEW}:
            _retire([record], reason or _("retired by hand"))
            facts.close_of(user_id, [record.id])


def restore(user_id: int, record_id: UUID | str) -> None:
    """Put a memory back in force, with those of its facts that nothing newer contradicts; from the tray: accept it."""
    with transaction.atomic():
        record = _own(user_id, record_id)
        if record.status == Status.REVIEW:
            accept(user_id, record_id)
        elif record.status != Status.LIVE:
            _revive([record])
            facts.reopen(user_id, [record.id])


def merge(user_id: int, ids: Iterable[UUID | str], text: str = "") -> Receipt:
    """One memory in place of several, with the sources of all; `unmerge` undoes it."""
    with transaction.atomic():
        rows = list(_owned(user_id).filter(id__in=list(ids), status=Status.LIVE).order_by("created_at"))
        if len(rows) < 2:
            return Receipt(status="refused", reason=_("Choose at least two memories in force."))
        kind = registry.find(rows[-1].kind)
        text = clean(text) or kind.merged([row.text for row in rows])
        merged = MemoryRecord(
            user_id=user_id,
            kind=kind.name,
            text=text,
            digest=digest(user_id, text),
            confidence=max(row.confidence for row in rows),
            pinned=any(row.pinned for row in rows),
            source={"by": "code", "merged": [str(row.id) for row in rows], "also": _sources(rows)},
            conversation_id=rows[-1].conversation_id,
            created_at=rows[-1].created_at,
            revision=next_revision(user_id),
        )
        _put_surface(merged, near.surface(text, merged.created_at))
        merged.save(force_insert=True)
        facts.share(user_id, [row.id for row in rows], merged)
        retired = _retire(rows, _("merged"), merged)
    return Receipt(status="merged", text=text, record_id=str(merged.id), retired=retired)


def unmerge(user_id: int, record_id: UUID | str) -> int:
    """Undo a merge: the sources are back in force, the merged one is gone. Returns how many came back."""
    with transaction.atomic():
        merged = _own(user_id, record_id)
        rows = list(_owned(user_id).filter(superseded_by=merged, id__in=merged.source.get("merged", [])))
        if not rows:
            return 0
        _revive(rows)
        if merged.source.get("by") == "code":
            _erase([merged.id], user_id, erase=False)
        else:  # it was said, too: it only no longer stands for the others
            merged.source = {key: value for key, value in merged.source.items() if key != "merged"}
            merged.save(update_fields=["source"])
    return len(rows)


def pin(user_id: int, record_id: UUID | str, on: bool = True) -> None:
    with transaction.atomic():
        record = _own(user_id, record_id)
        record.pinned, record.revision = on, next_revision(user_id)
        record.save(update_fields=["pinned", "revision", "updated_at"])


def expire(now: datetime | None = None, user_id: int | None = None) -> int:
    """Put memories whose time is over out of force. Without a user: everybody's own."""
    due = MemoryRecord.objects.filter(status=Status.LIVE, expires_at__lte=now or timezone.now())
    due = due if user_id is None else due.filter(user_id=user_id)
    count = 0
    for owner in list(due.order_by().values_list("user_id", flat=True).distinct()):
        with transaction.atomic():
            revision = next_revision(owner)
            gone = list(due.filter(user_id=owner).values_list("id", flat=True))
            facts.close_of(owner, gone)
            count += (
                _owned(owner)
                .filter(id__in=gone)
                .update(status=Status.EXPIRED, index_state=MemoryRecord.Index.REMOVE, revision=revision)
            )
    return count


def erase(user_id: int, ids: Sequence[UUID]) -> int:
    """Delete rows, history and facts of one person's memories; their vectors follow, traces in files included."""
    with transaction.atomic():
        return _erase(ids, user_id, erase=True)


def restore_sources(user_id: int, ids: Sequence[UUID]) -> None:
    """Sources of a merged memory that is being erased come back; the facts are theirs, too."""
    rows = list(_owned(user_id).filter(id__in=list(ids)))
    if rows:
        _revive(rows)


def blot(user_id: int, blotter: Blotter) -> None:
    """Take forgotten words out of what stays: the sources of other memories, and what a newer one says of an old one."""
    for record in _owned(user_id).defer("vector", "tokens"):
        source = blotter.json(record.source, machine=False)
        before, bracket, note = record.text.partition(" (")
        text = before + blotter.text(bracket + note, machine=True) if bracket else record.text
        if (source, text) == (record.source, record.text):
            continue
        record.source, record.text, record.revision = source, text, next_revision(user_id)
        record.digest = digest(user_id, text)
        _put_surface(record, near.surface(text, record.created_at))
        record.save()


def page(
    user_id: int, query: str = "", *, status: str = "", kind: str = "", start: int = 0, count: int = 50
) -> tuple[list[MemoryRecord], int]:
    """One page of a person's memories, newest first, and how many there are; a query searches the text."""
    rows = MemoryRecord.objects.filter(user_id=user_id).defer("vector", "tokens")
    rows = rows.filter(status=status) if status else rows
    rows = rows.filter(kind=kind) if kind else rows
    for word in clean(query).split():
        rows = rows.filter(text__icontains=word)
    return list(rows[start : start + count]), rows.count()


# ---- inside ---------------------------------------------------------------------------------------


def _why_not(user_id: int, text: str, kind: str, confirmed: bool) -> str:
    if not text or len(text) > MOST_CHARACTERS:
        return _length_fault(text)
    if kind not in registry.all_kinds():
        return _("There is no kind of memory named “%(kind)s”.") % {"kind": kind}
    if reason := secret_in(text):
        return reason
    if confirmed:
        return ""
    if mode(user_id) == Mode.OFF:
        return _("Learning is switched off for this account.")
    if registry.find(kind).dedupe and all(statements.is_question(part) for part in statements.sentences(text)):
        return _("It is a question, nothing to remember.")
    return ""


def _length_fault(text: str) -> str:
    if not text:
        return _("There is nothing to remember.")
    return _("It is too long for a memory (%(n)d characters at most).") % {"n": MOST_CHARACTERS}


def _source(
    source: Mapping[str, Any], conversation_id: UUID | str | None, drafts: Sequence[FactDraft]
) -> dict[str, Any]:
    held = {key: value for key, value in source.items() if value not in (None, "")}
    held["quote"] = clean(str(source.get("quote") or ""))[:500]
    if conversation_id:
        held["conversation"] = str(conversation_id)
    if drafts:  # they take effect when the person accepts the memory
        held["facts"] = [
            {"subject": d.subject, "attribute": d.attribute, "value": d.value, "many": d.many, "ends": d.ends}
            for d in drafts
        ]
    return held


def _expiry(kind: Kind, when: datetime | None) -> datetime | None:
    return (when or timezone.now()) + timedelta(days=kind.ttl) if kind.ttl else None


def _known_already(held: MemoryRecord, said: MemoryRecord, drafts: Sequence[FactDraft]) -> Receipt:
    """The same again: nothing is added but the source, and a little confidence."""
    also = [*held.source.get("also", []), _provenance(said)][-20:]
    held.source = {**held.source, "also": also}
    held.confidence = min(0.95, held.confidence + 0.05)
    held.revision = said.revision
    held.save(update_fields=["source", "confidence", "revision", "updated_at"])
    retired = _state_facts(held, drafts, said.created_at) if held.status == Status.LIVE else ()
    reason = _("It was known already.")
    return Receipt(status="duplicate", text=held.text, record_id=str(held.id), reason=reason, retired=retired)


def _take_effect(record: MemoryRecord, drafts: Sequence[FactDraft], found: near.Found) -> Receipt:
    """A new memory is in force: what it makes untrue or superfluous is not."""
    retired = _state_facts(record, drafts)
    folded: tuple[Retired, ...] = ()
    if found.less:
        record.source = {**record.source, "merged": [str(row.id) for row in found.less], "also": _sources(found.less)}
        record.save(update_fields=["source"])
        facts.share(record.user_id, [row.id for row in found.less], record)
        folded = _retire(found.less, _("a newer memory says the same and more"), record)
    status = "superseded" if retired else "merged" if folded else "kept"
    similar = tuple(str(row_id) for row_id in found.similar)
    return Receipt(
        status=status,  # type: ignore[arg-type]
        text=record.text,
        record_id=str(record.id),
        reason=_("It takes the place of an older one.") if retired else "",
        retired=retired + folded,
        similar=similar,
    )


def _state_facts(
    record: MemoryRecord, drafts: Sequence[FactDraft], when: datetime | None = None
) -> tuple[Retired, ...]:
    """Take in the facts of a memory; memories whose facts have ended by it are retired, what stays true of them kept."""
    if not drafts:
        return ()
    source = {"by": record.source.get("by", ""), "conversation": str(record.conversation_id or "")}
    applied = facts.apply(
        record.user_id,
        drafts,
        when=when or record.created_at,
        source=source,
        record=record,
        conversation_id=record.conversation_id,
    )
    _say_in_full(record, drafts, applied)
    retired = [Retired(what="fact", id=str(fact.id), text=facts.sentence(fact)) for fact in applied.ended]
    ids = facts.records_of(applied.ended) - {record.id}
    stale = list(_owned(record.user_id).filter(id__in=ids, status=Status.LIVE))
    if stale:
        retired += _retire(stale, _("no longer so"), record)
        _keep_the_rest(stale)
    return tuple(retired)


def _say_in_full(record: MemoryRecord, drafts: Sequence[FactDraft], applied: facts.Applied) -> None:
    """ "I stopped, now coffee" means nothing on its own: say what was stopped."""
    if all(draft.attribute for draft in drafts) or not (applied.made or applied.ended):
        return
    parts = [facts.sentence(fact) for fact in applied.made]
    parts += [_("no longer: %(fact)s") % {"fact": fact.value} for fact in applied.ended]
    record.text = f"{record.text} ({'; '.join(parts)})"[:MOST_CHARACTERS]
    record.digest = digest(record.user_id, record.text)
    _put_surface(record, near.surface(record.text, record.created_at))
    record.save()


def _keep_the_rest(stale: Iterable[MemoryRecord]) -> None:
    """A retired memory may have said other things that are still so: they live on as lines of their own."""
    for record in stale:
        for fact in facts.live_of(record.user_id, record.id):
            text = facts.sentence(fact)
            rest = MemoryRecord(
                user_id=record.user_id,
                kind=record.kind,
                text=text,
                digest=digest(record.user_id, text),
                confidence=record.confidence,
                source={"by": "code", "also": _sources([record])},
                conversation_id=record.conversation_id,
                created_at=record.created_at,
                revision=record.revision,
            )
            _put_surface(rest, near.surface(text, rest.created_at))
            rest.save(force_insert=True)
            facts.give(fact, rest)


def _retire(rows: Sequence[MemoryRecord], reason: str, by: MemoryRecord | None = None) -> tuple[Retired, ...]:
    if not rows:
        return ()
    revision = next_revision(rows[0].user_id)
    for row in rows:
        row.status, row.retired_because, row.superseded_by = Status.RETIRED, reason[:200], by
        row.index_state, row.revision = MemoryRecord.Index.REMOVE, revision
        row.save(update_fields=["status", "retired_because", "superseded_by", "index_state", "revision", "updated_at"])
    return tuple(Retired(what="memory", id=str(row.id), text=row.text) for row in rows)


def _revive(rows: Sequence[MemoryRecord]) -> None:
    revision = next_revision(rows[0].user_id)
    for row in rows:
        row.status, row.retired_because, row.superseded_by = Status.LIVE, "", None
        row.index_state, row.revision = MemoryRecord.Index.PENDING, revision
        if row.expires_at and row.expires_at <= timezone.now():
            row.expires_at = None  # the person wants it: it does not expire again at once
        row.save()


def _reword(record: MemoryRecord, text: str, by: int | None, surface: Surface) -> None:
    RecordEdit.objects.create(record=record, before=record.text, by_id=by)
    record.text, record.digest = text, digest(record.user_id, text)
    _put_surface(record, surface)


def _put_surface(record: MemoryRecord, surface: Surface) -> None:
    record.tokens, record.vector, record.vector_key = surface.tokens, surface.blob, surface.key
    record.index_state = MemoryRecord.Index.PENDING


def _erase(ids: Sequence[UUID], user_id: int, *, erase: bool) -> int:
    next_revision(user_id, forgets=True)
    gone = list(_owned(user_id).filter(id__in=ids).values_list("id", flat=True))
    facts.erase(user_id, gone)
    removals.note(user_id, gone, erase=erase)
    rows = MemoryRecord.objects.filter(user_id=user_id, id__in=gone)
    rows.removals_noted = True  # type: ignore[attr-defined]
    rows.delete()
    return len(gone)


def _sources(rows: Iterable[MemoryRecord]) -> list[dict[str, Any]]:
    return [entry for row in rows for entry in [_provenance(row), *row.source.get("also", [])]][:40]


def _provenance(row: MemoryRecord) -> dict[str, Any]:
    kept = ("by", "turn", "message", "iteration", "tool", "quote", "conversation")
    return {"at": row.created_at.isoformat(), **{key: row.source[key] for key in kept if row.source.get(key)}}


def _owned(user_id: int) -> QuerySet[MemoryRecord]:
    return MemoryRecord.objects.filter(user_id=user_id)


def _own_unlocked(user_id: int, record_id: UUID | str) -> MemoryRecord:
    return _owned(user_id).get(id=record_id)


def _own(user_id: int, record_id: UUID | str) -> MemoryRecord:
    """Raises DoesNotExist for somebody else's, as for one that never was."""
    return _owned(user_id).select_for_update().get(id=record_id)
