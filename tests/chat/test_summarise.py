"""The rolling summary: versioned rows, nothing exact lost, refused when too much would be, and bounded prompts.

messages, a scripted model -> Summary, state slots.  Touches: rows.
"""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat import budget, conversations
from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, structured
from chat.loop import summarise
from chat.loop.assemble import assemble
from chat.loop.observe import read
from chat.models import Conversation, Message, Summary, Turn
from memory import slots

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _soon(settings: Any) -> None:
    settings.AGENT_SUMMARY_TOKENS = 20


def talk(user: User, *said: str, extra: int = summarise.KEPT_TURNS) -> Turn:
    """A turn for each text, and the newest ones, which are never summarised. Returns the last."""
    conversation = Conversation.objects.create(user=user)
    for number, text in enumerate([*said, *["And now?"] * extra], 1):
        turn = Turn.objects.create(
            conversation=conversation, number=number, goal=text, status="ended", limits=budget.from_settings()
        )
        Message.objects.create(conversation=conversation, turn=turn, role="user", text=text)
        Message.objects.create(conversation=conversation, turn=turn, role="agent", text="Understood, I will see to it.")
    return turn


def model(*summaries: str) -> ScriptedLLM:
    return ScriptedLLM([], structured=[structured({"summary": text}) for text in summaries])


async def test_what_a_summary_loses_is_put_into_slots_with_the_words_around_it(alice: User) -> None:
    turn = await in_db(
        talk, alice, "Please book flight LH-2041 on 2026-10-03 for Ada Lovelace, at most 480 euros.", "Aisle please"
    )
    await summarise.summarise(turn, model("They want flight LH-2041 for Ada Lovelace."))
    row = await in_db(lambda: Summary.objects.get(conversation=turn.conversation))
    held = {view.name: view for view in await in_db(slots.views, turn.conversation_id)}
    assert set(held) == {"noted: 2026-10-03", "noted: 480"} == set(row.kept)
    assert "at most 480 euros" in held["noted: 480"].value and held["noted: 480"].set_by == "code"


async def test_versions_cover_what_came_since_and_the_newest_turns_stay_whole(alice: User) -> None:
    turn = await in_db(
        talk, alice, "I would like a quiet room somewhere near the old harbour", "It must have a desk to work at"
    )
    await summarise.summarise(turn, model("A quiet room near the harbour, with a desk."))
    more = await in_db(
        lambda: Turn.objects.create(conversation=turn.conversation, number=turn.number + 4, goal="x", status="ended")
    )
    await in_db(
        lambda: Message.objects.filter(turn__number__gt=2, role="user").update(
            text="a longer text than before, to be told in short " * 3
        )
    )
    llm = model("A quiet room with a desk; more was said.")
    await summarise.summarise(more, llm)
    first, second = await in_db(lambda: list(Summary.objects.filter(conversation=turn.conversation)))
    assert (first.version, second.version) == (1, 2) and first.upto < second.upto
    assert "A quiet room near the harbour, with a desk." in json.dumps(llm.requests[0])
    left = await in_db(lambda: Message.objects.filter(conversation=turn.conversation, id__gt=first.upto).count())
    assert left == 2 * summarise.KEPT_TURNS


async def test_a_summary_that_loses_too_much_is_refused_and_less_is_told_at_once(alice: User) -> None:
    many = ["The codes are " + ", ".join(f"A{n}{row}7" for n in range(10)) + "." for row in range(4)]
    turn = await in_db(talk, alice, *many)
    llm = model("Some codes.", "Fewer codes.", "Codes of the first.")
    await summarise.summarise(turn, llm)
    row = await in_db(lambda: Summary.objects.get(conversation=turn.conversation))
    assert row.text == "Codes of the first." and len(row.kept) == 10
    assert len(llm.requests) == 3


async def test_a_refused_summary_leaves_everything_as_it_was(alice: User) -> None:
    many = ["The codes are " + ", ".join(f"A{n}{row}7" for n in range(30)) + "." for row in range(4)]
    turn = await in_db(talk, alice, *many)
    await summarise.summarise(turn, model("a", "b", "c"))
    assert not await in_db(Summary.objects.filter(conversation=turn.conversation).exists)
    assert await in_db(slots.views, turn.conversation_id) == ()


async def test_when_the_state_is_full_no_summary_takes_the_place_of_the_words(alice: User) -> None:
    turn = await in_db(talk, alice, "The order has the number 77415 and the room has a view of the sea")
    full = [{"op": "set", "name": f"n{n}", "kind": "fact", "value": n} for n in range(slots.MOST_SLOTS)]
    await in_db(lambda: slots.patch(turn.conversation_id, full, by="person"))
    await summarise.summarise(turn, model("An order.", "An order."))
    assert not await in_db(Summary.objects.filter(conversation=turn.conversation).exists)


async def test_a_short_conversation_asks_the_model_nothing(alice: User, settings: Any) -> None:
    settings.AGENT_SUMMARY_TOKENS = 2_000
    llm = model()
    await summarise.summarise(await in_db(talk, alice, "Hello there"), llm)
    assert llm.requests == []


async def test_five_hundred_messages_stay_fast_and_within_the_budget(alice: User, settings: Any) -> None:
    long = await in_db(lambda: talk(alice, *[f"Thought {n}: " + "so it goes on and on " * 40 for n in range(250)]))
    short = await in_db(lambda: talk(alice, *["so it goes on"] * 10))
    await in_db(lambda: conversations.add_summary(long.conversation_id, "They think a lot.", upto=1, kept=[], tokens=9))
    few = (await in_db(counted, short))[1]
    seen, queries = await in_db(counted, long)
    context = assemble(seen)
    words = json.dumps(context.messages, ensure_ascii=False)
    assert "They think a lot." in words and "And now?" in words
    assert context.tokens <= settings.AGENT_CONTEXT_TOKENS
    assert queries <= few
    assert len(seen.window) < 100  # of 500: what cannot be shown is not read


def counted(turn: Turn) -> tuple[Any, int]:
    Turn.objects.filter(id=turn.id).update(status="running")
    with CaptureQueriesContext(connection) as made:
        return read(turn.id, turn.fence, turn.conversation.user_id, None), len(made)
