"""English rules: "if A, B; otherwise C", "B if A, otherwise C", "B unless A", "should A, B", "if A, B. If not, C".

one sentence -> ConditionDraft or None.  Touches: nothing (pure).
"""

import re

from planning import words
from planning.drafts import ConditionDraft

Parts = tuple[str, str, str, tuple[int, int]]  # condition, then, otherwise, where the rule stands

# The verbs tasks are given with: where a condition ends and its consequence begins when no comma says so.
VERB = (
    r"(?:please\s+)?(?:book|reserve|save|store|write|send|use|take|buy|choose|pick|make|delete|remove|call|order|create|add|"
    r"remind|tell|put|set|go|do|get|rent|pay|cancel|move|copy|read|reply|answer|mail|email|note|keep|give|stay|plan|"
    r"schedule|select|search|find|look|check|print|post|update|append|draft|ask|let|show|return|report|try|skip|stop|"
    r"pack|visit|hire|record|mark|notify|invite|start|run|open|close|turn|switch|prefer|offer|calculate|compute|look)"
)
IF = re.compile(
    r"\b(?:if|in case of|in case|provided that|in the event that|whenever|when|should(?=\s+(?:it|there|the|they|he|she|that|this)\b))\b",
    re.I,
)
UNLESS = re.compile(r"\bunless\b", re.I)
OTHERWISE = re.compile(
    r"[\s,;.:–—-]{0,6}\b(?:and\s+|but\s+|or\s+)?(?:otherwise|or else|(?<!thing )(?<!one )else|in (?:any|all) other cases?|"
    r"if (?:it|they|that|this|there|he|she)(?:['’]s| is| are| does| do| has)?(?P<not> not|n['’]t)(?: the case)?|if not)\b[:\s]*(?P<comma>,)?\s*",
    re.I,
)
IN_WHICH_CASE = re.compile(r"[\s,;]{0,6}\b(?:in which case|in that case|then)\b[,\s]*", re.I)
SEQUEL = re.compile(rf"\s*;|\s*,\s*(?:and\s+)?(?:then|finally|afterwards|after that|and (?={VERB}\b))\b", re.I)
FIT = re.compile(
    r"\b(is|are|was|were|will|can|has|have|does|do|did|would|could)(?:\b|(?=n['’]t))(?P<not>\s+not\b|n['’]t\b)?", re.I
)
# Third person -> base form, for "Does it rain?".
DOES = re.compile(
    r"\b(rain|snow|contain|mention|include|exceed|say|exist|show|cost|fit|work|fail|succeed|match|equal|start|end|need|"
    r"want|open|close|return|allow|offer|accept|hold|list|name|require|support|drop|rise|fall)(?:es|s)\b",
    re.I,
)
POLITE = re.compile(r"^(?:you|i|we)\b|^(?:possible|needed|necessary|applicable|not)\b", re.I)
# "If so": what is asked stands before it.
STANDS_FOR = re.compile(
    r"(?:so|yes|true|it does|it is|it will|they do|they are|that is (?:so|true|the case)|that['’]s the case)", re.I
)
ASKED = re.compile(r"\b(?:whether|if)\s+(?P<a>[^,;?.]+?)(?:\s+or not)?\s*(?:[,;.:]|\band\b|\bthen\b|$)", re.I)
# Asks for an answer, not for an act: "tell me if it rains".
ASKS = re.compile(r"\b(?:tell \w+|know|check|see|ask(?: \w+)?|find out|determine|verify|test|look|wonder)$", re.I)
MOST_A, MOST_B = 160, 300


def read(text: str, before: str = "") -> ConditionDraft | None:
    """`before` is the sentence before, which "if so" speaks of. None unless the sentence holds exactly one rule that can be read in one way."""
    hidden = words.masked(text)
    unless, ifs = list(UNLESS.finditer(hidden)), _ifs(hidden)
    elses = _elses(hidden)
    if len(unless) + len(ifs) != 1 or len(elses) > 1:
        return None
    otherwise = elses[0] if elses else None
    word = (unless or ifs)[0]
    parts = _unless(text, hidden, word, otherwise) if unless else _if(text, hidden, word, otherwise)
    if parts is None:
        return None
    condition, yes, no, rule = parts
    if STANDS_FOR.fullmatch(condition):
        condition = _meant(text[: word.start()], before)
    if not condition:
        return None
    question, turned = _question(_spelled(condition, word.group().lower()))
    if turned:  # "if it is not sunny": the question is asked without the not, its answers trade places
        yes, no = no, yes
    return ConditionDraft(question=question, if_yes=yes, if_no=no, rule=text[slice(*rule)])


def _elses(hidden: str) -> list[re.Match[str]]:
    """The words for "otherwise"; "if it is not …" is one only where another "if" came before it."""
    return [
        m
        for m in OTHERWISE.finditer(hidden)
        if "if" not in m.group().lower().split() or IF.search(hidden[: m.start()]) or UNLESS.search(hidden[: m.start()])
    ]


def _ifs(hidden: str) -> list[re.Match[str]]:
    """The words for "if" outside of "if not"; "when" counts only where nothing else does."""
    taken = [match.span() for match in _elses(hidden)]
    found = [m for m in IF.finditer(hidden) if not any(a <= m.start() < b for a, b in taken)]
    sure = [m for m in found if m.group().lower() not in {"when", "whenever"}]
    return sure or found


def _if(text: str, hidden: str, word: re.Match[str], otherwise: re.Match[str] | None) -> Parts | None:
    before = hidden[: word.start()]
    if otherwise is None:
        return _one_branch(text, hidden, word) if word.group().lower() not in {"when", "whenever"} else None
    if otherwise.start() < word.start():
        return None
    at_end = not hidden[otherwise.end() :].strip(" .,;")
    stop = otherwise.start()
    if at_end:  # "a suite if it rains and a standard room otherwise"
        joint = re.search(r"\s*(?:,\s*(?:and|but)?|\b(?:and|but))\s+(?=\S)", hidden[word.end() : stop])
        if joint is None:
            return None
        no = (word.end() + joint.end(), stop)
        stop = word.end() + joint.start()
    else:
        begin = _past_echo(hidden, otherwise, hidden[word.end() : stop])
        if begin is None:
            return None
        no = _until_sequel(hidden, begin)
    end = otherwise.end() if at_end else no[1]
    middle = (word.end(), stop)
    cut = _cut(hidden, *middle, parallel=hidden[no[0] : no[1]])
    if cut is not None and (not before.strip() or re.search(r"(?:[,:;–—-]|\band|\bthen|\bbut)\s*$", before, re.I)):
        a, b = (middle[0], cut[0]), (cut[1], middle[1])
        start = word.start()
    elif cut is None:
        found = _clause(hidden, word.start())
        if found is None:
            return None
        a, b, start = middle, (found, word.start()), found
    else:
        return None
    return _parts(text, a, b, no, (start, end))


def _unless(text: str, hidden: str, word: re.Match[str], otherwise: re.Match[str] | None) -> Parts | None:
    """ "B unless A": no -> B; yes -> what comes after "in which case" or "otherwise"."""
    rest = (word.end(), len(hidden))
    yes = (rest[1], rest[1])
    case = otherwise or IN_WHICH_CASE.search(hidden, word.end())
    first = not hidden[: word.start()].strip() or re.search(r"[,:;]\s*$", hidden[: word.start()])
    if case is not None and case.start() > word.end():
        rest = (rest[0], case.start())
        yes = _until_sequel(hidden, case.end())
    if first:
        cut = _cut(hidden, *rest, parallel=hidden[slice(*yes)])
        if cut is None:
            return None
        a, b, start = (rest[0], cut[0]), (cut[1], rest[1]), word.start()
    else:
        found = _clause(hidden, word.start())
        if found is None:
            return None
        stop = re.search(r"\s*[,;]", hidden[slice(*rest)])
        a = (rest[0], rest[0] + stop.start()) if stop else rest
        b, start = (found, word.start()), found
    end = max(a[1], b[1], yes[1] if yes[0] != yes[1] else 0)
    parts = _parts(text, a, b, yes, (start, end))
    return parts and (parts[0], parts[2], parts[1], parts[3])


def _one_branch(text: str, hidden: str, word: re.Match[str]) -> Parts | None:
    """ "If A, B" or "B only if A" alone: only with a verb of a task in B, and never about the persons who talk."""
    ahead = hidden[: word.start()]
    if ahead.strip(" ,;:") and not re.search(r"(?:[,:;]|\band|\bthen|\bbut)\s*$", ahead, re.I):
        begin = _clause(hidden, word.start())
        act = re.sub(r"(?:,\s*|\s+)(?:but\s+)?only$", "", ahead[begin:].rstrip()) if begin is not None else ""
        a = _until_sequel(hidden, word.end())
        said = hidden[slice(*a)].strip(" ,.")
        if (
            begin is None
            or not re.match(rf"{VERB}\b", act, re.I)
            or ASKS.search(act)
            or POLITE.match(said)
            or "," in said
        ):
            return None
        return _parts(text, a, (begin, begin + len(act)), (a[1], a[1]), (begin, a[1]))
    end = _until_sequel(hidden, word.end())[1]
    cut = _cut(hidden, word.end(), end, parallel="")
    if cut is None or not re.match(rf"\s*{VERB}\b", hidden[cut[1] : end], re.I):
        return None
    if POLITE.match(hidden[word.end() : cut[0]].strip()):
        return None
    return _parts(text, (word.end(), cut[0]), (cut[1], end), (end, end), (word.start(), end))


# ---- where the parts end -------------------------------------------------------------------------------------------


def _cut(hidden: str, start: int, end: int, *, parallel: str) -> tuple[int, int] | None:
    """Where the condition ends and its consequence begins: "then", a comma, a verb, or the noun the branches share."""
    part = hidden[start:end].rstrip(" ,;.")
    then = list(re.finditer(r"\s*,?\s*\bthen\b,?\s*", part, re.I))
    commas = list(re.finditer(r"\s*[,:](?!\d)\s*(?:please\s+)?(?=\S)", part))
    if len(then) == 1 and part[: then[0].start()].strip():
        return start + then[0].start(), start + then[0].end()
    with_verb = [m for m in commas if re.match(rf"{VERB}\b", part[m.end() :], re.I)]
    chosen = with_verb[:1] or (commas if len(commas) == 1 else [])
    if chosen and part[: chosen[0].start()].strip():
        return start + chosen[0].start(), start + chosen[0].end()
    if commas:
        return None
    for match in re.finditer(rf"\s+(?={VERB}\b)", part, re.I):
        ahead = part[: match.start()].split()
        few = STANDS_FOR.fullmatch(" ".join(ahead)) or re.search(r"\bin case of$", hidden[:start].rstrip(), re.I)
        # "if the book is red", "if it is open", "if there is a way to save": these verbs belong to the condition.
        if len(ahead) > (0 if few else 1) and ahead[-1].lower() not in NOT_BEFORE:
            return start + match.start(), start + match.end()
    nouns = [m for m in re.finditer(r"\s+(?=(?:an?|the)\s)", part) if len(part[: m.start()].split()) > 1]
    if len(nouns) == 1 and re.match(r"\s*(?:an?|the)\s", parallel, re.I):
        return start + nouns[0].start(), start + nouns[0].end()
    return None


NOT_BEFORE = set(
    "a an the this that these those my your our his her their to is are was were be been will would can could may might "
    "must should shall not no and or of for in on at by with do does did has have had any some more less very too".split()
)


def _clause(hidden: str, end: int) -> int | None:
    """Where the clause begins that stands before "if": after the last comma, or after an "and" before a verb."""
    part = hidden[:end]
    commas = list(re.finditer(r"[,;:]\s*(?:and\s+|then\s+)*", part))
    begin = commas[-1].end() if commas and part[commas[-1].end() :].strip() else 0
    joints = list(re.finditer(r"\b(?:and|then)\s+(?:then\s+)?", part[begin:]))
    for joint in reversed(joints):
        if re.match(rf"{VERB}\b", part[begin + joint.end() :], re.I):
            return begin + joint.end()
    if joints:  # "a suite and a taxi if it rains": who can say whether the suite hangs on the rain
        return None
    lead = re.match(r"\s*", part[begin:])
    return begin + (lead.end() if lead else 0) if part[begin:].strip() else None


def _until_sequel(hidden: str, start: int) -> tuple[int, int]:
    """The last branch ends with the sentence, or where ", then …" goes on with something else."""
    sequel = SEQUEL.search(hidden, start)
    return start, sequel.start() if sequel else len(hidden)


# ---- the draft ---------------------------------------------------------------------------------------------------


def _parts(
    text: str, a: tuple[int, int], b: tuple[int, int], c: tuple[int, int], rule: tuple[int, int]
) -> Parts | None:
    condition, then, otherwise = (text[slice(*span)].strip(" ,;:.\n\t") for span in (a, b, c))
    condition = re.sub(r"^(?:that|of)\s+", "", condition)
    if not condition or not then or len(condition) > MOST_A or max(len(then), len(otherwise)) > MOST_B:
        return None
    whole = text[slice(*rule)]
    start = rule[0] + len(whole) - len(whole.lstrip())
    return condition, then, _completed(then, otherwise), (start, rule[0] + len(whole.rstrip(" ,;:")))


def _completed(then: str, otherwise: str) -> str:
    """ "book a suite" … "a standard room": the second branch borrows the words it leaves out."""
    verb = re.match(rf"{VERB}\b", then, re.I)
    if not otherwise or verb is None:
        return otherwise
    mine, theirs = words.QUOTED.findall(then), words.QUOTED.findall(otherwise)
    if len(mine) == 1 and len(theirs) == 1 and otherwise in {theirs[0], f"{verb.group()} {theirs[0]}"}:
        return then.replace(mine[0], theirs[0])
    if re.match(rf"(?:do not|don['’]t|just\s+)?\s*{VERB}\b", otherwise, re.I):
        return otherwise
    return f"{verb.group()} {otherwise}" if re.match(r"(?:an?|the|one|\d|['\"“‘`])", otherwise, re.I) else otherwise


# ---- the question --------------------------------------------------------------------------------------------------


def _question(condition: str) -> tuple[str, bool]:
    """A yes/no question made from the words of the condition, and whether a "not" was taken out of it."""
    condition = re.sub(r"^(it|that|there|he|she)['’]s\b", r"\1 is", condition.strip(), flags=re.I)
    hidden = words.masked(condition)
    fits = list(FIT.finditer(hidden))
    turned = False
    if len(fits) >= 1 and fits[0]["not"] and len(words.NEGATED.findall(words.NO_NEGATION.sub(" ", hidden))) == 1:
        start, end = fits[0].span("not")
        condition, turned = condition[:start] + condition[end:], True
        fits = list(FIT.finditer(words.masked(condition)))
    elif len(fits) == 1 and (none := re.match(r"\s+no(?=\s+(?!more|less|fewer|longer))", hidden[fits[0].end() :])):
        condition, turned = condition[: fits[0].end()] + condition[fits[0].end() + none.end() :], True
    if asks := re.match(r"(\S+|the \S+) (do|does|did) ((?!have\b).+)", condition, re.I):
        return f"{asks[2].capitalize()} {asks[1]} {asks[3]}?", turned
    if (turned or not words.negated(condition)) and not re.search(r"\b(?:or|and)\b", words.masked(condition)):
        subject = condition[: fits[0].start()].strip() if fits else ""
        if fits and 0 < len(subject.split()) <= 4 and not re.search(r"\b(?:that|which|who)\b.+", subject, re.I):
            verb, rest = fits[0][1].lower(), condition[fits[0].end(1) :].strip()
            # "has a pool" is asked with does; "has arrived" with has.
            if verb in {"has", "have"} and re.match(r"(?:an?|the|any|no|at|more|less|fewer|\d)\b", rest, re.I):
                return f"{'Does' if verb == 'has' else 'Do'} {subject} have {rest}?", turned
            return f"{verb.capitalize()} {subject} {rest}?", turned
        does = DOES.search(words.masked(condition))
        if does and not fits and 0 < len(condition[: does.start()].split()) <= 5:
            subject, rest = condition[: does.start()].strip(), condition[does.end() :]
            return f"Does {subject} {does[1]}{rest}?", turned
    if re.fullmatch(r"(?:\w+ing|\w+y|\w+ed|possible|open|closed|available)", condition, re.I):
        return f"Is it {condition}?", turned
    if re.fullmatch(r"[a-z]+", condition, re.I):
        return f"Is there {condition}?", turned
    return f"Is it true that {condition}?", turned


def _spelled(condition: str, word: str) -> str:
    """ "in case of rain", "should it rain": as a clause."""
    if word.startswith("in case of"):
        return f"there is {condition}"
    if word == "should":
        be = re.sub(r"^(\w+) be\b", r"\1 is", condition, flags=re.I)
        found = re.match(r"(it|there|they|he|she|this|that|the \w+) (\w+)(.*)", be, re.I | re.S)
        if found and found[2].lower() not in {"is", "are", "has"}:
            return f"{found[1]} {found[2]}{'es' if re.search('(?:s|x|ch|sh)$', found[2]) else 's'}{found[3]}"
        return be
    return condition


def _meant(ahead: str, before: str) -> str:
    """What "if so" speaks of: the clause after "whether", or the question before; empty when there is none."""
    for said in (ahead, before):
        if asked := list(ASKED.finditer(words.masked(said))):
            return said[slice(*asked[-1].span("a"))].strip()
    question = re.match(
        r"\s*(is|are|was|were|will|does|do|did|has|can)\s+(\w+|the \w+)\s+(.+?)\s*\?$", before.strip(), re.I
    )
    if question is None:
        return ""
    verb, subject, rest = question.groups()
    return f"{subject} {verb} {rest}"


def _past_echo(hidden: str, otherwise: re.Match[str], condition: str) -> int | None:
    """ "if it doesn't rain, …": the verb again is no part of the branch; another verb is another condition."""
    at = otherwise.end()
    if not otherwise["not"] or otherwise["comma"]:
        return at
    word = re.match(r"(\w+)\s*,?\s*", hidden[at:])
    if word is None or re.match(rf"(?:an?|the)\b|{VERB}\b", word.group(), re.I):
        return at
    return at + word.end() if word[1].lower()[:4] in condition.lower() else None
