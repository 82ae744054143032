"""The state of a person's memories, or of everybody's: what is doubled, contradicts itself, is unused or over.

rows -> a report.  Touches: MemoryRecord, EntityFact, Tombstone (reads).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import numpy as np
from django.db.models import Count
from django.utils import timezone

from memory import near
from memory.embed import from_blob
from memory.models import EntityFact, MemoryRecord, Tombstone

UNUSED_AFTER = timedelta(days=60)  # never recalled in so long
SLAB = 500  # rows compared with all others at once, so that ten thousand need no 400 MB


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two memories of one person, and why they stand together here."""

    user_id: int
    one: MemoryRecord
    two: MemoryRecord
    score: float
    why: str  # same, part, contradiction


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    live: int
    review: int
    retired: int
    expired: int
    duplicates: tuple[Pair, ...]
    near_duplicates: tuple[Pair, ...]
    contradictions: tuple[Pair, ...]
    open_facts: tuple[tuple[int, str, str, int], ...]  # user, subject, attribute with several values at once
    never_recalled: int
    overdue: int  # past their time, not yet expired
    blocked: int  # marks against learning again


def report(user_ids: Sequence[int] | None = None) -> Report:
    """Look at the memories of these people; None: of all, each compared only with their own."""
    rows = MemoryRecord.objects.all() if user_ids is None else MemoryRecord.objects.filter(user_id__in=user_ids)
    by_status = dict(rows.order_by().values_list("status").annotate(n=Count("id")))
    live = rows.filter(status=MemoryRecord.Status.LIVE)
    users = list(live.order_by().values_list("user_id", flat=True).distinct())
    pairs = [pair for user_id in users for pair in alike(user_id)]
    stones = Tombstone.objects.all() if user_ids is None else Tombstone.objects.filter(user_id__in=user_ids)
    return Report(
        live=by_status.get("live", 0),
        review=by_status.get("review", 0),
        retired=by_status.get("retired", 0),
        expired=by_status.get("expired", 0),
        duplicates=tuple(pair for pair in pairs if pair.why == "same"),
        near_duplicates=tuple(pair for pair in pairs if pair.why == "part"),
        contradictions=tuple(pair for pair in pairs if pair.why == "contradiction"),
        open_facts=tuple(_open_facts(user_ids)),
        never_recalled=live.filter(recalled=0, created_at__lt=timezone.now() - UNUSED_AFTER).count(),
        overdue=live.filter(expires_at__lte=timezone.now()).count(),
        blocked=stones.count(),
    )


def alike(user_id: int, most: int = 200) -> list[Pair]:
    """Pairs of one person's live memories that say the same, one part of the other, or the opposite."""
    rows = list(
        MemoryRecord.objects.filter(user_id=user_id, status=MemoryRecord.Status.LIVE)
        .exclude(kind="episode")
        .order_by("created_at")
        .defer("tokens")
    )
    found: list[Pair] = []
    for one, two, score in _close(rows):
        if why := _relation(one, two):
            found.append(Pair(user_id=user_id, one=one, two=two, score=round(score, 3), why=why))
            if len(found) >= most:
                break
    return found


def _close(rows: Sequence[MemoryRecord]) -> Iterator[tuple[MemoryRecord, MemoryRecord, float]]:
    """Pairs close enough to be compared word by word, older first; equal texts even without vectors."""
    by_digest: dict[str, list[MemoryRecord]] = defaultdict(list)
    for row in rows:
        by_digest[row.digest].append(row)
    seen: set[frozenset[UUID]] = set()
    for same in by_digest.values():
        for two in same[1:]:
            seen.add(frozenset({same[0].id, two.id}))
            yield same[0], two, 1.0
    sizes = defaultdict(list)
    for row in rows:
        if row.vector is not None:
            sizes[row.vector_key, len(row.vector)].append(row)
    for group in sizes.values():
        matrix = np.stack([from_blob(row.vector) for row in group if row.vector is not None])
        for start in range(0, len(group), SLAB):
            scores = matrix[start : start + SLAB] @ matrix.T
            for i, j in zip(*np.nonzero(scores >= near.CLOSE), strict=True):
                one, two = group[int(j)], group[start + int(i)]
                pair = frozenset({one.id, two.id})
                if int(j) < start + int(i) and pair not in seen:
                    seen.add(pair)
                    yield one, two, float(scores[i, j])


def _relation(one: MemoryRecord, two: MemoryRecord) -> str:
    if one.digest == two.digest or near.says_the_same(one.text, two.text):
        return "same"
    if near.says_more(one.text, two.text) or near.says_more(two.text, one.text):
        return "part"
    return "contradiction" if near.says_the_opposite(one.text, two.text) else ""


def _open_facts(user_ids: Sequence[int] | None) -> Iterator[tuple[int, str, str, int]]:
    """One-valued attributes that hold several values at once: a contradiction nobody has settled."""
    facts = EntityFact.objects.filter(valid_to=None, many=False)
    facts = facts if user_ids is None else facts.filter(user_id__in=user_ids)
    counted = facts.order_by().values("user_id", "subject", "attribute").annotate(n=Count("id")).filter(n__gt=1)
    for row in counted:
        yield row["user_id"], row["subject"], row["attribute"], row["n"]
