"""What a server asks, answered by the person's words alone.

Touches: nothing (pure).
"""

from typing import Any

import pytest

from chat.mcp.elicit import Asking

NAME = {"properties": {"name": {"type": "string"}}, "required": ["name"]}
SIZE = {
    "properties": {"size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]}},
    "required": ["size"],
}
COLOUR = {"properties": {"c": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}}, "required": ["c"]}
COUNT = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
PRICE = {"properties": {"p": {"type": "number"}}, "required": ["p"]}
SURE = {"properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
BOTH = {"properties": {"name": {"type": "string"}, "age": {"type": "integer", "title": "Age"}}, "required": ["name"]}


@pytest.mark.parametrize(
    ("schema", "said", "content"),
    [
        (NAME, "Ada Lovelace", {"name": "Ada Lovelace"}),
        (NAME, "  ", None),
        (SIZE, "large", {"size": "l"}),
        (SIZE, "S", {"size": "s"}),
        (SIZE, "huge", None),
        (COLOUR, "Red.", {"c": "r"}),
        (COUNT, "12", {"n": 12}),
        (COUNT, "1,200", {"n": 1200}),
        (COUNT, "12.5", None),
        (COUNT, "a dozen", None),
        (PRICE, "12.5", {"p": 12.5}),
        (SURE, "Yes", {"sure": True}),
        (SURE, "好的", {"sure": True}),
        (SURE, "no.", {"sure": False}),
        (SURE, "不要", {"sure": False}),
        (SURE, "yes, but only on Monday", None),
        (BOTH, "name: Ada, age: 36", {"name": "Ada", "age": 36}),
        (BOTH, "Name：阿达\nAge：36", {"name": "阿达", "age": 36}),
        (BOTH, "name: Ada", {"name": "Ada"}),
        (BOTH, "Ada, 36", None),
        ({}, "anything", {}),
        ("no schema", "anything", {}),
        ({"properties": [1], "required": 3}, "anything", {}),
    ],
)
def test_the_persons_words_become_what_the_server_wants_or_are_asked_for_again(
    schema: Any, said: str, content: dict[str, Any] | None
) -> None:
    asking = Asking(server="shop", answers={"shop asks: What is it?": said})
    assert asking.content("What is it?", schema) == content
    assert len(asking.left) == (content is None)


def test_an_answer_to_another_question_is_not_given_away() -> None:
    for asked in ("Which hotel do you want?", "bank asks: Which hotel do you want?", "shop asks: Which one?"):
        asking = Asking(server="shop", answers={asked: "The Ritz"})
        assert asking.content("Which hotel do you want?", NAME) is None and asking.left == ["Which hotel do you want?"]


def test_what_an_answer_must_look_like_is_said_with_the_question() -> None:
    asking = Asking(server="shop")
    for schema in (SIZE, SURE, BOTH):
        asking.content("Well?", schema)
    assert asking.left == [
        "Well? (size: Small / Large)",
        "Well? (sure: yes / no)",
        "Well? (name: text, age: a whole number)",
    ]


def test_an_empty_question_matches_no_answer() -> None:
    assert Asking(server="shop", answers={"shop asks: Which hotel?": "The Ritz"}).content("", NAME) is None
