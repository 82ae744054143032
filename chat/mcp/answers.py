"""A server's answer in words: text kept, everything else named; cut, cleaned.

content blocks -> Answer.  Touches: nothing (pure).
"""

import json
from collections.abc import Iterable
from typing import Any

from chat.mcp import clean
from chat.mcp.types import Answer

MOST = 50_000  # characters of text that are kept; the model reads less, the page shows no more
BLOCKS = 200


def read(content: Iterable[Any], structured: Any, *, error: bool) -> Answer:
    blocks = list(content)
    parts = [_block(block) for block in blocks[:BLOCKS]]
    if len(blocks) > BLOCKS:
        parts.append(f"({len(blocks) - BLOCKS} more parts were left out.)")
    text = cut("\n".join(part for part in parts if part))
    if structured is None:
        return Answer(text=text, error=error)
    values = clean.value(structured)
    words = json.dumps(values, ensure_ascii=False)
    if len(words) > MOST:
        return Answer(text=text or cut(words), error=error)
    return Answer(text=text or words, structured=values, error=error)


def cut(text: str) -> str:
    if len(text) <= MOST:
        return text
    return f"{text[:MOST]}\n… ({len(text) - MOST:,} of {len(text):,} characters were left out: the result is too long.)"


def _block(block: Any) -> str:
    """Nothing but text is taken in: an image or a file is named, a link is written out and fetched by nobody."""
    match block.type:
        case "text":
            return clean.text(cut(block.text))
        case "image" | "audio":
            size = len(block.data) * 3 // 4
            return f"({'An image' if block.type == 'image' else 'A sound'}, {clean.seen(block.mime_type, 60)}, {size:,} bytes: it cannot be shown here.)"
        case "resource_link":
            return f"(A link: {clean.seen(block.title or block.name, 120)} {clean.seen(block.uri, 500)})"
        case "resource":
            inside = block.resource
            name = clean.seen(inside.uri, 500)
            text = getattr(inside, "text", None)
            return f"({name})\n{clean.text(cut(text))}" if isinstance(text, str) else f"(A file: {name})"
    return "(A part of a kind that is not known here.)"
