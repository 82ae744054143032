"""Many plausible memories of one person, made quickly and always the same.

user, count, dice -> MemoryRecord rows as the product writes them.  Touches: MemoryRecord; the embedder.
"""

import random

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from memory import near, records
from memory.models import MemoryRecord

WHO = "my sister|my neighbour|the landlord|the team|our accountant|the plumber|a colleague|my cousin|the dentist|Ada".split(
    "|"
)
DOES = "prefers|ordered|repaired|sold|recommends|forgot|keeps|returned|dislikes|is looking for".split("|")
WHAT = "a red bicycle|the oak table|green tea|the blue folder|a window seat|the old printer|dark bread|the spare key|an invoice|a quiet hotel|the winter tyres|cat food|the tax form|a wooden boat|the second monitor".split(
    "|"
)
WHERE = "in Lyon|at the harbour|on the third floor|near the station|in the garage|at work|in May|before noon|for the trip|every week".split(
    "|"
)


def sentence(number: int, dice: random.Random) -> str:
    return (
        f"{dice.choice(WHO)} {dice.choice(DOES)} {dice.choice(WHAT)} {dice.choice(WHERE)}, note {number}".capitalize()
    )


def fill(user: User, count: int, dice: random.Random) -> None:
    """Rows as the product writes them, in bulk: with words and vectors, pending for the index."""
    for start in range(0, count, 1_000):
        texts = [sentence(number, dice) for number in range(start, min(start + 1_000, count))]
        made = near.surfaces([(text, timezone.now()) for text in texts])
        with transaction.atomic():
            revision = records.next_revision(user.pk)
            MemoryRecord.objects.bulk_create(
                [
                    MemoryRecord(user=user, kind="fact", text=text, tokens=s.tokens, vector=s.blob, vector_key=s.key,
                                 digest=f"{user.pk}-{start}-{i}", revision=revision)
                    for i, (text, s) in enumerate(zip(texts, made, strict=True))
                ]
            )  # fmt: skip
