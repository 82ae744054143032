"""An episode: what was done, when, and how it went. The same thing done twice is two episodes.

Touches: nothing (pure).
"""

import re
from datetime import datetime

from django.utils.translation import gettext_lazy as _

from memory.kinds.base import Kind

# A task like an earlier one is done anew: its old outcome, put before the model, is taken for the new one.
_PAST = re.compile(
    r"\b(?:again|last|previous(?:ly)?|earlier|before|already|ago|once|same|usual|yesterday|did|was|were|have|has|had)\b"
    r"|上次|上回|上周|上个|之前|以前|曾|昨天|前天|已经|再次|再订|再来|照旧|老样子|一样|同样|过[吗么没]|了[吗么没]",
    re.IGNORECASE,
)


def about_the_past(question: str) -> bool:
    return bool(_PAST.search(question))


def dated(text: str, when: datetime) -> str:
    """An episode without its date misleads: "booked a room" may be a year ago."""
    return f"{when:%Y-%m-%d}: {text}"


KIND = Kind(
    name="episode",
    label=_("What was done"),
    half_life=45,
    ttl=400,
    dedupe=False,
    unasked=about_the_past,
    shown=dated,
)
