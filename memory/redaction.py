"""Blot what was forgotten out of text and JSON.

Forgotten, text -> text without it.  Touches: nothing (pure).

Whole sentences and lines go, not only words: half a sentence still tells. In what the machine wrote (contexts,
receipts, summaries, answers) a telling value is enough; in what the person wrote elsewhere only the very statement is
taken, for "Beijing" may also stand in a sentence about something else.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from memory.lexical import LONG_CODE, codes, content
from memory.text import normal
from memory.types import Forgotten

BLOT = "[forgotten]"
_PIECES = re.compile(r"([^\n.!?。！？；;]+(?:[.!?](?=\S)[^\n.!?。！？；;]*)*[.!?。！？；;]*)")
SHORTEST_VALUE = 3  # characters of a value that is telling by itself; two for Chinese


@dataclass(slots=True)
class Blotter:
    """Made once for what is forgotten, used on many texts."""

    forgotten: Forgotten
    phrases: dict[str, set[str]] = field(default_factory=dict)  # the first word -> normalised phrases that begin so
    words: dict[str, list[frozenset[str]]] = field(default_factory=dict)  # one word of a memory -> its words
    codes: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    hits: int = 0  # sentences blotted so far

    def __post_init__(self) -> None:
        for text in self.forgotten.texts:
            if phrase := normal(text):
                self.phrases.setdefault(_head(phrase), set()).add(phrase)
            bag = content(text)
            if len(bag) >= 2:
                self.words.setdefault(max(bag, key=lambda word: (len(word), word)), []).append(bag)
        found = [codes(text) for text in (*self.forgotten.texts, *self.forgotten.values)]
        self.codes = frozenset(code for held in found for code in held)
        self.values = frozenset(v for v in map(normal, self.forgotten.values) if _telling(v))

    def text(self, text: str, *, machine: bool) -> str:
        """The text with every sentence blotted that tells what was forgotten."""
        if not text or not text.strip():
            return text
        if text.lstrip()[:1] in "{[" and (held := _parsed(text)) is not None:
            blotted = self.json(held, machine=machine)
            return text if blotted == held else json.dumps(blotted, ensure_ascii=False)
        return _PIECES.sub(lambda match: self._piece(match.group(), machine), text)

    def json(self, value: Any, *, machine: bool = True, skip: Callable[[str], bool] = lambda key: False) -> Any:
        """The same for every text in a JSON value; a receipt entry about a forgotten memory loses its text."""
        if isinstance(value, str):
            return self.text(value, machine=machine)
        if isinstance(value, list):
            return [self.json(item, machine=machine, skip=skip) for item in value]
        if not isinstance(value, dict):
            return value
        if str(value.get("id", "")) in self.forgotten.ids and "text" in value:
            self.hits += bool(value["text"])
            return {**{key: item for key, item in value.items() if key in {"id", "kind", "score", "fate"}}, "text": ""}
        return {
            # A key may hold it too: slots and attributes are named by the model.
            self.text(key, machine=machine): item if skip(key) else self.json(item, machine=machine, skip=skip)
            for key, item in value.items()
        }

    def _piece(self, piece: str, machine: bool) -> str:
        if not self._tells(piece, machine):
            return piece
        self.hits += 1
        lead = piece[: len(piece) - len(piece.lstrip())]
        marks = re.match(r"[-*•\d.)\s]*", piece)
        return (marks.group() if marks else lead) + BLOT

    def _tells(self, piece: str, machine: bool) -> bool:
        plain = normal(piece)
        if not plain or BLOT.strip("[]") == plain:
            return False
        if self._has_phrase(plain):
            return True
        bag = content(piece)
        if self.codes and (bag & self.codes or any(code in plain or code in piece.casefold() for code in self.codes)):
            return True
        if any(held <= bag for word in bag for held in self.words.get(word, ())):
            return True
        return machine and any(_within(value, plain) for value in self.values)

    def _has_phrase(self, plain: str) -> bool:
        heads = {*plain.split(), *(char for char in plain if not char.isascii())} | {_head(plain)}
        return any(_within(phrase, plain) for head in heads for phrase in self.phrases.get(head, ()))


def _head(phrase: str) -> str:
    return phrase.split()[0] if phrase[0].isascii() else phrase[0]


def _telling(value: str) -> bool:
    if value.isdigit():
        return len(value) >= LONG_CODE
    return len(value) >= (SHORTEST_VALUE if value.isascii() else 2)


def _within(part: str, whole: str) -> bool:
    """By whole words in scripts that part words by spaces."""
    return f" {part} " in f" {whole} " if part.isascii() else part in whole


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
