"""Something waits, and the person is told elsewhere: once, with a link, and only where the operator wants it.

Touches: whole turns; Django's mail box of the tests; a web server on loopback.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail

from chat import notices
from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call
from chat.models import Notice
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage
from tests.support.pages import Pages, served

pytestmark = pytest.mark.django_db(transaction=True)
SAVE = [plan(("Save it", "write_file")), call("write_file", path="a.txt", content="x"), finish("Saved.")]
ASK = [call("ask_user", question="Which day?"), finish("Then.")]


@pytest.fixture
def web() -> Iterator[Pages]:
    with served() as pages:
        yield pages


@pytest.fixture(autouse=True)
def _at_once(settings: Any, alice: User) -> None:
    settings.AGENT_NOTIFY_AFTER = 0
    settings.AGENT_URL = "https://agent.example/"
    alice.email = "alice@example.com"
    alice.save()


async def test_an_action_that_waits_is_mailed_once_with_a_link(alice: User, settings: Any) -> None:
    settings.AGENT_NOTIFY_EMAIL = True
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        approval = await stage.asked(await stage.say("Save x"))
        for _round in range(3):
            await notices.send_due()
        await stage.row(lambda: Notice.objects.exclude(sent_at=None).first())
        link = f"https://agent.example/c/{stage.conversation.id}/"
    assert [(one.to, link in one.body) for one in mail.outbox] == [(["alice@example.com"], True)]
    assert "Saves a.txt" in mail.outbox[0].body and str(approval.digest) not in mail.outbox[0].body


async def test_a_question_is_mailed_in_its_own_words_and_the_next_pause_anew(alice: User, settings: Any) -> None:
    settings.AGENT_NOTIFY_EMAIL = True
    async with Stage(
        alice, ScriptedLLM([*ASK[:1], call("ask_user", question="Which hotel?"), finish("Then.")])
    ) as stage:
        turn = await stage.say("Book it")
        await stage.until(turn, "waiting_user")
        await notices.send_due()
        await stage.say("Monday")
        await stage.row(lambda: True if turn.iterations.filter(number=2).exists() else None)
        await stage.until(turn, "waiting_user")
        await notices.send_due()
        await stage.row(lambda: True if Notice.objects.exclude(sent_at=None).count() == 2 else None)
    assert ["Which day?" in mail.outbox[0].body, "Which hotel?" in mail.outbox[1].body] == [True, True]


async def test_an_address_is_told_with_what_waits(alice: User, settings: Any, web: Pages) -> None:
    settings.AGENT_NOTIFY_WEBHOOK = f"http://{web.address}/hook"
    settings.AGENT_FETCH_ALLOW = [web.address]
    web.put("/hook", "ok")
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        await stage.asked(await stage.say("Save x"))
        await notices.send_due()
        notice = await stage.row(lambda: Notice.objects.exclude(sent_at=None).first())
    sent = [body for method, path, _headers, body in web.seen if (method, path) == ("POST", "/hook")]
    told = json.loads(sent[0])
    assert len(sent) == 1 and notice.fault == ""
    assert (told["user"], told["waits"][0].split(" (")[0], told["link"].split("/c/")[0]) == (
        "alice",
        "Saves a.txt",
        "https://agent.example",
    )


async def test_a_private_address_that_is_not_allowed_is_not_asked_and_the_turn_waits_on(
    alice: User, settings: Any, web: Pages
) -> None:
    settings.AGENT_NOTIFY_WEBHOOK = f"http://{web.address}/hook"
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        turn = await stage.say("Save x")
        approval = await stage.asked(turn)
        await notices.send_due()
        notice = await stage.row(lambda: Notice.objects.exclude(sent_at=None).first())
        await stage.decide(approval, grant=True)
        turn = await stage.ended(turn)
    assert "private network" in notice.fault and not web.seen and turn.end == "finished"


async def test_nothing_is_sent_where_nobody_asked_for_it(alice: User) -> None:
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        await stage.asked(await stage.say("Save x"))
        await notices.send_due()
    assert not mail.outbox and not await in_db(Notice.objects.exists)


async def test_what_is_decided_in_time_is_not_told_of(alice: User, settings: Any) -> None:
    settings.AGENT_NOTIFY_EMAIL, settings.AGENT_NOTIFY_AFTER = True, 3_600
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        turn = await stage.say("Save x")
        approval = await stage.asked(turn)
        await notices.send_due()
        await stage.decide(approval, grant=True)
        await stage.ended(turn)
        settings.AGENT_NOTIFY_AFTER = 0
        await notices.send_due()
    assert not mail.outbox


async def test_a_mail_server_that_is_down_is_noted_and_the_turn_waits_on(alice: User, settings: Any) -> None:
    settings.AGENT_NOTIFY_EMAIL = True
    settings.EMAIL_BACKEND = "tests.stories.test_notices.Down"
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        turn = await stage.say("Save x")
        await stage.asked(turn)
        await notices.send_due()
        notice = await stage.row(lambda: Notice.objects.exclude(sent_at=None).first())
        await stage.until(turn, "waiting_approval")
    assert notice.fault == "E-mail: ConnectionRefusedError."


class Down:
    """A mail server that nobody answers for."""

    def __init__(self, *_args: object, **_options: object) -> None: ...

    def send_messages(self, messages: list[object]) -> int:
        raise ConnectionRefusedError
