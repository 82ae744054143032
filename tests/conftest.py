"""What every test stands on: settings of their own, the cast, and connections that close.

Touches: the database connections. The environment is set by tests/settings.py, before Django reads it.
"""

import threading
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
def _threads_let_go_of_the_database(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test's database is emptied after it: what still runs in our threads is awaited first, and their connections closed."""
    if marker := request.node.get_closest_marker("django_db"):  # set up before this one, so that it ends after it
        request.getfixturevalue("transactional_db" if marker.kwargs.get("transaction") else "db")
    yield
    from django.db import connections

    from chat import db, upkeep

    for cached in (db.pool, upkeep.thread):
        if not cached.cache_info().currsize:
            continue
        executor = cached()
        each = threading.Barrier(executor._max_workers)  # one in each thread, also in those that are busy

        def close(each: threading.Barrier = each) -> None:
            connections.close_all()
            each.wait(30)

        for future in [executor.submit(close) for _thread in range(executor._max_workers)]:
            future.result()
