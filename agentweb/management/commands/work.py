"""Work on turns, as many processes as there shall be: the other half of `serve` when AGENT_RUNNER is scaled.

jobs -> turns that advance.  Touches: the database, the runner, the terminal.
"""

import asyncio
import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agentweb.prepare import migrate
from memory.embed import embedder


class Command(BaseCommand):
    help = "Work on the turns that the web processes start. SIGTERM hands back what runs."

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.AGENT_RUNNER != "scaled":
            raise CommandError("With AGENT_RUNNER=embedded `serve` works on the turns; set AGENT_RUNNER=scaled.")
        migrate()
        embedder().embed_queries(["warm up"])  # the first turn should not pay for loading it
        asyncio.run(self._work())
        self.stdout.write("Stopped. Turns under way were put back; another worker goes on with them.")

    async def _work(self) -> None:
        from chat.worker import Worker

        worker = Worker(at_once=settings.AGENT_TURNS_AT_ONCE)
        told = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, told.set)
        await worker.start()
        self.stdout.write(f"Working on turns as {worker.owner}.")
        self.stdout.flush()
        await told.wait()
        await worker.stop()
