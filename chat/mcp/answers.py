"""A server's answer in words: text kept, everything else named; cut, cleaned.

content blocks -> Answer.  Touches: nothing (pure).
"""

import base64
import binascii
import hashlib
import json
import mimetypes
from collections.abc import Iterable
from typing import Any

from chat.mcp import clean
from chat.mcp.types import Answer, Kept

MOST = 50_000  # characters of text that are kept; the model reads less, the page shows no more
BLOCKS = 200
FILES = 20  # of one answer


def read(content: Iterable[Any], structured: Any, *, error: bool) -> Answer:
    blocks, files = list(content), list[Kept]()
    parts = [_block(block, files) for block in blocks[:BLOCKS]]
    if len(blocks) > BLOCKS:
        parts.append(f"({len(blocks) - BLOCKS} more parts were left out.)")
    text = cut("\n".join(part for part in parts if part))
    if structured is None:
        return Answer(text=text, error=error, files=tuple(files))
    values = clean.value(structured)
    words = json.dumps(values, ensure_ascii=False)
    if len(words) > MOST:
        return Answer(text=text or cut(words), error=error, files=tuple(files))
    return Answer(text=text or words, structured=values, error=error, files=tuple(files))


def cut(text: str) -> str:
    if len(text) <= MOST:
        return text
    return f"{text[:MOST]}\n… ({len(text) - MOST:,} of {len(text):,} characters were left out: the result is too long.)"


def _block(block: Any, files: list[Kept]) -> str:
    """Nothing but text is read: a picture or file is kept and named, a link is written out and fetched by nobody."""
    match block.type:
        case "text":
            return clean.text(cut(block.text))
        case "image" | "audio":
            return _kept("An image" if block.type == "image" else "A sound", block.mime_type, block.data, files)
        case "resource_link":
            return f"(A link: {clean.seen(block.title or block.name, 120)} {clean.seen(block.uri, 500)})"
        case "resource":
            inside = block.resource
            name = clean.seen(inside.uri, 500)
            text = getattr(inside, "text", None)
            if isinstance(text, str):
                return f"({name})\n{clean.text(cut(text))}"
            return _kept(f"A file {name}", getattr(inside, "mime_type", ""), getattr(inside, "blob", ""), files)
    return "(A part of a kind that is not known here.)"


def _kept(what: str, kind: Any, packed: Any, files: list[Kept]) -> str:
    """Noted for the conversation's folder under a name of its own making: the server's may be anything."""
    words = f"{what}, {clean.seen(kind or 'of no kind', 60)}"
    try:
        data = base64.b64decode(str(packed), validate=True)
    except (binascii.Error, ValueError):
        return f"({words}: it cannot be read.)"
    if not data or len(files) >= FILES:
        return f"({words}, {len(data):,} bytes: it was left out.)"
    ending = mimetypes.guess_extension(str(kind).split(";")[0].strip().lower()) or ".bin"
    file = Kept(name=f"{hashlib.sha256(data).hexdigest()[:12]}{ending}", data=data)
    files.append(file)
    return f"({words}, {len(data):,} bytes: {file.name})"
