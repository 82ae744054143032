"""A condition decided by code, only where code can be sure.

question, Evidence -> yes or no with the words that decide it, or None.  Touches: nothing (pure).

Four kinds of question: a comparison with one number, a word looked for in a text, a yes/no field that the question
names, a word of a family whose members exclude each other (rain, sunny). Everything else, everything negated or
joined by "and" and "or", everything the evidence says twice in different ways is None: the model is asked one narrow
question then.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from planning import words
from planning.types import ConditionView, Evidence

YesNo = Literal["yes", "no"]
Found = tuple[YesNo, str]

NEUTRAL = {"value", "result", "answer", "output", "number", "amount", "total", "sum"}
# A key of a result and the words a question in the other language uses for it.
KEY_WORDS: Mapping[str, str] = {
    "temperature": "温度|气温",
    "price": "价格|价钱|房价|票价|费用",
    "cost": "费用|价格|花费|成本",
    "count": "数量|个数|人数|多少",
    "total": "总数|总价|总额|总计|合计",
    "size": "大小|尺寸",
    "age": "年龄|岁",
    "distance": "距离",
    "humidity": "湿度",
    "rating": "评分",
    "balance": "余额",
    "available": "可用|有空|有房|有货",
    "open": "开门|营业|开放",
}
# What says how much of a thing there is, and what it is called: not part of its text.
NOT_CONTENT = {"path", "file", "filename", "url", "id", "uri", "key", "sha", "digest", "tool", "type", "mime"}
# Where a result says in a word or two how things are; a hotel may be called Sunny Inn.
STATES = {
    "",
    "weather",
    "condition",
    "conditions",
    "forecast",
    "sky",
    "outlook",
    "status",
    "state",
    "availability",
    "result",
}
CUT = ("truncated", "next_offset", "more", "cut", "has_more", "partial")

COMPARISONS: tuple[tuple[str, str], ...] = (
    (
        r"at least|no less than|not less than|no fewer than|(?:greater|more|larger|higher|bigger) than or equal(?: to)?|≥|>=|"
        r"不少于|不小于|不低于|至少有?|大于或?等于|达到",
        ">=",
    ),
    (
        r"at most|no more than|not more than|no (?:greater|higher|larger) than|not (?:greater|higher|larger) than|"
        r"(?:less|fewer|smaller|lower) than or equal(?: to)?|≤|<=|不超过|不多于|不大于|不高于|至多|最多|小于或?等于",
        "<=",
    ),
    (r"(?:greater|more|larger|bigger|higher) than|over|above|exceed(?:s|ing)?|beyond|>|大于|超过|多于|高于|超出", ">"),
    (r"(?:less|fewer|smaller|lower) than|under|below|<|小于|少于|低于|不足|不到", "<"),
    (r"equal(?:s)?(?: to)?|exactly|==?|等于", "=="),
)
SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}
AMOUNT = r"(?:[$€£¥￥]\s*)?(?P<n>-?\d+(?:,\d{3})*(?:\.\d+)?)(?![\d.]*\d)\s*(?P<scale>k\b|million\b|billion\b|thousand\b|百万|千万|亿|万|千)?"
SCALES = {
    "k": 1e3,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "千": 1e3,
    "万": 1e4,
    "百万": 1e6,
    "千万": 1e7,
    "亿": 1e8,
}
AFTERWARDS = re.compile(
    AMOUNT + r"\s*(?:[^\W\d]{0,3}?)(?P<after>or more|or above|or less|or below|及?以上|及?以下|以内)"
)
ARITHMETIC = re.compile(r"\d+(?:\.\d+)?(?:\s*(?:\*\*|[-*+/×÷x^])\s*\d+(?:\.\d+)?)+", re.IGNORECASE)
JOINED = re.compile(r"\b(?:and|or|but|nor)\b|并且|而且|或者|或|以及|同时|且|和")
CURRENCIES = {
    "usd": r"\$|\busd\b|\bdollars?\b|美元|美金",
    "eur": r"€|\beuros?\b|\beur\b|欧元",
    "gbp": r"£|\bpounds?\b|\bgbp\b|英镑",
    "jpy": r"\byen\b|\bjpy\b|日元",
    "cny": r"¥|￥|\byuan\b|\brmb\b|\bcny\b|人民币|(?<![美欧日])元|块钱",
}
CONTAINS = re.compile(
    r"\b(?:contains?|mentions?|includes?|(?:has|have) the word|says?|containing|mentioning)\b|包含|含有|提到|提及|出现|写着|有没有"
)
# A word asked for without quotes: "the word urgent", 包含urgent.
UNQUOTED = re.compile(
    r"(?P<before>\b(?:the )?word|包含(?:单词|关键词|字样)?|含有(?:单词)?|提到|出现)\s*(?P<word>[A-Za-z][A-Za-z0-9_-]*)(?=[\s?？.,，。吗]|$|[\u4e00-\u9fff])",
    re.IGNORECASE,
)
ABOUT_THE_WHOLE = re.compile(
    r"\b(?:only|always|every|all|each|both|twice|times|first|last|most|start|end)\b|只|全部|每|都|两次|开头|结尾"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One value of a result, with what it is called and the days it is about."""

    key: str
    value: Any
    days: frozenset[tuple[int, int]]


def by_code(condition: ConditionView, evidence: Sequence[Evidence]) -> Found | None:
    """The verdict and the words that decide it; None: ask the model."""
    question = UNQUOTED.sub(r"\g<before> '\g<word>'", condition.question)
    good = [item for item in evidence if item.succeeded]
    if not good or words.negated(question):
        return None
    found = {}
    for item in good:
        leaves = _about(question, item, alone=len(good) == 1)
        decided = _word_in_text(question, item, leaves) if CONTAINS.search(question.casefold()) else None
        if decided is None and not words.QUOTED.search(question):
            decided = _comparison(question, leaves) or _field(question, leaves) or _family(question, leaves)
        if decided is not None:
            found[decided[0]] = decided
    return next(iter(found.values())) if len(found) == 1 else None


def passage(question: str, evidence: Sequence[Evidence]) -> str:
    """The value of the evidence that a question is nearest to, for a verdict whose own quote stands nowhere in it."""
    good = [item for item in evidence if item.succeeded]
    leaves = [leaf for item in reversed(good) for leaf in _about(question, item, alone=len(good) == 1)]
    best = max(leaves, key=lambda leaf: _nearness(question, leaf), default=None)
    return f"{best.key}: {best.value}".removeprefix(": ")[:120] if best else ""


def _nearness(question: str, leaf: Leaf) -> float:
    """Of the same family counts most (rain, sunny), then the words they share."""
    family = any(words.members(question, one) and words.members(str(leaf.value), one) for one in words.FAMILIES)
    return family + words.share(question, f"{leaf.key} {leaf.value}")


# ---- a number ---------------------------------------------------------------------------------------------------


def _comparison(question: str, leaves: Sequence[Leaf]) -> Found | None:
    """The one number of the question against the one number of the evidence that the question is about."""
    wanted = _limit(question)
    if wanted is None:
        return None
    sign, limit = wanted
    leaf = _measured(question, [leaf for leaf in leaves if _is_number(leaf.value)])
    if leaf is None:
        return None
    holds = SIGNS[sign](float(leaf.value), limit)
    return ("yes" if holds else "no"), f"{_plain(leaf.value)} {sign if holds else 'is not ' + sign} {_plain(limit)}"


def _limit(question: str) -> tuple[str, float] | None:
    """What the question compares with: None unless it holds one number and one comparison."""
    text = words.without_dates(ARITHMETIC.sub(" ", question.casefold()))
    if len(re.findall(r"\d+(?:[.,]\d+)*", text)) != 1 or re.search(r"%|percent|百分|分之", text):
        return None
    if after := AFTERWARDS.search(text):
        sign = ">=" if re.search(r"more|above|上", after["after"]) else "<="
        return None if JOINED.search(text.replace(after.group(), " ")) else (sign, _amount(after))
    for pattern, sign in COMPARISONS:
        exact = re.search(rf"(?<![a-z])(?:{pattern})\s*(?:(?:about|than|to|of)\s+)?{AMOUNT}", text)
        if exact:
            return None if JOINED.search(text.replace(exact.group(), " ")) else (sign, _amount(exact))
    return None


def _amount(match: re.Match[str]) -> float:
    return float(match["n"].replace(",", "")) * SCALES.get(match["scale"] or "", 1)


def _measured(question: str, leaves: Sequence[Leaf]) -> Leaf | None:
    """The leaf that the question names; else the only one, when its name says no more than "the result"."""
    named = [leaf for leaf in leaves if _named(question, leaf.key)]
    if not named:
        neutral = [leaf for leaf in leaves if not leaf.key or (_parts(leaf.key) and _parts(leaf.key) <= NEUTRAL)]
        named = (
            neutral
            if len(leaves) == 1 or re.search(r"\b(?:result|answer|outcome)\b|结果|答案|得数", question.casefold())
            else []
        )
    if len(named) != 1 or _other_unit(question, named[0], leaves):
        return None
    return named[0]


def _other_unit(question: str, leaf: Leaf, leaves: Sequence[Leaf]) -> bool:
    """Whether question and leaf count in different units, which code must not compare."""
    asked = {name for name, pattern in CURRENCIES.items() if re.search(pattern, question.casefold())}
    have = {name for name in CURRENCIES if re.search(rf"(?:^|_){name}(?:$|_)", leaf.key.casefold())}
    if asked and have and asked != have:
        return True
    fahrenheit = bool(re.search(r"fahrenheit|°\s*f\b|华氏", question.casefold()))
    return fahrenheit != leaf.key.casefold().endswith(("_f", "fahrenheit"))


# ---- a word -----------------------------------------------------------------------------------------------------


def _word_in_text(question: str, item: Evidence, leaves: Sequence[Leaf]) -> Found | None:
    """ "Does the mail contain 'urgent'?": yes as a whole word; no only when nothing of the text was left out."""
    quoted = words.QUOTED.findall(question)
    outside = words.QUOTED.sub(" ", question.casefold())
    if len(quoted) != 1 or JOINED.search(outside) or ABOUT_THE_WHOLE.search(outside):
        return None
    word = quoted[0][1:-1].strip()
    texts = [leaf for leaf in leaves if isinstance(leaf.value, str)]
    texts = [leaf for leaf in texts if _named(outside, leaf.key) and leaf.key not in {"text", "file"}] or texts
    content = [leaf for leaf in texts if leaf.key not in NOT_CONTENT]
    if not word or not content:
        return None
    for leaf in content:
        if match := words.choice_pattern(word, aliases=False).search(leaf.value.casefold()):
            return "yes", _around(leaf.value, match.start(), match.end())
    rest = any(word.casefold() in leaf.value.casefold() for leaf in texts)
    if rest or _was_cut(item.result):  # part of a longer word, or in what the text is called, or beyond what was read
        return None
    return "no", max((leaf.value for leaf in content), key=len)[:120]


def _around(text: str, start: int, end: int) -> str:
    return text[max(0, start - 40) : end + 40].strip()


def _was_cut(result: Any) -> bool:
    if isinstance(result, Mapping):
        return any(result.get(name) for name in CUT) or any(_was_cut(value) for value in result.values())
    return isinstance(result, str) and result.rstrip().endswith(("…", "..."))


# ---- a yes/no field, a word of a family ----------------------------------------------------------------------------


def _field(question: str, leaves: Sequence[Leaf]) -> Found | None:
    """A field that is true or false, when all words of its name stand in the question."""
    if JOINED.search(question.casefold()):
        return None
    named = [leaf for leaf in leaves if isinstance(leaf.value, bool) and leaf.key and _named(question, leaf.key)]
    if len(named) != 1:
        return None
    return ("yes" if named[0].value else "no"), f"{named[0].key}: {str(named[0].value).lower()}"


def _family(question: str, leaves: Sequence[Leaf]) -> Found | None:
    """ "Does it rain?" against {"condition": "sunny"}: short values that name exactly one member of the same family."""
    if JOINED.search(question.casefold()) or ABOUT_THE_WHOLE.search(question.casefold()):
        return None
    for family in words.FAMILIES:
        asked = words.members(question, family)
        said = [leaf for leaf in leaves if leaf.key in STATES and isinstance(leaf.value, str)]
        said = [leaf for leaf in said if words.members(leaf.value, family)]
        if len(asked) != 1 or not said:
            continue
        if any(len(leaf.value) > 30 or words.HEDGED.search(leaf.value) for leaf in said):
            return None
        answers = {member for leaf in said for member in words.members(leaf.value, family)}
        if len(answers) == 1:
            return ("yes" if answers == asked else "no"), str(said[0].value)
    return None


# ---- parts ----------------------------------------------------------------------------------------------------------


def _about(question: str, item: Evidence, *, alone: bool) -> list[Leaf]:
    """The leaves of a result that are about the day the question names; all of them when it names none."""
    outer = frozenset(words.dates(" ".join(str(value) for value in item.args.values())))
    leaves = list(_leaves(item.result, "", outer))
    days = words.dates(question)
    if not days:
        return leaves
    return [leaf for leaf in leaves if leaf.days == days or (not leaf.days and alone)]


def _leaves(value: Any, key: str, days: frozenset[tuple[int, int]]) -> Iterator[Leaf]:
    if isinstance(value, Mapping):
        said = {day for name, item in value.items() for day in _day(name, item)}
        for name, item in value.items():
            own = frozenset(words.dates(str(name))) or frozenset(said) or days
            yield from _leaves(item, str(name), own)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, key, days)
    else:
        yield Leaf(key=key.casefold(), value=value, days=days)


def _day(name: Any, value: Any) -> set[tuple[int, int]]:
    return (
        words.dates(value)
        if isinstance(value, str) and str(name).casefold() in {"date", "day", "日期", "when"}
        else set()
    )


def _named(question: str, key: str) -> bool:
    """Whether the question says all words of a field's name, units and "is" aside."""
    parts = _parts(key)
    have = set(words.words(question))
    have |= {word[:-1] for word in have if word.endswith("s")}
    return bool(parts) and all(
        part in have or (part in KEY_WORDS and re.search(KEY_WORDS[part], question)) for part in parts
    )


def _parts(key: str) -> set[str]:
    return set(words.words(key)) - {"is", "has", "was", "are", "c", "f", "the", "of", *CURRENCIES}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
