"""Turns that worker processes run: killed ones, stopped ones, jobs that come twice or not at all.

Touches: PostgreSQL, Redis, processes of `manage.py work`, an endpoint on a port.
"""

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, connections, transaction

from chat import conversations, turns, wake
from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call
from chat.models import Iteration, Message, ToolCall, Turn
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage, describe
from tests.support.endpoint import Endpoint, playing
from tests.support.served import free_port
from tests.support.worker import PATIENCE, WorkerProcess, wait

if not (settings.AGENT_DATABASE_URL and settings.AGENT_REDIS_URL):
    pytest.skip("needs PostgreSQL and Redis: scripts/with-services.sh", allow_module_level=True)

from procrastinate.contrib.django.models import ProcrastinateJob

from chat import jobs
from chat.worker import Worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
SUMS = ("11 + 1", "22 + 2", "33 + 3")


class Sums:
    """A model that asks for one sum after another. Its reply to the second is held back once."""

    def __init__(self) -> None:
        self.held, self.go = threading.Event(), threading.Event()

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        seen = json.dumps(body["messages"])
        left = [text for text in SUMS if text not in seen]
        if not any(tool["function"]["name"] == "calculate" for tool in body["tools"]) and left:
            return plan(*((f"Work out the {nth} sum", "calculate") for nth in ("first", "second", "third")))
        if len(left) == 2 and not self.held.is_set():
            self.held.set()
            self.go.wait(PATIENCE)
        return call("calculate", expression=left[0]) if left else finish("12, 24 and 36.")


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with playing(Sums()) as endpoint:
        yield endpoint
        endpoint.policy.go.set()


@pytest.fixture(autouse=True)
def _jobs_are_written(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(wake, "_deliverers", [jobs.deliver])
    _empty_the_queue()
    yield
    _empty_the_queue()


@pytest.fixture
def two_workers(endpoint: Endpoint) -> Iterator[list[WorkerProcess]]:
    found: list[WorkerProcess] = []
    try:
        found += [WorkerProcess(endpoint.url), WorkerProcess(endpoint.url)]
        yield found
    finally:
        for worker in found:
            worker.kill()


def _empty_the_queue() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")


def began(user: User) -> Turn:
    return turns.say(user, conversations.create(user).id, "Work out three sums.").turn


def check_that_nothing_was_done_twice(turn: Turn) -> None:
    numbers = list(Iteration.objects.filter(turn=turn).order_by("number").values_list("number", flat=True))
    assert numbers == [1, 2, 3, 4, 5], describe(turn)
    asked = list(ToolCall.objects.filter(turn=turn, tool="calculate").order_by("iteration__number"))
    assert [each.args["expression"] for each in asked] == list(SUMS)
    assert Message.objects.filter(turn=turn, role="agent").count() == 1


def test_a_worker_is_killed_and_another_goes_on_where_it_stood(
    alice: User, endpoint: Endpoint, two_workers: list[WorkerProcess]
) -> None:
    turn = began(alice)
    assert endpoint.policy.held.wait(PATIENCE)
    first, second = sorted(two_workers, key=lambda worker: not worker.runs(turn))
    first.kill()
    killed = time.monotonic()
    endpoint.policy.go.set()
    wait(lambda: Turn.objects.get(id=turn.id).status == Turn.Status.ENDED)
    turn.refresh_from_db()
    assert (turn.end, turn.crashes) == (Turn.End.FINISHED, 1), second.log.read_text()
    assert time.monotonic() - killed < 40  # its lease is 8 s
    check_that_nothing_was_done_twice(turn)
    assert len(endpoint.asked) == 6  # the one call that was cut off was made again


def test_a_worker_that_is_told_to_end_hands_its_turn_to_the_other_at_once(
    alice: User, endpoint: Endpoint, two_workers: list[WorkerProcess]
) -> None:
    turn = began(alice)
    assert endpoint.policy.held.wait(PATIENCE)
    first, second = sorted(two_workers, key=lambda worker: not worker.runs(turn))
    assert first.stop() == 0 and "Traceback" not in first.log.read_text()
    wait(lambda: second.runs(turn) or Turn.objects.get(id=turn.id).status == Turn.Status.ENDED)
    endpoint.policy.go.set()
    wait(lambda: Turn.objects.get(id=turn.id).status == Turn.Status.ENDED)
    turn.refresh_from_db()
    assert (turn.end, turn.crashes) == (Turn.End.FINISHED, 0)
    check_that_nothing_was_done_twice(turn)


def test_a_job_is_there_if_and_only_if_the_turn_is(alice: User) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        began(alice)
        assert ProcrastinateJob.objects.filter(queue_name=jobs.TURNS).count() == 1
        raise ZeroDivisionError
    assert not Turn.objects.exists() and not ProcrastinateJob.objects.exists()
    turn = began(alice)
    job = ProcrastinateJob.objects.get()
    assert (job.lock, job.queueing_lock, job.args) == (str(turn.conversation_id), str(turn.id), {"turn": str(turn.id)})


def test_one_job_waits_for_a_turn_however_often_it_is_delivered(alice: User) -> None:
    turn = began(alice)
    jobs.deliver(turn)
    jobs.deliver_missed()
    assert ProcrastinateJob.objects.count() == 1


async def test_a_job_that_was_lost_is_written_again(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.stories.stage.runner_class", lambda: Worker)
    async with Stage(alice, ScriptedLLM([finish("Here.")])) as stage:
        monkeypatch.setattr(wake, "_deliverers", [])
        turn = await stage.ended(await stage.say("Are you there?"))
    assert turn.end == Turn.End.FINISHED


async def test_a_job_that_comes_twice_works_on_its_turn_once(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    llm = ScriptedLLM([finish("Once.")])
    monkeypatch.setattr("tests.stories.stage.runner_class", lambda: Worker)
    async with Stage(alice, llm) as stage:
        turn = await stage.ended(await stage.say("Say it once."))
        await in_db(jobs.deliver, turn)
        await stage.row(lambda: None if ProcrastinateJob.objects.filter(queue_name=jobs.TURNS).exists() else True)
    assert len(llm.requests) == 1


def test_every_connection_is_cut_and_the_turns_go_on(
    alice: User, endpoint: Endpoint, two_workers: list[WorkerProcess]
) -> None:
    """What a restart of PostgreSQL does to those who are connected to it."""
    turn = began(alice)
    assert endpoint.policy.held.wait(PATIENCE)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        assert cursor.fetchone()[0] >= 4  # pools and listeners of both
    connection.close()
    connection.close_pool()  # ours was cut as well
    endpoint.policy.go.set()
    wait(lambda: Turn.objects.get(id=turn.id).status == Turn.Status.ENDED)
    turn.refresh_from_db()
    assert (turn.end, turn.crashes) == (Turn.End.FINISHED, 0), [worker.log.read_text() for worker in two_workers]
    check_that_nothing_was_done_twice(turn)
    another = began(alice)
    wait(lambda: Turn.objects.get(id=another.id).status == Turn.Status.ENDED)
    assert all(worker.process.poll() is None for worker in two_workers)


def test_without_redis_no_page_hears_of_it_but_the_turn_is_done(alice: User, endpoint: Endpoint) -> None:
    port = free_port()
    redis = subprocess.Popen(["redis-server", "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL)
    worker = WorkerProcess(endpoint.url, f"redis://127.0.0.1:{port}/0")
    try:
        turn = began(alice)
        assert endpoint.policy.held.wait(PATIENCE)
        redis.kill()
        redis.wait(20)
        endpoint.policy.go.set()
        wait(lambda: Turn.objects.get(id=turn.id).status == Turn.Status.ENDED)
    finally:
        redis.kill()
        worker.kill()
    turn.refresh_from_db()
    assert turn.end == Turn.End.FINISHED, turn.reason
    check_that_nothing_was_done_twice(turn)
    assert "Pages are not told" in worker.log.read_text()


def test_what_a_person_does_while_a_turn_is_being_paused_is_not_lost(alice: User) -> None:
    """PostgreSQL lets both go on at once; each would look at rows that the other is about to change."""
    began(alice)
    turn = turns.claim(Turn.objects.get().id, "worker")
    assert turn is not None

    def say() -> None:
        try:
            turns.say(alice, turn.conversation_id, "Go on.")
        finally:
            connections.close_all()

    person = threading.Thread(target=say)
    with transaction.atomic():
        turns.pause(turn.id, turn.fence, "user", "A question.")
        person.start()
        wait(lambda: _waits_for_a_lock() or not person.is_alive())
    person.join(PATIENCE)
    turn.refresh_from_db()
    assert turn.status == Turn.Status.QUEUED


def _waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return bool(cursor.fetchone()[0])
