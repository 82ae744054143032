"""Whether this process lives, and whether it can serve.

probe -> 200 or 500, in plain text.  Touches: the database, the data directory, the channel layer.
"""

import dataclasses
import secrets
import tempfile
from typing import Any

from channels.layers import get_channel_layer
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpResponse
from health_check.base import HealthCheck
from health_check.exceptions import ServiceUnavailable
from health_check.views import HealthCheckView


@dataclasses.dataclass
class Migrations(HealthCheck):
    """The tables are the ones this code expects."""

    def run(self) -> None:  # sync: the library runs it in a thread
        with connection.temporary_connection():
            executor = MigrationExecutor(connection)
            missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if missing:
            raise ServiceUnavailable(f"{len(missing)} migrations are not applied")


@dataclasses.dataclass
class DataDirectory(HealthCheck):
    """Files can be written: a full or read-only disk shows here."""

    def run(self) -> None:
        try:
            with tempfile.TemporaryFile(dir=settings.AGENT_DATA_DIR) as file:
                file.write(b"1" * 4096)
        except OSError as fault:
            raise ServiceUnavailable(fault.strerror or "cannot be written") from fault


@dataclasses.dataclass
class Events(HealthCheck):
    """What is told to the channel layer comes out of it."""

    async def run(self) -> None:
        layer = get_channel_layer()
        name, token = await layer.new_channel(), secrets.token_hex(8)
        await layer.send(name, {"type": "probe", "token": token})
        if (await layer.receive(name)).get("token") != token:
            raise ServiceUnavailable("an event was lost")


class Health(HealthCheckView):
    """In plain text only: the library's own page has styles that our Content-Security-Policy refuses."""

    def render_to_response(self, context: dict[str, Any], **response: Any) -> HttpResponse:
        text: HttpResponse = self.render_to_response_text(response.get("status", 200))
        return text


alive = Health.as_view(checks=[])
ready = Health.as_view(checks=["health_check.checks.Database", Migrations, DataDirectory, Events])
