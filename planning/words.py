"""How the planning room reads words: whole words in English and Chinese, negations, and words that exclude each other.

text -> words, families, dates.  Touches: nothing (pure).

Small on purpose: what is not here is left to the model. Nothing here is about one task; the families are the words
that answer most yes/no questions of everyday errands.
"""

import re
from collections.abc import Collection, Mapping

WORD = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?|[\u4e00-\u9fff]")
QUOTED = re.compile(
    r'"[^"\n]*"|“[^”\n]*”|‘[^’\n]*’|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》|`[^`\n]*`|(?<![A-Za-z0-9_\'])\'[^\'\n]+\'(?![A-Za-z0-9_])'
)
# Members of a family exclude each other: what is one of them is none of the others.
FAMILIES: tuple[Mapping[str, str], ...] = (
    {
        "rain": r"\brain(?:s|y|ing|ed|fall)?\b|\bshowers?\b|\bdrizzl\w+|\bdownpour\b|雨",
        "snow": r"\bsnow(?:s|y|ing|ed|fall)?\b|雪",
        "sun": r"\bsun(?:ny|shine)?\b|\bclear\b(?! that| what| from| if)|晴",
        "cloud": r"\bcloud(?:s|y)?\b|\bovercast\b|多云|阴",
    },
    {
        "free": r"\bavailable\b|\bin stock\b|有房|有货|有空房|有票",
        "gone": r"\bunavailable\b|\bsold[ -]?out\b|\bout of stock\b|\bfully booked\b|满房|售罄|无货|无房|订满|没票|售完",
    },
    {"open": r"\bopen\b|营业中?|开门|开放", "closed": r"\bclosed\b|\bshut\b|停业|关门|关闭"},
)
# The same value in the two languages the product speaks, for arguments with a fixed few choices.
ALIASES: Mapping[str, str] = {
    "suite": "套房|套间",
    "standard": "标准间|标准房|标间|普通间|普通房",
    "single": "单人间|单人房",
    "double": "双人间|双人房|大床房",
    "twin": "双床房|双床间",
    "economy": "经济舱",
    "business": "商务舱|公务舱",
    "first": "头等舱",
    "train": "火车|高铁|动车",
    "flight": "飞机|航班",
    "bus": "大巴|巴士|公交",
    "taxi": "出租车|的士|打车",
    "indoor": "室内",
    "outdoor": "室外|户外",
    "high": "高优先级",
    "low": "低优先级",
    "urgent": "加急|紧急",
    "email": "邮件|电邮",
    "phone": "电话",
}
HEDGED = re.compile(
    r"\b(partly|mostly|partially|mixed|chance|possible|possibly|likely|maybe|may|might|later|then|turning|or|and|no|not|"
    r"without|risk|isolated|scattered|occasional)\b|可能|转|间|局部|或|时有|无|不|没|伴|夹",
    re.IGNORECASE,
)
# "是不是", "有没有": a question, no negation.
ASKING = re.compile(r"(是|有|能|会|要|在|可|对|好)(?:不|没)\1|是否|能否|可否|有无")
NEGATED = re.compile(
    r"\b(?:not|never|neither|nor|cannot|without|no longer|no|none|nothing|fails? to|lacks?)\b|n['’]t\b|不|没|未|无|别|非",
    re.IGNORECASE,
)
# Comparisons and words that hold a syllable of "no" and negate nothing.
NO_NEGATION = re.compile(
    r"\b(?:no|not) (?:more|less|fewer|greater|higher|lower|later|earlier|smaller|larger) than\b|"
    r"不(?:少于|小于|低于|超过|多于|大于|高于|晚于|早于|足|到|满|同|错|久|断|仅|但|管|论)|无论|非常|除非|未来",
    re.IGNORECASE,
)
MONTHS = {m: n for n, m in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
DATE = re.compile(
    r"(?<![\d./-])(?:\d{4}[-/年.])?(?P<m>0?[1-9]|1[0-2])(?:[-/](?P<d>0[1-9]|[12]\d|3[01]|[1-9])(?![\d./-])|月(?P<dz>\d{1,2})[日号]?)"
    r"|\b(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (?P<dn>\d{1,2})(?:st|nd|rd|th)?\b"
    r"|\b(?P<nd>\d{1,2})(?:st|nd|rd|th)? (?:of )?(?P<mname>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b",
    re.IGNORECASE,
)


def words(text: str) -> list[str]:
    """Words in Latin letters, and Chinese characters one by one."""
    return WORD.findall(text.casefold().replace("_", " "))


def norm(text: str) -> str:
    """The same words in the same order: what punctuation, case and spaces do not change."""
    return re.sub(r"[\W_]+", " ", text.casefold()).strip()


def share(one: str, other: str) -> float:
    """The share of the shorter text's words that the longer one has too."""
    first, second = set(words(one)), set(words(other))
    return len(first & second) / max(1, min(len(first), len(second)))


def names(text: str, choice: str) -> bool:
    """Whether the text names the choice as words of their own: in 订suite and "two suites", not in "suitable"."""
    return bool(text) and choice_pattern(choice).search(text.casefold()) is not None


def choice_pattern(choice: str, *, aliases: bool = True) -> re.Pattern[str]:
    plain = re.sub(r"[\s_-]+", " ", choice.casefold()).strip()
    words_ = r"[\s_-]*".join(re.escape(part) for part in plain.split(" "))
    if not re.search(r"[a-z0-9]", plain):
        return re.compile(words_ or r"(?!)")
    also = f"|{ALIASES[plain]}" if aliases and plain in ALIASES else ""
    return re.compile(rf"(?<![a-z0-9_])(?:{words_})(?:s|es)?(?![a-z0-9_]){also}")


def masked(text: str) -> str:
    """Quoted words blanked out, length kept, so that what is quoted is not read as structure."""
    return QUOTED.sub(lambda match: "\x00" * len(match.group()), text)


def negated(text: str) -> bool:
    return NEGATED.search(NO_NEGATION.sub(" ", ASKING.sub(" ", masked(text)))) is not None


def members(text: str, family: Mapping[str, str]) -> Collection[str]:
    """Which members of a family the text names."""
    folded = text.casefold()
    # "unavailable" holds no "available" as a word of its own; 没有房 must not count as 有房.
    return {name for name, pattern in family.items() if re.search(pattern, folded)}


def dates(text: str) -> set[tuple[int, int]]:
    """Days named in a text, as month and day."""
    found = set()
    for m in DATE.finditer(text):
        month = m["m"] or MONTHS[(m["name"] or m["mname"]).lower()]
        day = m["d"] or m["dz"] or m["dn"] or m["nd"]
        found.add((int(month), int(day)))
    return found


def without_dates(text: str) -> str:
    return DATE.sub(" ", text)
