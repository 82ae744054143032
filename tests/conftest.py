"""What every test stands on: settings of their own, the cast, and connections that close.

Touches: the database connections. The environment is set by tests/settings.py, before Django reads it.
"""

from collections.abc import Iterator

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser's tests come last: Playwright keeps an event loop running in this thread, where no other can start."""
    items.sort(key=lambda item: "tests/browser/" in item.path.as_posix())


@pytest.fixture
def alice(db: None) -> object:
    """Owns what the tests make."""
    from django.contrib.auth.models import User

    return User.objects.create_user("alice")


@pytest.fixture
def bob(db: None) -> object:
    """Must be refused whatever is alice's."""
    from django.contrib.auth.models import User

    return User.objects.create_user("bob")


@pytest.fixture
def admin(db: None) -> object:
    from django.contrib.auth.models import User

    return User.objects.create_superuser("admin", password="admin")


@pytest.fixture(autouse=True)
def _threads_let_go_of_the_database() -> Iterator[None]:
    """The row threads keep their connections open; a test's database is emptied after it."""
    yield
    from django.db import connections

    from chat.db import pool

    if pool.cache_info().currsize:
        executor = pool()
        for future in [executor.submit(connections.close_all) for _thread in range(executor._max_workers)]:
            future.result()
