"""Keep what is worth it, drop the rest with a reason: candidates to receipts.

Candidates, their source -> Receipts.  Touches: records.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from memory import extract, records
from memory.types import Candidate, Receipt

MOST_AT_ONCE = 12  # of one turn; who states more is pasting


def keep(
    user_id: int,
    found: Iterable[Candidate],
    *,
    source: Mapping[str, Any],
    conversation_id: UUID | str | None = None,
    when: datetime | None = None,
) -> list[Receipt]:
    """Remember the candidates above the line. Nothing at all when the person switched learning off."""
    if records.mode(user_id) == records.Mode.OFF:
        return []
    return [
        _keep_one(user_id, item, source, conversation_id, when) if number < MOST_AT_ONCE else _too_many(item)
        for number, item in enumerate(found)
    ]


def _keep_one(
    user_id: int, item: Candidate, source: Mapping[str, Any], conversation_id: UUID | str | None, when: datetime | None
) -> Receipt:
    if item.worth < extract.LINE:
        return Receipt(status="dropped", text=item.text, reason=item.why)
    return records.remember(
        user_id,
        item.text,
        kind=item.kind,
        source={**source, "quote": item.quote, "why": item.why},
        conversation_id=conversation_id,
        confidence=0.5 + 0.4 * item.worth,
        facts=item.facts,
        when=when,
    )


def _too_many(item: Candidate) -> Receipt:
    return Receipt(status="dropped", text=item.text, reason=_("too many at once; it looks like a paste"))
