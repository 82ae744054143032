"""What in a person's words is worth remembering: rules first, then what a model answered about the rest.

words -> Candidates with their lasting value.  Touches: nothing (pure).

Never from recalled text, tool results or pages: who calls this gives it a person's own words. A long paste is not
their words either: of it only the opening and the end count, where people put what they ask.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.lexical import identifiers
from memory.names import attribute_name
from memory.secrets import secret_in
from memory.statements import facts_in, is_statement, sentences
from memory.text import bare, clean, normal
from memory.types import Candidate, FactDraft

LINE = 0.5  # lasting value below which a candidate is dropped, and its receipt says so
MOST_ASKED = 5  # memories one model call may propose
MOST_CHARACTERS = 3_000  # of a person's words that a model is shown
OWN_WORDS = 1_500  # a message longer than this is taken for a paste

_ASKS = re.compile(
    r"^(?:please |pls )?(?:remember|note|keep in mind|don'?t forget|save)\b|^(?:请|麻烦)?(?:你)?(?:帮我)?(?:记住|记一下|记着|别忘了)",
    re.I,
)
_RULE = re.compile(
    r"\b(?:from now on|in (?:the )?future|going forward|every time|whenever)\b|\b(?:always|never) (?!mind|been|had|again)\w+"
    r"|以后|今后|从现在起|每次|总是|永远|千万别",
    re.IGNORECASE,
)
_LESSON = re.compile(
    r"^(?:lesson|next time|whenever|when(?:ever)? (?:you|booking|searching|sending))\b|^(?:教训|下次|每当)", re.I
)
_SELF = re.compile(
    r"^I (?:am|'m) (?:an? )(?!bit\b|little\b|lot\b|few\b)[\w -]{3,40}$|^I (?:am|'m) (?:vegan|vegetarian|married|single|retired|left-handed|colou?r-?blind|pregnant|diabetic)\b"
    r"|^I have (?:an?|one|two|three|four|five|\d+) [\w -]{3,40}$|^我(?:是|有)(?:一?[个位名只条辆]|两|三|\d)?[^，,。？?]{2,20}$",
    re.IGNORECASE,
)
_MINE = re.compile(r"\b(?:I|I'm|my|mine|we|our)\b|我|咱", re.IGNORECASE)
_PASSING = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|right now|at the moment|this (?:morning|afternoon|evening|week|weekend|time)|for now|just now|currently)\b"
    r"|今天|今晚|明天|昨天|现在正|刚才|这次|这周|暂时|目前正",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"^(?:please |can |could |would |help |book |find |search |show |send |write |give |tell |what |how |let's )|^(?:请|帮|查|找|订|发|写|给我|告诉)",
    re.IGNORECASE,
)


def candidates(said: str) -> list[Candidate]:
    """What the rules see, each with its worth; those below LINE are there to be dropped with a reason."""
    found = [candidate for sentence in own_words(said) if (candidate := _of(sentence))]
    return list({normal(item.text): item for item in found}.values())


def unclear(said: str) -> str:
    """The person's statements about themselves that no rule understood: what a model may be asked about."""
    known = {item.quote for item in candidates(said)}
    rest = [
        sentence
        for sentence in own_words(said)
        if sentence not in known
        and _MINE.search(sentence)
        and is_statement(sentence)
        and not _TASK.match(sentence)
        and not secret_in(sentence)
        and len(sentence) >= 8
    ]
    return "\n".join(rest)[:MOST_CHARACTERS]


def own_words(said: str) -> list[str]:
    """The sentences a person wrote, without code, quoted lines and the middle of a paste."""
    text = clean(said)
    if len(text) > OWN_WORDS:
        paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
        # One block with nothing before or after it is all paste.
        edges = [paragraphs[0], paragraphs[-1]] if len(paragraphs) > 1 else []
        text = "\n".join(part for part in edges if len(part) <= 400)
    return sentences(text)


def _of(sentence: str) -> Candidate | None:
    asked = bool(_ASKS.match(sentence))
    text = bare(sentence)
    if not is_statement(text) or len(text) < 4:
        return None
    facts = facts_in(text)
    worth, why = 0.0, ""
    if asked:
        worth, why = 1.0, _("you asked to remember it")
    elif facts:
        worth, why = 0.8, _("a fact about you or yours")
    elif _LESSON.match(text):
        worth, why = 0.7, _("a lesson for next time")
    elif _RULE.search(text) and not text.endswith(("?", "？")):
        worth, why = 0.7, _("a rule for the future")
    elif _SELF.match(text):
        worth, why = 0.6, _("something about you")
    if not worth:
        return None
    if not asked and _PASSING.search(text):
        worth, why = worth - 0.4, _("it is only so for a while")
    return Candidate(text=text, kind=_kind(text, facts), facts=facts, worth=worth, quote=sentence, why=why)


def _kind(text: str, facts: Sequence[FactDraft]) -> str:
    if _LESSON.match(text):
        return "howto"
    likes = any(attribute_name(draft.attribute) in {"likes", "dislikes"} for draft in facts)
    return "preference" if likes or (_RULE.search(text) and not facts) else "fact"


# ---- one structured answer of a model ------------------------------------------------------------------


class _Proposed(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    quote: str = Field(max_length=600)
    text: str = Field(max_length=600)
    kind: Literal["fact", "preference", "howto"] = "fact"
    subject: str = Field(default="user", max_length=80)
    attribute: str = Field(default="", max_length=80)
    value: str = Field(default="", max_length=200)
    lasting: float = Field(default=0, ge=0, le=10)


def schema() -> dict[str, Any]:
    """The JSON Schema the model's answer is bound to; the quote first, so that it is found before it is judged."""
    text = {"type": "string", "maxLength": 300}
    properties = {
        "quote": text,
        "text": text,
        "kind": {"enum": ["fact", "preference", "howto"]},
        "subject": text,
        "attribute": text,
        "value": text,
        "lasting": {"type": "integer", "minimum": 0, "maximum": 10},
    }
    item = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"memories": {"type": "array", "maxItems": MOST_ASKED, "items": item}},
        "required": ["memories"],
        "additionalProperties": False,
    }


def from_model(answer: Any, said: str) -> list[Candidate]:
    """The model's proposals that the person's words bear out; the others with a worth of nothing and the reason."""
    rows = answer.get("memories", []) if isinstance(answer, dict) else []
    found = []
    for row in rows[:MOST_ASKED] if isinstance(rows, list) else []:
        try:
            proposed = _Proposed.model_validate(row)
        except ValidationError:
            continue
        if text := bare(clean(proposed.text)):
            found.append(_judged(proposed, text, said))
    return found


def _judged(proposed: _Proposed, text: str, said: str) -> Candidate:
    worth, why = proposed.lasting / 10, _("the model proposed it")
    if not normal(proposed.quote) or normal(proposed.quote) not in normal(said):
        worth, why = 0.0, _("you did not say that")
    elif not identifiers(text) <= identifiers(said):
        worth, why = 0.0, _("a number or code in it is not yours")
    elif worth < LINE:
        why = _("not worth keeping for long")
    draft = FactDraft(subject=proposed.subject, attribute=proposed.attribute, value=proposed.value)
    stated = bool(draft.attribute and draft.value and normal(draft.value) in normal(said))
    facts = facts_in(proposed.quote) or ((draft,) if stated else ())
    return Candidate(text=text, kind=proposed.kind, facts=facts, worth=worth, quote=clean(proposed.quote), why=why)
