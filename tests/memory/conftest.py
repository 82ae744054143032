"""An index of its own for every test, and short ways to say and ask.

Touches: the settings, the index of this process.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory import outbox, records
from memory.index import index
from memory.recall import recall
from memory.types import Recall, Receipt

Tell = Callable[..., Receipt]
Ask = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def _own_index(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.AGENT_DATA_DIR = tmp_path
    outbox.reset_clocks()
    yield
    index().close()


@pytest.fixture
def tell(alice: Any) -> Tell:
    """Alice says something to be remembered."""

    def say(text: str, *, user: Any = alice, **more: Any) -> Receipt:
        source = more.pop("source", {"by": "person", "turn": "t1", "quote": text})
        return records.remember(user.id, text, source=source, **more)

    return say


@pytest.fixture
def ask(alice: Any) -> Ask:
    """The texts put in front of the model for a question of Alice's."""

    def question(query: str, *, user: Any = alice, limit: int = 6, floor: float = 0.27, **more: Any) -> list[str]:
        return [item.text for item in recall(user.id, query, limit=limit, floor=floor, **more).shown]

    return question


def best(user: Any, query: str, **more: Any) -> list[Recall]:
    return list(recall(user.id, query, limit=10, floor=-1.0, **more).recalls)
