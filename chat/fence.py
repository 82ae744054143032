"""What comes from outside, put where the model can tell it from instructions.

text -> "<data>text</data>".  Touches: nothing (pure).

The fence holds only if nothing inside can close it, nor speak in the marks by which a chat template tells who is
speaking: on a local endpoint such marks in a text become the real ones.
"""

import re

_MARKS = re.compile(
    r"<(?=\s*/?\s*data\b)"  # the fence itself
    r"|<(?=\|[^|<>\n]{1,60}\|>)"  # <|im_start|>, <|eot_id|> …
    r"|<(?=｜[^｜<>\n]{1,60}｜>)"  # the same with full-width bars
    r"|<(?=/?(?:s|bos|eos|think|tool_call|tool_response|tools|start_of_turn|end_of_turn|system|user|assistant)>)"
    r"|<(?=<\s*/?\s*SYS\s*>)"
    r"|\[(?=/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT)\])",
    re.IGNORECASE,
)
# Unseen by a person and read by a model: tags, turned text, spaces without width. Joiners stay: scripts need them.
_UNSEEN = re.compile(r"[\u200b\u2060-\u2064\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_PLAIN = {"<": "‹", "[": "⟦"}


def fenced(text: str) -> str:
    return f"<data>{harmless(text)}</data>"


def closed(text: str) -> str:
    """A text with a fence in it that was cut: the fence ends where the text does."""
    return text + "</data>" * (text.count("<data>") - text.count("</data>"))


def harmless(text: str) -> str:
    """The same to a reader, without what a fence or a chat template would take for its own."""
    return _MARKS.sub(lambda mark: _PLAIN[mark[0]], _UNSEEN.sub("", text))
