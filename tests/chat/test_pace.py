"""Reading a reply less often while many stream: a few are never held up, none ever falls behind, the line is given back.

Touches: nothing; connections are played.
"""

import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from chat.llm import pace


class Line:
    """A connection on which one byte waits at a time, or all that has come."""

    def __init__(self, waiting: list[bytes], *, tls: bool = False) -> None:
        self.waiting, self.tls = waiting, tls

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.waiting.pop(0)

    def get_extra_info(self, name: str) -> object | None:
        return object() if self.tls and name == "ssl_object" else None


def response(line: Line | None) -> Any:
    return SimpleNamespace(extensions={} if line is None else {"network_stream": line})


async def took(streams: int, *, tls: bool = False) -> float:
    """Seconds for eight reads of one of so many streams."""
    lines = [Line([b"x"] * 8, tls=tls) for _ in range(streams)]
    with ExitStack() as stack:
        for line in lines:
            stack.enter_context(pace.paced(response(line)))
        began = time.monotonic()
        for _ in range(8):
            assert await lines[0].read(1000) == b"x"
        return time.monotonic() - began


async def test_a_few_streams_are_read_as_they_come() -> None:
    assert await took(pace.AS_THEY_COME) < 0.02


async def test_many_streams_are_read_in_larger_pieces() -> None:
    assert await took(100) >= 7 * pace.LONGEST * 0.9


async def test_records_that_have_come_already_are_read_at_once() -> None:
    assert await took(100, tls=True) < 0.02  # else a stream of small records would fall behind for ever


async def test_the_line_is_given_back_and_the_first_read_never_waits() -> None:
    line = Line([b"x"] * 4)
    with ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(pace.paced(response(Line([]))))
        for _ in range(2):
            with pace.paced(response(line)):
                began = time.monotonic()
                await line.read(1000)
                assert time.monotonic() - began < 0.02
            assert "read" not in vars(line)
    assert pace.seconds() == 0.0


@pytest.mark.parametrize("streams", [1, 1000])
def test_nothing_is_held_up_longer_than_anyone_sees(streams: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_under_way", {object() for _ in range(streams)})
    assert pace.seconds() <= 0.05


def test_a_response_without_a_connection_is_left_alone() -> None:
    with pace.paced(response(None)):
        assert pace.seconds() == 0.0
