"""A decision on an action, made in every unfortunate way: the action runs once or not at all, and the page says which.

Touches: whole turns; the pages' own POST, in threads of their own as tabs are.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from html import unescape
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat import turns
from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call, calls
from chat.models import Approval, ToolCall, Turn
from chat.runner import Runner
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
SAVE = [plan(("Save it", "write_file")), call("write_file", path="a.txt", content="x"), finish("Done.")]
HTMX = {"HX-Request": "true"}
type Act = Callable[["Tabs"], Awaitable[list[str]]]


class Tabs:
    """Two pages of one person on one card, as it was when they were loaded."""

    def __init__(self, stage: Stage, approval: Approval) -> None:
        self.stage, self.approval, self.digest = stage, approval, approval.digest

    async def post(self, decision: str, **fields: str) -> str:
        """The words of the card that comes back."""
        data = {"decision": decision, "digest": self.digest} | fields
        url = reverse("approval-decide", args=[self.approval.pk])
        return await asyncio.to_thread(self._post, url, data)

    async def edit(self, content: str) -> str:
        return await self.post("edited", **{"arg-path": "a.txt", "arg-content": content})

    def _post(self, url: str, data: dict[str, str]) -> str:
        """In a thread and with a connection of its own, so that several really meet."""
        try:
            return said(self.client().post(url, data, headers=HTMX))
        finally:
            connections.close_all()

    def client(self) -> Client:
        client = Client()
        client.force_login(self.stage.user)
        return client

    async def decided(self) -> None:
        """Until the turn has used the decision."""
        await self.stage.row(lambda: Turn.objects.filter(id=self.approval.turn_id, status="ended").first())


def said(response: HttpResponse) -> str:
    html = response.content.decode()
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)))


# ---- the ways ----------------------------------------------------------------------------------------------


async def two_tabs_at_once(tabs: Tabs) -> list[str]:
    return list(await asyncio.gather(*(tabs.post("approve") for _tab in range(5))))


async def one_approves_while_the_other_rejects(tabs: Tabs) -> list[str]:
    return list(await asyncio.gather(tabs.post("reject", reason="No."), tabs.post("approve")))


async def after_it_expired(tabs: Tabs) -> list[str]:
    await in_db(Approval.objects.filter(id=tabs.approval.id).update, expires_at=timezone.now())
    return [await tabs.post("approve")]


async def after_the_other_tab_edited_it(tabs: Tabs) -> list[str]:
    await tabs.edit("y")
    return [await tabs.post("approve")]


async def edited_in_both_tabs(tabs: Tabs) -> list[str]:
    await tabs.edit("y")
    return [await tabs.edit("z")]


async def after_the_server_was_started_again(tabs: Tabs) -> list[str]:
    await tabs.stage.runner.stop()
    tabs.stage.runner = Runner(tabs.stage.llm)
    await tabs.stage.runner.start()
    return [await tabs.post("approve")]


async def while_no_server_works_and_then_one_starts(tabs: Tabs) -> list[str]:
    await tabs.stage.runner.stop()
    answer = await tabs.post("approve")
    tabs.stage.runner = Runner(tabs.stage.llm)
    await tabs.stage.runner.start()
    return [answer]


async def after_the_turn_was_stopped(tabs: Tabs) -> list[str]:
    await in_db(turns.stop, tabs.stage.user, tabs.approval.turn_id)
    return [await tabs.post("approve")]


async def while_the_turn_is_being_stopped(tabs: Tabs) -> list[str]:
    stop = in_db(turns.stop, tabs.stage.user, tabs.approval.turn_id)
    return [(await asyncio.gather(stop, tabs.post("approve")))[1]]


async def the_same_post_played_again_later(tabs: Tabs) -> list[str]:
    await tabs.post("approve")
    await tabs.decided()
    return [await tabs.post("approve"), await tabs.post("always"), await tabs.post("reject")]


async def approved_after_it_was_rejected(tabs: Tabs) -> list[str]:
    await tabs.post("reject")
    return [await tabs.post("approve")]


async def with_the_mark_of_another_card(tabs: Tabs) -> list[str]:
    tabs.digest = "0" * 64
    refused = await tabs.post("approve")
    await in_db(turns.stop, tabs.stage.user, tabs.approval.turn_id)
    return [refused]


# The way, what is in the file afterwards (None: there is none), and what every later or refused page says.
WAYS: list[tuple[Act, set[str | None], str]] = [
    (two_tabs_at_once, {"x"}, "Already decided|Approved"),
    (one_approves_while_the_other_rejects, {"x", None}, "Already decided|Approved|Rejected"),
    (after_it_expired, {None}, "This request has expired. Nothing was run"),
    (after_the_other_tab_edited_it, {"y"}, "Already decided: it was approved, and it runs once"),
    (edited_in_both_tabs, {"y"}, "Already decided: it was approved, and it runs once"),
    (after_the_server_was_started_again, {"x"}, "Approved by you"),
    (while_no_server_works_and_then_one_starts, {"x"}, "Approved by you"),
    (after_the_turn_was_stopped, {None}, "This request was withdrawn.* Nothing was run"),
    (while_the_turn_is_being_stopped, {None, "x"}, "This request was withdrawn|Approved by you"),
    (the_same_post_played_again_later, {"x"}, "Already decided: it was approved, and it runs once"),
    (approved_after_it_was_rejected, {None}, "Already decided: it was rejected, and nothing was run"),
    (with_the_mark_of_another_card, {None}, "The action changed since this page was loaded"),
]


@pytest.mark.parametrize(("way", "left", "words"), WAYS, ids=lambda part: getattr(part, "__name__", ""))
async def test_an_action_runs_once_or_not_at_all_and_the_page_says_so(
    alice: User, way: Act, left: set[str | None], words: str, counted: list[str]
) -> None:
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        turn = await stage.say("Save x")
        tabs = Tabs(stage, await stage.asked(turn))
        pages = await way(tabs)
        turn = await stage.ended(turn)
        file = stage.workspace() / "a.txt"
        found = file.read_text() if file.exists() else None
        made = [row.status for row in await stage.calls(turn) if row.tool == "write_file"]
    assert found in left and counted == ([] if found is None else [found])
    assert len(made) == 1 and (made == ["succeeded"]) is (found is not None)
    for page in pages:
        assert re.search(words, page), page


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was really written, each time."""
    written: list[str] = []
    replace = os.replace

    def count(draft: Path, path: Path) -> None:
        if path.name == "a.txt":
            written.append(draft.read_text())
        replace(draft, path)

    monkeypatch.setattr("chat.tools.files.os.replace", count)
    return written


# ---- several at once -----------------------------------------------------------------------------------------


async def test_each_call_of_a_batch_is_decided_for_itself(alice: User) -> None:
    batch = calls(*(("write_file", {"path": f"{name}.txt", "content": name}) for name in "abc"))
    llm = ScriptedLLM([plan(("Save them", "write_file")), batch, finish("Done.")])
    async with Stage(alice, llm) as stage:
        turn = await stage.say("Save a, b and c")
        await stage.asked(turn)
        cards = await in_db(lambda: list(Approval.objects.filter(turn=turn).order_by("call__index")))
        assert [card.args["content"] for card in cards] == ["a", "b", "c"]
        await Tabs(stage, cards[2]).post("approve")
        await stage.row(lambda: ToolCall.objects.filter(turn=turn, args__path="c.txt", status="succeeded").first())
        waiting = await stage.until(turn, "waiting_approval")
        assert not (stage.workspace() / "a.txt").exists()
        await Tabs(stage, cards[0]).post("reject", reason="Not this one.")
        await Tabs(stage, cards[1]).post("edited", **{"arg-path": "b.txt", "arg-content": "B"})
        await stage.ended(waiting)
        files = {path.name: path.read_text() for path in stage.workspace().iterdir()}
        rows = [(row.status, row.text) for row in await stage.calls(turn) if row.tool == "write_file"]
    assert files == {"b.txt": "B", "c.txt": "c"}
    assert [status for status, _text in rows] == ["rejected", "succeeded", "succeeded"]
    assert "Not this one." in rows[0][1]


# ---- what is kept of it -----------------------------------------------------------------------------------


async def test_proposal_decision_and_result_stand_together_afterwards(alice: User) -> None:
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        turn = await stage.say("Save x")
        tabs = Tabs(stage, await stage.asked(turn))
        await tabs.edit("y")
        await stage.ended(turn)
        card = said(await in_db(lambda: tabs.client().get(reverse("approval", args=[tabs.approval.pk]))))
    assert "Approved by you, edited" in card
    assert re.search(r"The agent proposed.* Text x ", card)
    assert "Saved a.txt, 1 bytes" in card


async def test_cards_decided_one_by_one_over_days_are_each_kept(alice: User) -> None:
    """The turn goes on after each decision; what the first said must not close the step that the others belong to."""
    three = calls(*(("write_file", {"path": f"{n}.txt", "content": "x"}) for n in range(3)))
    llm = ScriptedLLM([plan(("Save them", "write_file")), three, finish("Saved what you wanted.")])
    async with Stage(alice, llm) as stage:
        turn = await stage.say("Save three notes")
        await stage.asked(turn)
        cards = await in_db(lambda: list(Approval.objects.filter(turn=turn).order_by("call__index")))
        for number, card in enumerate(cards):
            await stage.until(turn, Turn.Status.WAITING_APPROVAL)
            await stage.decide(card, grant=number == 2)
            await stage.row(
                lambda card=card: ToolCall.objects.filter(id=card.call_id).exclude(status="waiting").first()
            )
        await stage.ended(turn)
        saved = [path.name for path in stage.workspace().iterdir()]
    assert saved == ["2.txt"]
