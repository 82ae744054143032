"""Forgetting: gone from rows, index files, stored copies; not learnt again; nobody else is touched.

marker -> nowhere.  Touches: rows, the index, files.
"""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from chat.models import Conversation, Iteration, Message, Summary, ToolCall, Turn
from memory import accesses, consolidate, facts, forget, index, outbox, records, slots
from memory.models import Forgetting, IndexRemoval, MemoryRecord, Tombstone
from tests.memory.conftest import Ask, Tell

MARKER = "ZQX-7781-UMBRA"
SENTENCE = f"Remember that my locker code is {MARKER}."


def talk(user: Any) -> dict[str, Any]:
    """A conversation that holds the marker wherever a conversation can hold one."""
    conversation = Conversation.objects.create(user=user, title=SENTENCE[:60])
    turn = Turn.objects.create(
        conversation=conversation, number=1, goal=f"{SENTENCE} Then book a room.", status="ended"
    )
    said = Message.objects.create(
        conversation=conversation, turn=turn, role="user", text=f"{SENTENCE} Then book a room."
    )
    Message.objects.create(
        conversation=conversation, turn=turn, role="agent", text=f"Noted: your locker code is {MARKER}. Done."
    )
    Summary.objects.create(
        conversation=conversation, version=1, upto=said.id, text=f"The person gave the code {MARKER}. They want a room."
    )
    receipt = records.remember(
        user.id,
        SENTENCE,
        source={"by": "person", "turn": str(turn.id), "message": said.id, "quote": SENTENCE},
        conversation_id=conversation.id,
    )
    iteration = Iteration.objects.create(
        turn=turn,
        number=1,
        sections=[{"name": "memories", "text": f"Known:\n- {receipt.text}\n- likes tea", "tokens": 9}],
        receipt=[{"id": receipt.record_id, "text": receipt.text, "score": 0.9, "fate": "shown"}],
        raw={"calls": [{"name": "remember", "arguments": f'{{"text": "locker code {MARKER}"}}'}]},
        changes={"memory": [receipt.as_json()]},
    )
    ToolCall.objects.create(
        iteration=iteration, turn=turn, index=0, tool="remember", args={"text": receipt.text},
        result=receipt.as_json(), text=f"Remembered {MARKER}", summary=f"Remembered: {receipt.text}", status="succeeded",
    )  # fmt: skip
    slots.patch(
        conversation.id, [{"op": "set", "name": "locker", "kind": "fact", "value": MARKER}], by="agent", turn_id=turn.id
    )
    return {"conversation": conversation, "said": said, "receipt": receipt, "iteration": iteration}


def tables_with(marker: str) -> list[str]:
    """Every table and column of the database that holds the marker."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                found += [f"{table}.{n}" for n, v in zip(names, row, strict=True) if marker in _readable(v)]
    return sorted(set(found))


def _readable(value: Any) -> str:
    return bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else str(value)


@pytest.mark.django_db
def test_the_preview_names_everything_that_would_go_and_changes_nothing(alice: Any) -> None:
    talk(alice)
    found = forget.preview(alice.id, query="locker code")
    assert [row.text for row in found.records] == [f"my locker code is {MARKER}."]
    assert found.counts["messages"] >= 3
    assert found.counts["contexts"] >= 3
    assert all(line[0].isdigit() for line in found.lines)
    assert len(tables_with(MARKER)) > 8


@pytest.mark.django_db
def test_what_was_forgotten_stands_in_no_table(alice: Any) -> None:
    held = talk(alice)
    receipt = forget.forget(alice.id, [held["receipt"].record_id])
    assert tables_with(MARKER) == []
    assert receipt.counts["memories"] == 1
    assert receipt.counts["messages"] >= 3
    held["said"].refresh_from_db()
    assert held["said"].text == "[forgotten] Then book a room."
    held["iteration"].refresh_from_db()
    assert held["iteration"].receipt[0]["text"] == ""
    assert "likes tea" in held["iteration"].sections[0]["text"]


@pytest.mark.django_db
def test_the_receipt_is_kept_in_numbers_alone(alice: Any) -> None:
    held = talk(alice)
    forget.forget(alice.id, [held["receipt"].record_id])
    row = Forgetting.objects.get(user=alice)
    assert row.counts["memories"] == 1
    assert forget.forgettings(alice.id)[0].lines


@pytest.mark.django_db
@pytest.mark.parametrize(
    "again",
    [
        SENTENCE,
        f"my locker code is {MARKER}",
        f"The user's locker has the code {MARKER.lower()}",
        f"LOCKER CODE MY IS {MARKER}",
        f"我的储物柜号是 {MARKER}",
    ],
)
def test_it_is_not_learnt_again_unless_the_person_confirms(alice: Any, again: str) -> None:
    held = talk(alice)
    forget.forget(alice.id, [held["receipt"].record_id])
    source = {"by": "person", "turn": "later", "quote": again}
    assert records.remember(alice.id, again, source=source).status == "refused"
    assert records.remember(alice.id, again, source=source, confirmed=True).status == "kept"
    assert records.remember(alice.id, again, source=source).status == "duplicate"


@pytest.mark.django_db
def test_tombstones_hold_no_text_and_are_of_one_person(alice: Any, bob: Any, tell: Tell) -> None:
    held = talk(alice)
    forget.forget(alice.id, [held["receipt"].record_id])
    assert Tombstone.objects.filter(user=alice).count() >= 3
    assert tell(SENTENCE, user=bob).status == "kept"


@pytest.mark.django_db
def test_what_was_merged_from_it_goes_too_and_its_other_sources_come_back(alice: Any, tell: Tell) -> None:
    one = tell(f"My locker code is {MARKER}")
    two = tell("My locker is in hall four")
    records.merge(alice.id, [one.record_id, two.record_id], f"My locker in hall four has the code {MARKER}")
    receipt = forget.forget(alice.id, [one.record_id])
    assert list(MemoryRecord.objects.filter(user=alice).values_list("text", "status")) == [
        ("My locker is in hall four", "live")
    ]
    assert receipt.counts["merged"] == 1


@pytest.mark.django_db
def test_forgetting_a_merged_memory_forgets_its_sources(alice: Any, tell: Tell) -> None:
    ids = [tell(text).record_id for text in ("My locker code is red", "Hall four is where the locker stands")]
    merged = records.merge(alice.id, ids, "My locker code is red")
    forget.forget(alice.id, [merged.record_id])
    assert not MemoryRecord.objects.filter(user=alice).exists()


@pytest.mark.django_db
def test_a_newer_memory_no_longer_says_what_it_replaced(alice: Any, tell: Tell) -> None:
    tea = tell("I drink gunpowder tea")
    tell("I stopped, now coffee")
    assert "gunpowder" in MemoryRecord.objects.get(user=alice, status="live").text
    forget.forget(alice.id, [tea.record_id])
    assert tables_with("gunpowder") == []


@pytest.mark.django_db
def test_earlier_wordings_go_too(alice: Any, tell: Tell) -> None:
    first = tell(f"My code is {MARKER}")
    records.edit(alice.id, first.record_id, "My code is on the fridge", by=alice.id)
    forget.forget(alice.id, [first.record_id])
    assert tables_with(MARKER) == []


@pytest.mark.django_db
def test_everything_about_a_subject_is_found_by_a_question(alice: Any, tell: Tell) -> None:
    for text in ("My old job at Initech was dull", "My boss at Initech was Bill Lumbergh", "I like tea"):
        tell(text)
    found = forget.preview(alice.id, query="Initech")
    assert len(found.records) == 2
    forget.forget(alice.id, found.ids)
    assert list(MemoryRecord.objects.filter(user=alice).values_list("text", flat=True)) == ["I like tea"]


@pytest.mark.django_db
def test_other_words_of_the_person_stay(alice: Any) -> None:
    conversation = Conversation.objects.create(user=alice)
    turn = Turn.objects.create(conversation=conversation, number=1, goal="x", status="ended")
    other = Message.objects.create(
        conversation=conversation, turn=turn, role="user", text="Beijing duck is my favourite dish."
    )
    receipt = records.remember(alice.id, "I live in Beijing", source={"by": "person", "turn": "x"})
    forget.forget(alice.id, [receipt.record_id])
    other.refresh_from_db()
    assert other.text == "Beijing duck is my favourite dish."


@pytest.mark.django_db
def test_forgetting_everything_leaves_other_people_alone(alice: Any, bob: Any, tell: Tell, ask: Ask) -> None:
    for number in range(5):
        tell(f"My thing {number} is item{number}")
        tell(f"My thing {number} is item{number}", user=bob)
    outbox.drain_all()
    held = talk(bob)
    forget.forget_all(alice.id)
    outbox.drain_all()
    assert not MemoryRecord.objects.filter(user=alice).exists()
    assert facts.live(alice.id) == []
    assert MemoryRecord.objects.filter(user=bob).count() == 6
    assert sum(index.index().counts().values()) == 6
    held["said"].refresh_from_db()
    assert MARKER in held["said"].text
    assert ask("thing item3", user=bob)[0] == "My thing 3 is item3"


@pytest.mark.django_db
def test_ids_of_other_people_are_as_good_as_none(alice: Any, bob: Any, tell: Tell) -> None:
    theirs = tell("My thing is gold", user=bob)
    assert forget.preview(alice.id, [theirs.record_id]).records == ()
    forget.forget(alice.id, [theirs.record_id])
    assert MemoryRecord.objects.filter(user=bob).count() == 1


@pytest.mark.django_db
def test_the_export_holds_everything_of_this_person_alone(alice: Any, bob: Any, tell: Tell) -> None:
    first = tell("I live in Paris")
    records.edit(alice.id, first.record_id, "I live in Paris, 5e", by=alice.id)
    tell("I moved to Rome")
    tell("My secret garden is blue", user=bob)
    for person, value in ((alice, "Xi'an"), (bob, "garden")):
        conversation = Conversation.objects.create(user=person)
        slots.patch(conversation.id, [{"op": "set", "name": "place", "kind": "fact", "value": value}], by="person")
        accesses.note(alice if person == bob else bob, "opened", {person.id: 1})
    found = forget.export(alice.id)
    assert [row["text"] for row in found["memories"]] == ["I live in Paris, 5e", "I moved to Rome"]
    assert found["memories"][0]["earlier_texts"][0]["text"] == "I live in Paris"
    assert {fact["value"] for fact in found["facts"]} == {"Paris", "Rome"}
    assert [slot["value"] for slot in found["state"]] == ["Xi'an"]
    assert [look["who"] for look in found["seen_by_operators"]] == ["bob"]
    assert "garden" not in str(found) and json.loads(json.dumps(found)) == found


# ---- on the disk ---------------------------------------------------------------------------------------


def files_with(folder: Path, *needles: bytes) -> list[str]:
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    )


@pytest.mark.django_db
def test_a_deleted_vector_stays_in_chromas_files_until_they_are_rewritten(
    alice: Any, tell: Tell, settings: Any
) -> None:
    """Why erasing is a rebuild: deleting alone leaves the vector in the file."""
    from memory.embed import from_blob

    receipt = tell(f"My locker code is {MARKER}")
    for number in range(8):
        tell(f"My thing {number} is item{number}")
    outbox.drain_all()
    blob = MemoryRecord.objects.get(id=receipt.record_id).vector
    assert blob is not None
    vector = from_blob(blob)
    traces = (vector.tobytes(), receipt.record_id.encode(), MARKER.encode())
    folder = Path(settings.AGENT_DATA_DIR) / "chroma"
    assert files_with(folder, *traces)
    index.index().remove([receipt.record_id])
    index.index().close()
    assert files_with(folder, *traces)
    forget.forget(alice.id, [receipt.record_id])
    outbox.drain_all()
    index.index().close()
    assert files_with(folder, *traces) == []
    assert not IndexRemoval.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_marker_is_in_no_file_of_the_database(alice: Any, tmp_path: Path, settings: Any) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("the files of a database server are its own")
    held = talk(alice)
    consolidate.consolidate(alice.id)
    outbox.drain_all()
    forget.forget(alice.id, [held["receipt"].record_id])
    outbox.drain_all()
    copy = tmp_path / "copy.sqlite3"
    with sqlite3.connect(copy) as target:
        connection.ensure_connection()
        connection.connection.backup(target)  # page by page: what deleted rows left in free pages comes along
    target.close()
    assert MARKER.encode() not in copy.read_bytes()
    assert files_with(Path(settings.AGENT_DATA_DIR), MARKER.encode()) == []


@pytest.mark.django_db
def test_every_table_of_a_person_is_reached_or_holds_no_words() -> None:
    """A new table with text must be added to the redaction, or named here with the reason."""
    from chat import redact

    reached = {model.__name__ for model, _owner, _name in redact.REACHED}
    own = {"MemoryRecord", "RecordEdit", "EntityFact", "StateSlot", "SlotChange"}  # memory deletes or blots these
    # A notice holds when it was sent and what went wrong on the way.
    wordless = {"UserMemory", "IndexRemoval", "Tombstone", "Forgetting", "MemoryAccess", "Notice"}
    documents = {"Document", "Chunk"}  # a file the person gave; deleted by deleting the document
    settings_of_staff = {"MCPServer", "McpServer", "McpTool", "Server", "ServerTool"}
    tables = {m.__name__ for app in ("chat", "planning", "memory") for m in apps.get_app_config(app).get_models()}
    assert tables - reached - own - wordless - documents - settings_of_staff == set()
