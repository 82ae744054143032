"""Streamed text reaches every page once: those of this process directly, the others through a layer that processes share.

Touches: nothing; the layer is played.
"""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from channels.layers import InMemoryChannelLayer

from chat import events
from chat.consumers import ConversationConsumer


class Shared:
    """A layer between processes that keeps what it is given."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        self.sent.append(message)


class Page(ConversationConsumer):
    """A socket that keeps what it would send."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[dict[str, Any]] = []

    async def _tell(self, **frame: Any) -> None:
        self.frames.append(frame)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shared]:
    layer = Shared()
    monkeypatch.setattr(events, "get_channel_layer", lambda: layer)
    yield layer


async def test_the_pages_of_a_conversation_and_no_others_are_handed_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "get_channel_layer", lambda: InMemoryChannelLayer())
    here, there, other = Page(), Page(), Page()
    ours, theirs = uuid4(), uuid4()
    for page, conversation in ((here, ours), (there, ours), (other, theirs)):
        events.watch(conversation, page.agent_delta)
    await events.stream(ours, turn="t", kind="answer", at=0, text="Hi")
    events.unwatch(ours, there.agent_delta)
    await events.stream(str(ours), turn="t", kind="answer", at=2, text="!")
    assert [frame["text"] for frame in here.frames] == ["Hi", "!"]
    assert [frame["text"] for frame in there.frames] == ["Hi"]
    assert other.frames == []
    events.unwatch(ours, here.agent_delta)
    events.unwatch(theirs, other.agent_delta)
    assert not {str(ours), str(theirs)} & set(events._pages)


async def test_through_a_shared_layer_no_page_gets_it_twice(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    here, conversation = Page(), uuid4()
    events.watch(conversation, here.agent_delta)
    await events.stream(conversation, turn="t", kind="answer", at=0, text="Hi")
    (message,) = shared.sent
    await here.agent_delta(message)  # the layer brings it back to this process too
    assert [frame["text"] for frame in here.frames] == ["Hi"]
    monkeypatch.setattr(events, "PROCESS", "another")
    await here.agent_delta(message)  # as a page of another process sees it
    assert here.frames[1] == {"type": "delta", "turn": "t", "kind": "answer", "at": 0, "text": "Hi"}
    events.unwatch(conversation, here.agent_delta)


async def test_a_page_that_is_going_away_takes_nothing_from_the_others(shared: Shared) -> None:
    async def gone(event: Any) -> None:
        raise RuntimeError("closed")

    here, conversation = Page(), uuid4()
    events.watch(conversation, gone)
    events.watch(conversation, here.agent_delta)
    await events.stream(conversation, turn="t", kind="answer", at=0, text="Hi")
    assert [frame["text"] for frame in here.frames] == ["Hi"]
    events.unwatch(conversation, gone)
    events.unwatch(conversation, here.agent_delta)
