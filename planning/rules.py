"""Read an "if … otherwise …" out of a person's words, where code can be sure of it.

text -> ConditionDrafts.  Touches: nothing (pure).

English and Chinese, each in a file of its own. Unsure means an empty list: the model is asked then.
"""

import re

from planning import rules_chinese, rules_english, words
from planning.drafts import ConditionDraft

MARKERS = re.compile(
    r"\b(?:if|otherwise|unless|whether|depending on|depends on|in case|or else|in the event|provided that)\b|"
    r"(?<![a-z])(?<!thing )(?<!one )else\b|\bshould (?:it|there|they|he|she|the)\b|"
    r"如果|如若|倘若|假如|假若|要是|万一|若(?!干)|否则|不然|要不然|除非|取决于|是否|的话|视.{1,12}而定|看情况",
    re.IGNORECASE,
)
# Said out of politeness, or about the talk itself: no rule.
POLITE = re.compile(
    r"\bif (?:possible|you (?:can|could|like|wish|want|please|don['’]t mind)|needed|necessary|any|at all|anything is unclear)\b|"
    r"\b(?:as|even|what) if\b|(?:something|anything|everything|nothing|someone|anyone|everyone|who|what|where) else\b|"
    r"如果可以(?:的话)?|如果可能(?:的话)?|可以的话|方便的话|如有(?:需要|必要)|是否可以",
    re.IGNORECASE,
)
# Where one rule ends: a sentence, or a line. A decimal point and "e.g." end none.
SENTENCE = re.compile(r"[。！？!?\n]+|(?<!\b[a-zA-Z])(?<!e\.g)(?<!i\.e)\.(?=\s|$)")
STILL = re.compile(
    r"^\s*(?:otherwise|or else|else|if not|if it (?:is|does)(?:n['’]t| not)|否则|不然|要不然|反之|如果不|若不)",
    re.IGNORECASE,
)
MOST = 4_000  # characters read; a longer text is not one task


def looks_conditional(text: str) -> bool:
    return bool(MARKERS.search(POLITE.sub(" ", text)) or rules_chinese.complements(words.masked(text[:MOST])))


def split_rule(goal: str) -> list[ConditionDraft]:
    """The rules that code can read; the question is made from the words of the condition, `rule` is verbatim."""
    if len(goal) > MOST or re.search(r"\s{30}", goal) or not looks_conditional(goal):
        return []
    found: list[ConditionDraft] = []
    before, alone = "", False
    for start, end in _sentences(goal):
        part = goal[start:end]
        draft = None if POLITE.search(part) else _read(part, before)
        both = draft is not None and bool(draft.if_yes and draft.if_no)
        if both and alone:
            # "If A, B. If C, D. Otherwise E." What "otherwise" speaks of is anybody's guess.
            found, draft = found[:-1], None
        if draft is not None:
            found.append(draft)
        before, alone = goal[start : end + 1], draft is not None and not both
    return found


def _read(part: str, before: str) -> ConditionDraft | None:
    chinese = re.search(r"[\u4e00-\u9fff]", words.masked(part))
    return rules_chinese.read(part, before) if chinese else rules_english.read(part, before)


def _sentences(goal: str) -> list[tuple[int, int]]:
    """Where each sentence stands; an "Otherwise, …" belongs to the one before it."""
    hidden = words.masked(goal)
    spans: list[tuple[int, int]] = []
    start = 0
    for match in [*SENTENCE.finditer(hidden), None]:
        end = match.start() if match else len(goal)
        if spans and STILL.match(hidden[start:end]):
            spans[-1] = (spans[-1][0], end)
        elif goal[start:end].strip():
            spans.append((start, end))
        start = match.end() if match else end
    return spans
