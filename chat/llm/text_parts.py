"""Tell apart, while text streams, what is answer, what is thinking and what is a tool call written as text.

text deltas -> (kind, text) pieces.  Touches: nothing (pure).
"""

import re
from collections.abc import Collection

ANSWER, THOUGHT = "answer", "thought"
CLOSED = "closed"  # an end of thinking whose beginning was never said: what came before was thinking

_TAGS = ("think", "thinking", "thought", "reasoning")
_HARMONY_THINK = "<|channel|>analysis<|message|>"
_HARMONY_END = "<|end|>"
_OPENERS = (*(f"<{tag}>" for tag in _TAGS), _HARMONY_THINK)
_CLOSERS = tuple(f"</{tag}>" for tag in _TAGS)
# Marks of the template that mean nothing to a reader.
_NOISE = (
    "<|start|>assistant",
    "<|channel|>final<|message|>",
    "<|end|>",
    "<|return|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|endoftext|>",
)
CALL_MARKS = {
    "<tool_call>": "</tool_call>",
    "<tool_calls>": "</tool_calls>",
    "<function_call>": "</function_call>",
    "<function=": "</function>",
    "[TOOL_CALLS]": "",
    "<|python_tag|>": "",
    "<|tool_call|>": "",
    "<|channel|>commentary": "<|call|>",
}


def _any_of(*groups: Collection[str]) -> re.Pattern[str]:
    words = sorted((word for group in groups for word in group), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)), re.IGNORECASE)


_AT_START = _any_of(_OPENERS)
_IN_TEXT = _any_of(_OPENERS, _CLOSERS, _NOISE)
_IN_TEXT_WITH_CALLS = _any_of(_OPENERS, _CLOSERS, _NOISE, CALL_MARKS)
_LITERALS = tuple(word.lower() for word in (*_OPENERS, *_CLOSERS, *_NOISE, *CALL_MARKS))
_LONGEST = max(map(len, _LITERALS))
_SPECIAL = re.compile(r"[<\[`]")


def _held_back(text: str, literals: Collection[str]) -> int:
    """How many of the last characters may be the beginning of a mark."""
    tail = text[-_LONGEST + 1 :].lower()
    for start, char in enumerate(tail):
        if char in "<[" and any(word.startswith(tail[start:]) for word in literals):
            return len(tail) - start
    return 0


class TextParts:
    """Splits the text of one reply. With calls=True tool calls written as text are kept out of the answer."""

    __slots__ = (
        "_closer",
        "_fences",
        "_hold_all",
        "_last",
        "_mode",
        "_pending",
        "_ticks",
        "marks",
        "unclosed",
        "with_calls",
    )

    def __init__(self, *, with_calls: bool) -> None:
        self.with_calls = with_calls
        self.marks: list[str] = []  # tool calls written as text, with their tags
        self.unclosed = ""  # what the reply ended in the middle of: "think" or "call"
        self._mode = "start"
        self._pending = ""
        self._closer = ""
        self._last = "\n"  # the last character shown
        self._ticks = 0  # backticks at the end of what was shown
        self._fences = 0  # code fences shown; odd: inside one
        self._hold_all = False  # the text may be nothing but a call in JSON: shown only when it is known not to be

    def feed(self, text: str) -> list[tuple[str, str]]:
        """The pieces that are certain with this delta."""
        if self._mode == "text" and not self._pending and not _SPECIAL.search(text):
            self._last, self._ticks = text[-1], 0
            return [(ANSWER, text)]
        self._pending += text
        pieces: list[tuple[str, str]] = []
        while self._step(pieces):
            pass
        return pieces

    def close(self) -> list[tuple[str, str]]:
        """What was held back, when the reply has ended."""
        pieces: list[tuple[str, str]] = []
        if self._mode == "start" and (text := self._pending.lstrip()):
            self._pending, self._mode = text, "text"
        self._hold_all = False
        while self._step(pieces):
            pass
        rest, self._pending = self._pending, ""
        if self._mode == "think":
            self.unclosed = "think"
            pieces += [(THOUGHT, rest)] if rest else []
        elif self._mode == "call":
            self.unclosed = "call"
            self.marks.append(rest)
        elif self._mode == "text" and rest:
            pieces.append((ANSWER, rest))
        return pieces

    def _step(self, pieces: list[tuple[str, str]]) -> bool:
        """Take one part off the pending text; False when more is needed to go on."""
        match self._mode:
            case "start":
                return self._start()
            case "think":
                return self._think(pieces)
            case "call":
                return self._call()
        return self._text(pieces)

    def _start(self) -> bool:
        text = self._pending.lstrip()
        if not text:
            return False
        if found := _AT_START.match(text):
            self._open_thinking(found[0].lower(), text[found.end() :])
            return True
        lowered = text.lower()
        if any(word.startswith(lowered) for word in _OPENERS):
            return False
        self._pending, self._mode = text, "text"
        self._hold_all = self.with_calls and text[0] in "{[`"
        return True

    def _open_thinking(self, tag: str, rest: str) -> None:
        self._closer = _HARMONY_END if tag == _HARMONY_THINK else tag.replace("<", "</")
        self._mode, self._pending = "think", rest

    def _think(self, pieces: list[tuple[str, str]]) -> bool:
        at = self._pending.lower().find(self._closer)
        if at < 0:
            keep = _held_back(self._pending, (self._closer,))
            sure = self._pending[: len(self._pending) - keep]
            if sure:
                pieces.append((THOUGHT, sure))
                self._pending = self._pending[len(sure) :]
            return False
        if at:
            pieces.append((THOUGHT, self._pending[:at]))
        self._pending, self._mode = self._pending[at + len(self._closer) :], "start"
        return True

    def _call(self) -> bool:
        at = self._pending.find(self._closer) if self._closer else -1
        if at < 0:
            return False
        end = at + len(self._closer)
        self.marks.append(self._pending[:end])
        self._pending, self._mode = self._pending[end:].lstrip(), "text"
        return True

    def _text(self, pieces: list[tuple[str, str]]) -> bool:
        if self._hold_all:
            return False
        pattern = _IN_TEXT_WITH_CALLS if self.with_calls else _IN_TEXT
        found = pattern.search(self._pending)
        if not found:
            keep = _held_back(self._pending, _LITERALS)
            self._show(self._pending[: len(self._pending) - keep], pieces)
            self._pending = self._pending[len(self._pending) - keep :]
            return False
        mark, after = found[0], self._pending[found.end() :]
        self._show(self._pending[: found.start()], pieces)
        self._pending = after
        lowered = mark.lower()
        written_about = self._fences % 2 == 1 or self._last == "`"
        if written_about or (lowered in _OPENERS and self._last != "\n"):
            self._show(mark, pieces)
        elif lowered in _CLOSERS:
            pieces.append((CLOSED, ""))
            self._mode = "start"
        elif lowered in _OPENERS:
            self._open_thinking(lowered, after)
        elif mark in CALL_MARKS and self.with_calls:
            self._mode, self._closer, self._pending = "call", CALL_MARKS[mark], mark + after
        return True

    def _show(self, text: str, pieces: list[tuple[str, str]]) -> None:
        if not text:
            return
        for char in text if "`" in text or self._ticks else "":
            self._ticks = self._ticks + 1 if char == "`" else 0
            self._fences += self._ticks == 3
        self._last = text[-1]
        pieces.append((ANSWER, text))
