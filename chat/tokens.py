"""Estimate tokens without a tokenizer, and learn from what the endpoint counts.

text or messages -> tokens.  Touches: a correction factor per model, in memory.
"""

import json
import re
from collections.abc import Sequence

from chat.types import Json

# One alternative per kind of text; the weights were fitted to a current 200k vocabulary on
# English, Chinese, Japanese, Korean, German, code and JSON.
_PIECES = re.compile(
    r"(?P<word>[^\W\d_\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+)"
    r"|(?P<number>\d{1,3})"
    r"|(?P<han>[\u2e80-\u303f\u3400-\ua4cf\uf900-\ufaff])"
    r"|(?P<kana>[\u3040-\u33ff\uff00-\uffef])"
    r"|(?P<hangul>[\uac00-\ud7af])"
    r"|(?P<lines>\n+[ \t]*)"
    r"|(?P<space>[ \t\r\f\v]+)"
    r"|(?P<mark>[!-/:-@\[-`{-~])"
    r"|(?P<other>.)",
    re.DOTALL,
)
_WEIGHT = {
    "number": 1.0,
    "han": 0.65,
    "kana": 0.75,
    "hangul": 0.65,
    "lines": 0.6,
    "space": 0.0,
    "mark": 0.55,
    "other": 1.5,
}
_MESSAGE_OVERHEAD = 4  # role and separators of one message
_LOWEST, _HIGHEST = 0.6, 1.8  # beyond these an endpoint counts something else
_factors: dict[str, float] = {}


def estimate(text: str, model: str = "") -> int:
    """How many tokens the text is; with a model, corrected by what its endpoint has reported."""
    total = 0.0
    for piece in _PIECES.finditer(text):
        kind = piece.lastgroup or "other"
        total += 1 + max(0, piece.end() - piece.start() - 6) / 5 if kind == "word" else _WEIGHT[kind]
    return round(total * _factors.get(model, 1.0) + 0.499)


def estimate_request(messages: Sequence[Json], tools: Sequence[Json] = (), model: str = "") -> int:
    """How many tokens a request is: texts, calls, tool schemas and the frame around each message."""
    texts = [str(message.get("content") or "") for message in messages]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    if calls or tools:
        texts.append(json.dumps([calls, list(tools)], ensure_ascii=False))
    return estimate("\n".join(texts), model) + _MESSAGE_OVERHEAD * len(messages)


def factor(model: str) -> float:
    """What estimates for this model are multiplied with."""
    return _factors.get(model, 1.0)


def learn(model: str, estimated: int, reported: int) -> None:
    """Move the model's factor a third of the way towards reported / estimated (uncorrected)."""
    if estimated < 50 or reported <= 0:  # too short to tell
        return
    ratio = min(_HIGHEST, max(_LOWEST, reported / estimated))
    _factors[model] = ratio if model not in _factors else _factors[model] + (ratio - _factors[model]) / 3
