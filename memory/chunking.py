"""Cut sections of a document into passages that can be found and quoted.

Sections -> Passages.  Touches: nothing (pure).

A passage never crosses a heading or a page, so that its citation is true; it ends with a paragraph or a sentence.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memory.reading import Section
from memory.text import cjk_share, clean

LATIN, CJK = 900, 400  # characters of a passage: about as much as a vector can stand for
SHORTEST = 0.25  # of that; a shorter rest joins the passage before it


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    heading: str
    page: int | None
    text: str


def cut(sections: Iterable[Section]) -> list[Cut]:
    return [
        Cut(heading=clean(section.heading), page=section.page, text=text)
        for section in sections
        for text in _passages(clean(section.text))
    ]


def _passages(text: str) -> Iterator[str]:
    most = int(CJK + (LATIN - CJK) * (1 - cjk_share(text[:5_000])))
    held = ""
    ready: list[str] = []
    for piece in _pieces(text, most):
        if held and len(held) + len(piece) + 1 > most:
            ready.append(held)
            held = piece
        else:
            held = f"{held}\n{piece}" if held else piece
    if held and ready and len(held) < most * SHORTEST:
        ready[-1] = f"{ready[-1]}\n{held}"
    elif held:
        ready.append(held)
    yield from ready


def _pieces(text: str, most: int) -> Iterator[str]:
    """Paragraphs; of one that is too long its sentences, of an endless sentence its parts."""
    for paragraph in re.split(r"\n\s*\n", text):
        paragraph = paragraph.strip()
        if len(paragraph) <= most:
            if paragraph:
                yield paragraph
            continue
        for sentence in re.split(r"(?<=[.!?])\s+|(?<=[。！？；])|\n", paragraph):
            for start in range(0, len(sentence), most):
                if part := sentence[start : start + most].strip():
                    yield part
