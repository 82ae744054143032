"""Read a reply in fewer, larger pieces while many stream at once: what comes meanwhile waits in the kernel.

connection of a streaming reply -> the same connection, looked at less often.  Touches: the connection's reads.

Waking up for every token costs more than the token. A few streams are read as they come; with more of them each is looked
at every few hundredths of a second at most, which nobody sees.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AS_THEY_COME = 4  # streams that are not held up at all
EACH = 0.003  # seconds between two looks, for each stream under way
LONGEST = 0.04

_under_way: set["_Paced"] = set()


def seconds() -> float:
    """Between two looks at one stream."""
    return 0.0 if len(_under_way) <= AS_THEY_COME else min(LONGEST, EACH * len(_under_way))


class _Paced:
    def __init__(self, stream: Any) -> None:
        self.read_now = stream.read
        self.not_before = 0.0
        # A read through TLS brings one record, however many have come: only one that had to wait emptied the line.
        self.by_record = stream.get_extra_info("ssl_object") is not None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if (early := self.not_before - time.monotonic()) > 0:
            await asyncio.sleep(early)
        began = time.monotonic()
        data: bytes = await self.read_now(max_bytes, timeout)
        now = time.monotonic()
        more = len(data) >= max_bytes or (self.by_record and now - began < 0.001)
        self.not_before = 0.0 if more else now + seconds()
        return data


@contextmanager
def paced(response: Any) -> Iterator[None]:
    """For as long as the body of an HTTP response is read. A response without a connection is left as it is."""
    stream = response.extensions.get("network_stream")
    if stream is None:
        yield
        return
    this = _Paced(stream)
    _under_way.add(this)
    stream.read = this.read
    try:
        yield
    finally:
        del stream.read
        _under_way.discard(this)
