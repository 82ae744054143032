"""Rows of one person by their ids: the scope first, and read by the ids.

user, ids -> rows.  Touches: MemoryRecord, Chunk (reads).
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import F

from memory.models import Chunk, MemoryRecord


def of_ids(model: type[MemoryRecord] | type[Chunk], user_id: int, ids: Collection[UUID]) -> Any:
    """Those of the ids that are this person's; of others none."""
    # "+ 0": SQLite would else take the index on the user and read all of their rows instead of these few.
    return model.objects.alias(owner=F("user_id") + 0).filter(id__in=ids, owner=user_id).order_by()
