"""What was so at a moment: the facts of then, those first that a question asks for.

question, moment -> facts with the time they held.  Touches: EntityFact (reads).
"""

from datetime import date, datetime, time

from django.utils import timezone

from memory import facts, lexical
from memory.names import attribute_name
from memory.near import ASKED_BY
from memory.types import FactView


def end_of(day: date) -> datetime:
    """The last moment of a day where the server is: what began that day was so on it."""
    return timezone.make_aware(datetime.combine(day, time.max))


def was_so(user_id: int, when: datetime, query: str = "", most: int = 200) -> list[FactView]:
    """Facts in force at that moment; with a question only those it asks for, unless it names none of them."""
    held = facts.as_of(user_id, when)
    terms = set(lexical.query_terms(query))
    fitting = [(len(terms & _words(fact)), fact) for fact in held]
    found = [fact for score, fact in sorted(fitting, key=lambda item: -item[0]) if score] if terms else []
    return (found or held)[:most]


def _words(fact: FactView) -> set[str]:
    asked = ASKED_BY.get(attribute_name(fact.attribute), "")
    return set(lexical.tokens(f"{facts.sentence(fact)} {asked}"))
