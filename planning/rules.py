"""Read an "if … otherwise …" out of a person's words, where code can be sure of it.

text -> ConditionDrafts.  Touches: nothing (pure).

English and Chinese. Unsure means an empty list: the model is asked then.
"""

import re

from planning.drafts import ConditionDraft

MARKERS = re.compile(
    r"\b(if|otherwise|else|unless|whether|depending on|in case|or else)\b|如果|若是|若|要是|假如|倘若|否则|不然|的话|取决于",
    re.IGNORECASE,
)
# Where a condition ends and its consequence begins when no comma says so: the verbs tasks are given with.
VERB = (
    r"(?:book|reserve|save|store|write|send|use|take|buy|choose|pick|make|delete|remove|call|order|create|add|remind|tell|"
    r"put|set|go|do|get|rent|pay|cancel|move|copy|read|open|reply|answer|mail|email|note|keep|give|stay|plan|schedule)"
)
ENGLISH = re.compile(
    rf"\b(?:if|when)\s+(?P<if>[^,;.!?\n]+?)(?:\s*,\s*(?:then\s+)?|\s+then\s+|\s+(?={VERB}\b))(?P<then>(?:[^;.!?\n]|\.(?=\S))+?)"
    r"\s*[,;.]\s*(?:otherwise|or else|else|if not)\b[,\s]*(?P<else>[^;!?\n]+?)(?=[;!?\n]|\.(?:\s|$)|$)",
    re.IGNORECASE,
)
HAN_VERB = r"(?:订|预订|预定|保存|存|写|把|将|发|买|用|选|删|告诉|安排|住|租|取消|通知|回复|记|就|则|那么|那就)"
BRANCHES = (
    r"(?:就|则|那么|那就)?(?P<then>[^，。；,;\n]+?)\s*[，,；;。]\s*"
    r"(?:否则|不然|要不然|要不)(?:的话)?[，,]?(?:就|则)?(?P<else>[^，。；;\n]+)"
)
# With a word for "if" a comma may end the condition; without one only a verb right behind it can.
CHINESE = (
    re.compile(
        rf"(?:如果|若是|若|要是|假如|倘若)(?P<if>[^，。；、,;\n]{{1,40}}?)(?:的话)?(?:[，,]\s*(?:那么|那就)?|(?={HAN_VERB})){BRANCHES}"
    ),
    re.compile(rf"(?P<if>[^，。；、,;\n]{{1,12}}?)(?:的话[，,]?)?(?={HAN_VERB}){BRANCHES}"),
)


def looks_conditional(text: str) -> bool:
    return bool(MARKERS.search(text))


def split_rule(goal: str) -> list[ConditionDraft]:
    """The rules whose two branches code can read; the question is made from the words of the condition."""
    found = [_draft(match, "Is it true that {}?") for match in ENGLISH.finditer(goal)]
    for pattern in CHINESE:
        found = found or [_draft(match, "{}吗？") for match in pattern.finditer(goal)]
    return found


def _draft(match: re.Match[str], question: str) -> ConditionDraft:
    return ConditionDraft(
        question=question.format(match["if"].strip()),
        if_yes=match["then"].strip(),
        if_no=match["else"].strip(),
        rule=match.group().strip(),
    )
