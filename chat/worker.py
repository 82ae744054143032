"""The scaled runner: jobs of procrastinate bring the turns, to as many worker processes as there are.

jobs -> turns that advance.  Touches: the job queue, in PostgreSQL; what the runner touches.

A job holds its conversation's lock while its turn advances, and nothing else hangs on it: the lease and the fence of the
turn's row decide, so a job that comes twice, late or never is harmless. The job of a worker that died is let go once its
heartbeat is old, and its turn, whose lease ran out, gets a new one.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

from django.conf import settings
from procrastinate import App, PsycopgConnector
from procrastinate.contrib.django.utils import connector_params
from procrastinate.jobs import Status

from chat import jobs, upkeep
from chat.db import in_db
from chat.runner import Runner

log = logging.getLogger(__name__)
LOOK_SECONDS = 0.25  # a job whose lock became free is not notified: it is found by looking
PERIODIC = "periodic"  # a queue of its own: long turns must not keep it waiting
AGAIN_SECONDS = 1.0  # after PostgreSQL was away


class Worker(Runner):
    """Runs turns that jobs bring. `stop` hands back what runs, with a job for whoever goes on."""

    def _finding_work(self) -> list[Coroutine[Any, Any, None]]:
        app = App(connector=PsycopgConnector(kwargs=connector_params(), min_size=1, max_size=6))
        app.task(name=jobs.ADVANCE, queue=jobs.TURNS)(self._job)
        every = {**upkeep.PERIODIC, "deliver_missed": upkeep.Periodic(2, lambda: _deliver_missed(app))}
        for name, periodic in every.items():
            _register(app, name, periodic)
        return [self._fetch(app), self._next_in_line()]

    async def _fetch(self, app: App) -> None:
        """Fetch and run jobs until cancelled; a database that is away is waited for."""
        while True:
            try:
                async with app.open_async(), asyncio.TaskGroup() as both:
                    both.create_task(_fetch_from(app, jobs.TURNS, self.at_once))
                    both.create_task(_fetch_from(app, PERIODIC, len(app.periodic_registry.periodic_tasks)))
            except Exception:
                log.exception("Fetching jobs failed; trying again.")
            await asyncio.sleep(AGAIN_SECONDS)

    async def _job(self, turn: str) -> None:
        """Hold the conversation's lock while its turn advances. A turn outlives its job, never the other way round."""
        if task := await self._take(UUID(turn)):
            await asyncio.wait([task])

    async def _next_in_line(self) -> None:
        """A turn that ended here may have made room for one that waits without a job."""
        while True:
            await self.awake.wait()
            self.awake.clear()
            try:
                await in_db(jobs.deliver_missed)
            except Exception:
                log.exception("Looking for turns without a job failed.")


async def _fetch_from(app: App, queue: str, at_once: int) -> None:
    await app.run_worker_async(
        queues=[queue],
        concurrency=at_once,
        install_signal_handlers=False,
        shutdown_graceful_timeout=0,  # jobs are cancelled at once; their turns are not, see _job
        delete_jobs="always",
        fetch_job_polling_interval=LOOK_SECONDS,
        # The jobs of a silent worker are let go when the leases of its turns end.
        update_heartbeat_interval=settings.AGENT_LEASE_SECONDS / 4,
        stalled_worker_timeout=settings.AGENT_LEASE_SECONDS,
    )
    raise ConnectionError(f"Jobs of the queue {queue} are not fetched any more.")  # it says itself why, in the log


def _register(app: App, name: str, periodic: upkeep.Periodic) -> None:
    """One job for each time it is due, whichever process writes it first; none while one waits or runs."""

    async def run(timestamp: int) -> None:
        await periodic.run()

    task = app.task(name=name, queue=PERIODIC, lock=name, queueing_lock=name)(run)
    app.periodic(cron=f"* * * * * */{periodic.every}")(task)


async def _deliver_missed(app: App) -> None:
    for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=settings.AGENT_LEASE_SECONDS):
        await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)
    await in_db(jobs.deliver_missed)
