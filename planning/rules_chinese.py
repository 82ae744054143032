"""Chinese rules: 如果A就B，否则C; A的话B，不A的话C; AB，否则C; 除非A，否则B.

one sentence -> ConditionDraft or None.  Touches: nothing (pure).
"""

import re

from planning import words
from planning.drafts import ConditionDraft

VERB = (
    r"(?:预订|预定|订|保存|存|写|把|将|发|买|购|用|使用|选|删|告诉|安排|住|租|取消|通知|回复|记录|记|创建|新建|添加|加|叫|打|去|"
    r"提醒|转|付|支付|退|查|找|搜|读|给|做|带|留|换|改|推荐|输出|返回|打印|生成|计算|发送|邮件|放|升级)"
)
IF = re.compile(
    r"如果|如若|倘若|假如|假若|若是|要是|万一|若(?!干)|(?<=[，,；;、])如(?!果|若|何|此|下)|^如(?!果|若|何|此|下)|"
    # 当天下雨时 speaks of that day; 只要suite is a wish, 只要下雨就 a condition.
    r"当(?!天(?!气)|日|晚|地|年|月|时)(?=[^，,]{1,20}时)|一旦|只要(?=[^，,；;。]{1,20}[，,]?(?:就|则|便))"
)
OTHERWISE = re.compile(
    r"[，,；;。：:\s]*(?:否则|要不然|不然|要不|反之|(?:在)?其[他它]情况下??|(?:如果|若|要是)(?:不是|不|没有|否)(?=[，,的]))(?:的话|，则)?[，,：:]?\s*(?:就|则|便|那就|才)?"
)
UNLESS = re.compile(r"除非")
AFTER_A = re.compile(r"(?:的话|的时候|之时|时)?$")
LEAD = re.compile(r"^\s*(?:就|则|便|那么|那就|那|才|即|请)+\s*")
# "下雨订suite，不下雨订standard": the same words with a not before them. "有房就订，没房就换": have, have not.
_THEN = r"(?:的话)?[，,]?(?:就|则|那就|便)?"
_START = r"(?:(?<=[，,；;。：:\s])|^)(?:如果|要是|若是|若|假如)?"
COMPLEMENTS = (
    re.compile(
        rf"{_START}(?P<a>[^，,；;。\s]{{1,20}}?){_THEN}(?P<b>{VERB}[^，,；;。]{{0,80}})[，,；;。]\s*(?:如果|要是|若是|若|假如)?"
        rf"(?:不是|没有|不|没)(?P=a){_THEN}(?P<c>[^，,；;。]{{1,80}})"
    ),
    re.compile(
        rf"{_START}(?P<a>有(?P<x>[^，,；;。\s]{{1,12}}?)){_THEN}(?P<b>{VERB}[^，,；;。]{{0,80}})[，,；;。]\s*(?:如果|要是|若是|若|假如)?"
        rf"(?:没有?|无)(?P=x){_THEN}(?P<c>[^，,；;。]{{1,80}})"
    ),
)
# "是否下雨，是的话…": what 是 stands for.
STANDS_FOR = re.compile(r"(?:是|是的|会|有|对|可以|能)")
ASKED = re.compile(r"(?:是否|是不是|会不会|有没有|能不能)(?P<a>[^，,。？?；;]+)|(?P<q>[^，,。？?；;\n]+)吗\s*[？?]")
NOT_A = re.compile(r"先|请|帮|查|看看|然后|再|\d月")
# A "not" that can be taken out of the question, its answers trading places.
TURN = (
    (re.compile(r"不是"), "是"),
    (re.compile(r"没有?(?=[房票货位人])|没有"), "有"),
    (re.compile(r"^(?:不|没|未)(?!足|满|同|错|久|断|但|仅|管|少)"), ""),
    (re.compile(r"不(?=[会能在够可下想愿需好])"), ""),
)
MOST_A, MOST_B = 60, 200


def read(text: str, before: str = "") -> ConditionDraft | None:
    """`before` is the sentence before, which 是的话 speaks of. None unless the sentence holds exactly one rule that can be read in one way."""
    hidden = words.masked(text)
    if UNLESS.search(hidden):
        return _unless(text, hidden)
    elses = list(OTHERWISE.finditer(hidden))
    if not elses:
        return _complement(text, hidden) or _one_branch(text, hidden)
    ifs = list(IF.finditer(hidden[: elses[0].start()]))
    if len(elses) != 1 or len(ifs) > 1:
        return None
    end = _branch_end(hidden, elses[0].end())
    if ifs:
        start = ifs[0].start()
        cut = _cut(hidden, ifs[0].end(), elses[0].start())
    else:
        found = _clause(hidden, elses[0].start())
        if found is None:
            return None
        start, cut = found
    if cut is None:
        return None
    a = text[ifs[0].end() if ifs else start : cut[0]]
    if STANDS_FOR.fullmatch(a.strip(" ，,")):
        asked = list(ASKED.finditer(before + text[:start]))
        if not asked:
            return None
        a = asked[-1]["a"] or asked[-1]["q"]
        return _draft(a, text[cut[1] : elses[0].start()], text[elses[0].end() : end], text[start:end])
    if not ifs and (NOT_A.search(a) or len(a.strip()) > 15):
        return None
    return _draft(a, text[cut[1] : elses[0].start()], text[elses[0].end() : end], text[start:end])


def _cut(hidden: str, start: int, end: int) -> tuple[int, int] | None:
    """Where A ends and B begins: 的话, a comma, 就, or the verb of a task."""
    part = hidden[start:end]
    if (said := re.search(r"的话[，,]?", part)) and said.start():
        return start + said.start(), start + said.end()
    commas = list(re.finditer(r"[，,]", part))
    if commas:
        # Several commas: B begins at the one a verb or 就 comes after.
        with_verb = [m for m in commas if re.match(rf"\s*(?:那么|那就|就|则|便|请)?\s*{VERB}", part[m.end() :])]
        chosen = with_verb[:1] or (commas if len(commas) == 1 else [])
        first = re.search(r"(?:就|则|便)(?=" + VERB + ")", part[: commas[0].start()])
        if first and first.start():  # "如果下雨就订suite，不住standard，否则…"
            return start + first.start(), start + first.end()
        return (start + chosen[0].start(), start + chosen[0].end()) if chosen else None
    for pattern in (r"那么就|那么|那就|就|则|便", rf"(?={VERB})"):
        for match in re.finditer(pattern, part):
            if (
                (match.start() >= 2 or STANDS_FOR.fullmatch(part[: match.start()]))
                and part[match.end() :].strip()
                and not re.search(r"[要能会可不]$|房间?$", part[: match.start()])
            ):
                return start + match.start(), start + match.end()
    return None


def _clause(hidden: str, end: int) -> tuple[int, tuple[int, int] | None] | None:
    """Without a word for "if": the clause before 否则, or the one before it when that begins with 就."""
    part = hidden[:end]
    commas = [m.end() for m in re.finditer(r"[，,；;。：:\s]+", part) if m.end() < end]
    last = commas[-1] if commas else 0
    if re.match(r"\s*(?:那么|那就|就|则|便)", part[last:]) or (
        len(commas) >= 1 and part[:last].rstrip("，, ").endswith("的话")
    ):
        begin = commas[-2] if len(commas) > 1 else 0
        stop = len(part[:last].rstrip("，,；;。：: \n"))
        stop -= len("的话") if part[:stop].endswith("的话") else 0
        return begin, (stop, last)
    return last, _cut(hidden, last, end)


def _branch_end(hidden: str, start: int) -> int:
    """The last branch ends with its clause: what follows a comma is said of the whole task."""
    stop = re.search(r"[，,；;。\n]", hidden[start:])
    return start + stop.start() if stop else len(hidden)


def complements(hidden: str) -> list[re.Match[str]]:
    return [match for pattern in COMPLEMENTS for match in pattern.finditer(hidden)]


def _complement(text: str, hidden: str) -> ConditionDraft | None:
    found = complements(hidden)
    if len(found) != 1 or NOT_A.search(found[0]["a"]):
        return None
    match = found[0]
    a, b, c, rule = (text[slice(*match.span(name))] for name in ("a", "b", "c", 0))
    return _draft(a, b, c, rule)


def _unless(text: str, hidden: str) -> ConditionDraft | None:
    """除非A，否则B: B unless A. 除非A才B，否则C: B only if A."""
    word = list(UNLESS.finditer(hidden))
    elses = list(OTHERWISE.finditer(hidden))
    if len(word) != 1 or IF.search(hidden):
        return None
    start = word[0].end()
    if len(elses) == 1 and elses[0].start() > start:
        end = _branch_end(hidden, elses[0].end())
        a, c = text[start : elses[0].start()], text[elses[0].end() : end]
        rule = text[word[0].start() : end]
        if only := re.search(rf"[，,]?(?:才|就)(?={VERB})", hidden[start : elses[0].start()]):
            return _draft(a[: only.start()], a[only.end() :], c, rule)
        return None if re.search(r"[，,]", words.masked(a)) else _draft(a, "", c, rule)
    before = hidden[: word[0].start()].rstrip("，, ")
    if elses or not before:
        return None
    commas = [m.end() for m in re.finditer(r"[，,；;。：:]", before)]
    begin = commas[-1] if commas else 0
    end = _branch_end(hidden, start)
    return _draft(text[start:end], "", text[begin : len(before)], text[begin:end])


def _one_branch(text: str, hidden: str) -> ConditionDraft | None:
    """如果A就B alone: only with a verb of a task in B."""
    ifs = list(IF.finditer(hidden))
    if len(ifs) != 1:
        return None
    cut = _cut(hidden, ifs[0].end(), len(hidden))
    if cut is None or not re.match(rf"(?:那么|那就|就|则|便|请)*\s*{VERB}", hidden[cut[1] :]):
        return None
    end = _branch_end(hidden, cut[1])
    a = text[ifs[0].end() : cut[0]]
    return None if re.match(r"[你您我]", a) else _draft(a, text[cut[1] : end], "", text[ifs[0].start() : end])


def _draft(a: str, b: str, c: str, rule: str) -> ConditionDraft | None:
    condition = AFTER_A.sub("", a.strip(" ，,；;：:"))
    then, otherwise = (LEAD.sub("", part.strip(" ，,；;。：:\n")) for part in (b, c))
    if not condition or not (then or otherwise) or len(condition) > MOST_A or max(len(then), len(otherwise)) > MOST_B:
        return None
    then, otherwise = then, _completed(then, otherwise)
    plain, turned = _turned(condition)
    if turned:
        then, otherwise = otherwise, then
    return ConditionDraft(question=f"{plain}吗？", if_yes=then, if_no=otherwise, rule=rule.strip(" ，,；;。：:\n"))


def _turned(condition: str) -> tuple[str, bool]:
    """ "不下雨" is asked as "下雨吗？"."""
    hidden = words.masked(condition)
    if len(words.NEGATED.findall(words.NO_NEGATION.sub(" ", hidden))) != 1 and not re.match(
        r"不(?:大于|小于|超过|低于|高于|多于)", hidden
    ):
        return condition, False
    for pattern, plain in TURN:
        if match := pattern.search(hidden):
            return condition[: match.start()] + plain + condition[match.end() :], True
    return condition, False


def _completed(then: str, otherwise: str) -> str:
    """ "保存"大"" … ""小"": the second branch borrows the words it leaves out."""
    mine, theirs = words.QUOTED.findall(then), words.QUOTED.findall(otherwise)
    if len(mine) == 1 and theirs and theirs[0] == otherwise:
        return then.replace(mine[0], otherwise)
    verb = re.match(VERB, then)
    if verb and otherwise and len(otherwise) <= 10 and not re.search(rf"{VERB}|[不别没做]", otherwise):
        return verb.group() + otherwise
    return otherwise
