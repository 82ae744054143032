"""Nightly: expire what is over, let go of what nobody used, merge what says the same.

one person's memories -> fewer and clearer ones.  Touches: records.

Everything it does can be undone: expired and merged memories keep their rows, provenance and history.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import hygiene, near, records
from memory.models import MemoryRecord, UserMemory

EVERY = timedelta(hours=24)
FADES_AFTER = timedelta(days=180)  # an unused, unsure memory
UNSURE = 0.5  # confidence below which it fades


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    expired: int = 0
    faded: int = 0
    merged: int = 0


def consolidate(user_id: int) -> Consolidated:
    """All of it for one person."""
    expired = records.expire(user_id=user_id)
    faded = _fade(user_id)
    merged = _merge(user_id)
    records.note_consolidated(user_id)
    return Consolidated(expired=expired, faded=faded, merged=merged)


def one_that_is_due() -> int | None:
    """Consolidate for one person whose memories changed since last time; returns whose."""
    before = timezone.now() - EVERY
    due = UserMemory.objects.filter(Q(consolidated_at=None) | Q(consolidated_at__lt=before))
    user_id = due.order_by(F("consolidated_at").asc(nulls_first=True)).values_list("user_id", flat=True).first()
    if user_id is not None:
        consolidate(user_id)
    return user_id


def _fade(user_id: int) -> int:
    """What was doubtful and never of use is let go of; pinned ones stay."""
    old = MemoryRecord.objects.filter(user_id=user_id, status=MemoryRecord.Status.LIVE, pinned=False, recalled=0)
    ids = old.filter(confidence__lt=UNSURE, created_at__lt=timezone.now() - FADES_AFTER).values_list("id", flat=True)
    found = list(ids)
    for record_id in found:
        records.retire(user_id, record_id, _("never of use"))
    return len(found)


def _merge(user_id: int) -> int:
    """Groups that say the same become one memory; what only comes close is left to the person."""
    groups: dict[str, set[str]] = {}
    for pair in hygiene.alike(user_id):
        if pair.why == "contradiction" or pair.one.kind != pair.two.kind:
            continue
        one, two = str(pair.one.id), str(pair.two.id)
        joined = groups.get(one, {one}) | groups.get(two, {two})
        for member in joined:
            groups[member] = joined
    count = 0
    for group in {frozenset(members) for members in groups.values()}:
        rows = list(MemoryRecord.objects.filter(user_id=user_id, id__in=group).defer("vector", "tokens"))
        fullest = max(rows, key=lambda row: len(row.text))
        # A chain (a is part of b, b part of c) need not hold from end to end: only what the fullest says is folded.
        folded = [
            row
            for row in rows
            if row.id == fullest.id
            or near.says_the_same(fullest.text, row.text)
            or near.says_more(fullest.text, row.text)
        ]
        if len(folded) > 1:
            records.merge(user_id, [row.id for row in folded])
            count += len(folded) - 1
    return count
