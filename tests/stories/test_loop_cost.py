"""What an iteration asks of the database is the same in the second and the twentieth, whatever came before the turn.

Touches: rows, the scripted model. tests/bench/bench_loop.py measures how long it takes.
"""

import random
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection

from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call
from chat.models import Message, Turn
from tests.bench.memories import fill
from tests.bench.parts import counting
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

# A look at the MCP servers once a second, whoever comes by then; one write when memories are shown that were not before.
NOW_AND_THEN = ("chat_mcpserver", 'UPDATE "memory_memoryrecord"')
# Queries of an iteration in which a call is read, judged and its step done; PostgreSQL locks the plan's row by one more, twice.
MOST = {"sqlite": 20, "postgresql": 22}


@pytest.fixture(autouse=True)
def _no_limits(settings: Any) -> None:
    settings.AGENT_STEP_ITERATIONS = 100
    settings.AGENT_MAX_ITERATIONS = 100
    settings.AGENT_SUMMARY_TOKENS = 10**9


async def queries(alice: User, script: list[Any], *, said: int = 0, memories: int = 0) -> list[list[str]]:
    """The queries of each iteration."""
    if memories:
        await in_db(fill, alice, memories, random.Random(1))
    async with Stage(alice, ScriptedLLM(script)) as stage:
        await in_db(talk, stage.conversation.id, said)
        with counting() as tally:
            ended = await stage.ended(await stage.say("Add up the parts"))
    assert ended.end == Turn.End.FINISHED
    return [[sql for sql in one if not any(name in sql for name in NOW_AND_THEN)] for one in tally.iterations]


def talk(conversation_id: UUID, messages: int) -> None:
    """Turns that have ended, of two messages each."""
    rows = Turn.objects.bulk_create(
        Turn(conversation_id=conversation_id, number=number, goal="Before", status="ended", end="finished")
        for number in range(1, messages // 2 + 1)
    )
    Message.objects.bulk_create(
        Message(conversation_id=conversation_id, turn=row, role=role, text=f"the {role} said {row.number}")
        for row in rows
        for role in ("user", "agent")
    )


async def test_the_twentieth_iteration_asks_no_more_than_the_second(alice: User) -> None:
    keep = [call("update_slots", name="part", value=n) for n in range(22)]
    script = [plan(("Add up", "calculate")), *keep, call("calculate", expression="1 + 1"), finish("Done.")]
    seen = await queries(alice, script)
    assert [len(one) for one in seen[2:22]] == [len(seen[2])] * 20, "\n".join(seen[21])


async def test_an_iteration_is_few_queries(alice: User) -> None:
    steps = plan(*[(f"Read part {n}", "calculate") for n in range(1, 6)])
    sums = [call("calculate", expression=f"{n} + {n}") for n in range(5)]
    seen = await queries(alice, [steps, *sums, finish("Done.")])
    assert max(map(len, seen[2:6])) <= MOST[connection.vendor], "\n".join(max(seen[2:6], key=len))


@pytest.mark.parametrize("more", [{"said": 200}, {"memories": 300}])
async def test_what_came_before_costs_no_query(alice: User, bob: User, more: dict[str, int]) -> None:
    steps = [plan(("Add up", "calculate"), ("And again", "calculate"))]
    steps += [call("calculate", expression=f"{n} + {n}") for n in range(2)]
    few = dict.fromkeys(more, 6)
    little = await queries(alice, [*steps, finish("Done.")], **few)
    much = await queries(bob, [*steps, finish("Done.")], **more)
    assert [len(one) for one in much] == [len(one) for one in little]
