"""State slots: only valid patches, all or none, with history and undo.

patch -> StateSlots.  Touches: rows.
"""

from typing import Any

import pytest

from chat.models import Conversation, Turn
from memory import slots
from memory.errors import SlotRefused
from memory.models import SlotChange

pytestmark = pytest.mark.django_db


@pytest.fixture
def talk(alice: Any) -> Conversation:
    return Conversation.objects.create(user=alice)


def put(talk: Conversation, name: str, value: Any, kind: str = "fact", **more: Any) -> list[dict[str, Any]]:
    return slots.patch(talk.id, [{"op": "set", "name": name, "kind": kind, "value": value}], by="agent", **more)


def values(talk: Conversation) -> dict[str, Any]:
    return {view.name: view.value for view in slots.views(talk.id)}


def test_a_value_is_set_changed_and_removed_with_its_history(talk: Conversation) -> None:
    put(talk, "check_in", "2026-10-01")
    put(talk, "check_in", "2026-10-02")
    slots.patch(talk.id, [{"op": "remove", "name": "check_in"}], by="person")
    assert values(talk) == {}
    assert [
        (row.before and row.before["value"], row.after and row.after["value"]) for row in slots.history(talk.id)
    ] == [
        (None, "2026-10-01"),
        ("2026-10-01", "2026-10-02"),
        ("2026-10-02", None),
    ]


def test_the_same_value_again_is_no_change(talk: Conversation) -> None:
    put(talk, "nights", 2)
    assert put(talk, "nights", 2) == []
    assert len(slots.history(talk.id)) == 1


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"op": "set", "name": "", "kind": "fact", "value": 1}, "name"),
        ({"op": "set", "name": "x" * 81, "kind": "fact", "value": 1}, "name"),
        ({"op": "set", "name": "a", "kind": "feeling", "value": 1}, "feeling"),
        ({"op": "set", "name": "a", "kind": "fact", "value": None}, "value"),
        ({"op": "set", "name": "a", "kind": "fact", "value": {"b": 1}}, "value"),
        ({"op": "set", "name": "a", "kind": "fact", "value": float("nan")}, "finite"),
        ({"op": "set", "name": "a", "kind": "fact", "value": "x" * 3000}, "long"),
        ({"op": "set", "name": "a", "kind": "entity", "value": "text"}, "entity"),
        ({"op": "set", "name": "a", "kind": "todo", "value": [{"ref": "nobody"}]}, "nobody"),
        ({"op": "remove", "name": "a"}, "a"),
        ({"op": "empty", "name": "a"}, "empty"),
    ],
)
def test_a_bad_change_is_refused_with_the_reason(talk: Conversation, change: dict[str, Any], word: str) -> None:
    with pytest.raises(SlotRefused, match=word):
        slots.patch(talk.id, [change], by="agent")


def test_one_bad_change_refuses_the_whole_patch_and_names_every_fault(talk: Conversation) -> None:
    good: dict[str, Any] = {"op": "set", "name": "good", "kind": "fact", "value": 1}
    bad: list[dict[str, Any]] = [{"op": "set", "name": name, "kind": "x", "value": 1} for name in ("b1", "b2")]
    with pytest.raises(SlotRefused) as refusal:
        slots.patch(talk.id, [good, *bad], by="agent")
    assert len(refusal.value.faults) == 2
    assert values(talk) == {}


def test_an_attribute_of_a_known_entity_is_set_by_its_dotted_name(talk: Conversation) -> None:
    put(talk, "hotel", {"name": "Grand Tang"}, kind="entity")
    put(talk, "hotel.phone", "029-1234")
    assert values(talk) == {"hotel": {"name": "Grand Tang", "phone": "029-1234"}}


def test_an_attribute_of_an_unknown_entity_is_refused(talk: Conversation) -> None:
    with pytest.raises(SlotRefused, match="hotel"):
        put(talk, "hotel.room", {"no": 1}, kind="entity")


def test_a_value_may_point_at_an_entity_of_the_same_patch(talk: Conversation) -> None:
    changes: list[dict[str, Any]] = [
        {"op": "set", "name": "hotel", "kind": "entity", "value": {"name": "Tang"}},
        {"op": "set", "name": "next", "kind": "todo", "value": ["book", {"ref": "hotel"}]},
    ]
    assert len(slots.patch(talk.id, changes, by="agent")) == 2


def test_undo_puts_back_what_was_before_and_is_itself_a_change(talk: Conversation) -> None:
    put(talk, "room", "suite")
    change = put(talk, "room", "standard")[0]
    slots.undo(talk.id, change["id"], by="person")
    assert values(talk) == {"room": "suite"}
    assert len(slots.history(talk.id)) == 3


def test_undo_is_refused_when_the_value_has_changed_since(talk: Conversation) -> None:
    change = put(talk, "room", "suite")[0]
    put(talk, "room", "standard")
    with pytest.raises(SlotRefused):
        slots.undo(talk.id, change["id"], by="person")


def test_the_state_at_an_iteration_is_rebuilt_from_changes_alone(talk: Conversation) -> None:
    turn = Turn.objects.create(conversation=talk, number=1, goal="x")
    put(talk, "a", 1, turn_id=turn.id, iteration=1)
    put(talk, "a", 2, turn_id=turn.id, iteration=2)
    put(talk, "b", 3, turn_id=turn.id, iteration=3)
    assert slots.as_of(talk.id, turn.id, 1) == {}
    assert slots.as_of(talk.id, turn.id, 3) == {"a": 2}
    assert slots.as_of(talk.id, turn.id, 9) == {"a": 2, "b": 3}


def test_hostile_text_is_stored_clean(talk: Conversation) -> None:
    put(talk, "na\x00me", "a\x00b\ud800c\u200b")
    assert values(talk) == {"name": "ab\ufffdc"}


def test_the_state_of_a_conversation_is_bounded(talk: Conversation) -> None:
    many = [{"op": "set", "name": f"n{i}", "kind": "fact", "value": i} for i in range(slots.MOST_SLOTS + 1)]
    with pytest.raises(SlotRefused, match="full"):
        slots.patch(talk.id, many, by="agent")


def test_slots_of_another_conversation_are_not_touched(talk: Conversation, bob: Any) -> None:
    other = Conversation.objects.create(user=bob)
    change = put(other, "room", "suite")[0]
    put(talk, "room", "standard")
    assert values(other) == {"room": "suite"}
    with pytest.raises(SlotChange.DoesNotExist):
        slots.undo(talk.id, change["id"], by="person")
