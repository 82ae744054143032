"""How a turn that is ready reaches a worker: one job beside the rows, written in the same transaction.

ready turn -> a job of procrastinate.  Touches: the job queue, in PostgreSQL.

A job only says "look at this turn"; the guarded claim decides. `lock` keeps the jobs of one conversation in order and
apart; `queueing_lock` keeps a second job for a turn from waiting beside the first.
"""

from contextlib import suppress

from django.db import transaction
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.exceptions import AlreadyEnqueued

from chat import turns
from chat.models import Turn

ADVANCE = "advance"
TURNS = "turns"  # the queue


def deliver(turn: Turn) -> None:
    """Write the job of a ready turn, unless one waits already."""
    job = app.configure_task(
        ADVANCE, queue=TURNS, lock=str(turn.conversation_id), queueing_lock=str(turn.id), allow_unknown=True
    )
    # The inner transaction keeps the caller's alive when the job is there already.
    with suppress(AlreadyEnqueued), transaction.atomic():
        job.defer(turn=str(turn.id))


def deliver_missed() -> None:
    """Jobs for turns that are ready without one: their worker died, or they were not admitted when their job came."""
    ready = turns.ready()
    if not ready:
        return
    waiting = ProcrastinateJob.objects.filter(queue_name=TURNS, status="todo").values_list("queueing_lock", flat=True)
    waiting_ids = set(waiting)
    for turn in Turn.objects.filter(id__in=[turn_id for turn_id in ready if str(turn_id) not in waiting_ids]):
        deliver(turn)
