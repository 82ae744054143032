"""Read a file a person gave: PDF, DOCX, Markdown, HTML or plain text, into sections with headings and pages.

bytes -> Sections.  Touches: a process of its own, with limits; nothing else.

A file is hostile until it is read: it is parsed in a child process that may use so much memory and so much time, and
no more. The child is this very module: `python -m memory.reading KIND < file`.
"""

import io
import json
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SECONDS = 60  # for one file
MEMORY = 1_500_000_000  # bytes of the child
MOST_TEXT = 4_000_000  # characters taken from one file
MOST_PAGES = 3_000
MOST_UNPACKED = 200_000_000  # bytes a DOCX may unpack to
KINDS = {".pdf": "pdf", ".docx": "docx", ".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text",
         ".log": "text", ".csv": "text", ".html": "html", ".htm": "html"}  # fmt: skip
_AT_ONCE = threading.BoundedSemaphore(2)  # files read side by side in one process
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_FENCE = re.compile(r"^\s*(```|~~~)")


class Unreadable(Exception):
    """The file cannot be read; the message says why, for the person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of text under one heading, on one page."""

    heading: str  # "Chapter › Part", or empty
    page: int | None
    text: str


def kind_of(name: str, data: bytes) -> str:
    """By what the file is, then by its name. Raises Unreadable for what is none of them."""
    if data.startswith(b"%PDF-"):
        return "pdf"
    kind = KINDS.get(Path(name).suffix.lower(), "")
    if data.startswith(b"PK\x03\x04"):
        if kind == "docx":
            return kind
        raise Unreadable("This is an archive, not a document.")
    if kind in {"pdf", "docx"}:
        raise Unreadable(f"This is no {kind.upper()} file, whatever its name says.")
    if kind:
        return kind
    if b"\x00" in data[:4096]:
        raise Unreadable("This kind of file cannot be read; give a PDF, DOCX, Markdown, HTML or text file.")
    return "html" if re.match(rb"\s*<(!doctype html|html)", data[:200], re.I) else "text"


def read_apart(kind: str, data: bytes) -> list[Section]:
    """Read in a process of its own. Raises Unreadable; takes up to SECONDS."""
    command = [sys.executable, "-m", "memory.reading", kind]
    try:
        with _AT_ONCE:
            done = subprocess.run(
                command, input=data, capture_output=True, timeout=SECONDS, cwd=Path(__file__).parents[1], check=False,
                env={"PYTHONPATH": ":".join(path for path in sys.path if path), "LC_ALL": "C.UTF-8"},
            )  # fmt: skip
    except subprocess.TimeoutExpired as fault:
        raise Unreadable(f"Reading it took more than {SECONDS} seconds.") from fault
    try:
        answer = json.loads(done.stdout)
    except ValueError as fault:
        raise Unreadable("It could not be read: it is damaged, or needs too much memory.") from fault
    if answer.get("fault"):
        raise Unreadable(answer["fault"])
    return [Section(**row) for row in answer["sections"]]


def read(kind: str, data: bytes) -> list[Section]:
    """Read here and now; the child's half."""
    readers = {"pdf": _pdf, "docx": _docx, "markdown": _markdown_file, "html": _html, "text": _plain}
    found, taken = [], 0
    for section in readers[kind](data):
        text = section.text.strip()
        if text:
            found.append(Section(heading=section.heading[:300], page=section.page, text=text[: MOST_TEXT - taken]))
            taken += len(text)
        if taken >= MOST_TEXT:
            break
    return found


def _pdf(data: bytes) -> Iterator[Section]:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("It is protected by a password.")
    titles = _outline(reader)
    heading = ""
    for number, page in enumerate(reader.pages[:MOST_PAGES], 1):
        heading = titles.get(number, heading)
        yield Section(heading=heading, page=number, text=page.extract_text() or "")


def _outline(reader: Any) -> dict[int, str]:
    """Page -> the bookmark that stands there, with those above it."""
    titles: dict[int, str] = {}

    def walk(items: Any, above: tuple[str, ...]) -> None:
        last = above
        for item in items:
            if isinstance(item, list):
                walk(item, last)
            else:
                last = (*above, str(item.title).strip())
                titles[reader.get_destination_page_number(item) + 1] = " › ".join(last)

    try:
        walk(reader.outline, ())
    except Exception:
        return {}  # a broken outline is no reason not to read the pages
    return titles


def _docx(data: bytes) -> Iterator[Section]:
    from docx import Document
    from docx.table import Table

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(item.file_size for item in archive.infolist()) > MOST_UNPACKED:
            raise Unreadable("It unpacks to more than a document may.")
    path: list[str] = []
    lines: list[str] = []
    page = 1
    for block in Document(io.BytesIO(data)).iter_inner_content():
        if isinstance(block, Table):
            lines += [" | ".join(cell.text.strip() for cell in row.cells) for row in block.rows]
            continue
        style = str(block.style.name if block.style is not None else "")
        level = re.match(r"(?:Heading|标题) ?(\d)", style) or (re.match(r"Title", style) and re.match(r"()", ""))
        if level and block.text.strip():
            yield Section(heading=" › ".join(path), page=page, text="\n".join(lines))
            lines = []
            depth = int(level[1]) if level[1] else 0
            path = [*path[: max(depth - 1, 0)], block.text.strip()]
        elif block.text.strip():
            lines.append(block.text.strip())
        breaks = block.contains_page_break or 'w:type="page"' in str(block._p.xml)
        if breaks:  # as Word last laid it out, or as the author said
            yield Section(heading=" › ".join(path), page=page, text="\n".join(lines))
            lines, page = [], page + 1
    yield Section(heading=" › ".join(path), page=page, text="\n".join(lines))


def _markdown_file(data: bytes) -> Iterator[Section]:
    return _markdown(_decoded(data))


def _markdown(text: str) -> Iterator[Section]:
    path: list[str] = []
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        yield Section(heading=" › ".join(path), page=None, text="\n".join(lines))
        lines = []
        path = [*path[: len(heading[1]) - 1], heading[2]]
    yield Section(heading=" › ".join(path), page=None, text="\n".join(lines))


def _html(data: bytes) -> Iterator[Section]:
    import trafilatura

    page = _decoded(data)
    text = trafilatura.extract(page, output_format="markdown", include_tables=True, favor_recall=True)
    return _markdown(text or trafilatura.html2txt(page) or "")


def _plain(data: bytes) -> Iterator[Section]:
    yield Section(heading="", page=None, text=_decoded(data))


def _decoded(data: bytes) -> str:
    for encoding in ("utf-8-sig", "utf-16") if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig",):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    from charset_normalizer import from_bytes

    best = from_bytes(data[:200_000]).best()
    return data.decode(best.encoding if best else "latin-1", "replace")


def _main() -> None:
    import logging
    import resource

    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    try:
        answer: dict[str, Any] = {
            "sections": [asdict(section) for section in read(sys.argv[1], sys.stdin.buffer.read())]
        }
    except Unreadable as fault:
        answer = {"fault": str(fault)}
    except MemoryError:
        answer = {"fault": "It needs too much memory to be read."}
    except Exception as fault:
        answer = {"fault": f"It is damaged ({type(fault).__name__})."}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    _main()
