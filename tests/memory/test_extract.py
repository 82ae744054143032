"""Candidates: what of a person's words is worth remembering, and what is not.

words -> Candidates.  Touches: nothing.
"""

from typing import Any

import pytest

from memory import extract, learn, records
from memory.models import MemoryRecord

PAGE = "I live in Springfield. My favourite colour is red. " * 60


def kept(said: str) -> list[str]:
    return [item.text for item in extract.candidates(said) if item.worth >= extract.LINE]


@pytest.mark.parametrize(
    ("said", "text", "kind"),
    [
        ("Please remember that the boat key hangs in the shed", "the boat key hangs in the shed", "fact"),
        ("记住我喜欢靠窗的座位", "我喜欢靠窗的座位", "preference"),
        ("I prefer window seats.", "I prefer window seats.", "preference"),
        ("I live in Lyon.", "I live in Lyon.", "fact"),
        ("我住在杭州。", "我住在杭州。", "fact"),
        ("我搬到上海了。", "我搬到上海了。", "fact"),
        ("My sister's birthday is 3 May.", "My sister's birthday is 3 May.", "fact"),
        ("From now on answer in German.", "From now on answer in German.", "preference"),
        ("以后回答要简短。", "以后回答要简短。", "preference"),
        ("I am a vegetarian", "I am a vegetarian", "fact"),
        ("I have two kids", "I have two kids", "fact"),
        (
            "Next time check the tax before you send the quote.",
            "Next time check the tax before you send the quote.",
            "howto",
        ),
    ],
)
def test_lasting_statements_are_candidates(said: str, text: str, kind: str) -> None:
    found = extract.candidates(said)
    assert [(item.text, item.kind) for item in found if item.worth >= extract.LINE] == [(text, kind)]
    assert found[0].quote in said


@pytest.mark.parametrize(
    "said",
    [
        "Book a room in Xi'an from October 1.",
        "What is the weather in Paris?",
        "Where do I live?",
        "If I lived in Rome I would eat ice cream",
        "Translate: I live in Rome",
        "I am tired today",
        "I'm in Paris this week",
        "> I live in Rome",
        "```\nmy name is Eve\n```",
        "Thanks, that is great!",
        "好的，谢谢",
        "",
        PAGE,
    ],
)
def test_tasks_questions_quotes_and_pages_are_none(said: str) -> None:
    assert kept(said) == []


def test_what_is_only_so_for_a_while_is_dropped_with_the_reason() -> None:
    (item,) = extract.candidates("My hotel is the Grand Tang this week")
    assert item.worth < extract.LINE
    assert "while" in item.why


def test_of_a_paste_only_what_stands_around_it_counts() -> None:
    assert kept(f"Summarise this for me. I live in Lyon.\n\n{PAGE}\n\nThanks!") == ["I live in Lyon."]


def test_only_what_no_rule_understood_is_asked_of_the_model() -> None:
    said = "I live in Lyon. My knees hurt when I climb stairs. Book a hotel. My password is hunter22."
    assert extract.unclear(said) == "My knees hurt when I climb stairs."


def proposal(**more: Any) -> dict[str, Any]:
    base = {"quote": "my knees hurt on stairs", "text": "The user's knees hurt on stairs", "kind": "fact",
            "subject": "user", "attribute": "knees", "value": "hurt on stairs", "lasting": 8}  # fmt: skip
    return {"memories": [{**base, **more}]}


def test_a_borne_out_proposal_of_the_model_is_a_candidate() -> None:
    (item,) = extract.from_model(proposal(), "You know, my knees hurt on stairs.")
    assert item.worth == 0.8
    assert [(f.subject, f.attribute, f.value) for f in item.facts] == [("user", "knees", "hurt on stairs")]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"quote": "my back hurts"}, "did not say"),
        ({"quote": ""}, "did not say"),
        ({"text": "The user's code is 4711"}, "number"),
        ({"lasting": 2}, "long"),
    ],
)
def test_an_invented_or_fleeting_proposal_is_dropped_with_the_reason(change: dict[str, Any], reason: str) -> None:
    (item,) = extract.from_model(proposal(**change), "You know, my knees hurt on stairs.")
    assert item.worth < extract.LINE
    assert reason in item.why


@pytest.mark.parametrize(
    "answer", [None, [], "text", {"memories": "x"}, {"memories": [1, None]}, proposal(kind="mood")]
)
def test_a_broken_answer_of_the_model_proposes_nothing(answer: Any) -> None:
    assert extract.from_model(answer, "my knees hurt on stairs") == []


@pytest.mark.django_db
def test_what_is_kept_and_what_is_dropped_is_on_the_receipt(alice: Any) -> None:
    found = extract.candidates("I live in Lyon. My hotel is the Tang this week.")
    receipts = learn.keep(alice.id, found, source={"by": "person", "turn": "t"})
    assert [(item.status, bool(item.reason)) for item in receipts] == [("kept", False), ("dropped", True)]
    assert MemoryRecord.objects.get(user=alice).source["quote"] == "I live in Lyon."


@pytest.mark.django_db
def test_switched_off_nothing_is_even_looked_at(alice: Any) -> None:
    records.set_mode(alice.id, "off")
    assert learn.keep(alice.id, extract.candidates("I live in Lyon."), source={"by": "person", "turn": "t"}) == []


@pytest.mark.django_db
def test_a_message_full_of_statements_is_cut_off(alice: Any) -> None:
    said = "\n".join(f"My item{i} is thing{i}" for i in range(30))
    receipts = learn.keep(alice.id, extract.candidates(said), source={"by": "person", "turn": "t"})
    assert [item.status for item in receipts].count("dropped") >= 30 - learn.MOST_AT_ONCE
