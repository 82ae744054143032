"""What was forgotten is not learnt again from the same source: keyed hashes, never the text.

texts -> Tombstones; text -> whether it was forgotten.  Touches: *writer* of Tombstone.

Kept are the hashes of the text, of the words it was taken from, of its facts, of the set of its words (a rewording
has the same) and of every code in it; so that neither a pasted message nor a paraphrase brings it back unasked.
"""

from collections.abc import Iterable

from memory.lexical import codes, content
from memory.models import Tombstone
from memory.names import attribute_name, subject_name
from memory.text import digest, normal
from memory.types import FactDraft


def lay(user_id: int, texts: Iterable[str], drafts: Iterable[FactDraft] = ()) -> int:
    """Remember by hash that these were forgotten. Returns how many hashes are new."""
    marks = {mark for text in texts for mark in _marks(user_id, text)} | {
        _fact_mark(user_id, draft) for draft in drafts
    }
    known = set(Tombstone.objects.filter(user_id=user_id, digest__in=marks).values_list("digest", flat=True))
    rows = [Tombstone(user_id=user_id, digest=mark) for mark in sorted(marks - known)]
    Tombstone.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def lies_on(user_id: int, texts: Iterable[str], drafts: Iterable[FactDraft] = ()) -> bool:
    """Whether any of this was forgotten by the person."""
    marks = {mark for text in texts for mark in _marks(user_id, text)} | {
        _fact_mark(user_id, draft) for draft in drafts
    }
    return Tombstone.objects.filter(user_id=user_id, digest__in=marks).exists()


def lift(user_id: int, texts: Iterable[str], drafts: Iterable[FactDraft] = ()) -> None:
    """The person wants it remembered after all."""
    marks = {mark for text in texts for mark in _marks(user_id, text)} | {
        _fact_mark(user_id, draft) for draft in drafts
    }
    Tombstone.objects.filter(user_id=user_id, digest__in=marks).delete()


def count(user_id: int) -> int:
    return Tombstone.objects.filter(user_id=user_id).count()


def _marks(user_id: int, text: str) -> set[str]:
    if not normal(text):
        return set()
    words = " ".join(sorted(content(text)))
    marks = {digest(user_id, text), *(digest(user_id, f"code {code}") for code in codes(text))}
    return marks | {digest(user_id, f"words {words}")} if len(words.split()) > 1 else marks


def _fact_mark(user_id: int, draft: FactDraft) -> str:
    subject, attribute = subject_name(draft.subject), attribute_name(draft.attribute)
    return digest(user_id, f"fact {subject} {attribute} {draft.value}")
