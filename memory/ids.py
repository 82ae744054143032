"""Ids as they come from a model or a form.

texts -> UUIDs.  Touches: nothing (pure).
"""

from collections.abc import Iterable
from uuid import UUID


def uuids(found: Iterable[str]) -> list[UUID]:
    """What is no id is left out: it is as good as one that does not exist."""
    kept = []
    for text in found:
        try:
            kept.append(UUID(str(text)))
        except ValueError:
            continue
    return kept
