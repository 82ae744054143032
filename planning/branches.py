"""What follows from a decided condition: the branch in force, the goal without the rule, arguments with one value left.

ConditionViews -> words and values.  Touches: nothing (pure).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planning import words
from planning.types import ConditionView

# An argument that holds a text as it is, and a branch that says nothing but which text: "save the word big to a.txt".
TEXT_ARGUMENTS = ("content", "text", "body", "message")
LITERAL_ENGLISH = re.compile(
    r"(?:save|write|store|put|record|note|append|print|post)\s+(?:down\s+)?"
    + r"(?:(?:the\s+)?(?:word|text|string)\s+(?P<word>[A-Za-z0-9_-]+)|(?P<quoted>\x00+))"
    + r"(?:\s+(?:to|in|into|as|on)\s+(?:the\s+)?(?:file\s+)?\S+(?:\s+file)?)?",
    re.IGNORECASE,
)
LITERAL_CHINESE = re.compile(
    r"(?:把|将)?(?:保存|写入|写下|写|存|记录|记下|输出)?(?:单词|文字|文本|内容|词语|字)?\s*(?:(?P<word>[A-Za-z0-9_-]+)|(?P<quoted>\x00+))\s*"
    r"(?:(?:保存|写入|写|存|记录|放|输出)?(?:到|进|入|在)?\s*(?:文件)?\s*[\w./-]+(?:文件)?(?:中|里|内)?)?"
)


def follows(condition: ConditionView) -> str:
    """The branch in force, by code from the yes or no; empty while it is open and where nothing follows."""
    return {"yes": condition.then, "no": condition.otherwise}.get(condition.status, "")


def other(condition: ConditionView) -> str:
    """The branch that is not in force; empty while the condition is open."""
    return {"yes": condition.otherwise, "no": condition.then}.get(condition.status, "")


def because(condition: ConditionView) -> str:
    """The decided fact in words: the question, its answer, and what was read."""
    said = f"{condition.question} {condition.status}"
    return f"{said} ({condition.quote[:120]})" if condition.quote else said


def resolve(goal: str, conditions: Sequence[ConditionView]) -> str:
    """The goal with each decided rule replaced by what follows, so that a later step reads the fact, not the rule."""
    decided = [c for c in conditions if c.status != "open" and c.rule.strip()]
    for condition in sorted(decided, key=lambda c: -len(c.rule)):
        goal = goal.replace(condition.rule, follows(condition) or _nothing(condition))
    return goal


def decided_title(title: str, when: Mapping[str, str], conditions: Sequence[ConditionView]) -> str:
    """The title of the step that carries a condition out: the branch in force once it is decided."""
    mine = next((c for c in conditions if c.key == when.get("condition") and not when.get("branch")), None)
    return (follows(mine) if mine else "") or title


def bound_arguments(
    schema: Mapping[str, Any], conditions: Sequence[ConditionView], *, carried: str = ""
) -> dict[str, tuple[Any, str]]:
    """Arguments whose value a decided branch names: name -> (value, because). Nothing where it is ambiguous.

    carried: the key of the condition that the step in focus carries out; only its branch may fix a whole text.
    """
    bound: dict[str, tuple[Any, str]] = {}
    for name, choices in _choices(schema):
        found: dict[str, str] = {}
        for condition in conditions:
            value = _named_by(condition, choices)
            if value is not None:
                found.setdefault(value, because(condition))
        if len(found) == 1:  # two conditions that disagree bind nothing
            bound[name] = next(iter(found.items()))
    texts = [name for name in TEXT_ARGUMENTS if schema.get("properties", {}).get(name, {}).get("type") == "string"]
    mine = next((condition for condition in conditions if condition.key == carried), None)
    if mine is not None and len(texts) == 1 and texts[0] not in bound and (text := literal(follows(mine))):
        bound[texts[0]] = (text, because(mine))
    return bound


def literal(branch: str) -> str:
    """The text that a branch says to write, when it says nothing else; empty when it says more, or it is not sure."""
    hidden = words.masked(branch)
    chinese = re.search(r"[\u4e00-\u9fff]", hidden)
    match = (LITERAL_CHINESE if chinese else LITERAL_ENGLISH).fullmatch(hidden.strip(" .。"))
    if match is None:
        return ""
    start = len(hidden) - len(hidden.lstrip(" .。"))
    if match["word"]:
        return match["word"]
    return branch[start + match.start("quoted") + 1 : start + match.end("quoted") - 1].strip()


def contradicted(args: Mapping[str, Any], conditions: Sequence[ConditionView]) -> list[str]:
    """Arguments that carry out the branch that is not in force, in words the model can act on.

    Only where each branch quotes one value, or names one word that the other lacks, and the argument is that very word.
    """
    found = []
    for condition in conditions:
        right, wrong = _value(follows(condition), other(condition)), _value(other(condition), follows(condition))
        if condition.status == "open" or not right or not wrong:
            continue
        for name, value in args.items():
            if isinstance(value, str) and words.norm(value) == words.norm(wrong):
                found.append(f"{name} is {value!r}, but it must be {right!r}: {because(condition)}.")
    return found


def _choices(schema: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The arguments that have a fixed few values."""
    for name, prop in schema.get("properties", {}).items():
        options = [prop, *prop.get("anyOf", ())] if isinstance(prop, Mapping) else []
        values = [value for option in options for value in option.get("enum", ()) if isinstance(value, str)]
        if len(values) > 1:
            yield name, values


def _named_by(condition: ConditionView, choices: Sequence[str]) -> str | None:
    """The one choice that the branch in force names, when the condition decides about it at all."""
    here, there = follows(condition), other(condition)
    if not here or words.negated(here):
        return None
    mine, theirs = _mentioned(here, choices), _mentioned(there, choices)
    return mine[0] if len(mine) == 1 and mine != theirs else None


def _mentioned(text: str, choices: Sequence[str]) -> list[str]:
    """The choices named in a text, in its language or else in the other one; a longer one hides the shorter within it."""
    for aliases in (False, True):
        left, found = text.casefold(), []
        for choice in sorted(choices, key=len, reverse=True):
            pattern = words.choice_pattern(choice, aliases=aliases)
            if pattern.search(left):
                found.append(choice)
                left = pattern.sub(" ", left)
        if found:
            return found
    return []


def _value(branch: str, against: str) -> str:
    """What a branch is about: its one quoted value, else its one word that the other branch lacks."""
    quoted = words.QUOTED.findall(branch)
    if quoted:
        return quoted[0][1:-1] if len(quoted) == 1 else ""
    own = [word for word in re.findall(r"[A-Za-z0-9_.-]+", branch) if word.casefold() not in against.casefold()]
    return own[0] if len(own) == 1 else ""


def _nothing(condition: ConditionView) -> str:
    """Only one branch says what to do, and it is not in force."""
    undone = condition.then or condition.otherwise
    return f"不要{undone}" if re.search(r"[\u4e00-\u9fff]", undone) else f"do not {undone}"
