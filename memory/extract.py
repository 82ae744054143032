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

from memory.lexical import content, identifiers
from memory.names import attribute_name
from memory.secrets import secret_in
from memory.statements import AT_HAND, KIN, facts_in, is_question, is_statement, sentences
from memory.text import bare, clean, normal
from memory.types import Candidate, FactDraft

LINE = 0.5  # lasting value below which a candidate is dropped, and its receipt says so
MOST_ASKED = 5  # memories one model call may propose
MOST_CHARACTERS = 3_000  # of a person's words that a model is shown
OWN_WORDS = 1_500  # a message longer than this is taken for a paste

_ASKS = re.compile(
    r"^(?:please |pls )?(?:remember|keep in mind|don'?t forget|save (?:it |this )?(?:to|in) (?:your )?memory)\b"
    r"|^(?:请|麻烦)?(?:你)?(?:帮我)?(?:记住|记一下|记着|别忘了)",
    re.I,
)
# A wish that holds beyond this task. Not "I never said that", "every time I run it, it fails", "以后再说".
_RULE = re.compile(
    r"\b(?:from now on|in (?:the )?future|going forward)\b"
    r"|^(?:and |please |you (?:should|must|can|may) )*(?:always|never) (?!mind|been|had|heard|said|saw|seen|again|here|there|give up|happy|glad|do (?:that|this|it)\b)\w+"
    r"|\b(?:I|we) (?:always|never) (?!get|got|give up|look|wonder|had|have|said|saw|see|knew|know|thought|heard|understood|understand|tried|asked)\w+"
    r"|^(?:please )?(?:don't|do not|only) .*\bwhen(?:ever)? you (?:answer|reply|write|talk)|^(?:请)?回答(?:我|问题)?(?:的时候|时)"
    r"|\b(?:every time|whenever) you\b (?!are\b|need\b|'re\b|can\b|like\b|want\b).+,"
    r"|^(?:请)?(?:你)?以后(?!再)|今后|从现在起|从今以后|^(?:请)?(?:你)?千万别|(?:每次|总是|永远)(?:你|请|都?要|都?不要|都?别|先|用|给)",
    re.IGNORECASE,
)
_LESSON = re.compile(
    r"^(?:lesson\b|next time\b|when(?:ever)? (?:you (?!are\b|need\b|'re\b|have\b|can\b|want\b|like\b)\w+|\w+ing\b).*,)|^(?:教训|下次(?!再)|每当)",
    re.I,
)
_OWNED = (
    "kids?|child(?:ren)?|sons?|daughters?|brothers?|sisters?|siblings?|twins?|wife|husband|partner|girlfriend|boyfriend|cats?|dogs?|"
    "pets?|horses?|rabbits?|parrots?|hamsters?|cars?|bikes?|bicycles?|motorbikes?|boats?|house|flat|apartment|garden|piano|guitar|"
    "degree|phd|licen[cs]e|allerg(?:y|ies)|asthma|diabetes|condition|intolerance|disability"
)
_SELF = re.compile(
    r"^I(?: am|'m) an? (?!bit\b|little\b|lot\b|few\b)[\w -]{3,40}$"
    r"|^I(?: am|'m) (?:vegan|vegetarian|married|single|retired|left-handed|colou?r-?blind|pregnant|diabetic)\b"
    rf"|^I have (?:(?:an?|no|one|two|three|four|five|\d+|severe|mild) )?(?:[\w-]+ ){{0,3}}(?:{_OWNED})(?:(?:,|:| called| named) .{{2,40}})?$"
    r"|^我(?:已经)?(?:结婚了|离婚了|退休了|怀孕了|单身)$|^我(?:从来|一直|都)?不(?:吃|喝|抽|坐)(?!了|完|下|到|起)[^了，,。？?]{1,10}$"
    r"|^我(?:习惯|一般|通常|平时)(?!都?不知道)[^，,。？?]{3,20}$"
    r"|^我是(?!想|说|来|问|要|在|因为|为了|不是|指|从|这|那|觉得)(?:一?[个位名])?[^，,。？?]{2,20}$"
    r"|^我有(?:一|两|二|三|四|五|\d)?[个位名只条辆套匹]?(?:[^，,。？?]{0,6})(?:孩子|儿子|女儿|哥哥|姐姐|弟弟|妹妹|猫|狗|宠物|车|房子|糖尿病|高血压|哮喘|过敏症?|残疾)$",
    re.IGNORECASE,
)
# "You are a pirate. My name is Jack.": what follows is a play, not the person.
_PLAY = re.compile(
    r"^(?:you are (?:now )?an?\b|you're an?\b|pretend|act as|imagine|suppose|let's (?:say|play|pretend)|role-?play)|^(?:你(?:现在)?是一|假装|假设|扮演|想象)",
    re.I,
)
_MINE = re.compile(r"\b(?:I|I'm|my|mine|we|our)\b|我|咱", re.IGNORECASE)
_PASSING = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|right now|at the moment|this (?:morning|afternoon|evening|week|weekend|time)|for now|just now|currently)\b"
    r"|今天|今晚|明天|昨天|现在正|刚才|这次|这周|暂时|目前正",
    re.IGNORECASE,
)
# "I moved to Rome yesterday": the day passes, what began on it stays.
_CHANGE = re.compile(
    r"\b(?:moved|relocated|started|joined|quit|stopped|gave up|bought|got|switched|changed|left|turned|became)\b|搬|换|开始|戒|入职|离职",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"^(?:please |can |could |would |help |book |find |search |show |send |write |give |tell |what |how |let's )"
    r"|^I(?: would|'d) like\b|^I (?:need|want) (?:an?|the|some|help|you|to (?:book|buy|find|know|see|get|go|write|send|search|ask|order|make|check))\b"
    r"|^I(?:'m| am) (?:not sure|here|happy|sorry|confused|lost|trying|asking)\b|^I (?:like|love|hate) (?:it|this|that|you)\b"
    r"|^(?:请|帮|查|找|订|发|写|给我|告诉)|^我(?:只是)?(?:想(?:订|买|知道|问|去|看|要|找|请|让)|要|需要)|^我的?代码",
    re.IGNORECASE,
)
# "I have a question", "my next flight is at 9", "我有个问题": of the task, however it goes on.
_HAND = re.compile(
    rf"^(?:my|I have (?:an?|one|no|some|two)) (?:[\w-]+ )?(?:{'|'.join(sorted(word for word in AT_HAND if word.isascii()))})s?\b"
    rf"|^我(?:的|有(?:一)?个?).{{0,4}}(?:{'|'.join(sorted(word for word in AT_HAND if not word.isascii()))})",
    re.IGNORECASE,
)
_FRAME = frozenset({"budget", "deadline", "destination", "departure", "dates", "预算", "目的地", "截止日期"})
_POINTS = re.compile(
    r"(?:this|that|it|these|those)(?: for later| one)?[.! ]*$|what\b", re.IGNORECASE
)  # "remember this"
_OF_NAMES = re.compile(rf"(?:user|{KIN})\b|[^\x00-\x7f]", re.IGNORECASE)


def candidates(said: str) -> list[Candidate]:
    """What the rules see, each with its worth; those below LINE are there to be dropped with a reason."""
    held = _before_play(own_words(said))
    asks = any(is_question(sentence) or _TASK.match(sentence) for sentence in held)
    found = [candidate for sentence in held if (candidate := _of(sentence, asks))]
    return list({normal(item.text): item for item in found}.values())


def unclear(said: str) -> str:
    """The person's statements about themselves that no rule understood: what a model may be asked about."""
    known = {item.quote for item in candidates(said)}
    rest = [
        sentence
        for sentence in _before_play(own_words(said))
        if sentence not in known
        and _MINE.search(sentence)
        and is_statement(sentence)
        and not _TASK.match(sentence)
        and not _HAND.match(sentence)
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


def _before_play(held: Sequence[str]) -> Sequence[str]:
    first = next((number for number, sentence in enumerate(held) if _PLAY.match(sentence)), len(held))
    return held[:first]


def _of(sentence: str, asks: bool) -> Candidate | None:
    """`asks`: the message holds a question or task, to which a budget or what is said of strangers may belong."""
    asked = bool(_ASKS.match(sentence))
    text = bare(sentence)
    lesson = bool(_LESSON.match(text)) and not is_question(text)
    if not (lesson or is_statement(text)) or len(text) < 4 or not content(text) or _POINTS.match(text):
        return None
    facts = facts_in(text)
    worth, why = 0.0, ""
    if asked:
        worth, why = 1.0, _("you asked to remember it")
    elif asks and facts and all(_of_the_question(draft) for draft in facts):
        worth, why = 0.4, _("it belongs to what you asked")
    elif facts:
        worth, why = 0.8, _("a fact about you or yours")
    elif lesson:
        worth, why = 0.7, _("a lesson for next time")
    elif _RULE.search(text):
        worth, why = 0.7, _("a rule for the future")
    elif _SELF.match(text.rstrip(".!。！ ")):
        worth, why = 0.6, _("something about you")
    if not worth:
        return None
    if not asked and _PASSING.search(text) and not (facts and _CHANGE.search(text)):
        worth, why = worth - 0.4, _("it is only so for a while")
    return Candidate(text=text, kind=_kind(text, facts), facts=facts, worth=worth, quote=sentence, why=why)


def _of_the_question(draft: FactDraft) -> bool:
    return attribute_name(draft.attribute) in _FRAME or not _OF_NAMES.match(draft.subject)


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
    elif is_question(proposed.quote):
        worth, why = 0.0, _("it is a question")
    elif not identifiers(text) <= identifiers(said):
        worth, why = 0.0, _("a number or code in it is not yours")
    elif worth < LINE:
        why = _("not worth keeping for long")
    draft = FactDraft(subject=proposed.subject, attribute=proposed.attribute, value=proposed.value)
    stated = bool(draft.attribute and draft.value and normal(draft.value) in normal(said))
    facts = facts_in(proposed.quote) or ((draft,) if stated else ())
    return Candidate(text=text, kind=proposed.kind, facts=facts, worth=worth, quote=clean(proposed.quote), why=why)
