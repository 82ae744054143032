"""Who of the staff looked at whose memories: kept, and shown to the person they are of.

a look -> MemoryAccess.  Touches: *writer* of MemoryAccess.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone

from memory.models import MemoryAccess

TOGETHER = timedelta(minutes=10)  # looks of one kind in so short a time are one entry with a count
KEPT = timedelta(days=400)


def note(staff: Any, action: str, counts: Mapping[int, int]) -> None:
    """Note that a staff member saw or touched so many memories of these people; one's own need no note."""
    for user_id, count in counts.items():
        if user_id == staff.pk or not count:
            continue
        recent = MemoryAccess.objects.filter(
            user_id=user_id, staff=staff, action=action, at__gte=timezone.now() - TOGETHER
        )
        newest = recent.values_list("id", flat=True).first()
        if newest is not None:
            MemoryAccess.objects.filter(id=newest).update(count=F("count") + count)
        else:
            MemoryAccess.objects.create(
                user_id=user_id, staff=staff, staff_name=staff.get_username()[:150], action=action, count=count
            )


def of(user_id: int, most: int = 100) -> list[MemoryAccess]:
    """What this person may see: who looked, newest first."""
    return list(MemoryAccess.objects.filter(user_id=user_id)[:most])


def sweep() -> int:
    """Let go of very old entries."""
    return MemoryAccess.objects.filter(at__lt=timezone.now() - KEPT).delete()[0]
