"""One Reply from any stream: fragments, thinking, calls written as text, ends of every kind.

bytes -> Reply.  Touches: nothing (pure).
"""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.llm.arguments import history_arguments, parse_arguments
from chat.llm.assemble_reply import ReplyAssembler
from chat.types import Json, Reply

TOOLS = ("get_weather", "save_note")


def event(delta: Json | None = None, finish: str | None = None, **more: Any) -> Json:
    return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def fragment(index: Any = None, call_id: Any = None, name: Any = None, arguments: Any = None, **more: Any) -> Json:
    """A tool call delta; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    head = {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}
    return event({"tool_calls": [{**head, "function": function, **more}]})


def body(*events: Json, done: bool = True) -> bytes:
    lines = [b"data: " + json.dumps(item, ensure_ascii=False).encode("utf-8", "surrogatepass") for item in events]
    return b"\n\n".join([*lines, *([b"data: [DONE]"] if done else [])]) + b"\n\n"


def assemble(raw: bytes, *, offered: tuple[str, ...] = TOOLS, sizes: list[int] | None = None, taken: Any = ()) -> Reply:
    """Feed the body in pieces of the given sizes."""
    count = itertools.count()
    assembler = ReplyAssembler(offered, taken, lambda: f"own-{next(count)}")
    at = 0
    for size in sizes or []:
        assembler.feed(raw[at : at + size])
        at += size
    if at < len(raw):
        assembler.feed(raw[at:])
    assembler.close()
    return assembler.reply()


def of_text(text: str, finish: str | None = "stop", **more: Any) -> Reply:
    pieces = [text[i : i + 3] for i in range(0, len(text), 3)]
    return assemble(body(*(event({"content": piece}) for piece in pieces), event({}, finish)), **more)


END = event({}, "tool_calls")
SAVE = '{"text": "茶"}'


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        pytest.param(
            [fragment(0, "a", "save_note", ""), fragment(0, None, None, SAVE[:5]), fragment(0, None, None, SAVE[5:])],
            [("a", "save_note", SAVE)],
            id="in fragments",
        ),
        pytest.param(
            [
                fragment(None, "a", "save_note", ""),
                fragment(None, None, None, SAVE[:5]),
                fragment(None, None, None, SAVE[5:]),
            ],
            [("a", "save_note", SAVE)],
            id="without index",
        ),
        pytest.param(
            [fragment(0, "a", "save_note", SAVE), fragment(0, "b", "save_note", SAVE)],
            [("a", "save_note", SAVE), ("b", "save_note", SAVE)],
            id="two, both numbered 0",
        ),
        pytest.param(
            [fragment(0, None, "save_note", SAVE), fragment(0, None, "get_weather", "{}")],
            [("own-0", "save_note", SAVE), ("own-1", "get_weather", "{}")],
            id="two, both numbered 0, without ids",
        ),
        pytest.param(
            [
                fragment(None, None, "save_note", ""),
                fragment(None, None, None, SAVE),
                fragment(None, None, "save_note", ""),
                fragment(None, None, None, SAVE),
            ],
            [("own-0", "save_note", SAVE), ("own-1", "save_note", SAVE)],
            id="two without index and id",
        ),
        pytest.param(
            [fragment(0, "a", "save_note", SAVE), fragment(1, "a", "save_note", SAVE)],
            [("a", "save_note", SAVE), ("own-0", "save_note", SAVE)],
            id="two with one id",
        ),
        pytest.param(
            [fragment(0, "a", "save_note", ""), fragment(0, "", "null", SAVE[:4]), fragment(0, "", "null", SAVE[4:])],
            [("a", "save_note", SAVE)],
            id="name and id said as null later",
        ),
        pytest.param(
            [
                event({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "save_note", "arguments": SAVE}}]}),
                event(
                    {
                        "tool_calls": [
                            {"index": 0, "id": None, "type": None, "function": {"name": None, "arguments": None}}
                        ]
                    }
                ),
            ],
            [("a", "save_note", SAVE)],
            id="nulls at the end",
        ),
        pytest.param(
            [fragment(0, "a", "save_note", SAVE[:4]), fragment(0, "a", "save_note", SAVE[4:])],
            [("a", "save_note", SAVE)],
            id="id and name in every fragment",
        ),
        pytest.param(
            [fragment(0, "a", "save_note", ""), fragment(0, "b", None, SAVE[:4]), fragment(0, "c", None, SAVE[4:])],
            [("a", "save_note", SAVE)],
            id="a new id for every fragment",
        ),
        pytest.param(
            [fragment(0, "a", "save_note", SAVE[:4]), fragment(0, "a", None, SAVE[4:]), fragment(0, "a", None, SAVE)],
            [("a", "save_note", SAVE)],
            id="the whole said again at the end",
        ),
        pytest.param(
            [fragment(None, "a", "list_notes", ""), fragment(None, "b", "list_notes", "")],
            [("a", "list_notes", ""), ("b", "list_notes", "")],
            id="two without arguments and index",
        ),
        pytest.param(
            [event({"content": [{"type": "tool_use", "id": "a", "name": "save_note", "input": {"text": "茶"}}]})],
            [("a", "save_note", SAVE)],
            id="a call among the content parts",
        ),
        pytest.param([fragment("0", 7, "save_note", SAVE)], [("7", "save_note", SAVE)], id="numbers and texts swapped"),
        pytest.param(
            [fragment(0, "a", "save_note", {"text": "茶"})], [("a", "save_note", SAVE)], id="arguments as an object"
        ),
        pytest.param(
            [fragment(0, "a", "save_note<|channel|>commentary", SAVE)],
            [("a", "save_note", SAVE)],
            id="template mark on the name",
        ),
        pytest.param(
            [fragment(0, "a", "functions.save_note:0", SAVE)],
            [("a", "save_note", SAVE)],
            id="prefix and number on the name",
        ),
        pytest.param(
            [fragment(0, "a", "save_", ""), fragment(0, None, "note", SAVE)],
            [("a", "save_note", SAVE)],
            id="name in two parts",
        ),
        pytest.param(
            [fragment(0, "a", "no_such_tool", "{}")],
            [("a", "no_such_tool", "{}")],
            id="unknown tools are left to the loop",
        ),
        pytest.param(
            [event({"function_call": {"name": "save_note", "arguments": SAVE}})],
            [("own-0", "save_note", SAVE)],
            id="the old form",
        ),
        pytest.param(
            [event({"tool_calls": None}), event({"tool_calls": [None, {}]}), event({"tool_calls": []})],
            [],
            id="nothing in many forms",
        ),
    ],
)
def test_fragments_become_calls(fragments: list[Json], expected: list[tuple[str, str, str]]) -> None:
    reply = assemble(body(*fragments, END))
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == expected


def test_an_id_of_an_earlier_call_of_the_conversation_is_replaced() -> None:
    reply = assemble(body(fragment(0, "call_0", "save_note", SAVE), END), taken={"call_0"})
    assert reply.calls[0].id == "own-0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("null", {}),
        ('{"a": 1}', {"a": 1}),
        ('"{\\"a\\": \\"b\\"}"', {"a": "b"}),
        ('{"a": 1}\n</tool_call>\n{}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ("{a: 'it\\'s', b: [1, 2,], c: True,}", {"a": "it's", "b": [1, 2], "c": True}),
        ('{"a": "\\u8336\\ud83c\\udf75"}', {"a": "茶🍵"}),
        ('{"a": "x\\u0000y\\ud83c"}', {"a": "xy"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
    ],
)
def test_arguments_with_one_meaning_are_read(text: str, expected: Json) -> None:
    assert parse_arguments(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": "half', "stop in the middle"),
        ('{"a": 1}{"a": 2}', "more text after"),
        ("[1, 2]", "not a list"),
        ("17", "not a number"),
        ('"just text"', "no valid JSON"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1e999}', "no valid JSON"),
        ("{a: b}", "no valid JSON"),
        ('{"a": 1} and then some', "more text after"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_arguments_that_would_need_a_guess_are_explained(text: str, said: str) -> None:
    fault = parse_arguments(text)
    assert isinstance(fault, str) and said in fault
    assert history_arguments(text) == "{}"


@pytest.mark.parametrize(
    ("text", "answer", "thought"),
    [
        ("<think>\nhm\n</think>\n\nYes.", "Yes.", "hm"),
        ("<think>one</think><think>two</think>Yes.", "Yes.", "onetwo"),
        ("<THINKING>hm</THINKING> Yes.", "Yes.", "hm"),
        ("it was in the prompt already</think>Yes.", "Yes.", "it was in the prompt already"),
        ("Only this</think>", "Only this", ""),
        ("Yes.\n<think>late</think>Still.", "Yes.\nStill.", "late"),
        ("Write `<think>` before it and `</think>` behind.", "Write `<think>` before it and `</think>` behind.", ""),
        ("a < b and [x] <b>bold</b>", "a < b and [x] <b>bold</b>", ""),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.", "Yes.", "hm"),
        ("Yes.<|im_end|>", "Yes.", ""),
    ],
)
def test_thinking_is_kept_out_of_the_answer(text: str, answer: str, thought: str) -> None:
    reply = of_text(text)
    assert (reply.text, reply.reasoning) == (answer, thought)


def test_thinking_that_never_ends_stays_readable() -> None:
    reply = of_text("<think>\nhm. The answer is 42.")
    assert "42" in reply.text and reply.notes


def test_thinking_that_used_up_the_reply_is_no_answer() -> None:
    reply = of_text("<think>\nhm. The answer", finish="length")
    assert (reply.text, reply.finish) == ("", "length")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_fields_are_kept_apart(field: str) -> None:
    reply = assemble(body(event({field: "hm"}), event({"content": ""}), event({"content": "Yes."}), event({}, "stop")))
    assert (reply.text, reply.reasoning) == ("Yes.", "hm")


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Yes."}]
    reply = assemble(body(event({"content": parts}), event({}, "stop")))
    assert (reply.text, reply.reasoning) == ("Yes.", "hm")


CALL = '{"name": "save_note", "arguments": {"text": "茶"}}'


@pytest.mark.parametrize(
    ("written", "around"),
    [
        (f"Let me.\n<tool_call>\n{CALL}\n</tool_call>", "Let me."),
        (f"<tool_call>{CALL}", ""),
        (f"[TOOL_CALLS][{CALL}]", ""),
        (f"[TOOL_CALLS]save_note[ARGS]{SAVE}", ""),
        ('<|python_tag|>{"name": "save_note", "parameters": {"text": "茶"}}', ""),
        (f"<function=save_note>{SAVE}</function>", ""),
        ("<tool_call><function=save_note><parameter=text>\n茶\n</parameter></function></tool_call>", ""),
        ("<tool_call>save_note\n<arg_key>text</arg_key>\n<arg_value>茶</arg_value>\n</tool_call>", ""),
        (f"<|channel|>commentary to=functions.save_note <|constrain|>json<|message|>{SAVE}<|call|>", ""),
        (CALL, ""),
        (f"```json\n{CALL}\n```", ""),
        ('{"tool": "save_note", "args": {"text": "茶"}}', ""),
    ],
)
def test_a_call_written_as_text_is_read_and_not_shown(written: str, around: str) -> None:
    reply = of_text(written)
    assert [(call.name, parse_arguments(call.arguments)) for call in reply.calls] == [("save_note", {"text": "茶"})]
    assert (reply.text, reply.finish) == (around, "calls")
    assert reply.notes


@pytest.mark.parametrize(
    "text", ['{"name": "Ann", "age": 3}', '{"name": "rm", "arguments": {}}', "[1, 2, 3]", "```py\nx\n```"]
)
def test_json_that_is_no_call_stays_text(text: str) -> None:
    reply = of_text(text)
    assert (reply.text, reply.calls) == (text, ())


def test_text_is_never_read_as_a_call_when_no_tool_is_offered() -> None:
    reply = of_text(f"<tool_call>{CALL}</tool_call>", offered=())
    assert reply.calls == () and "<tool_call>" in reply.text


@pytest.mark.parametrize(
    ("finish", "done", "expected"),
    [
        ("stop", True, "stop"),
        ("end_turn", True, "stop"),
        ("max_tokens", True, "length"),
        (None, True, "stop"),
        ("stop", False, "stop"),
        (None, False, "cut"),
    ],
)
def test_the_end_is_read_from_what_is_there(finish: str | None, done: bool, expected: str) -> None:
    assert assemble(body(event({"content": "Hi"}), event({}, finish), done=done)).finish == expected


def test_calls_win_over_the_finish_reason() -> None:
    assert assemble(body(fragment(0, "a", "save_note", SAVE), event({}, "stop"))).finish == "calls"


def test_half_a_call_of_a_stream_that_breaks_off_is_dropped() -> None:
    reply = assemble(body(fragment(0, "a", "save_note", '{"te'), done=False))
    assert (reply.calls, reply.finish) == ((), "cut")


def test_usage_is_the_last_report_and_never_a_sum() -> None:
    first, last = {"prompt_tokens": 10, "completion_tokens": 1}, {"prompt_tokens": 10, "completion_tokens": 5}
    reply = assemble(body(event({"content": "Hi"}, usage=first), event({}, "stop", usage=last)))
    assert (reply.usage.prompt, reply.usage.reply, reply.usage.estimated) == (10, 5, False)


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": -3, "completion_tokens": "x"}, []]
)
def test_usage_that_says_nothing_is_marked(usage: Any) -> None:
    assert assemble(body(event({"content": "Hi"}), event({}, "stop", usage=usage))).usage.estimated


def test_odd_events_are_passed_over() -> None:
    odd: list[Any] = [
        {"choices": []},
        {"choices": None},
        event(None),
        {"choices": [{"index": 0}]},
        {"choices": [None]},
        {},
        [],
        "x",
        3,
    ]
    reply = assemble(
        body(*odd, event({"content": "Hi"}), event({"content": " there", "role": None}), *odd, event({}, "stop"))
    )
    assert reply.text == "Hi there"


def test_a_whole_message_behind_its_deltas_is_not_added_again() -> None:
    repeat = {"choices": [{"index": 0, "message": {"content": "Hi there"}, "finish_reason": "stop"}]}
    assert assemble(body(event({"content": "Hi"}), event({"content": " there"}), repeat)).text == "Hi there"


def test_a_plain_body_is_read_like_a_stream() -> None:
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "function": {"name": "save_note", "arguments": SAVE}}],
    }
    raw = json.dumps(
        {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3}}, indent=1
    )
    reply = assemble(raw.encode(), sizes=[7] * 20)
    assert reply.calls[0].name == "save_note" and reply.finish == "calls" and reply.usage.prompt == 3


@pytest.mark.parametrize(
    "raw",
    [
        b'data: {"error": {"message": "overloaded"}}\n\n',
        b'event: error\ndata: {"message": "overloaded"}\n\n',
        b'error: {"message": "overloaded"}\n\n',
        b'{"error": {"message": "overloaded"}}',
        b'data: {"choices": null, "error": "overloaded"}\n\n',
        b'{"detail": "overloaded"}',
    ],
)
def test_an_error_in_the_body_is_seen(raw: bytes) -> None:
    assembler = ReplyAssembler()
    assembler.feed(raw)
    assembler.close()
    assert "overloaded" in str(assembler.error)


def test_a_page_of_another_server_is_not_read_as_an_answer() -> None:
    assembler = ReplyAssembler()
    assembler.feed(b"<!DOCTYPE html><html><body>Welcome</body></html>")
    assembler.close()
    assert assembler.is_empty and "Welcome" in assembler.unread


def test_surrogates_split_over_deltas_are_joined_and_lone_ones_dropped() -> None:
    raw = body(
        event({"content": "a\ud83c"}),
        event({"content": "\udf75b\udf75"}),
        event({"content": "c\x00\ud83c"}),
        event({}, "stop"),
    )
    assert assemble(raw).text == "a🍵bc"


# ---- any way of cutting a stream gives the same reply ----

TEXTS = st.lists(
    st.sampled_from(
        [
            "Hello ",
            "你好，",
            "🍵",
            "<think>",
            "</think>",
            "\n",
            "```",
            "`",
            "<tool_call>",
            "</tool_call>",
            CALL,
            "<",
            "[x]",
            "{",
            "a",
        ]
    ),
    max_size=12,
).map("".join)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["text", "city", "n"]), st.one_of(st.text(max_size=12), st.integers()), max_size=3
)


@st.composite
def streams(draw: Any) -> tuple[list[Json], str]:
    """Deltas of one reply, cut at will, and the separator of its lines."""
    events: list[Json] = []
    text, reasoning = draw(TEXTS), draw(st.sampled_from(["", "let me see 看"]))
    events += [event({"reasoning_content": piece}) for piece in draw(cuts(reasoning))]
    events += [event({"content": piece}) for piece in draw(cuts(text))]
    for index in range(draw(st.integers(0, 2))):
        arguments = json.dumps(draw(ARGUMENTS), ensure_ascii=draw(st.booleans()))
        events.append(fragment(index, f"id{index}", draw(st.sampled_from(TOOLS)), ""))
        events += [fragment(index, None, None, piece) for piece in draw(cuts(arguments))]
    events.append(event({}, draw(st.sampled_from(["stop", "tool_calls", "length", None]))))
    return events, draw(st.sampled_from(["\n", "\r\n", "\r"]))


def cuts(text: str) -> Any:
    """Every way of cutting a text into pieces that are not empty."""
    places = st.lists(st.integers(0, len(text)), max_size=6).map(sorted)
    return places.map(lambda at: [text[i:j] for i, j in itertools.pairwise([0, *at, len(text)]) if i < j])


@settings(max_examples=150, deadline=None)
@given(streams(), st.lists(st.integers(1, 40), max_size=60), st.booleans())
def test_any_split_of_a_stream_gives_the_same_reply(
    stream: tuple[list[Json], str], sizes: list[int], done: bool
) -> None:
    events, newline = stream
    raw = body(*events, done=done).replace(b"\n", newline.encode())
    assert assemble(raw, sizes=sizes) == assemble(raw)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.data())
def test_any_split_of_the_text_into_deltas_gives_the_same_reply(text: str, data: Any) -> None:
    whole = assemble(body(event({"content": text}), event({}, "stop")))
    pieces = data.draw(cuts(text))
    assert assemble(body(*(event({"content": piece}) for piece in pieces), event({}, "stop"))) == whole


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.data())
def test_what_is_shown_while_it_streams_is_what_the_reply_holds(text: str, data: Any) -> None:
    assembler, shown = ReplyAssembler(TOOLS), []
    for piece in data.draw(cuts(text)):
        shown += assembler.feed(body(event({"content": piece}), done=False))
    shown += assembler.feed(body(event({}, "stop"))) + assembler.close()
    answer = "".join(piece for kind, piece in shown if kind == "answer").strip()
    reply = assembler.reply()
    if "</think>" not in text and not reply.notes:
        assert answer == reply.text


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    )
)
def test_no_event_of_any_shape_breaks_the_assembler(value: Any) -> None:
    calls = [value, {"index": value, "id": value, "function": value}, {"function": {"name": value, "arguments": value}}]
    shapes: list[Any] = [value, {"choices": value}, {"choices": [value]}, event(value), event({}, value)]
    shapes += [event({"content": value}), event({"reasoning": value}), event({"tool_calls": value})]
    shapes += [event({"tool_calls": [call]}) for call in calls]
    shapes += [{"usage": value}, {"usage": {"prompt_tokens": value, "prompt_tokens_details": value}}, {"model": value}]
    assemble(body(*shapes))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="{}[]\"':,\\ntruefalsu012.-e abc</>|`\n", max_size=40))
def test_no_arguments_of_any_kind_break_the_reader(text: str) -> None:
    assert isinstance(parse_arguments(text), (dict, str))
    assert isinstance(json.loads(history_arguments(text)), dict)
