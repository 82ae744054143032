"""The one way from the event loop to the database: whole units of work, in threads of our own.

sync function -> awaited result.  Touches: a small thread pool.

SQLite wants one thread (more only fight over the lock); PostgreSQL wants a handful. Websocket consumers
would otherwise share one thread for the whole process, so that one slow query would freeze every chat.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connection


@cache
def pool() -> ThreadPoolExecutor:
    threads = 1 if connection.vendor == "sqlite" else 10
    return ThreadPoolExecutor(max_workers=threads, thread_name_prefix="rows")


async def in_db[**P, R](function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a sync function that uses rows; exceptions come back as they are."""

    def unit() -> R:
        try:
            return function(*args, **kwargs)
        finally:
            # Returns a pooled connection; SQLite keeps its own (CONN_MAX_AGE is None).
            close_old_connections()

    return await sync_to_async(unit, thread_sensitive=False, executor=pool())()


def one_at_a_time(name: str) -> None:
    """Until the transaction ends, nobody else passes here with the same name. SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
