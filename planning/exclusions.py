"""Hypotheses that were ruled out: the writer of Exclusion.

text, reason -> Exclusion, passed on to every later plan of the conversation until lifted.  Touches: its table.
"""

from uuid import UUID

from django.utils import timezone

from planning.models import Exclusion


def rule_out(
    conversation_id: UUID,
    text: str,
    reason: str,
    evidence: str = "",
    author: str = "agent",
    iteration: int | None = None,
) -> Exclusion:
    """The same words twice are one exclusion."""
    same = Exclusion.objects.filter(conversation_id=conversation_id, text__iexact=text[:300], lifted_at=None).first()
    return same or Exclusion.objects.create(
        conversation_id=conversation_id,
        text=text[:300],
        reason=reason,
        evidence=evidence,
        author=author,
        iteration=iteration,
    )


def edit(exclusion_id: int, text: str) -> None:
    Exclusion.objects.filter(id=exclusion_id).update(text=text[:300], author="person")


def lift(exclusion_id: int) -> None:
    Exclusion.objects.filter(id=exclusion_id, lifted_at=None).update(lifted_at=timezone.now())


def live(conversation_id: UUID) -> tuple[Exclusion, ...]:
    return tuple(Exclusion.objects.filter(conversation_id=conversation_id, lifted_at=None)[:50])


def names(conversation_id: UUID) -> tuple[str, ...]:
    """The newest 20, for the prompt."""
    found = Exclusion.objects.filter(conversation_id=conversation_id, lifted_at=None).order_by("-id")[:20]
    return tuple(item.text for item in found)[::-1]
