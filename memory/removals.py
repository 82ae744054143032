"""What must be taken out of the index because its row is gone, however it went.

rows that are being deleted -> IndexRemovals.  Touches: *writer* of IndexRemoval.

A conversation or an account that is deleted takes rows with it that no writer of this room hears of: the signal does.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models.signals import post_delete

from memory.models import Chunk, IndexRemoval, MemoryRecord


def note(user_id: int, ids: Iterable[UUID], *, erase: bool) -> None:
    """To be called before the rows are deleted. `erase`: a person asked, the traces in the files must go too."""
    rows = [IndexRemoval(id=id_, user_id=user_id, erase=erase) for id_ in ids]
    IndexRemoval.objects.bulk_create(rows, ignore_conflicts=True, batch_size=1_000)


def done(ids: Iterable[UUID]) -> None:
    IndexRemoval.objects.filter(id__in=list(ids)).delete()


def listen() -> None:
    for model in (MemoryRecord, Chunk):
        post_delete.connect(_gone, sender=model, dispatch_uid=f"removal-{model.__name__}")


def _gone(sender: Any, instance: MemoryRecord | Chunk, origin: Any = None, **more: Any) -> None:
    if getattr(origin, "removals_noted", False) or instance.index_state == MemoryRecord.Index.OUT:
        return
    note(instance.user_id, [instance.id], erase=True)
