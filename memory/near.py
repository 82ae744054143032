"""Whether a text is known already: the same, nearly the same, or part of what is known.

text -> what is close to it among one person's live memories.  Touches: MemoryRecord (reads), the embedder.

Careful on purpose: a duplicate that stays is a nuisance, a distinct memory folded away is a loss. Texts that differ
in a number, a code or a "not" are never the same, however close their vectors are.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from django.db.models import Q
from django.utils import timezone

from memory import lexical, names, statements
from memory.embed import embedder, from_blob, to_blob
from memory.errors import EmbedderDown
from memory.models import MemoryRecord, UserMemory
from memory.rows import of_ids
from memory.shelf import shelf
from memory.text import digest, normal

SIMILAR = 0.80  # cosine from which a memory is worth a hint
CLOSE = 0.72  # cosine that two wordings with the very same words reach
LOOKED_AT = 8  # nearest memories compared word by word
_NOT = re.compile(
    r"\b(?:not|no|never|none|without|stop|stopped|quit|no longer|n't|cannot|hate|dislike|avoid)\b|n't|不|没|无|别|戒|讨厌",
    re.I,
)
ASKED_BY = {
    "lives in": "live home city 住在 居住 城市",
    "works at": "work company employer 工作 公司 上班",
    "job": "work job occupation 工作 职业",
    "drinks": "drink 喝 饮料",
    "eats": "eat food 吃",
    "likes": "like favourite 喜欢 爱好",
    "dislikes": "dislike 不喜欢 讨厌",
    "allergic to": "allergy allergic 过敏",
    "birthday": "birthday born 生日",
    "age": "age old 年龄 多大",
    "name": "name called 名字 叫",
    "uses": "use 使用",
    "speaks": "speak language 语言",
    "phone number": "phone number call 电话 号码",
    "phone": "phone mobile 手机",
    "email": "email address 邮箱",
    "drives": "drive car 开车",
    "plays": "play 玩",
}
# What may follow a value without making it another one.
_FURTHER = re.compile(r"$| (?:in|at|for|with|on|every|when|after|before|because|and|but|since|from|during|by)\b")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """What a text is found by."""

    tokens: str
    blob: bytes | None  # None: the embedder could not be used; it is made later
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    same: MemoryRecord | None = None
    less: Sequence[MemoryRecord] = ()  # known, and said in fewer words
    similar: Sequence[UUID] = ()


NOTHING = Found()


def surface(text: str, when: datetime) -> Surface:
    """Words and vector of a text; its date is among the words, for "in May" is a way to ask."""
    return surfaces([(text, when)])[0]


def surfaces(texts: Sequence[tuple[str, datetime]]) -> list[Surface]:
    words = [f"{text} {date_words(when)} {asked_by(text)}" for text, when in texts]
    return _made([text for text, _when in texts], words)


def bare_surfaces(texts: Sequence[str]) -> list[Surface]:
    """Of passages: found by nothing but their own words."""
    return _made(texts, texts)


def _made(texts: Sequence[str], words: Sequence[str]) -> list[Surface]:
    tokens = [lexical.joined(lexical.tokens(text)) for text in words]
    try:
        maker = embedder()
        vectors = maker.embed_passages(texts)
        key = maker.key
    except EmbedderDown as fault:
        log.warning("Kept without a vector: %s", fault)
        return [Surface(tokens=found, blob=None, key="") for found in tokens]
    return [Surface(tokens=found, blob=to_blob(vector), key=key) for found, vector in zip(tokens, vectors, strict=True)]


def asked_by(text: str) -> str:
    """Words by which the facts in a text are asked for: "I moved to Rome" answers "where do I live", 住在哪里."""
    return " ".join(ASKED_BY.get(names.attribute_name(draft.attribute), "") for draft in statements.facts_in(text))


def date_words(when: datetime) -> str:
    local = timezone.localtime(when)
    return f"{local:%Y-%m-%d} {local:%B}"


def look(state: UserMemory, text: str, found_by: Surface, beside: UUID | None = None) -> Found:
    """What of one person's memories says the same as this text; `beside`: a row that is not to be compared."""
    user_id = state.user_id
    mine = MemoryRecord.objects.filter(user_id=user_id, status__in=["live", "review"])
    mine = mine.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
    mine = mine.exclude(id=beside) if beside else mine
    if same := mine.filter(digest=digest(user_id, text)).first():
        return Found(same=same)
    scores = _nearest(state, found_by)
    close = of_ids(MemoryRecord, user_id, list(scores)).filter(status="live").defer("vector")
    rows = [row for row in close if row.id != beside and not row.is_over]
    rows.sort(key=lambda row: -scores[row.id])
    for row in rows:
        if scores[row.id] >= CLOSE and (says_the_same(text, row.text) or says_more(row.text, text)):
            return Found(same=row)
    less = [row for row in rows if scores[row.id] >= CLOSE and says_more(text, row.text)]
    similar = [row.id for row in rows if scores[row.id] >= SIMILAR and row not in less]
    return Found(less=less, similar=similar[:3])


def says_the_same(one: str, two: str) -> bool:
    return _comparable(one, two) and lexical.content(one) == lexical.content(two)


def says_more(one: str, two: str) -> bool:
    """Whether `one` holds every word of `two`, and more."""
    more, less = lexical.content(one), lexical.content(two)
    part = len(less) >= 2 and less < more and len(less) >= len(more) * 0.5
    return part and _comparable(one, two) and _states_as_much(one, two)


def _states_as_much(more: str, less: str) -> bool:
    """ "Tea in the afternoon" says "tea" and more; "tea ceremonies" and "green tea" are something else than "tea"."""
    held = statements.facts_in(more)
    return all(
        any(
            (fact.subject, fact.attribute, fact.ends) == (draft.subject, draft.attribute, draft.ends)
            and _FURTHER.match(normal(fact.value).removeprefix(normal(draft.value)))
            and normal(fact.value).startswith(normal(draft.value))
            for fact in held
        )
        for draft in statements.facts_in(less)
    )


def says_the_opposite(one: str, two: str) -> bool:
    """The same words but for a "not"."""
    first, second = ({w for w in lexical.content(t) if not _NOT.search(w)} for t in (one, two))
    negated = len(_NOT.findall(one)) != len(_NOT.findall(two))
    return negated and bool(first) and len(first & second) >= 0.8 * len(first | second)


def _comparable(one: str, two: str) -> bool:
    same_ids = lexical.identifiers(one) == lexical.identifiers(two)
    return same_ids and len(_NOT.findall(one)) == len(_NOT.findall(two))


def _nearest(state: UserMemory, found_by: Surface) -> dict[UUID, float]:
    """The closest live memories with their cosines."""
    if found_by.blob is None:
        return {}
    held = shelf(MemoryRecord, state, found_by.key)
    vector = from_blob(found_by.blob)
    with held.lock:
        if held.with_vectors and held.matrix.shape[1] == len(vector):
            cosines = np.where(held.alive, held.matrix @ vector, -1.0)
            top = np.argsort(-cosines)[:LOOKED_AT]
            return {held.ids[position]: float(cosines[position]) for position in top if cosines[position] > 0}
        terms = dict.fromkeys(found_by.tokens.split(), 1.0)
        words = np.where(held.alive, held.coverage(terms), -1.0)
        wanted = [held.ids[position] for position in np.argsort(-words)[: LOOKED_AT * 2] if words[position] > 0]
    rows = of_ids(MemoryRecord, state.user_id, wanted).filter(vector_key=found_by.key)
    pairs = rows.values_list("id", "vector")
    return {id_: float(from_blob(blob) @ vector) for id_, blob in pairs if blob and len(blob) == len(vector) * 2}
