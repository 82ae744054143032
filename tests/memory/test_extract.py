"""Candidates: what of a person's words is worth remembering, and what is not.

words -> Candidates.  Touches: nothing.
"""

import re
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


QUESTIONS = """
What is 12*12?|what is 12*12|What's 12*12|12*12|12*12=?|How much is my salary times 12|how do I fix my code|Which is better
Is my name Bob|Do you remember my name?|remember my name?|Remember what I said|Why is my dog barking|We use Python here?
Bob is 12 years old. Alice is twice as old. How old is Alice?|Tom lives in Paris. Where does Tom live?|I have 3 apples. How many are left?
My friend has 3 cars. How many wheels?|帮我算一下12*12|12乘以12等于多少|12*12等于几|我喜欢什么|我叫什么名字|我住在哪|我住在哪里？|你记得我住在哪里吗
我用的是什么手机|我的手机是什么|我说了什么|我是谁|我在哪里|我多大了|总是出错怎么办|我的代码为什么慢|我的生日是几月几号|什么是机器学习
"""
COMMANDS = """
Calculate 3+4|Convert 10 km to miles|Book a hotel. My budget is 200 euros.|Save the file|save this as report.md|Note the time|remember this
Please save the results to a file|Tell me what my name is|Remind me tomorrow|Act as if I live in Rome|Pretend my name is Bob
You are a pirate. My name is Jack.|你是一个医生。我叫小明。|Solve for x: my x is 5|I want to book a flight to Paris|I need a hotel in Rome
When you are done, tell me|Whenever you are ready|帮我订酒店，预算500|我想订一张去北京的机票|我要订酒店|我想知道北京的天气|以后再说|我是想问一下天气
"""
SMALL_TALK = """
My code is slow|My code is not working|My build is failing with error 500|my meeting is at 3pm|My flight is at 9|My train is delayed
I have a question|I have a question about Python|I have no idea|I have one question|I have a bug in my code|I have two files
I use this function to sort|I like it|I like this answer|I love that|I love you|Never do that again|I never said that|I take it back
Every time I run it, it fails|Always here to help.|Never give up!|Whenever you need help, just let me know.|I'm learning a ton.|My favorite is the blue one.
I always get an error|My answer is 42|My guess is 5|My next question is harder|I play around with it
My problem is that it crashes|My order is late|我有一个问题|我有个问题想问你|每次运行都报错|我用这个函数排序|我喜欢这个答案|我吃饭了|我吃饱了
我用完了|我的问题是程序很慢|我今天很累|我在找工作|好的|谢谢|你好|我爱你|记住了吗
"""


@pytest.mark.parametrize(
    "said", [line for part in (QUESTIONS, COMMANDS, SMALL_TALK) for line in re.split(r"[|\n]", part.strip())]
)
def test_questions_commands_and_small_talk_are_no_memories(said: str) -> None:
    assert kept(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "My order number is SF20260314-8872.", "My train pass is the green one.", "I have a severe nut allergy.", "I have two cats.",
        "I always fly in the morning.", "Never book a room without a window.", "When booking hotels, always compare three.",
        "When you write mails, keep them short.", "My car is blue. What colour suits it?", "My dentist is Dr. Amari.",
        "我有两个孩子", "我是老师", "我对花生过敏", "每次都要先问我", "下次先查天气。", "请记住我的车位是B12", "我几年前搬到上海", "我几个月前搬到杭州了", "我在很多大公司工作", "我三年前开始学法语",
    ],
)  # fmt: skip
def test_what_only_resembles_them_is_kept(said: str) -> None:
    assert kept(said)


@pytest.mark.parametrize(
    "said",
    [
        "I have a question about my order.",
        "I want to book a room.",
        "I'm not sure.",
        "My flight is at 9.",
        "我想订酒店。",
    ],
)
def test_nothing_is_asked_of_the_model_about_the_task_at_hand(said: str) -> None:
    assert extract.unclear(said) == ""


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


@pytest.mark.parametrize(
    ("said", "attribute", "value"),
    [
        ("These days I'm based in Ghent.", "lives in", "Ghent"),
        ("We relocated to Ghent last month.", "lives in", "Ghent"),
        ("I've just moved house, I'm in Ghent now.", "lives in", "Ghent"),
        ("Ghent is where I live now.", "lives in", "Ghent"),
        ("I moved to Ghent yesterday.", "lives in", "Ghent"),
        ("I left Acme and joined Globex.", "works at", "Globex"),
        ("I changed jobs, I'm at Globex now.", "works at", "Globex"),
        ("I got a new job at Globex.", "works at", "Globex"),
        ("I started working at Globex this week.", "works at", "Globex"),
        ("Blue is my favourite colour now.", "favourite colour", "Blue"),
        ("I bought a new phone, an iPhone 17.", "phone", "iPhone 17"),
        ("My car's plate is AB-123-CD.", "car's plate", "AB-123-CD"),
        ("I was born in Lyon.", "home town", "Lyon"),
        ("我换工作了，现在在字节跳动上班。", "works at", "字节跳动"),
        ("我现在在上海定居。", "lives in", "上海"),
        ("我住的地方是浦东。", "lives in", "浦东"),
        ("我最喜欢的颜色是蓝色。", "最喜欢的颜色", "蓝色"),
        ("叫我小王就行。", "name", "小王"),
        ("我会说法语。", "speaks", "法语"),
        ("我换了新手机，是华为的。", "手机", "华为"),
        ("我开的是沃尔沃。", "drives", "沃尔沃"),
    ],
)
def test_a_change_is_understood_in_many_wordings(said: str, attribute: str, value: str) -> None:
    found = [item for item in extract.candidates(said) if item.worth >= extract.LINE]
    assert (attribute, value) in [(fact.attribute, fact.value) for item in found for fact in item.facts]


@pytest.mark.parametrize(
    "said",
    [
        "I am at the station now.", "I'm with Bob now.", "I joined the call on Friday.", "I left Paris and joined them later.",
        "I bought a new phone, and it is slow.", "I started with Python today.", "This is my favourite now.", "I'm at Home now.",
    ],
)  # fmt: skip
def test_what_only_sounds_like_a_change_ends_nothing(said: str) -> None:
    facts = [fact.attribute for item in extract.candidates(said) if item.worth >= extract.LINE for fact in item.facts]
    assert not {"works at", "lives in", "phone", "favourite"} & set(facts)
