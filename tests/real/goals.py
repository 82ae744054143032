"""Goals that a real model makes plans for, in English and Chinese, each with the tools that a plan for it must use.

Touches: nothing (pure).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    text: str
    tools: frozenset[str]  # a plan that lacks one of them may be valid and cannot reach the goal


def _goal(text: str, *tools: str) -> Goal:
    return Goal(text=text, tools=frozenset(tools))


GOALS = (
    _goal("What is the weather in Xi'an on October 1, 2026?", "get_weather"),
    _goal("西安2026年10月2日天气怎么样？", "get_weather"),
    _goal("Find a hotel in Xi'an for two nights from October 1, 2026.", "search_hotels"),
    _goal("帮我在西安订一间标准间，10月2日入住，住一晚。", "search_hotels", "book_hotel"),
    _goal(
        "Two nights in Xi'an from October 1. Check that day's weather first; if it rains book a suite, otherwise a standard room.",
        "get_weather",
        "search_hotels",
        "book_hotel",
    ),
    _goal(
        "西安10月2日住两晚。先查当天天气，下雨订suite，否则订standard。", "get_weather", "search_hotels", "book_hotel"
    ),
    _goal("Work out 17 * 23 and save the result to result.txt.", "calculate", "write_file"),
    _goal("计算 (12.5 + 7.5) * 3，把结果写到 total.txt。", "calculate", "write_file"),
    _goal("If 2 ** 10 is greater than 1000 save the word big to size.txt, otherwise small.", "calculate", "write_file"),
    _goal("List my saved files and read notes.txt.", "list_files", "read_file"),
    _goal("读取 notes.txt，然后把内容另存为 copy.txt。", "read_file", "write_file"),
    _goal("Delete the file old.txt.", "delete_file"),
    _goal("What day of the week is it today? Save it to today.txt.", "now", "write_file"),
    _goal("现在几点了？", "now"),
    _goal("Remember that I am allergic to peanuts.", "remember"),
    _goal("请记住我喜欢安静的房间，以后订房时用。", "remember"),
    _goal("What do you know about my food preferences?", "search_memory"),
    _goal("在我上传的文件里找出合同的截止日期。", "search_documents"),
    _goal("Read https://example.com and e-mail a summary to anna@example.com.", "fetch_page", "send_email"),
    _goal("统计单词 strawberry 里有几个字母 r，把结果发邮件给 li@example.com。", "run_python", "send_email"),
)
