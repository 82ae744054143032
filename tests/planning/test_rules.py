"""Rules that code reads out of a task: which answer leads to which branch, in the words people use.

Touches: nothing (pure).
"""

import time

import pytest

from planning.conditions import looks_conditional, split_rule

SUITE, STANDARD = "suite", "standard"

# task, what the question must hold, what the yes must hold, what the no must hold
READ = [
    ("if it rains book a suite, otherwise a standard room", "rain", SUITE, STANDARD),
    ("If it rains a suite, otherwise a standard room.", "rain", SUITE, STANDARD),
    (
        "Two nights. Check that day's weather first; if it rains book a suite, otherwise a standard room.",
        "rain",
        SUITE,
        STANDARD,
    ),
    (
        "If it's raining on the 1st, book a suite for two nights; otherwise, book a standard room.",
        "rain",
        SUITE,
        STANDARD,
    ),
    ("If it rains, book a suite. Otherwise, book a standard room. Then email me.", "rain", SUITE, STANDARD),
    ("If it rains, book a suite. If not, book a standard room.", "rain", SUITE, STANDARD),
    ("If it rains book a suite, if it doesn't a standard room.", "rain", SUITE, STANDARD),
    ("If it rains book a suite, if it doesn't rain book a standard room.", "rain", SUITE, STANDARD),
    ("If it rains then a suite else a standard room", "rain", SUITE, STANDARD),
    ("Book a suite if it rains, otherwise a standard room.", "rain", SUITE, STANDARD),
    ("Check the weather in Xi'an and book a suite if it rains, otherwise a standard room.", "rain", SUITE, STANDARD),
    ("Check the weather, then book a suite if it rains and a standard room otherwise.", "rain", SUITE, STANDARD),
    ("Please book a suite if it rains that day and a standard room if it doesn't.", "rain", SUITE, STANDARD),
    ("Book me a room: a suite if it rains on October 1, a standard room otherwise.", "October 1", SUITE, STANDARD),
    ("I'd like a suite if it rains, otherwise a standard room is fine.", "rain", SUITE, STANDARD),
    ("Book a hotel for 2 nights. If rainy, suite; otherwise standard.", "rainy", SUITE, STANDARD),
    ("suite if rain, otherwise standard", "rain", SUITE, STANDARD),
    ("Should it rain, book a suite; otherwise book a standard room.", "Does it rain?", SUITE, STANDARD),
    ("In case of rain book a suite, otherwise a standard room.", "rain", SUITE, STANDARD),
    ("Is it going to rain? If so book a suite, otherwise a standard room.", "rain", SUITE, STANDARD),
    ("Check whether it rains and if so book a suite, otherwise a standard room.", "Does it rain?", SUITE, STANDARD),
    (
        "Check whether it rains on Oct 1. If it does, book a suite; if it does not, book a standard room.",
        "Oct 1",
        SUITE,
        STANDARD,
    ),
    # unless, and a "not" in the condition: the question is asked plainly, the branches trade places
    ("Unless it is sunny, book a suite; otherwise book a standard room.", "Is it sunny?", STANDARD, SUITE),
    ("Book a suite unless it is sunny, in which case book a standard room.", "Is it sunny?", STANDARD, SUITE),
    ("Book a suite unless it is sunny.", "Is it sunny?", "", SUITE),
    ("If it is not sunny, book a suite, otherwise a standard room.", "Is it sunny?", STANDARD, SUITE),
    ("If it isn't sunny book a suite, otherwise a standard room.", "Is it sunny?", STANDARD, SUITE),
    ("If it doesn't rain book a standard room, otherwise a suite.", "Does it rain?", SUITE, STANDARD),
    ("If there is no vacancy, tell me, otherwise book the room.", "Is there vacancy?", "book", "tell me"),
    # numbers, files, other errands
    (
        "If the result is greater than 400 save 'big', otherwise 'small'",
        "greater than 400",
        "save 'big'",
        "save 'small'",
    ),
    (
        "If the result is greater than 400 save 'big' to a.txt, otherwise 'small'.",
        "400",
        "'big' to a.txt",
        "'small' to a.txt",
    ),
    (
        "Work out 17 * 23. If the result is greater than 400, save the word big, otherwise save the word small.",
        "400",
        "big",
        "small",
    ),
    ("If the field total is at least 1,000 email bob, otherwise don't do anything.", "1,000", "email bob", "don't"),
    ("if the temperature is below 10.5 degrees pack a coat, else a jacket", "10.5", "coat", "jacket"),
    (
        "Read notes.txt. If it contains the word urgent, send an email to bob@x.org, otherwise do nothing.",
        "urgent",
        "bob@x.org",
        "nothing",
    ),
    (
        'If the file says "If in doubt, leave it", delete it, otherwise keep it',
        '"If in doubt, leave it"',
        "delete",
        "keep",
    ),
    ("If notes.txt contains 'urgent', email bob.", "contain 'urgent'", "email bob", ""),
    ("Send the mail only if the file contains 'urgent'.", "contain 'urgent'", "Send the mail", ""),
    ("If the order is open cancel it, otherwise tell me.", "Is the order open?", "cancel", "tell me"),
    ("If the book is red, buy it, otherwise leave it", "Is the book red?", "buy", "leave"),
    ("If the hotel has a pool book it, otherwise find another one.", "have a pool", "book it", "find another"),
    # Chinese
    ("西安10月1日住两晚。先查当天天气，下雨订suite，否则订standard。", "下雨吗？", SUITE, STANDARD),
    ("先查当天天气，下雨订suite，否则订standard", "下雨吗？", SUITE, STANDARD),
    ("如果下雨就订套房，否则订标准间", "下雨吗？", "套房", "标准间"),
    ("如果下雨，订套房；否则，订标准间。", "下雨吗？", "套房", "标准间"),
    ("下雨的话，订套房，否则订标准间", "下雨吗？", "套房", "标准间"),
    ("下雨的话订套房，不下雨的话订标准间", "下雨吗？", "套房", "标准间"),
    ("下雨，就订套房，否则订标准间", "下雨吗？", "套房", "标准间"),
    ("下雨订套房，否则标准间", "下雨吗？", "套房", "订标准间"),
    ("下雨订suite，不下雨订standard", "下雨吗？", SUITE, STANDARD),
    ("如果下雨就订suite，如果不下雨就订standard", "下雨吗？", SUITE, STANDARD),
    ("如果不下雨就订标准间，否则订套房", "下雨吗？", "套房", "标准间"),
    ("若天气不好则订suite，否则订standard", "天气好吗？", STANDARD, SUITE),
    ("查天气，要是下雨就订suite，不然就订standard，住两晚", "下雨吗？", SUITE, STANDARD),
    ("查一下10月1日是否下雨，是的话订suite，否则订standard", "下雨吗？", SUITE, STANDARD),
    ("10月1日下雨吗？如果是就订suite，否则订standard", "10月1日下雨吗？", SUITE, STANDARD),
    ("除非天晴，否则订套房", "天晴吗？", "", "套房"),
    ("订标准间，除非下雨", "下雨吗？", "", "标准间"),
    ('结果大于400就保存"大"，否则保存"小"', "大于400", '"大"', '"小"'),
    ("结果大于400就保存“大”，否则“小”", "大于400", "保存“大”", "保存“小”"),
    (
        "计算17*23。如果结果大于400，就把单词big存到result.txt，否则把单词small存到result.txt。",
        "大于400",
        "big",
        "small",
    ),
    ("要是余额不足就提醒我，否则付款", "余额不足吗？", "提醒我", "付款"),
    ("如果文件里包含“加急”，就发邮件给bob，否则什么都不做", "包含“加急”", "bob", "不做"),
    ("如果没有邮件，就结束，否则回复", "有邮件吗？", "回复", "结束"),
    ("如果有房就订，没房就换一家", "有房吗？", "订", "换一家"),
    ("如果价格超过500元就告诉我，不然直接订", "超过500元", "告诉我", "直接订"),
    # when, once, as soon as; what only begins like one of them
    ("When it rains, book a suite, otherwise a standard room.", "Does it rain?", SUITE, STANDARD),
    ("When the total exceeds 100, email me; otherwise do nothing.", "exceed 100", "email me", "nothing"),
    ("If rain: suite, else: standard", "rain", SUITE, STANDARD),
    (
        "If the result is greater than 400, save the word big to result.txt, otherwise save the word small to result.txt",
        "Is the result greater than 400?",
        "big to result.txt",
        "small to result.txt",
    ),
    ("如果结果大于400，就把单词big存到result.txt，否则把单词small存到result.txt", "大于400", "big", "small"),
    ("万一下雨就订套房，否则订标准间", "下雨吗？", "套房", "标准间"),
    ("一旦下雨就订套房，否则订标准间", "下雨吗？", "套房", "标准间"),
    ("只要下雨就订套房，否则订标准间", "下雨吗？", "套房", "标准间"),
    ("当下雨时订套房，否则订标准间", "下雨吗？", "套房", "标准间"),
    ("当天气不好时订套房，否则订标准间", "天气好吗？", "标准间", "套房"),
    ("当天下雨时订套房，否则订标准间", "当天下雨吗？", "套房", "标准间"),
]

UNSURE = [
    "If it rains book a suite, if it is sunny book a standard room.",
    "下雨订suite，晴天订standard",
    "If A, B; if C, D; otherwise E",
    "If A holds, send X. If C holds, send Y. Otherwise send Z.",
    "如果a就b；如果c就d；否则e",
    "Book a suite and a taxi if it rains, otherwise a standard room.",
    "If you have questions, ask me.",
    "If possible, book near the station.",
    "Book near the station if possible.",
    "Tell me if it rains.",
    "Tell me whether it rains.",
    "whether it rains or not, book a suite",
    "Depending on the weather book a suite or a standard room",
    "如果方便的话，帮我订酒店",
    "若干酒店里选一家",
    "Book something else",
    "Book a suite.",
    "订套房",
    "",
]


@pytest.mark.parametrize(("task", "question", "yes", "no"), READ)
def test_a_rule_is_read_with_each_branch_under_its_answer(task: str, question: str, yes: str, no: str) -> None:
    (rule,) = split_rule(task)
    assert question in rule.question
    assert yes in rule.if_yes and bool(yes) == bool(rule.if_yes)
    assert no in rule.if_no and bool(no) == bool(rule.if_no)


@pytest.mark.parametrize("task", [row[0] for row in READ])
def test_the_rule_is_kept_in_the_persons_own_words(task: str) -> None:
    (rule,) = split_rule(task)
    assert rule.rule in task


@pytest.mark.parametrize("task", [row[0] for row in READ])
def test_what_can_be_read_also_looks_conditional(task: str) -> None:
    assert looks_conditional(task)


@pytest.mark.parametrize("task", UNSURE)
def test_nothing_is_read_where_it_is_not_sure(task: str) -> None:
    assert split_rule(task) == []


@pytest.mark.parametrize(
    "task",
    [
        "Book near the station if possible.",
        "Book something else",
        "订套房",
        "若干酒店里选一家",
        "Is there anything else?",
    ],
)
def test_politeness_is_no_condition(task: str) -> None:
    assert not looks_conditional(task)


def test_two_rules_are_two_conditions() -> None:
    first, second = split_rule(
        "If it rains book a suite, otherwise a standard room. If the price is over 900, tell me, otherwise book it."
    )
    assert "rain" in first.question and "900" in second.question


def test_what_comes_after_the_rule_is_no_part_of_its_last_branch() -> None:
    for task in (
        "If it rains book a suite, otherwise a standard room, and send me an email.",
        "If it rains book a suite, otherwise a standard room, then send me an email.",
        "如果下雨订suite，否则订standard，然后发邮件给我",
    ):
        (rule,) = split_rule(task)
        assert "mail" not in rule.if_no and "邮件" not in rule.if_no


@pytest.mark.parametrize(
    "task",
    [
        "if " + "a " * 1900,
        "if" + " " * 3990,
        "如果" + "下" * 3990,
        "有房订" * 1300 + "，没有房订x",
        "if " + "a, " * 1300 + "otherwise b",
        "unless " + "book " * 700,
    ],
)
def test_a_text_made_to_be_slow_is_read_fast(task: str) -> None:
    begin = time.thread_time()
    split_rule(task)
    assert time.thread_time() - begin < 5  # of this thread alone: a reading that explodes takes minutes
