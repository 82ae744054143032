"""What an endpoint may do to a whole turn, beyond the shape of one reply: floods, words around calls, wrong types, plans for ever.

Touches: whole turns through the websocket. The shapes themselves are in tests/chat/test_gateway_quirks.py.
"""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call, calls
from chat.models import Approval
from planning.models import Plan
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)


async def test_twelve_writes_in_one_reply_are_twelve_decisions_and_each_call_is_answered_once(alice: User) -> None:
    flood = calls(*(("write_file", {"path": f"{n}.txt", "content": str(n)}) for n in range(12)))
    llm = ScriptedLLM([plan(("Save them", "write_file")), flood, finish("Saved what you wanted.")])
    async with Stage(alice, llm) as stage:
        turn = await stage.say("Save twelve notes")
        await stage.asked(turn)
        cards = await in_db(lambda: list(Approval.objects.filter(turn=turn, status="asked").order_by("call__index")))
        assert len({card.digest for card in cards}) == 12 and not stage.workspace().exists()
        for number, card in enumerate(cards):
            await stage.decide(card, grant=number == 7)
        await stage.ended(turn)
        saved = [path.name for path in stage.workspace().iterdir()]
    history = llm.requests[-1]["messages"]
    asked = [one["id"] for message in history for one in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"] for message in history if message["role"] == "tool"]
    assert saved == ["7.txt"] and asked == answered and len(set(asked)) == len(asked)


async def test_the_same_call_for_ever_ends_with_words_and_one_card(alice: User) -> None:
    again = call("write_file", path="a.txt", content="x")
    llm = ScriptedLLM([plan(("Save it", "write_file")), *[again] * 30])
    async with Stage(alice, llm) as stage:
        turn = await stage.say("Save x")
        await stage.decide(await stage.asked(turn), grant=False, reason="No.")
        turn = await stage.until(turn, "ended", "waiting_approval")
        cards = await in_db(Approval.objects.filter(turn=turn).count)
        if turn.status == "waiting_approval":
            await stage.decide(await stage.asked(turn), grant=False)
            turn = await stage.ended(turn)
    assert turn.reason and cards <= 3


async def test_words_around_a_call_stand_once_and_the_call_runs(alice: User) -> None:
    around = {
        "text": "Let me work it out. One moment.",
        "calls": [{"name": "calculate", "args": {"expression": "6*7"}}],
    }
    llm = ScriptedLLM([plan(("Work it out", "calculate")), around, finish("42")])
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("6*7?"))
        made = [row.status for row in await stage.calls(turn) if row.tool == "calculate"]
        html = await in_db(lambda: page(alice, stage))
    assert made == ["succeeded"] and turn.end == "finished"
    assert html.count("Let me work it out. One moment.") <= 1


async def test_numbers_and_lists_as_texts_are_what_the_card_shows_and_what_runs(alice: User) -> None:
    mail = call("send_email", to='["a@example.com"]', subject="s", text="t")
    llm = ScriptedLLM([plan(("Send it", "send_email")), mail, finish("Sent.")])
    async with Stage(alice, llm) as stage:
        approval = await stage.asked(await stage.say("Mail a"))
    assert approval.args["to"] == ["a@example.com"]


async def test_fifteen_hundred_pieces_at_once_all_reach_the_page_in_order(alice: User) -> None:
    words = " ".join(f"w{number}" for number in range(1_500))
    llm = ScriptedLLM([finish(words)])
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("Count"))
        await stage.row(lambda: True if stage.typed().rstrip() == words else None, turn)
        deltas = sum(event["type"] == "delta" for event in stage.events)
        assert await stage.answer(turn) == words
    assert deltas < 400  # in groups, or the page could not follow


async def test_a_new_plan_each_time_comes_to_an_end(alice: User) -> None:
    count = 0

    def replan(body: dict[str, object]) -> object:
        nonlocal count
        count += 1
        names = [tool["function"]["name"] for tool in body.get("tools", ())]  # type: ignore[attr-defined]
        steps = [{"title": f"Plan {count}", "tool": "calculate"}]
        if "set_plan" in names:
            return call("set_plan", steps=steps)
        return call("revise_plan", reason=f"Better {count}", steps=steps)

    async with Stage(alice, ScriptedLLM(replan)) as stage:
        turn = await stage.ended(await stage.say("6*7?"))
        plans = await in_db(Plan.objects.filter(turn=turn).count)
    assert turn.reason and plans <= 6 and count <= 30


async def test_what_would_act_on_the_page_is_text_in_the_answer(alice: User) -> None:
    hostile = (
        '<script>x</script><img src=x onerror=alert(1)><div hx-get="/logout/" hx-trigger="load" hx-swap-oob="true">'
        "[a](javascript:alert(1)) ![i](https://e.example/?q=secret) {{ 7*7 }}"
    )
    async with Stage(alice, ScriptedLLM([finish(hostile)])) as stage:
        turn = await stage.ended(await stage.say("Hello"))
        assert turn.end == "finished"
        html = await in_db(lambda: page(alice, stage))
    for sign in ("<script>x", "<img src=x", '<div hx-get="/logout/"', 'href="javascript:', 'src="https://e.example'):
        assert sign not in html
    assert "{{ 7*7 }}" in html and "https://e.example/?q=secret" in html


def page(user: User, stage: Stage) -> str:
    client = Client()
    client.force_login(user)
    return client.get(reverse("conversation", args=[stage.conversation.id])).content.decode()
