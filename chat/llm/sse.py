"""Cut the bytes of an HTTP body into the JSON events they hold, whatever way they were split on the wire.

bytes -> events.  Touches: nothing (pure).
"""

import json
from typing import Any

from chat.types import Json

_BOM = b"\xef\xbb\xbf"


def loads(raw: bytes) -> Any:
    """JSON from bytes; a byte that is no UTF-8 becomes a replacement mark instead of a fault."""
    try:
        return json.loads(raw)
    except UnicodeDecodeError:
        return json.loads(raw.decode("utf-8", "replace"))


class EventReader:
    """Reads a server-sent event stream, or a plain JSON body from an endpoint that does not stream."""

    __slots__ = ("_body", "_cr", "_event", "_pieces", "_started", "_tail", "done", "unread")

    def __init__(self) -> None:
        self.done = False  # [DONE] was seen
        self.unread = ""  # the first words that are neither an event nor JSON
        self._started = False
        self._body: list[bytes] | None = None  # set: no stream, the pieces of one document
        self._tail = b""  # an unfinished line
        self._cr = False  # the last byte was a carriage return
        self._pieces: list[bytes] = []  # data lines of an event that are no JSON yet
        self._event = b""  # the name of the event

    def feed(self, chunk: bytes) -> list[Json]:
        """The events that are complete with this piece."""
        if not self._started:
            chunk = (self._tail + chunk).lstrip(b" \t\r\n")
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._tail = chunk
                return []
            chunk, self._tail, self._started = chunk.removeprefix(_BOM), b"", True
            if chunk[:1] in {b"{", b"[", b"<"}:
                self._body = []
        if self._body is not None:
            self._body.append(chunk)
            return []
        if self._cr or b"\r" in chunk:
            chunk = self._plain_line_ends(chunk)
        events: list[Json] = []
        lines = (self._tail + chunk).split(b"\n")
        self._tail = lines.pop()
        for line in lines:
            self._take(line, events)
        return events

    def close(self) -> list[Json]:
        """The events in what is left when the body has ended."""
        events: list[Json] = []
        if not self._started:
            return events
        if self._body is not None:
            self._take_document(b"".join(self._body), events)
        elif self._tail:
            self._take(self._tail, events)
            self._tail = b""
        self._give_up_pieces()
        return events

    def _plain_line_ends(self, chunk: bytes) -> bytes:
        if self._cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # the second half of a CRLF; its line has ended already
        self._cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _take(self, line: bytes, events: list[Json]) -> None:
        if line.startswith(b"data:"):
            payload = line[5:].strip()
            if payload == b"[DONE]":
                self.done = True
            elif payload:
                self._parse(payload, events)
        elif not line:
            self._give_up_pieces()
            self._event = b""
        elif line.startswith(b"event:"):
            self._event = line[6:].strip()
        elif line.startswith(b"error:"):
            self._event = b"error"
            self._parse(line[6:].strip(), events)
        elif line[:1] == b"{":
            self._parse(line, events)
        elif not line.startswith((b":", b"id:", b"retry:")):
            self._keep_unread(line)

    def _parse(self, payload: bytes, events: list[Json]) -> None:
        if self._pieces:
            payload = b"\n".join([*self._pieces, payload])
        try:
            value = loads(payload)
        except (ValueError, RecursionError):
            # An event may be spread over several data lines; the blank line will tell.
            self._pieces = [payload]
            return
        self._pieces = []
        for item in value if isinstance(value, list) else [value]:
            if self._event == b"error" and not (isinstance(item, dict) and item.get("error")):
                events.append({"error": item})
            elif isinstance(item, dict):
                events.append(item)

    def _take_document(self, body: bytes, events: list[Json]) -> None:
        try:
            value = loads(body)
        except (ValueError, RecursionError):
            for line in body.splitlines():  # one JSON document per line
                self._take(line.strip(), events)
            return
        events.extend(item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict))

    def _give_up_pieces(self) -> None:
        if self._pieces:
            self._keep_unread(self._pieces[0])
            self._pieces = []

    def _keep_unread(self, raw: bytes) -> None:
        if not self.unread:
            self.unread = raw[:300].decode("utf-8", "replace").strip()
