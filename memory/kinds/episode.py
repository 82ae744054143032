"""An episode: what was done, when, and how it went. The same thing done twice is two episodes.

Touches: nothing (pure).
"""

from datetime import datetime

from django.utils.translation import gettext_lazy as _

from memory.kinds.base import Kind


def dated(text: str, when: datetime) -> str:
    """An episode without its date misleads: "booked a room" may be a year ago."""
    return f"{when:%Y-%m-%d}: {text}"


KIND = Kind(name="episode", label=_("What was done"), half_life=45, ttl=400, dedupe=False, shown=dated)
