"""Hypotheses that were ruled out: the writer of Exclusion.

text, reason -> Exclusion, passed on to every later plan of the conversation until lifted.  Touches: its table.
"""

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from planning.models import Exclusion

MOST = 300  # characters


@transaction.atomic
def rule_out(
    conversation_id: UUID,
    text: str,
    reason: str,
    evidence: str = "",
    author: str = "agent",
    iteration: int | None = None,
) -> Exclusion:
    """The same words twice are one exclusion, until it is lifted. Raises ValueError without words."""
    text = " ".join(text.split())[:MOST]
    if not text:
        raise ValueError("Say what is ruled out.")
    same = Exclusion.objects.filter(conversation_id=conversation_id, text__iexact=text, lifted_at=None).first()
    return same or Exclusion.objects.create(
        conversation_id=conversation_id,
        text=text,
        reason=reason[:1_000],
        evidence=evidence[:1_000],
        author=author,
        iteration=iteration,
    )


def edit(exclusion_id: int, text: str) -> None:
    """In the person's words from now on. Blank words change nothing: to lift it is another act."""
    if text := " ".join(text.split())[:MOST]:
        Exclusion.objects.filter(id=exclusion_id).update(text=text, author="person")


def lift(exclusion_id: int) -> None:
    Exclusion.objects.filter(id=exclusion_id, lifted_at=None).update(lifted_at=timezone.now())


def live(conversation_id: UUID) -> tuple[Exclusion, ...]:
    return tuple(Exclusion.objects.filter(conversation_id=conversation_id, lifted_at=None)[:50])


def names(conversation_id: UUID) -> tuple[str, ...]:
    """The newest 20, for the prompt."""
    found = Exclusion.objects.filter(conversation_id=conversation_id, lifted_at=None).order_by("-id")[:20]
    return tuple(item.text for item in found)[::-1]
