"""A marker that was said, recalled, summarised and consolidated, and is then forgotten: it is nowhere, and stays away.

Touches: whole turns through the websocket; every table; the files of the database and of the index.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, structured
from chat.models import Iteration, Summary
from memory import consolidate, outbox, records
from memory.embed import from_blob
from memory.index import index
from memory.models import IndexRemoval, MemoryRecord, Tombstone
from tests.memory.test_forget import files_with, tables_with
from tests.stories.scripts import finish
from tests.stories.stage import PATIENCE, Stage

pytestmark = pytest.mark.django_db(transaction=True)
MARKER = "QZV-90417-UMBRA"
SAID = f"Remember that my locker code is {MARKER}."
HTMX = {"HX-Request": "true"}
AFTER = 20  # prompts after the forgetting


@pytest.fixture(autouse=True)
def _own_files(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.AGENT_DATA_DIR = tmp_path
    settings.AGENT_SUMMARY_TOKENS = 10
    outbox.reset_clocks()
    yield
    index().close()


def summary(body: dict[str, Any]) -> str:
    """A model can only tell what it is told."""
    knows = MARKER in json.dumps(body)
    return structured({"summary": f"Their code is {MARKER}; rooms came up." if knows else "Rooms came up."})


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def spread(user: User) -> tuple[bytes, ...]:
    """Consolidate it with its like and put all of it into the index. Returns what would betray it in a file."""
    twin = records.remember(user.pk, "The spare key hangs in hall four", source={"by": "person"})
    records.edit(user.pk, twin.record_id, f"my locker code is {MARKER}", user.pk)
    assert consolidate.consolidate(user.pk).merged == 1
    in_step()
    rows = MemoryRecord.objects.filter(user=user, text__contains=MARKER)
    assert {row.status for row in rows} == {"live", "retired"}
    return tuple(trace for row in rows for trace in (str(row.id).encode(), from_blob(row.vector or b"").tobytes()))


def database_files() -> dict[str, bytes]:
    """The database's files as they lie on the disk, the write-ahead log included."""
    name = Path(str(connection.settings_dict["NAME"]))
    return {
        path.name: path.read_bytes() for path in name.parent.glob(f"{name.name}*") if not path.name.endswith("-shm")
    }


def forget_by_page(user: User) -> str:
    """As the person does it: what fits the words is shown with all that goes with it, then forgotten."""
    client = signed_in(user)
    asked = client.get(reverse("memories"), {"q": MARKER, "forget": "found"}).content.decode()
    assert "sentences in messages" in asked and "vectors in the search index" in asked
    ids = [str(pk) for pk in MemoryRecord.objects.filter(user=user, text__contains=MARKER).values_list("pk", flat=True)]
    done = client.post(reverse("memories-act"), {"op": "forget", "id": ids}, headers=HTMX).content.decode()
    in_step()
    return done


def in_step() -> None:
    """Until the index has taken in everything: the runner's own upkeep may be at it, too."""
    deadline = time.monotonic() + PATIENCE
    while outbox.waiting() and time.monotonic() < deadline:
        outbox.drain_all()
    assert not outbox.waiting()


def keep_after_all(user: User, stage: Stage) -> str:
    """The panel offers what was refused; the person presses the button."""
    client = signed_in(user)
    shown = client.get(reverse("panel", args=[stage.conversation.pk, "memory"]), headers=HTMX).content.decode()
    assert "Keep it after all" in shown
    url = reverse("memory-act", args=[stage.conversation.pk])
    return client.post(url, {"op": "add", "text": f"my locker code is {MARKER}."}, headers=HTMX).content.decode()


async def test_a_marker_is_gone_from_every_table_file_and_prompt_and_comes_back_only_by_the_persons_own_will(
    alice: User,
) -> None:
    answers = [finish(f"Your locker code is {MARKER}."), *(finish(f"Answer {n}.") for n in range(40))]
    llm = ScriptedLLM(answers, structured=summary)
    async with Stage(alice, llm) as stage:
        await stage.ended(await stage.say(SAID))
        for text in (
            "What is my locker code?",
            "Which hotels are quiet?",
            "And cheap ones?",
            "Thanks",
            "One more thing",
            "Bye",
        ):
            turn = await stage.ended(await stage.say(text))
        await stage.row(lambda: Summary.objects.filter(text__contains=MARKER).first())
        await stage.row(lambda: turn.iterations.filter(changes__has_key="memory").first() or turn)
        recalled = await in_db(lambda: json.dumps(list(Iteration.objects.values_list("receipt", flat=True))))
        traces = await in_db(spread, alice)
        before = await in_db(tables_with, MARKER)
        in_files = await in_db(database_files)
        in_index = files_with(index().folder, *traces)
        assert MARKER in recalled and len(before) >= 8 and in_index
        if connection.vendor == "sqlite":
            assert any(MARKER.encode() in held for held in in_files.values())

        receipt = await in_db(forget_by_page, alice)
        assert "Forgotten." in receipt
        assert await in_db(tables_with, MARKER) == []
        assert not await in_db(IndexRemoval.objects.exists)
        if connection.vendor == "sqlite":
            held = await in_db(database_files)
            assert [name for name, data in held.items() if MARKER.encode() in data] == []
        await in_db(index().close)
        assert files_with(Path(index().folder).parent, MARKER.encode(), *traces) == []

        sent = len(llm.requests)
        for number in range(AFTER // 2):
            await stage.ended(await stage.say(f"What is my locker code? ({number})"))
        async with Stage(alice, llm) as other:
            for number in range(AFTER // 2):
                await other.ended(await other.say(f"Tell me the code of my locker ({number})"))
        prompts = llm.requests[sent:]
        assert len(prompts) >= AFTER and MARKER not in json.dumps(prompts, ensure_ascii=False)

        pasted = await stage.ended(await stage.say(SAID))
        await stage.row(lambda: Iteration.objects.filter(turn=pasted, changes__has_key="memory").first())
        assert not await in_db(MemoryRecord.objects.filter(user=alice, text__contains=MARKER).exists)
        assert "Keep it after all" not in await in_db(keep_after_all, alice, stage)
        assert await in_db(MemoryRecord.objects.filter(user=alice, text__contains=MARKER, status="live").exists)
        assert await in_db(Tombstone.objects.filter(user=alice).exists)
