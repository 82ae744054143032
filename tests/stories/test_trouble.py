"""Bad input, bad endpoints, stops and crashes: a clear end, nothing lost, and the next message works.

Touches: whole turns through the websocket.
"""

import asyncio
import json

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from chat import approvals, turns
from chat.db import in_db
from chat.errors import Refused
from chat.llm.scripted import ScriptedLLM, call, calls, fault
from chat.models import Approval, Message, ToolCall, Turn
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
SAVE = [plan(("Save it", "write_file")), call("write_file", path="a.txt", content="x"), finish("Saved.")]


@pytest.mark.parametrize(
    "text",
    [
        "🎉" * 500,
        "\u202eright to left\u202c",
        "zero\u200bwidth\u200d",
        "<script>alert(1)</script><img src=x onerror=1>",
        "a" * 100_000,
        "nul\0here",
    ],
)
async def test_any_text_is_taken_and_answered(alice: User, text: str) -> None:
    async with Stage(alice, ScriptedLLM([finish("Fine.")])) as stage:
        turn = await stage.ended(await stage.say(text))
    assert turn.end == Turn.End.FINISHED
    assert len(json.dumps(stage.llm.requests[0])) < 60_000


@pytest.mark.parametrize("text", ["", "   \n\t ", "\0", "\u200b\u200d\ufeff"])
async def test_an_empty_message_is_refused_in_words(alice: User, text: str) -> None:
    async with Stage(alice, ScriptedLLM([])) as stage:
        with pytest.raises(Refused, match="empty"):
            await in_db(turns.say, alice, stage.conversation.id, text)


async def test_a_message_beyond_the_limit_is_refused_with_the_limit(alice: User) -> None:
    async with Stage(alice, ScriptedLLM([])) as stage:
        with pytest.raises(Refused, match="200,000"):
            await in_db(turns.say, alice, stage.conversation.id, "a" * 200_001)


@pytest.mark.parametrize(
    ("reply", "said"),
    [(fault(401, "bad key"), "key"), (fault(404, "no such model"), "model"), (fault(400, "nonsense"), "nonsense")],
)
async def test_an_endpoint_that_refuses_ends_the_turn_with_advice_and_the_next_message_works(
    alice: User, reply: object, said: str
) -> None:
    async with Stage(alice, ScriptedLLM([reply, finish("Here again.")])) as stage:
        turn = await stage.ended(await stage.say("hello"))
        again = await stage.ended(await stage.say("hello again"))
    assert turn.end == Turn.End.FAILED and said in turn.reason.lower()
    assert again.end == Turn.End.FINISHED


async def test_an_endpoint_that_says_nothing_ends_the_turn_soon(alice: User) -> None:
    async with Stage(alice, ScriptedLLM(lambda _body: "")) as stage:
        turn = await stage.ended(await stage.say("Hello?"))
    assert (turn.gate, turn.iterations_used) == ("repeats", 2)
    assert "empty reply" in turn.reason and len(stage.llm.requests) == 4


async def test_a_failed_turn_can_be_tried_again(alice: User) -> None:
    async with Stage(alice, ScriptedLLM([fault(401, "bad key"), finish("Now it works.")])) as stage:
        failed = await stage.ended(await stage.say("hello"))
        turn = await stage.ended(await in_db(turns.retry, alice, failed.id))
    assert turn.end == Turn.End.FINISHED and turn.goal == "hello"


async def test_stop_takes_effect_within_a_second_in_mid_stream_and_keeps_what_came(alice: User) -> None:
    llm = ScriptedLLM([finish("word " * 2_000), finish("ok")], delay=0.01)
    async with Stage(alice, llm) as stage:
        turn = await stage.say("talk")
        await stage.row(lambda: True if len(stage.typed()) > 20 else None)
        started = asyncio.get_running_loop().time()
        await stage.socket.send_json_to({"type": "stop", "turn": str(turn.id)})
        turn = await stage.ended(turn)
        seconds = asyncio.get_running_loop().time() - started
        kept = await in_db(Message.objects.get, turn=turn, role="agent")
        await stage.row(lambda: True if llm.transport.left_early else None)
        again = await stage.ended(await stage.say("and now?"))
    assert turn.end == Turn.End.STOPPED and seconds < 1.5
    assert kept.mark == Message.Mark.STOPPED and kept.text.startswith("word word")
    assert again.end == Turn.End.FINISHED


async def test_stop_with_a_card_open_withdraws_it(alice: User) -> None:
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        turn = await stage.say("Save x")
        approval = await stage.asked(turn)
        await in_db(turns.stop, alice, turn.id)
        with pytest.raises(Refused):
            await stage.decide(approval, grant=True)
        calls = await stage.calls(turn)
        left = await in_db(Approval.objects.get, id=approval.id)
    assert (left.status, calls[-1].status) == ("withdrawn", "cancelled")


async def test_two_decisions_at_once_are_one_run_and_one_refusal(alice: User) -> None:
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        turn = await stage.say("Save x")
        approval = await stage.asked(turn)
        results = await asyncio.gather(
            *(stage.decide(approval, grant=True) for _tab in range(4)), return_exceptions=True
        )
        await stage.ended(turn)
        ran = [one for one in await stage.calls(turn) if one.tool == "write_file"]
    assert sum(isinstance(result, Refused) for result in results) == 3
    assert [one.status for one in ran] == ["succeeded"]


async def test_a_stale_tab_cannot_approve_what_it_did_not_show(alice: User) -> None:
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        turn = await stage.say("Save x")
        approval = await stage.asked(turn)
        with pytest.raises(Refused, match="changed"):
            await stage.decide(approval, grant=True, digest="0" * 64)
        await stage.decide(approval, grant=True, digest=approval.digest)
        assert (await stage.ended(turn)).end == Turn.End.FINISHED


async def test_an_expired_approval_runs_nothing_and_the_turn_goes_on(alice: User) -> None:
    async with Stage(alice, ScriptedLLM([*SAVE[:2], finish("It expired.")])) as stage:
        turn = await stage.say("Save x")
        approval = await stage.asked(turn)
        await in_db(Approval.objects.filter(id=approval.id).update, expires_at=timezone.now())
        with pytest.raises(Refused, match="expired"):
            await stage.decide(approval, grant=True)
        turn = await stage.ended(turn)
        saved = (stage.workspace() / "a.txt").exists()
    assert not saved and turn.end == Turn.End.FINISHED


async def test_always_allow_runs_the_same_again_and_asks_for_anything_else(alice: User) -> None:
    more = [plan(("Save it", "write_file")), call("write_file", path="a.txt", content="y"), finish("Saved.")]
    other = [plan(("Save it", "write_file")), call("write_file", path="b.txt", content="y"), finish("Saved.")]
    async with Stage(alice, ScriptedLLM([*SAVE, *more, *other])) as stage:
        turn = await stage.say("Save x")
        first = await stage.asked(turn)
        await stage.decide(first, grant=True, always=True, constraints={"path": "a.txt"})
        await stage.ended(turn)
        await in_db(first.refresh_from_db)
        same = await stage.ended(await stage.say("Save y"))
        asked = await stage.asked(await stage.say("Save b"))
    assert same.end == Turn.End.FINISHED and asked.args["path"] == "b.txt"
    assert first.status == Approval.Status.USED


async def test_a_rejected_call_stays_rejected_whatever_is_allowed_from_now_on(alice: User) -> None:
    both = calls(
        ("write_file", {"path": "a.txt", "content": "x"}),
        ("write_file", {"path": "b.txt", "content": "x"}),
    )
    async with Stage(alice, ScriptedLLM([SAVE[0], both, finish("Saved.")])) as stage:
        turn = await stage.say("Save both")
        await stage.until(turn, Turn.Status.WAITING_APPROVAL)
        asked = {row.args["path"]: row for row in await in_db(lambda: list(Approval.objects.filter(turn=turn)))}
        await stage.decide(asked["b.txt"], grant=False)
        await stage.decide(asked["a.txt"], grant=True, always=True)
        await stage.ended(turn)
        files = sorted(path.name for path in stage.workspace().iterdir())
    assert files == ["a.txt"]


async def test_a_write_cut_off_by_a_crash_is_unknown_and_the_person_decides(alice: User) -> None:
    async with Stage(alice, ScriptedLLM([*SAVE[:2], finish("Done.")])) as stage:
        turn = await stage.say("Save x")
        approval = await stage.asked(turn)
        await stage.runner.stop()
        await stage.decide(approval, grant=True)
        await in_db(_crash_in_the_write, turn, approval)
        await stage.start_runner()
        unknown = await stage.row(lambda: ToolCall.objects.filter(turn=turn, status="unknown").first(), turn)
        await stage.until(turn, Turn.Status.WAITING_APPROVAL)
        assert not (stage.workspace() / "a.txt").exists()
        await in_db(turns.settle_unknown, alice, unknown.id, "happened")
        turn = await stage.ended(turn)
    assert turn.end == Turn.End.FINISHED, turn.reason


def _crash_in_the_write(turn: Turn, approval: Approval) -> None:
    """The rows as a worker leaves them that died between the intent and the result."""
    with transaction.atomic():
        approvals.use(approval.id, approval.version)
    ToolCall.objects.filter(turn=turn, tool="write_file").update(status="running")
    Turn.objects.filter(id=turn.id).update(status="running", owner="dead", lease_until=timezone.now())


async def test_a_turn_that_crashed_its_worker_three_times_is_parked(alice: User) -> None:
    async with Stage(alice, ScriptedLLM([])) as stage:
        await stage.runner.stop()
        turn = await stage.say("hello")
        dead = {"status": "running", "owner": "dead", "crashes": 2, "lease_until": timezone.now()}
        await in_db(lambda: Turn.objects.filter(id=turn.id).update(**dead))
        await stage.start_runner()
        turn = await stage.ended(turn)
    assert turn.end == Turn.End.FAILED and "3 times" in turn.reason and "iteration 1" in turn.reason


async def test_a_worker_that_stops_hands_its_turn_to_the_next(alice: User) -> None:
    llm = ScriptedLLM([finish("word " * 500), finish("From the second worker.")], delay=0.01)
    async with Stage(alice, llm) as stage:
        turn = await stage.say("talk")
        await stage.row(lambda: True if stage.typed() else None)
        await stage.runner.stop()
        await stage.start_runner()
        turn = await stage.ended(turn)
        answers = await in_db(
            lambda: list(Message.objects.filter(turn=turn, role="agent").values_list("text", flat=True))
        )
    assert answers == ["From the second worker."]


async def test_more_budget_takes_an_exhausted_turn_up_where_it_stood(alice: User) -> None:
    llm = ScriptedLLM([plan(("Work it out", "calculate")), call("calculate", expression="1+1"), finish("2")])
    async with Stage(alice, llm) as stage:
        turn = await stage.say("1+1?")
        await in_db(lambda: Turn.objects.filter(id=turn.id).update(limits={**turn.limits, "iterations": 2}))
        turn = await stage.ended(turn)
        assert (turn.end, turn.gate) in {(Turn.End.EXHAUSTED, "iterations"), (Turn.End.FINISHED, "")}
        if turn.end == Turn.End.EXHAUSTED:
            await in_db(turns.continue_with_more, alice, turn.id)
            turn = await stage.ended(turn)
    assert turn.end == Turn.End.FINISHED


async def test_another_user_can_touch_nothing(alice: User, bob: User) -> None:
    async with Stage(alice, ScriptedLLM(SAVE)) as stage:
        turn = await stage.say("Save x")
        approval = await stage.asked(turn)
        for act in (
            lambda: turns.say(bob, stage.conversation.id, "hi"),
            lambda: turns.stop(bob, turn.id),
            lambda: turns.decide_approval(bob, approval.id, grant=True),
            lambda: turns.retry(bob, turn.id),
        ):
            with pytest.raises((Turn.DoesNotExist, Approval.DoesNotExist, type(stage.conversation).DoesNotExist)):
                await in_db(act)
