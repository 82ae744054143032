"""Statements about entities, read from plain sentences by rules, in English and Chinese.

sentence -> FactDrafts.  Touches: nothing (pure).

Rules are narrow on purpose: a fact that is not seen costs a contradiction now and then, a wrong one retires
something true. What rules do not see, the model's structured answer may still bring.
"""

import re
from collections.abc import Callable

from memory.text import clean
from memory.types import FactDraft

ME = "user"
KIN = (
    "sister|brother|mother|mom|mum|father|dad|wife|husband|son|daughter|partner|girlfriend|boyfriend|friend|boss|manager|"
    "colleague|cousin|uncle|aunt|grandmother|grandma|grandfather|grandpa|neighbou?r|roommate|parents|dog|cat|team|company"
)
_KIN_CJK = (
    "姐姐|妹妹|哥哥|弟弟|妈妈|母亲|爸爸|父亲|老婆|老公|妻子|丈夫|儿子|女儿|爱人|女朋友|男朋友|朋友|老板|经理|同事|表哥|表姐|叔叔|阿姨|"
    "奶奶|爷爷|外婆|外公|邻居|室友|父母|狗|猫|团队|公司"
)
# Not "They" or "It's": who is meant is not known here.
_NAME = (
    r"(?!(?:It|He|She|They|We|You|This|That|These|Those|There|What|Who|Their|Your|Our|His|Her|Its|Sounds|Looks|Feels|Feeling)\b)"
    r"[A-Z][\w-]+(?: [A-Z][\w-]+){0,2}"
)
_WHO = rf"(?P<who>I|We|[Mm]y (?:{KIN})|{_NAME})"
_WHO_CJK = rf"(?P<who>我(?:的)?(?:{_KIN_CJK})|我们|我|用户)"
# A value ends where a new thought begins.
_END = r"(?=\s*(?:$|[,;.!:]|\s[-–—]+\s|\b(?:and|but|because|since|so|which|where|with my|for (?:now|the)|until|these days|any ?more|now|instead|at the moment|right now|yesterday|today|recently|(?:last|this|next) (?:week|month|year|spring|summer|autumn|fall|winter)|\w+ (?:days|weeks|months|years) ago|since \w+|in \d{4})\b))"
_END_CJK = r"(?=\s*(?:$|[，,；;。！!]|但|而且|因为|所以|现在))"
_PLACES_CJK = (
    "北京|上海|天津|重庆|广州|深圳|杭州|南京|苏州|成都|武汉|西安|长沙|郑州|青岛|大连|厦门|宁波|合肥|福州|济南|沈阳|哈尔滨|长春|昆明|贵阳|南宁|海口|"
    "三亚|兰州|西宁|银川|乌鲁木齐|拉萨|太原|石家庄|呼和浩特|南昌|无锡|珠海|东莞|佛山|香港|澳门|台北|高雄|东京|大阪|京都|首尔|新加坡|曼谷|伦敦|巴黎|"
    "柏林|慕尼黑|罗马|米兰|马德里|巴塞罗那|维也纳|苏黎世|阿姆斯特丹|莫斯科|纽约|洛杉矶|旧金山|西雅图|波士顿|芝加哥|多伦多|温哥华|悉尼|墨尔本|迪拜|"
    "中国|美国|英国|法国|德国|日本|韩国|加拿大|澳大利亚|意大利|西班牙"
)
# "I am in a hurry" is no address: what follows must look like a name and not be one of these.
_NOT_PLACES = frozenset(
    "love trouble bed charge favour favor doubt shock debt pain need control touch shape business tears Monday Tuesday "
    "Wednesday Thursday Friday Saturday Sunday January February March April May June July August September October "
    "November December IT HR PR".split()
)
_TIMES = re.compile(
    r"\b(?:today|tonight|tomorrow|this (?:morning|afternoon|evening|week|weekend|month)|yesterday|for (?:a|the) (?:day|week|weekend|night|conference|meeting)|on (?:a )?(?:business )?trip|on vacation|on holiday|visiting)\b|今天|明天|今晚|昨天|这周|本周|出差|旅游|路过",
    re.IGNORECASE,
)
_VERBS = {
    "drink": "drinks", "drinking": "drinks", "drinks": "drinks", "eat": "eats", "eating": "eats", "eats": "eats",
    "use": "uses", "using": "uses", "uses": "uses", "play": "plays", "playing": "plays", "plays": "plays",
    "speak": "speaks", "speaks": "speaks", "speaking": "speaks", "like": "likes", "likes": "likes", "liking": "likes",
    "love": "likes", "loves": "likes", "enjoy": "likes", "enjoys": "likes", "prefer": "likes", "prefers": "likes",
    "smoke": "smokes", "smoking": "smokes", "live": "lives in", "living": "lives in", "work": "works at",
    "working": "works at", "take": "takes", "taking": "takes", "wear": "wears", "wearing": "wears", "drive": "drives",
    "driving": "drives", "have": "has", "having": "has", "learning": "learns", "learn": "learns",
}  # fmt: skip
_VERBS_CJK = {
    "喝": "drinks",
    "吃": "eats",
    "用": "uses",
    "玩": "plays",
    "说": "speaks",
    "喜欢": "likes",
    "爱": "likes",
    "抽": "smokes",
    "开": "drives",
    "学": "learns",
    "住": "lives in",
    "住在": "lives in",
}
# An abbreviation's full stop ends no sentence: it is another character while sentences are parted.
_STOP = chr(0xFFFF)
_SHORT = re.compile(r"\b(Dr|Mr|Mrs|Ms|Prof|St|No|Nr|vs|etc|approx|e\.g|i\.e|[A-Z])\.(?=\s+[\w“\"])")
# "My art is about …", "my shop is open": an opinion or a passing state, not a value.
_OPINION = re.compile(
    r"(?:that|to|not|very|so|too|really|going|broken|getting|quite|about|my|our|why|like|all|what|how|because)\b"
)
_STATES = frozenset(
    "open closed great fine ok okay good bad ready done here gone small big old new cool awesome sick well busy late slow "
    "delayed failing crashing hanging leaking missing lost empty stuck wrong true false cancelled down up".split()
)
# What is only of the task at hand: "my answer is 42", "my meeting is at 3". By the last word of the attribute.
AT_HAND = frozenset(
    "favourite favorite question answer guess point issue problem error bug code build script test query request meeting appointment call "
    "flight train bus taxi delivery parcel homework essay draft task plan idea opinion turn result output input file "
    "问题 答案 意思 想法 意见 代码 程序 错误 任务 会议 航班 火车 快递 作业 计划 结果".split()
)
# A Chinese question needs no mark: 我住在哪, 我喜欢什么. "什么都吃", "谁也不见", "几年前", "很多大公司" are none.
_ASKS_CJK = re.compile(
    r"(?:什么|甚么|哪(?!怕)[里儿个些天年位]?|谁|怎么样?|怎样|多少|(?<![好十这那前后])几(?=[点岁号月])|有几[个只条](?=[^，,。]{0,4}$)|(?<![很好大许太差])多(?=[大久远高长重]))(?!.{0,4}(?:都|也))"
    r"|为什么|为何|是否|是不是|有没有|能不能|可不可以|要不要|会不会|对不对|好不好|吗[。！!.]?$|呢[。！!.]?$"
)
# "我喜欢这个", "我吃了…", "我用完了": of this moment, or no object at all.
_VAGUE_CJK = ("这", "那", "它", "你", "您", "了", "过", "的", "一下")
_FILLERS_CJK = frozenset("饭 饱 完 好 光 过 到 不了 得 着".split())
Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], list[FactDraft]]]


def sentences(text: str) -> list[str]:
    """The sentences of a text, without those inside code or quoted lines."""
    text = re.sub(r"```.*?(?:```|$)", "\n", clean(text), flags=re.DOTALL)
    lines = [line for line in text.split("\n") if not line.lstrip().startswith(">")]
    parts = [
        part
        for line in lines
        for part in re.split(r"(?<=[.!?])\s+|(?<=[。！？；;])", _SHORT.sub(lambda match: match[1] + _STOP, line))
    ]
    return [part.replace(_STOP, ".").strip() for part in parts if part.strip()]


def is_question(sentence: str) -> bool:
    """Whether it asks, with a mark or without."""
    low = sentence.casefold().strip()
    if low.endswith(("?", "？")) or _ASKS_CJK.search(low):
        return True
    return bool(re.match(r"(?:what|which|who|whose|where|why|how)(?:'s|’s)?\b(?! (?:ever|a|an|to)\b)", low))


def is_statement(sentence: str) -> bool:
    """Not a question, a wish, a supposition or somebody's quoted words."""
    low = sentence.casefold()
    if is_question(sentence):
        return False
    return not re.match(
        r"(?:if|suppose|supposing|imagine|let's say|pretend|say i|when i was|do|does|did|can|could|would|should|will|is|are|am|"
        r"what|which|who|where|when|why|how|as if|unless|in case|i wish|i want you to say|i thought|write|translate|"
        r"he said|she said|they said)\b|如果|要是|假如|假设|假装|翻译|写一|我以为|我希望",
        low,
    )


def facts_in(text: str) -> tuple[FactDraft, ...]:
    """Every fact that the statements of a text make, in their order."""
    found: list[FactDraft] = []
    for sentence in sentences(text):
        if is_statement(sentence):
            found += _of_sentence(_plain(sentence))
    return tuple(dict.fromkeys(found))


def _plain(sentence: str) -> str:
    """Contractions and politeness away, so that one pattern fits the variants."""
    text = sentence.strip().rstrip(".!。！ ").replace("’", "'")
    for short, long in (
        ("I'm", "I am"),
        ("I've", "I have"),
        ("don't", "do not"),
        ("doesn't", "does not"),
        ("didn't", "did not"),
    ):
        text = re.sub(rf"\b{short}\b", long, text, flags=re.IGNORECASE)
    text = re.sub(
        r"^(?:(?:please|so|well|oh|ok|okay|by the way|btw|actually|fyi|note|remember|correction|update|news|hi|hello)\b[\s,:—-]*(?:that\s+)?)+",
        "",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(
        r"^(?:these days|nowadays|by now|since (?:last )?\w+|as of today|at last),? (?=I\b|my\b|we\b)",
        "",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(r"^(?:请|麻烦)?(?:你)?(?:记住|记一下|顺便说一下|对了|其实|更正|更新|你好)[\s,，:：]*", "", text)
    text = re.sub(r"^(?:The )?[Uu]ser's\b", "My", text)
    text = re.sub(r"^(?:The )?[Uu]ser\b|^i\b", "I", text)
    return re.sub(r"^(?:用户|本人)", "我", text)


def _of_sentence(sentence: str) -> list[FactDraft]:
    parts = re.split(
        r"\s*(?:,? (?:and|but) (?=I\b|my\b|now I\b)|, (?=I am (?:now )?(?:in|at|with)\b)|[;；]|，(?=我)|，?(?:而且|并且)(?=我))",
        sentence,
    )
    found: list[FactDraft] = []
    # "我换工作了，现在在…": who it is about was said before the comma.
    parts = [
        again
        for part in parts
        for again in re.sub(r"^(我[^，]{2,12}了)，(?=(?:现在|目前|刚)?(?:在|住|搬))", r"\1；我", part).split("；")
    ]
    for part in parts:
        for pattern, build in _RULES:
            if match := pattern.search(part):
                found += build(match)
                break
    return found


def _who(match: re.Match[str]) -> str:
    who = (match.groupdict().get("who") or "I").strip()
    if who in {"I", "我", "我们", "用户", "We", "we"}:
        return ME
    return re.sub(r"^(?:[Mm]y |我的|我)", "", who)


def _value(text: str) -> str:
    text = re.sub(
        r"^(?:only|just|now|mostly|mainly|always|usually|it's|it is|I drink|I eat|I have|a lot of|只|都|在)\s*",
        "",
        text.strip(" ,，.。!！\"'"),
    )
    return re.sub(
        r"(?:\s+(?:now|instead|these days|any ?more|too|again|a lot|very much|so much|myself|at the moment|right now|currently)|了|啦)$",
        "",
        text,
    ).strip(" ,，")


def _lives(match: re.Match[str]) -> list[FactDraft]:
    place = _value(re.sub(r"^the city of ", "", match["place"]))
    if not place or place.split()[0] in _NOT_PLACES or len(place) > 80:
        return []
    if "loose" in match.re.groupindex and _TIMES.search(match.string):  # "I am in Paris this week" is a visit
        return []
    return [FactDraft(subject=_who(match), attribute="lives in", value=place)]


def _drives(match: re.Match[str]) -> list[FactDraft]:
    return [FactDraft(subject=ME, attribute="drives", value=_value(match["value"]), many=True)]


def _employed(match: re.Match[str]) -> list[FactDraft]:
    """ "I am at Globex now" is a job, "I am at the station", "I joined the call on Friday" are not."""
    value = _value(match["value"])
    if not value or value.split()[0] in _NOT_PLACES or _TIMES.search(match.string.replace("this week", "")):
        return []
    if re.match(r"\S+ (?:am|is) (?:now )?at ", match.string) and not re.search(r"\bnow\b", match.string):
        return []
    return [FactDraft(subject=_who(match), attribute="works at", value=value)]


def _plainly(attribute: str, *, many: bool = False) -> Callable[[re.Match[str]], list[FactDraft]]:
    def build(match: re.Match[str]) -> list[FactDraft]:
        value = _value(match["value"])
        good = 0 < len(value) <= 120
        return [FactDraft(subject=_who(match), attribute=attribute, value=value, many=many)] if good else []

    return build


def _verb(match: re.Match[str]) -> list[FactDraft]:
    attribute = {**_VERBS, **_VERBS_CJK}.get(match["verb"].casefold(), "")
    value = _value(match["value"])
    # "I like to …", "I use it to …" say too little to contradict anything.
    vague = r"(?:it|its|that|this|these|those|them|him|her|you|your|how|what|when|all|everything|the way|a plan|a (?:ton|lot)|so much)\b"
    if (
        not attribute
        or not value
        or len(value) > 120
        or re.match(vague, value)
        or re.search(r"\b(?:it|this|that)$", value)
    ):
        return []
    if value.startswith(_VAGUE_CJK) or value in _FILLERS_CJK:
        return []
    if match["who"] not in {"I", "We", "我", "我们"} and match["verb"].isascii() and not match["verb"].endswith("s"):
        return []  # "Events like these": no verb at all
    return [FactDraft(subject=_who(match), attribute=attribute, value=value, many=True)]


def _dislikes(match: re.Match[str]) -> list[FactDraft]:
    value = _value(match["value"])
    if not value:
        return []
    ended = FactDraft(subject=_who(match), attribute="likes", value=value, many=True, ends=True)
    return [ended, FactDraft(subject=_who(match), attribute="dislikes", value=value, many=True)]


def _stopped(match: re.Match[str]) -> list[FactDraft]:
    """ "I stopped (drinking X), now Y": X ends, Y begins; without X, what was last said of that sort ends."""
    groups = match.groupdict()
    verbs = {**_VERBS, **_VERBS_CJK}
    attribute = verbs.get((groups.get("verb") or "").casefold(), "") or verbs.get(
        (groups.get("verb2") or "").casefold(), ""
    )
    old, new = _value(groups.get("old") or ""), _value(groups.get("value") or "")
    if not attribute and not old and not new:
        return []
    who = _who(match)
    found = [FactDraft(subject=who, attribute=attribute, value=old, many=True, ends=True)]
    if new:
        found.append(FactDraft(subject=who, attribute=attribute, value=new, many=True))
    return found


def _kin_is(match: re.Match[str]) -> list[FactDraft]:
    """ "My sister is in Paris / 30 / a doctor"."""
    who, rest = match["kin"], _value(match["value"])
    if place := re.match(r"(?:now |currently )?in ([A-Z][\w'’ -]+)$", rest):
        return [FactDraft(subject=who, attribute="lives in", value=place[1])]
    if age := re.match(r"(\d{1,3})(?: years old)?$", rest):
        return [FactDraft(subject=who, attribute="age", value=age[1])]
    if name := re.match(rf"(?:called |named )?({_NAME})$", rest):
        return [FactDraft(subject=who, attribute="name", value=name[1])]
    return [FactDraft(subject=who, attribute="is", value=rest, many=True)] if 0 < len(rest) <= 80 else []


def _possessed(match: re.Match[str]) -> list[FactDraft]:
    """ "My X is Y", "my sister's X is Y"."""
    attribute = re.sub(r"favorite", "favourite", match["attr"].strip().casefold())
    value = _value(match["value"])
    if not value or len(value) > 120 or len(attribute.split()) > 4:
        return []
    if _OPINION.match(value) or value.split()[0].casefold() in _STATES or value.startswith(_VAGUE_CJK):
        return []
    if attribute.split()[-1] in AT_HAND or any(attribute.endswith(word) for word in AT_HAND if not word.isascii()):
        return []
    owner = match.groupdict().get("owner") or ""
    return [FactDraft(subject=re.sub(r"^(?:[Mm]y |我的|我)", "", owner) or ME, attribute=attribute, value=value)]


def _rules() -> list[Rule]:
    now = r"(?:now |currently |just |recently |also |have |has |finally |already )*"
    not_any = r"(?:(?:do|does) not|no longer)"
    verbs = "|".join(sorted(set(_VERBS), key=len, reverse=True))
    ago = r"(?:好?几|半|[一两二三四五六七八九十\d]+)(?:年|个月|个星期|周|天)前"
    now_zh = rf"(?:{ago}|开始|现在|目前|如今|已经|刚刚|刚|最近|今年|去年|上个月|上周|又)*"
    return [
        # what somebody does not like
        (re.compile(rf"^{_WHO} (?:(?:do|does) not (?:really )?(?:like|enjoy)|hates?|dislikes?|can not stand|cannot stand|can't stand|avoids?) (?P<value>.+?)(?: ?(?=[,;]|$))(?<!more)(?<!longer)"), _dislikes),
        (re.compile(rf"^{_WHO_CJK}(?:不(?:太)?喜欢|讨厌|不爱|受不了)(?P<value>[^，,。了]+)$"), _dislikes),
        # what is no longer so
        (re.compile(rf"^{_WHO} {now}(?:stopped|quit|gave up|given up)(?: (?P<verb>{verbs})\b)?(?: (?P<old>(?!now\b)[^,;]+?))?(?:\s*[,;]\s*|\s+and\s+|\s*$)(?:(?:I )?{now}(?P<verb2>{verbs})? ?(?P<value>[^,;]+?)(?: instead)?)?$", re.I), _stopped),
        (re.compile(rf"^{_WHO} {now}(?:switched|changed|moved over)(?: from (?P<old>.+?))? to (?P<verb>drinking |eating |using )?(?P<value>.+?){_END}"), _switched),
        (re.compile(rf"^{_WHO} {not_any} (?P<verb>{verbs})(?: (?:in|at|for))? (?P<old>.+?) ?(?:any ?more|any longer|now)?(?:\s*[,;]\s*(?:(?:I |but )?{now}(?P<verb2>{verbs})? ?(?P<value>[^,;]+?)(?: instead)?)?)?$"), _no_longer),
        (re.compile(rf"^{_WHO_CJK}{now_zh}(?:(?P<again>不再|戒|放弃)|不)(?P<verb>喝|吃|用|玩|喜欢|爱|抽|学|住在?)?(?(again)了?)(?P<old>[^，,。了]+?)?(?:了|(?(again)|(?!)))[，,、\s]*(?:{now_zh}(?:改|换|只)?(?P<verb2>喝|吃|用|玩|喜欢|爱|抽|学)?(?:成了?|了)?(?P<value>[^，,。]+?))?了?$"), _no_longer),
        (re.compile(rf"^{_WHO_CJK}{now_zh}(?:从(?P<old>.+?))?(?:改|换)(?:成|为|(?=喝|吃|用|玩|学))(?P<verb>喝|吃|用|玩|学)?了?(?P<value>[^，,。]+?)了?$"), _switched),
        # where somebody is at home, and works
        (re.compile(rf"^{_WHO_CJK}{now_zh}在(?P<value>[^，,。]{{2,30}}?)(?:工作|上班|任职|就职)"), _plainly("works at")),
        (re.compile(rf"^{_WHO} {now}(?:work|works|am working|is working|am employed) (?:at|for) (?:the )?(?P<value>[A-Z].*?){_END}"), _plainly("works at")),
        (re.compile(rf"^{_WHO} {now}(?:joined|started (?:working )?(?:at|with|for)|got a (?:new )?job (?:at|with)|(?:am|is) (?:now )?(?:employed by|at)|left [A-Z]\w+ (?:for|to join|and joined)) (?:the )?(?P<value>(?!(?:Home|Work|School|Christmas|Easter)\b)[A-Z].*?){_END}"), _employed),
        (re.compile(rf"^{_WHO} {now}(?:work|works|am working|is working) as an? (?P<value>.+?){_END}"), _plainly("job")),
        (re.compile(rf"^{_WHO} {now}(?:live|lives|am living|is living|am based|is based|reside|resides) {now}in (?P<place>.+?){_END}"), _lives),
        (re.compile(rf"^{_WHO} {now}(?:moved|am moving|relocated|emigrated)(?: (?:away )?from .+?)?(?: back)? to (?P<place>(?!a\b|an\b|the next\b)[A-Z].*?){_END}"), _lives),
        (re.compile(rf"^(?P<loose>){_WHO} (?:am|is) {now}(?:back )?in (?P<place>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){{0,2}}){_END}"), _lives),
        (re.compile(r"^(?P<place>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,2}) is (?:now )?(?:where I live|my home)"), _lives),
        (re.compile(rf"^{_WHO_CJK}{now_zh}在(?P<place>[^，,。了]{{2,12}}?)(?:定居|安家|居住)"), _lives),
        (re.compile(rf"^{_WHO_CJK}{now_zh}住的(?:地方|城市)是(?P<place>[^，,。了]{{2,30}})"), _lives),
        (re.compile(rf"^{_WHO_CJK}{now_zh}(?:从.+?)?(?:搬到|搬去|搬家到|搬回|迁到|移居|移民到|定居在|居住在|住在|住)了?(?P<place>[^，,。了]{{2,30}})"), _lives),
        (re.compile(rf"^(?P<loose>){_WHO_CJK}{now_zh}(?:人)?在(?P<place>(?:{_PLACES_CJK})[^，,。\s]{{0,6}}?)(?:了)?{_END_CJK}"), _lives),
        # who somebody is
        (re.compile(rf"^{_WHO} (?:am|is) (?P<value>\d{{1,3}})(?: years old)?$"), _plainly("age")),
        (re.compile(rf"^{_WHO_CJK}(?:今年|已经)*(?P<value>\d{{1,3}})岁"), _plainly("age")),
        (re.compile(rf"^{_WHO} (?:was|were) born on (?P<value>.+?){_END}"), _plainly("birthday")),
        (re.compile(rf"^(?:[Cc]all me|I am called|I go by) (?P<value>{_NAME}){_END}"), _plainly("name")),
        (re.compile(rf"^{_WHO_CJK}叫(?P<value>[^，,。\s]{{1,20}})"), _plainly("name")),
        (re.compile(r"^叫我(?P<value>[^，,。\s]{1,10}?)(?:就行|就好|吧|就可以)?了?$"), _plainly("name")),
        (re.compile(r"^我姓(?P<value>[^，,。\s]{1,4})$"), _plainly("family name")),
        (re.compile(rf"^{_WHO_CJK}(?:的)?老家在(?P<value>[^，,。]{{2,20}})$"), _plainly("home town")),
        (re.compile(rf"^{_WHO} (?:was born|grew up) in (?P<value>[A-Z].+?){_END}"), _plainly("home town")),
        (re.compile(rf"^{_WHO_CJK}会说(?P<value>[^，,。]{{1,12}})$"), _plainly("speaks", many=True)),
        (re.compile(rf"^{_WHO} (?:am|is) (?:very |severely |badly )?allergic to (?P<value>.+?){_END}"), _plainly("allergic to", many=True)),
        (re.compile(rf"^{_WHO_CJK}对(?P<value>[^，,。]+?)(?:严重)?过敏"), _plainly("allergic to", many=True)),
        (re.compile(rf"^(?P<owner>[Mm]y (?:{KIN}))'s (?P<attr>[\w -]+?) (?:is|are) (?:now )?(?P<value>.+?)$"), _possessed),
        (re.compile(rf"^[Mm]y (?P<kin>{KIN}) is (?P<value>.+?)$"), _kin_is),
        (re.compile(r"^(?P<value>[^,;]{1,60}?) is (?:now )?my (?:new )?(?P<attr>favou?rite [\w ]+?)(?: now)?$"), _possessed),
        (re.compile(r"^我(?:现在)?(?P<attr>最喜欢的[^，,。是\s]{1,8})(?:现在)?(?:是|变成了?)(?P<value>[^，,。]+)$"), _possessed),
        (re.compile(r"^我(?:现在)?开的(?P<attr>车?)是(?P<value>[^，,。]+)$"), _drives),
        (re.compile(r"^[Mm]y (?:new |current )?(?P<attr>[\w' -]+?) (?:is|are|has changed to|changed to) (?:now )?(?P<value>.+?)$"), _possessed),
        (re.compile(rf"^(?P<owner>我(?:的)?(?:{_KIN_CJK}))的?(?P<attr>[^，,。是\s]{{1,10}})(?:现在)?(?:是|改成了?|变成了?|换成了?)(?P<value>[^，,。]+)$"), _possessed),
        (re.compile(r"^我的(?:新)?(?P<attr>[^，,。是\s]{1,10})(?:现在)?(?:是|改成了?|变成了?|换成了?)(?P<value>[^，,。]+)$"), _possessed),
        (re.compile(r"^我(?:现在)?用的(?P<attr>手机|电脑|相机|平板|耳机|浏览器|编辑器|系统)(?:现在)?是(?P<value>[^，,。]+)$"), _possessed),
        (re.compile(r"^我(?:刚|最近|上周|又)*换了(?:新的?|一[台部辆个])?(?P<value>[^，,。]+?)(?P<attr>手机|电脑|相机|平板|耳机|浏览器|编辑器|车)了?$"), _possessed),
        (re.compile(r"^我(?P<attr>生日|电话|手机号|邮箱|职业|名字|年龄|公司)(?:现在)?(?:是|改成了?|换成了?)(?P<value>[^，,。]+)$"), _possessed),
        (re.compile(r"^I (?:just |recently )?(?:bought|got|have|own) (?:myself )?a new (?P<attr>phone|laptop|computer|camera|tablet|car|bike|watch)(?:,|:|, it is| called) (?:an? |the )?(?P<value>(?!(?:and|but|which|it|that|so|because|now|thanks|please)\b)\w+(?: \w+){0,3})$"), _possessed),
        (re.compile(r"^我(?:刚|最近|又)*换了?(?:一[台部辆个])?新(?P<attr>手机|电脑|相机|平板|耳机|车)了?，(?:现在)?(?:是|用的是)(?P<value>[^，,。]+?)的?$"), _possessed),
        # what somebody likes and uses
        (re.compile(rf"^(?:{now})?{_WHO} {now}(?:really |usually |always |only |mostly |often |am |is )*(?P<verb>learning|drinks?|eats?|uses?|plays?|speaks?|likes?|loves?|enjoys?|prefers?|wears?|drives?|takes?|smokes?) (?P<value>.+?)(?: (?:over|rather than|instead of|more than) .+?)?{_END}"), _verb),
        (re.compile(rf"^{_WHO_CJK}{now_zh}(?:最|很|非常|比较|特别|一般|平时|通常|只|都|每天|正在|在)*(?P<verb>喝|吃|用|玩|说|喜欢|爱|抽|学)(?P<value>[^，,。]+)"), _verb),
    ]  # fmt: skip


def _switched(match: re.Match[str]) -> list[FactDraft]:
    """ "I switched from X to Y". "I switched to Y" alone does not say what it ends."""
    attribute = {**_VERBS, **_VERBS_CJK}.get((match["verb"] or "").strip().casefold(), "")
    who, old, new = _who(match), _value(match["old"] or ""), _value(match["value"])
    begun = FactDraft(subject=who, attribute=attribute, value=new, many=True)
    if not new or not (old or attribute):
        return []
    return [FactDraft(subject=who, attribute=attribute, value=old, many=True, ends=True), begun]


def _no_longer(match: re.Match[str]) -> list[FactDraft]:
    return _stopped(match)


_RULES = _rules()
