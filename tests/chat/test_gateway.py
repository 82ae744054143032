"""The gateway on a well-behaved endpoint: streaming, stopping, what is sent, counting, choosing.

Request -> Reply.  Touches: nothing outside the process.
"""

import asyncio
import json
import time
from typing import Any

import pytest

from chat import tokens
from chat.errors import LLMUnavailable
from chat.llm import choose, price
from chat.llm.base import Request
from chat.llm.demo import DemoLLM
from chat.llm.openai_api import OpenAILLM
from chat.llm.prepare import prepare
from chat.llm.scripted import ScriptedLLM, call, calls, fault
from chat.types import Json, TokenUse

TOOLS: tuple[Json, ...] = ({"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}},)


def ask(text: str = "hi", **more: Any) -> Request:
    return Request(
        messages=({"role": "system", "content": "s"}, {"role": "user", "content": text}), max_tokens=50, **more
    )


async def test_words_arrive_while_they_are_written_and_once() -> None:
    typed: list[tuple[str, str]] = []
    llm = ScriptedLLM([{"text": "one two three 四五 🍵", "reasoning": "hm hm"}], delay=0.005)
    reply = await llm.reply(ask(), on_text=lambda kind, text: typed.append((kind, text)))
    assert "".join(text for kind, text in typed if kind == "answer") == reply.text == "one two three 四五 🍵"
    assert "".join(text for kind, text in typed if kind == "thought") == reply.reasoning == "hm hm"
    assert len(typed) > 2


async def test_the_arguments_of_a_call_can_be_followed() -> None:
    seen: list[tuple[int, str, str]] = []
    llm = ScriptedLLM([call("finish", answer="a long answer in many words")], delay=0.03)
    reply = await llm.reply(ask(tools=TOOLS), on_call=lambda *part: seen.append(part))
    assert seen[-1] == (0, "finish", reply.calls[0].arguments)
    assert all(reply.calls[0].arguments.startswith(arguments) for _, _, arguments in seen) and len(seen) > 2


async def test_the_json_wire_types_arguments_and_never_raw_json() -> None:
    seen: list[tuple[int, str, str]] = []
    typed: list[str] = []
    said = json.dumps({"tool": "finish", "args": {"answer": "a long answer in many words"}})
    llm = ScriptedLLM([said, '{"say": "just words"}'], delay=0.03, wire="json")
    request = ask(tools=(*TOOLS, {"type": "function", "function": {"name": "finish", "description": "end"}}))
    reply = await llm.reply(
        request, on_text=lambda kind, text: typed.append(text), on_call=lambda *part: seen.append(part)
    )
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == [
        ("finish", {"answer": "a long answer in many words"})
    ]
    assert any("a long" in arguments for _, _, arguments in seen[:-1]) and typed == []
    assert (await llm.reply(request)).text == "just words"
    assert "get_weather" in llm.requests[0]["messages"][0]["content"] and "tools" not in llm.requests[0]


async def test_earlier_calls_are_told_in_words_on_the_json_wire() -> None:
    llm = ScriptedLLM(["{}"], wire="json")
    made = {"id": "a", "function": {"name": "get_weather", "arguments": '{"city": "西安"}'}}
    talk = (
        *ask().messages,
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "a", "content": "rain"},
    )
    await llm.reply(Request(messages=talk, tools=TOOLS, max_tokens=50))
    sent = llm.requests[0]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert json.loads(sent[2]["content"]) == {"tool": "get_weather", "args": {"city": "西安"}}
    assert sent[3]["content"] == "Result of get_weather:\nrain"


async def test_coroutines_may_listen_too_and_their_fault_ends_the_reply() -> None:
    async def listen(kind: str, text: str) -> None:
        raise KeyError("the page is gone")

    llm = ScriptedLLM(["words " * 50], delay=0.005)
    with pytest.raises(KeyError):
        await llm.reply(ask(), on_text=listen)
    assert llm.transport.left_early == 1


async def test_stopping_closes_the_stream_at_once() -> None:
    begun = asyncio.Event()
    llm = ScriptedLLM(["words " * 1000], delay=0.01)
    task = asyncio.create_task(llm.reply(ask(), on_text=lambda kind, text: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert llm.transport.left_early == 1


async def test_an_end_that_never_comes_does_not_hold_a_complete_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat.llm.openai_api.AFTER_FINISH_SECONDS", 0.01)
    chunk = b'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'
    reply = await ScriptedLLM([{"raw": [chunk, 60.0]}]).reply(ask())
    assert (reply.text, reply.finish) == ("Hi", "stop")


async def test_a_reply_is_read_to_the_end_of_its_body_so_that_the_connection_serves_the_next() -> None:
    llm = ScriptedLLM(["Hi", call("now")])
    for _reply in range(2):
        await llm.reply(ask())
    assert llm.transport.left_early == 0


async def test_a_body_that_does_not_end_after_the_last_event_does_not_hold_the_reply() -> None:
    chunk = b'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'
    started = time.monotonic()
    reply = await ScriptedLLM([{"raw": [chunk, b"data: [DONE]\n\n", 60.0]}]).reply(ask())
    assert (reply.text, reply.finish) == ("Hi", "stop") and time.monotonic() - started < 3


async def test_an_endpoint_that_never_stops_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chat.llm.openai_api.LEAST_CHARS", 2_000)
    llm = ScriptedLLM([{"text": "and so on " * 10_000}])
    reply = await llm.reply(ask())
    assert reply.finish == "length" and len(reply.text) < 3_000 and llm.transport.left_early == 1


async def test_a_silent_endpoint_is_given_up_after_the_set_time(settings: Any) -> None:
    settings.AGENT_LLM_TIMEOUT, settings.AGENT_LLM_RETRIES = 0.05, 0

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings.AGENT_ALLOW_LLM = True
    llm = OpenAILLM(base_url=f"http://127.0.0.1:{port}/v1", model="m")
    with pytest.raises(LLMUnavailable, match=r"silent for 0\.05 s"):
        await llm.reply(ask())
    server.close()


async def test_an_address_where_nothing_listens_is_named(settings: Any) -> None:
    settings.AGENT_LLM_RETRIES, settings.AGENT_ALLOW_LLM = 0, True
    with pytest.raises(LLMUnavailable, match="cannot be reached"):
        await OpenAILLM(base_url="http://127.0.0.1:9/v1", model="m").reply(ask())


async def test_real_endpoints_can_be_switched_off(settings: Any) -> None:
    settings.AGENT_ALLOW_LLM = False
    with pytest.raises(LLMUnavailable, match="switched off"):
        await OpenAILLM(base_url="http://127.0.0.1:9/v1", model="m").reply(ask())


# ---- what is sent ----


async def test_a_request_says_what_it_must() -> None:
    llm = ScriptedLLM([call("get_weather"), "{}"])
    await llm.reply(ask("天气 \ud83c\x00", tools=TOOLS, must_call=True))
    await llm.reply(ask(schema={"type": "object"}))
    first, second = llm.requests
    assert first["messages"][1]["content"] == "天气 "
    assert (first["tool_choice"], first["max_tokens"], first["stream_options"]) == (
        "required",
        50,
        {"include_usage": True},
    )
    assert second["response_format"]["json_schema"]["schema"] == {"type": "object"} and "tools" not in second


def test_messages_are_made_fit_for_strict_endpoints() -> None:
    bad_call = {"id": "b", "function": {"name": "t", "arguments": '{"half'}, "index": 3}
    messages = [
        {"role": "system", "content": "one"},
        {"role": "user", "content": "hi", "refusal": None},
        {"role": "assistant", "content": ""},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": ""}}, bad_call],
        },
        {"role": "tool", "tool_call_id": "b", "content": {"天": 1}},
        {"role": "tool", "tool_call_id": "unknown", "content": "x"},
        {"role": "system", "content": "two"},
        {"role": "user", "content": "and?"},
    ]
    prepared = prepare(messages)
    assert [message["role"] for message in prepared] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert prepared[0]["content"] == "one\n\ntwo" and set(prepared[1]) == {"role", "content"}
    assert [c["function"]["arguments"] for c in prepared[2]["tool_calls"]] == ["{}", "{}"]
    assert set(prepared[2]["tool_calls"][1]) == {"id", "type", "function"}
    assert prepared[3]["content"] == '{"天": 1}' and "interrupted" in prepared[4]["content"]


def test_a_call_without_an_id_is_sent_with_one_that_its_result_can_name() -> None:
    messages = [{"role": "assistant", "tool_calls": [{"function": {"name": "t", "arguments": "{}"}}]}]
    prepared = prepare(messages)
    assert prepared[1]["tool_call_id"] == prepared[0]["tool_calls"][0]["id"] != ""


# ---- the script ----


async def test_a_script_plays_in_order_and_says_when_it_is_over() -> None:
    llm = ScriptedLLM(
        ["one", calls(("a", {"x": 1}), ("b", {})), lambda body: body["messages"][-1]["content"], fault(400, "no")]
    )
    replies = [await llm.reply(ask(str(n))) for n in range(3)]
    assert [reply.text for reply in replies] == ["one", "", "2"] and len(replies[1].calls) == 2
    for expected in ("no", "no more replies"):
        with pytest.raises(LLMUnavailable, match=expected):
            await llm.reply(ask())


async def test_structured_questions_can_have_a_script_of_their_own() -> None:
    llm = ScriptedLLM(["words"], structured=lambda body: json.dumps({"answer": "yes"}))
    assert (await llm.reply(ask(schema={"type": "object"}))).text == '{"answer": "yes"}'
    assert (await llm.reply(ask())).text == "words"


# ---- tokens and prices ----


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("The quick brown fox jumps over the lazy dog, and then it goes home to sleep for a while.", 20),
        ("下雨的时候我喜欢待在家里喝茶，看书，听音乐，和朋友聊天。", 20),
        ('{"city": "Xi\'an", "date": "2026-10-01", "nights": 2, "room": "suite"}', 29),
        ("for index in range(10):\n    print(f'{index}: {names[index]}')\n", 18),
    ],
)
def test_estimates_are_near_what_a_tokenizer_counts(text: str, real: int) -> None:
    assert 0.7 * real <= tokens.estimate(text) <= 1.35 * real


def test_estimates_follow_what_an_endpoint_reports() -> None:
    text = "words and words and words " * 40
    before = tokens.estimate(text, "learner")
    for _ in range(6):
        tokens.learn("learner", before, before * 2)
    assert 1.5 < tokens.estimate(text, "learner") / before <= 1.81
    assert tokens.estimate(text, "another") == before


async def test_what_is_not_counted_is_estimated_and_marked() -> None:
    reply = await ScriptedLLM([{"text": "Hi there", "usage": None}]).reply(ask("a question of some length, really"))
    assert reply.usage.estimated and reply.usage.prompt > 5 and reply.usage.reply >= 2


def test_prices_come_from_the_operator_then_the_list_then_nobody(settings: Any) -> None:
    use = TokenUse(prompt=1_000_000, reply=1_000_000)
    assert price.cost(use, model="m", base_url="http://127.0.0.1/v1") is None
    assert price.cost(use, model="m", base_url="http://127.0.0.1/v1", is_free=True) == 0
    listed = price.cost(use, model="gpt-5-mini", base_url="https://api.openai.com/v1")
    assert listed is not None and 0.5 < listed < 20
    settings.AGENT_PRICE_IN, settings.AGENT_PRICE_OUT = 1.0, 2.0
    assert price.cost(use, model="m", base_url="http://127.0.0.1/v1") == 3.0


# ---- choosing ----


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    choose.forget()


class Models:
    """A server that lists models."""

    def __init__(self, *names: str) -> None:
        self.body = json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()

    async def __aenter__(self) -> str:
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/v1"

    async def __aexit__(self, *fault: object) -> None:
        self.server.close()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(self.body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + self.body)
        await writer.drain()
        writer.close()


@pytest.fixture
def free(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """No endpoint is set and none is found."""
    settings.AGENT_MODEL = settings.OPENAI_BASE_URL = settings.OPENAI_API_KEY = ""
    settings.AGENT_ALLOW_LLM = True
    monkeypatch.setattr(choose, "LOCAL_URLS", ("http://127.0.0.1:9/v1",))
    return settings


async def test_without_any_endpoint_the_demo_model_answers(free: Any) -> None:
    llm = await choose.choose()
    assert isinstance(llm, DemoLLM) and llm.is_demo and llm.name == "demo model"


async def test_a_local_server_is_found(free: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Models("nomic-embed-text", "qwen-1.5b") as url:
        monkeypatch.setattr(choose, "LOCAL_URLS", (url,))
        llm = await choose.choose()
    assert (llm.name, llm.is_demo) == ("qwen-1.5b · localhost", False)


async def test_the_named_model_and_endpoint_win(free: Any) -> None:
    free.AGENT_MODEL, free.OPENAI_BASE_URL = "gpt-x", "https://llm.example.org/v1"
    assert (await choose.choose()).name == "gpt-x · llm.example.org"
    free.AGENT_MODEL = "demo"
    assert (await choose.choose()).is_demo


async def test_an_endpoint_that_is_named_but_gone_is_never_replaced_in_silence(free: Any) -> None:
    free.OPENAI_BASE_URL = "http://127.0.0.1:9/v1"
    with pytest.raises(LLMUnavailable, match="does not list its models"):
        await choose.choose()
    free.OPENAI_BASE_URL, free.AGENT_MODEL = "", "qwen-1.5b"
    with pytest.raises(LLMUnavailable, match="no endpoint is set"):
        await choose.choose()


async def test_in_tests_no_real_endpoint_is_chosen(free: Any) -> None:
    free.AGENT_ALLOW_LLM = False
    assert (await choose.choose()).is_demo
    free.OPENAI_BASE_URL, free.AGENT_MODEL = "http://127.0.0.1:9/v1", "m"
    with pytest.raises(LLMUnavailable, match="switched off"):
        await choose.choose()
