from collections.abc import AsyncIterator
import pytest, pytest_asyncio
from django.contrib.auth.models import User
from django.db import connections
from chat.db import pool

@pytest.fixture
def alice(transactional_db) -> User:
    return User.objects.create_user("alice")
@pytest.fixture
def bob(transactional_db) -> User:
    return User.objects.create_user("bob")
@pytest_asyncio.fixture(autouse=True)
async def closed():
    yield
    pool().submit(connections.close_all).result()
