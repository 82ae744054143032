"""The gateway against endpoints that misbehave: the loop must not notice, or must be told.

Request -> Reply.  Touches: nothing outside the process.
"""

import json
from typing import Any

import pytest

from chat.errors import LLMUnavailable
from chat.llm import openai_api
from chat.llm.arguments import history_arguments, parse_arguments
from chat.llm.base import ContextTooLong, Request
from chat.llm.openai_api import OpenAILLM
from chat.llm.wire import PolicyTransport
from chat.types import Json, Reply
from tests.support import odd_endpoint as odd

TOOLS: tuple[Json, ...] = (
    {
        "type": "function",
        "function": {
            "name": "save_note",
            "description": "Save a note.",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        },
    },
)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backing off is tested by its notices, not by waiting."""
    monkeypatch.setattr(openai_api, "BACK_OFF", 0.001)


def connect(policy: odd.Policy, **options: Any) -> OpenAILLM:
    transport = PolicyTransport(policy, model="odd")
    return OpenAILLM(base_url="http://odd.invalid/v1", model="odd", transport=transport, **options)


def bodies(llm: OpenAILLM) -> list[Json]:
    assert isinstance(llm.transport, PolicyTransport)
    return llm.transport.bodies


def ask(*messages: Json, **more: Any) -> Request:
    talk = messages or ({"role": "system", "content": "You help."}, {"role": "user", "content": "I like oolong."})
    return Request(messages=talk, max_tokens=200, **more)


async def round_trip(llm: OpenAILLM) -> tuple[Reply, Reply, str]:
    """The call, its result sent back, and the words; with what was typed live."""
    first = await llm.reply(ask(tools=TOOLS, must_call=True))
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": history_arguments(c.arguments)}}
        for c in first.calls
    ]
    results = [{"role": "tool", "tool_call_id": c.id, "content": "saved"} for c in first.calls]
    talk = ask(
        *ask().messages, {"role": "assistant", "content": first.text, "tool_calls": calls}, *results, tools=TOOLS
    )
    typed: list[str] = []
    second = await llm.reply(talk, on_text=lambda kind, text: typed.append(text) if kind == "answer" else None)
    return first, second, "".join(typed)


@pytest.mark.parametrize("kind", odd.HARMLESS)
async def test_the_loop_does_not_notice(kind: str) -> None:
    first, second, typed = await round_trip(connect(odd.HARMLESS[kind]))
    assert [(call.name, parse_arguments(call.arguments)) for call in first.calls] == [("save_note", odd.ARGS)]
    assert first.calls[0].id and first.finish == "calls"
    assert (second.text, second.finish, second.calls) == (odd.TEXT, "stop", ())
    assert typed in {odd.TEXT, ""}  # never doubled, never with thinking or tags in it
    assert first.usage.prompt > 0 and second.usage.reply > 0


async def test_two_calls_with_one_id_stay_two() -> None:
    twins = {"calls": [{**call, "id": "same"} for call in odd.CALL["calls"] * 2]}
    reply = await connect(lambda body: twins).reply(ask(tools=TOOLS))
    assert len({call.id for call in reply.calls}) == 2


async def test_arguments_cut_by_the_limit_cannot_be_read() -> None:
    reply = await connect(odd.arguments('{"text": "likes', "length")).reply(ask(tools=TOOLS))
    assert reply.finish == "length" and any("cut off" in note for note in reply.notes)
    assert isinstance(parse_arguments(reply.calls[0].arguments), str)


@pytest.mark.parametrize("drop", [True, False])
async def test_a_stream_that_always_breaks_off_is_marked_and_half_a_call_is_dropped(drop: bool) -> None:
    llm = connect(odd.half(drop=drop))
    reply = await llm.reply(ask(tools=TOOLS))
    assert (reply.calls, reply.finish, len(bodies(llm))) == ((), "cut", 2)


async def test_words_that_broke_off_twice_are_kept_and_marked() -> None:
    llm = connect(odd.half(lambda body: {"error": {"message": "overloaded"}}))
    reply = await llm.reply(ask())
    assert reply.finish == "cut" and reply.text and odd.TEXT.startswith(reply.text)


async def test_nothing_but_an_error_is_said_in_the_endpoints_words() -> None:
    with pytest.raises(LLMUnavailable, match="provider returned error"):
        await connect(
            lambda body: {"raw": [b'{"choices": null, "error": {"message": "provider returned error", "code": 400}}']}
        ).reply(ask())


async def test_an_answer_that_is_no_chat_reply_names_the_address() -> None:
    with pytest.raises(LLMUnavailable) as caught:
        await connect(lambda body: {"raw": [b"<html>Welcome to nginx</html>"]}).reply(ask())
    assert "Welcome to nginx" in str(caught.value) and "/v1" in caught.value.what_to_do


async def test_an_endpoint_that_stays_empty_is_asked_twice_and_marked() -> None:
    llm = connect(odd.nothing)
    reply = await llm.reply(ask())
    assert len(bodies(llm)) == 2 and any("empty" in note for note in reply.notes)


@pytest.mark.parametrize(
    ("status", "message", "says"),
    [
        (401, "bad key", "OPENAI_API_KEY"),
        (404, "no such model", "AGENT_MODEL"),
        (402, "no money", "Top up"),
        (429, "You exceeded your current quota (insufficient_quota)", "Top up"),
        (418, "teapot", "does not take"),
    ],
)
async def test_faults_that_stay_are_not_retried_and_come_with_advice(status: int, message: str, says: str) -> None:
    llm = connect(lambda body: {"status": status, "error": {"message": message}})
    with pytest.raises(LLMUnavailable) as caught:
        await llm.reply(ask())
    assert message in str(caught.value) and says in caught.value.what_to_do
    assert len(bodies(llm)) == 1


async def test_a_key_that_the_endpoint_repeats_is_not_shown() -> None:
    llm = connect(lambda body: {"status": 401, "error": {"message": "Incorrect API key provided: sk-secret-1234."}})
    with pytest.raises(LLMUnavailable) as caught:
        await llm.reply(ask())
    assert "Incorrect API key" in str(caught.value) and "secret" not in str(caught.value)


async def test_faults_that_pass_are_retried_as_often_as_set_and_the_person_is_told(settings: Any) -> None:
    settings.AGENT_LLM_RETRIES = 2
    notices: list[str] = []
    llm = connect(lambda body: {"status": 503, "error": {"message": "loading"}})
    with pytest.raises(LLMUnavailable, match="loading"):
        await llm.reply(ask(), on_notice=notices.append)
    assert len(bodies(llm)) == 3 and len(notices) == 2 and "trying again" in notices[0]


async def test_the_wait_that_the_endpoint_asks_for_is_kept_and_said() -> None:
    notices: list[str] = []
    llm = connect(odd.once(lambda body: {"status": 429, "headers": {"retry-after": "1"}, "error": {"message": "slow"}}))
    await llm.reply(ask(), on_notice=notices.append)
    assert notices == ["The model's endpoint asks to wait 1 s."]


async def test_a_wait_beyond_patience_is_given_up_at_once() -> None:
    llm = connect(lambda body: {"status": 429, "headers": {"retry-after": "3600"}, "error": {"message": "slow"}})
    with pytest.raises(LLMUnavailable):
        await llm.reply(ask())
    assert len(bodies(llm)) == 1


@pytest.mark.parametrize(
    "error",
    [
        {
            "message": "request (9000 tokens) exceeds the available context size (6000 tokens)",
            "n_ctx": 6000,
            "n_prompt_tokens": 9000,
        },
        {"message": "This model's maximum context length is 6000 tokens. However, you sent 9000 tokens."},
    ],
)
async def test_a_request_that_is_too_long_says_how_long_it_may_be(error: Json) -> None:
    llm = connect(lambda body: {"status": 400, "error": error})
    with pytest.raises(ContextTooLong) as caught:
        await llm.reply(ask())
    assert (caught.value.limit, caught.value.sent, len(bodies(llm))) == (6000, 9000, 1)


async def test_a_prompt_that_lost_its_beginning_is_flagged() -> None:
    talk = ask({"role": "user", "content": "a long story about tea " * 300})
    reply = await connect(lambda body: {"text": "Hm.", "usage": {"prompt_tokens": 90, "completion_tokens": 2}}).reply(
        talk
    )
    assert any("cut off the beginning" in note for note in reply.notes)


async def test_what_an_endpoint_refused_is_remembered() -> None:
    llm = connect(odd.strict)
    await llm.reply(ask())
    await llm.reply(ask())
    assert [("stream_options" in body) for body in bodies(llm)] == [True, False, False]


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            "max_tokens",
        ),
        ("Unsupported value: 'temperature' does not support 0.0 with this model.", "temperature"),
        ("tool_choice 'required' is not supported", "tool_choice"),
    ],
)
async def test_a_field_named_in_the_refusal_is_left_out(message: str, field: str) -> None:
    llm = connect(lambda body: {"status": 400, "error": {"message": message}} if field in body else odd.plain(body))
    reply = await llm.reply(ask(tools=TOOLS, must_call=True))
    assert reply.calls and field not in bodies(llm)[-1]


async def test_a_schema_is_asked_for_in_words_where_it_is_not_enforced() -> None:
    llm = connect(
        lambda body: (
            {"status": 400, "error": {"message": "response_format is not supported"}}
            if "response_format" in body
            else '{"answer": "yes"}'
        )
    )
    reply = await llm.reply(ask(schema={"type": "object", "properties": {"answer": {"type": "string"}}}))
    assert reply.text == '{"answer": "yes"}'
    assert '"answer"' in bodies(llm)[-1]["messages"][0]["content"]


async def test_a_model_that_never_calls_is_asked_for_json() -> None:
    def policy(body: Json) -> Any:
        return json.dumps({"tool": "save_note", "args": odd.ARGS}) if "tools" not in body else "I would save a note."

    llm = connect(policy)
    replies = [await llm.reply(ask(tools=TOOLS, must_call=True)) for _ in range(3)]
    assert [bool(reply.calls) for reply in replies] == [False, False, True]
    assert replies[1].notes and "tools" not in bodies(llm)[-1]
