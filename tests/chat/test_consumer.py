"""The websocket door: who may open it, what goes in, what comes out.

frames -> frames.  Touches: rows; the channel layer.
"""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.db import connections
from django.test import Client
from django.utils.translation import get_language

from agentweb.asgi import application
from chat import events
from chat.consumers import LONGEST_FRAME, NOT_FOUND, SIGNED_OUT, TOO_BIG, ConversationConsumer
from chat.db import in_db
from chat.models import Conversation, Iteration, Message, Turn

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 40.0  # seconds until a frame that never comes is a failure
ORIGIN = b"http://localhost"


@pytest.fixture(autouse=True)
async def _closed_connections() -> AsyncIterator[None]:
    """The session of a socket is read in a thread that keeps its connection, which would lock the next test out."""
    yield
    await sync_to_async(connections.close_all)()


def cast() -> tuple[User, Conversation]:
    alice = User.objects.create_user("alice", password="a long enough one")
    return alice, Conversation.objects.create(user=alice)


def session_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


async def door(conversation_id: Any, session: str = "", origin: bytes = ORIGIN) -> WebsocketCommunicator:
    headers = [(b"origin", origin), (b"host", b"localhost"), (b"accept-language", b"en")]
    if session:
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={session}".encode()))
    return WebsocketCommunicator(application, f"/ws/c/{conversation_id}/", headers=headers)


async def opened(conversation: Conversation, user: User) -> WebsocketCommunicator:
    """A socket past its first frame, the text so far."""
    socket = await door(conversation.id, await in_db(session_of, user))
    assert (await socket.connect(PATIENCE))[0]
    assert (await socket.receive_json_from(PATIENCE))["type"] == "live"
    return socket


async def closed_with(socket: WebsocketCommunicator) -> int:
    frame = await socket.receive_output(PATIENCE)
    assert frame["type"] == "websocket.close", frame
    return int(frame["code"])


async def receive(socket: WebsocketCommunicator, kind: str) -> dict[str, Any]:
    """The next frame of a kind; what is told besides is skipped."""
    while True:
        frame: dict[str, Any] = await socket.receive_json_from(PATIENCE)
        if frame["type"] == kind:
            return frame


# ---- who may open it ----------------------------------------------------------------------------------


async def test_nobody_gets_in_without_a_session() -> None:
    _alice, conversation = await in_db(cast)
    socket = await door(conversation.id)
    await socket.connect(PATIENCE)
    assert await closed_with(socket) == SIGNED_OUT


async def test_somebody_else_is_told_that_there_is_nothing() -> None:
    _alice, conversation = await in_db(cast)
    bob = await in_db(User.objects.create_user, "bob")
    for target in (conversation.id, uuid.uuid4()):
        socket = await door(target, await in_db(session_of, bob))
        await socket.connect(PATIENCE)
        assert await closed_with(socket) == NOT_FOUND


async def test_somebody_else_can_neither_say_nor_stop_nor_hear() -> None:
    _alice, conversation = await in_db(cast)
    bob = await in_db(User.objects.create_user, "bob")
    own = await in_db(lambda: Conversation.objects.create(user=bob))
    turn = await in_db(lambda: Turn.objects.create(conversation=conversation, number=1, goal="x"))
    socket = await door(conversation.id, await in_db(session_of, bob))
    await socket.connect(PATIENCE)
    await socket.send_json_to({"type": "say", "text": "let me in", "id": "1"})
    assert await closed_with(socket) == NOT_FOUND
    other = await opened(own, bob)
    await other.send_json_to({"type": "stop", "turn": str(turn.id)})
    assert (await receive(other, "changed"))["turn"] is None
    await events.tell(conversation.id, "turn-changed", turn=turn.id)
    assert await other.receive_nothing()
    await in_db(turn.refresh_from_db)
    assert not turn.stop_requested and not await in_db(Message.objects.exists)
    await other.disconnect(timeout=PATIENCE)


async def test_another_site_cannot_use_the_session_of_a_visitor() -> None:
    alice, conversation = await in_db(cast)
    socket = await door(conversation.id, await in_db(session_of, alice), origin=b"https://evil.example")
    assert not (await socket.connect(PATIENCE))[0]


# ---- what goes in ---------------------------------------------------------------------------------------


async def test_what_is_said_starts_a_turn_and_is_acknowledged() -> None:
    alice, conversation = await in_db(cast)
    socket = await opened(conversation, alice)
    await socket.send_json_to({"type": "say", "text": "西安 😀", "id": "m-1"})
    said = await receive(socket, "said")
    message = await in_db(Message.objects.get)
    assert (said["id"], said["turn"]) == ("m-1", str(message.turn_id))
    assert (message.text, message.client_id) == ("西安 😀", "m-1")
    await socket.disconnect(timeout=PATIENCE)


async def test_a_message_sent_again_after_a_reconnect_is_one_message() -> None:
    alice, conversation = await in_db(cast)
    answers = []
    for _attempt in range(2):
        socket = await opened(conversation, alice)
        await socket.send_json_to({"type": "say", "text": "once", "id": "m-1"})
        answers.append(await receive(socket, "said"))
        await socket.disconnect(timeout=PATIENCE)
    assert answers[0] == answers[1]
    assert await in_db(Message.objects.count) == 1


async def test_a_refusal_names_the_message_and_says_why() -> None:
    alice, conversation = await in_db(cast)
    socket = await opened(conversation, alice)
    await socket.send_json_to({"type": "say", "text": "   ", "id": "m-1"})
    refused = await receive(socket, "refused")
    assert refused["id"] == "m-1" and "empty" in refused["message"]
    await socket.disconnect(timeout=PATIENCE)


async def test_a_stop_ends_a_turn_that_waits() -> None:
    alice, conversation = await in_db(cast)
    turn = await in_db(
        lambda: Turn.objects.create(conversation=conversation, number=1, goal="x", status=Turn.Status.WAITING_USER)
    )
    socket = await opened(conversation, alice)
    await socket.send_json_to({"type": "stop", "turn": str(turn.id)})
    await receive(socket, "changed")
    await in_db(turn.refresh_from_db)
    assert (turn.status, turn.end) == (Turn.Status.ENDED, Turn.End.STOPPED)
    await socket.disconnect(timeout=PATIENCE)


@pytest.mark.parametrize(
    "frame",
    [
        "not json",
        "[]",
        "null",
        '"say"',
        "[" * 100_000,
        '{"type": ["say"]}',
        '{"type": "say"}',
        '{"type": "say", "text": 1, "id": "x"}',
        '{"type": "say", "text": "x", "id": ""}',
        '{"type": "say", "text": "x", "id": {"a": 1}}',
        '{"type": "agent.changed", "changed": []}',
        '{"type": "connect"}',
    ],
)
async def test_a_malformed_frame_harms_nothing(frame: str) -> None:
    alice, conversation = await in_db(cast)
    socket = await opened(conversation, alice)
    await socket.send_to(text_data=frame)
    await socket.send_to(bytes_data=b"\x00\xff")
    await socket.send_json_to({"type": "ping"})
    assert await receive(socket, "pong")
    assert not await in_db(Message.objects.exists)
    await socket.disconnect(timeout=PATIENCE)


async def test_a_stop_for_nonsense_tells_the_page_to_look_again() -> None:
    alice, conversation = await in_db(cast)
    socket = await opened(conversation, alice)
    for turn in ("nonsense", None, str(uuid.uuid4())):
        await socket.send_json_to({"type": "stop", "turn": turn})
        assert (await receive(socket, "changed"))["changed"] == ["turn-changed"]
    await socket.disconnect(timeout=PATIENCE)


async def test_a_frame_that_no_message_could_fill_closes_the_socket() -> None:
    alice, conversation = await in_db(cast)
    socket = await opened(conversation, alice)
    await socket.send_to(text_data="x" * (LONGEST_FRAME + 1))
    assert await closed_with(socket) == TOO_BIG


async def test_a_session_that_ended_can_say_nothing_more() -> None:
    alice, conversation = await in_db(cast)
    session = await in_db(session_of, alice)
    socket = await door(conversation.id, session)
    await socket.connect(PATIENCE)
    await receive(socket, "live")

    def end() -> None:
        client = Client()
        client.cookies[settings.SESSION_COOKIE_NAME] = session
        client.post("/logout/")

    await in_db(end)
    await socket.send_json_to({"type": "say", "text": "still here?", "id": "m-1"})
    assert await closed_with(socket) == SIGNED_OUT
    assert not await in_db(Message.objects.exists)


async def test_what_a_person_does_is_answered_in_their_language() -> None:
    alice, _conversation = await in_db(cast)
    consumer = ConversationConsumer()
    session = SessionStore(await in_db(session_of, alice))
    languages = [(b"accept-language", b"zh-hans,en;q=0.5")]
    consumer.scope = {"user": alice, "session": session, "headers": languages, "cookies": {}}
    assert await in_db(consumer._as_person, lambda _user: get_language()) == "zh-hans"


# ---- what comes out -----------------------------------------------------------------------------------------


async def test_every_open_page_of_a_conversation_hears_what_changed() -> None:
    alice, conversation = await in_db(cast)
    pages = [await opened(conversation, alice) for _page in range(2)]
    await events.tell(conversation.id, "turn-changed", "plan-changed", turn="t-1")
    for socket in pages:
        frame = await socket.receive_json_from(PATIENCE)
        assert frame == {"type": "changed", "changed": ["turn-changed", "plan-changed"], "turn": "t-1"}
        await socket.disconnect(timeout=PATIENCE)


async def test_another_conversation_of_the_same_person_hears_of_the_list_only() -> None:
    alice, conversation = await in_db(cast)
    other = await in_db(lambda: Conversation.objects.create(user=alice))
    socket = await opened(other, alice)
    await events.tell(conversation.id, "turn-changed", turn="t-1")
    await events.tell_user(alice.pk, "conversations-changed")
    assert (await socket.receive_json_from(PATIENCE))["changed"] == ["conversations-changed"]
    assert await socket.receive_nothing()
    await socket.disconnect(timeout=PATIENCE)


async def test_streamed_text_comes_with_its_position_and_notices_apart() -> None:
    alice, conversation = await in_db(cast)
    socket = await opened(conversation, alice)
    await events.stream(conversation.id, turn="t", iteration=2, kind="answer", at=7, text="雨")
    await events.stream(conversation.id, turn="t", kind="notice", text="Busy.")
    delta = {"type": "delta", "turn": "t", "iteration": 2, "kind": "answer", "at": 7, "text": "雨"}
    assert await socket.receive_json_from(PATIENCE) == delta
    assert (await socket.receive_json_from(PATIENCE))["type"] == "notice"
    await socket.disconnect(timeout=PATIENCE)


async def test_a_page_that_joins_gets_the_text_so_far() -> None:
    alice, conversation = await in_db(cast)

    def running() -> Turn:
        turn = Turn.objects.create(
            conversation=conversation, number=1, goal="x", status=Turn.Status.RUNNING, partial="It rai"
        )
        Iteration.objects.create(turn=turn, number=1)
        return turn

    turn = await in_db(running)
    socket = await door(conversation.id, await in_db(session_of, alice))
    await socket.connect(PATIENCE)
    live = {"type": "live", "turn": str(turn.id), "iteration": 2, "text": "It rai"}
    assert await socket.receive_json_from(PATIENCE) == live
    await socket.send_json_to({"type": "resync"})
    assert await socket.receive_json_from(PATIENCE) == live
    await socket.disconnect(timeout=PATIENCE)


async def test_a_socket_that_has_gone_is_told_nothing_more() -> None:
    alice, conversation = await in_db(cast)
    socket = await opened(conversation, alice)
    await socket.disconnect(timeout=PATIENCE)
    await events.tell(conversation.id, "turn-changed")
    assert await socket.receive_nothing()
