"""Estimate tokens without a tokenizer, and learn from what the endpoint counts.

text or messages -> tokens.  Touches: a correction factor per model, in memory.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache

from chat.types import Json

# Weights per kind of text, fitted to a current 200k vocabulary on English, Chinese, Japanese, Korean, German, code
# and JSON. Runs are matched, not characters: this is called for every section of every request.
_WIDE = "\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_WORDS = re.compile(rf"[^\W\d_{_WIDE}]+")
_PLAIN_WORDS = re.compile(r"[A-Za-z]+")
_NUMBERS = re.compile(r"\d{1,3}")
_LINES = re.compile(r"\n+")
_MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_WIDE_RUNS = (
    (re.compile(r"[\u2e80-\u303f\u3400-\ua4cf\uf900-\ufaff]+"), 0.65),  # Han and its punctuation
    (re.compile(r"[\u3040-\u33ff\uff00-\uffef]+"), 0.75),  # kana, full-width forms
    (re.compile(r"[\uac00-\ud7af]+"), 0.65),  # Hangul
    (re.compile(rf"[^\w\s!-~{_WIDE}]+"), 1.5),  # emoji, symbols
)
_KEPT_CHARS = 20_000  # longer texts are not worth the memory
_MESSAGE_OVERHEAD = 4  # role and separators of one message
_LOWEST, _HIGHEST = 0.6, 1.8  # beyond these an endpoint counts something else
_factors: dict[str, float] = {}


def estimate(text: str, model: str = "") -> int:
    """How many tokens the text is; with a model, corrected by what its endpoint has reported."""
    weight = _weigh(text) if len(text) < _KEPT_CHARS else _weigh.__wrapped__(text)
    return round(weight * _factors.get(model, 1.0) + 0.499)


def estimate_request(messages: Sequence[Json], tools: Sequence[Json] = (), model: str = "") -> int:
    """How many tokens a request is: texts, calls, tool schemas and the frame around each message."""
    total = sum(_weigh(str(message["content"])) for message in messages if message.get("content"))
    for message in messages:
        if calls := message.get("tool_calls"):
            total += _weigh(json.dumps(calls, ensure_ascii=False))
    total += sum(_weigh(json.dumps(tool, ensure_ascii=False)) for tool in tools)
    return round((total + _MESSAGE_OVERHEAD * len(messages)) * _factors.get(model, 1.0) + 0.499)


@lru_cache(maxsize=1024)  # most of a request was in the one before
def _weigh(text: str) -> float:
    words = (_PLAIN_WORDS if text.isascii() else _WORDS).findall(text)
    total = len(words) + sum(len(word) - 6 for word in words if len(word) > 6) / 5
    total += len(_NUMBERS.findall(text)) + 0.6 * len(_LINES.findall(text))
    total += 0.55 * sum(map(text.count, _MARKS))
    if not text.isascii():
        total += sum(weight * sum(map(len, runs.findall(text))) for runs, weight in _WIDE_RUNS)
    return total


def factor(model: str) -> float:
    """What estimates for this model are multiplied with."""
    return _factors.get(model, 1.0)


def learn(model: str, estimated: int, reported: int) -> None:
    """Move the model's factor a third of the way towards reported / estimated (uncorrected)."""
    if estimated < 50 or reported <= 0:  # too short to tell
        return
    ratio = min(_HIGHEST, max(_LOWEST, reported / estimated))
    _factors[model] = ratio if model not in _factors else _factors[model] + (ratio - _factors[model]) / 3
