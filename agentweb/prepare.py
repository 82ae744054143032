"""What every process does before it serves or works: wait for the database, and bring its tables up to date.

nothing -> tables as this code expects them.  Touches: the database (migrations).
"""

import logging
import time

from django.core.management import call_command
from django.db import OperationalError, connection

PATIENCE = 60.0  # seconds that PostgreSQL is given to come up
TURNSTILE = 0x6167656E74  # of the advisory lock: any number of ours
log = logging.getLogger(__name__)


def migrate() -> None:
    """Apply missing migrations; of several processes that start at once, one after the other."""
    _await_database()
    if connection.vendor != "postgresql":
        call_command("migrate", verbosity=0, interactive=False)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [TURNSTILE])
        try:
            call_command("migrate", verbosity=0, interactive=False)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [TURNSTILE])
    connection.close()


def _await_database() -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.ensure_connection()
            return
        except OperationalError:
            if connection.vendor == "sqlite" or time.monotonic() > deadline:
                raise
            log.warning("PostgreSQL does not answer yet; waiting.")
            time.sleep(1)
