"""An endpoint that misbehaves in the ways real ones do, as policies for the wire.

request body -> reply.  Touches: nothing.

Each kind answers the first request of a test badly and, where it is a passing fault, the next one well.
"""

import json
from collections.abc import Callable
from typing import Any

from chat.llm.wire import DONE, chunks, completion, sse
from chat.types import Json

TEXT = "Done. The answer is 42, 茶 🍵."
ARGS = {"text": "likes oolong 茶"}
CALL: Json = {"calls": [{"name": "save_note", "args": ARGS, "id": "call_1"}]}
WORDS: Json = {"text": TEXT}
Policy = Callable[[Json], Any]


def plain(body: Json) -> Json:
    """A call where tools are offered and none was made, then words."""
    called = any(message.get("tool_calls") for message in body["messages"])
    return CALL if body.get("tools") and not called else WORDS


def events(body: Json) -> list[Json]:
    return chunks(body, plain(body), "odd")


def deltas_of(event: Json) -> list[Json]:
    delta = (event["choices"] or [{}])[0].get("delta") or {}
    found: list[Json] = delta.get("tool_calls") or []
    return found


def raw(pieces: list[Any], *, done: bool = True) -> Json:
    """Events, bytes and pauses as they are."""
    sent = [sse(piece) if isinstance(piece, dict) else piece for piece in pieces]
    return {"raw": [*sent, *([DONE] if done else [])]}


def each_delta(change: Callable[[Json, bool], Json]) -> Policy:
    """Change every tool call delta; the flag says whether it is the first of its call."""

    def policy(body: Json) -> Json:
        sent = events(body)
        for event in sent:
            for delta in deltas_of(event):
                changed = change(dict(delta), "id" in delta)
                delta.clear()
                delta.update(changed)
        return raw(sent)

    return policy


def arguments(text: str, finish: str = "tool_calls") -> Policy:
    def policy(body: Json) -> Json:
        reply = plain(body)
        return (
            {"calls": [{**call, "arguments": text} for call in reply["calls"]], "finish": finish}
            if reply is CALL
            else reply
        )

    return policy


def named(name: str) -> Policy:
    return lambda body: {"calls": [{"name": name, "args": ARGS}]} if plain(body) is CALL else WORDS


def once(bad: Policy) -> Policy:
    """The first request of each kind goes wrong, the same one again goes well."""
    seen: set[str] = set()

    def policy(body: Json) -> Any:
        key = json.dumps(body["messages"])
        if key in seen:
            return plain(body)
        seen.add(key)
        return bad(body)

    return policy


def half(end: Policy | None = None, *, drop: bool = False) -> Policy:
    """Stop in the middle."""

    def policy(body: Json) -> Json:
        sent = events(body)
        begun = sent[: len(sent) // 2]
        if drop:
            return {**raw(begun, done=False), "drop": True}
        return raw([*begun, *([end(body)] if end else [])], done=False)

    return policy


def without_index(delta: Json, first: bool) -> Json:
    return {key: value for key, value in delta.items() if key != "index"}


def without_id(delta: Json, first: bool) -> Json:
    return {key: value for key, value in delta.items() if key != "id"}


def nulls_later(delta: Json, first: bool) -> Json:
    return delta if first else {**delta, "id": None, "type": None, "function": {"name": None, **delta["function"]}}


def null_words_later(delta: Json, first: bool) -> Json:
    return (
        delta if first else {**delta, "id": "", "type": "FUNCTION", "function": {"name": "null", **delta["function"]}}
    )


def torn(body: Json) -> Json:
    """Every byte on its own."""
    whole = b"".join(sse(event) for event in events(body)) + DONE
    return {"raw": [whole[i : i + 1] for i in range(len(whole))]}


def odd_events(body: Json) -> Json:
    empty = {"id": "", "model": "", "choices": []}
    nulls = {"choices": [{"index": 0, "delta": None, "finish_reason": None}, {"index": 0}]}
    return raw([empty, *events(body)[:-1], nulls, b": a comment\n\n", events(body)[-1]])


def plain_body(body: Json) -> Json:
    return {"raw": [json.dumps(completion(body, plain(body), "odd"), indent=1).encode()]}


def reasoning(field: str) -> Policy:
    def policy(body: Json) -> Json:
        think = {"choices": [{"index": 0, "delta": {field: "let me think"}, "finish_reason": None}]}
        return raw([think, *events(body)])

    return policy


def text(make: Callable[[str], str]) -> Policy:
    return lambda body: CALL if plain(body) is CALL else {"text": make(TEXT)}


def as_text(make: Callable[[str], str]) -> Policy:
    written = json.dumps({"name": "save_note", "arguments": ARGS}, ensure_ascii=False)
    return lambda body: {"text": make(written)} if plain(body) is CALL else WORDS


def nothing(body: Json) -> Json:
    return {"text": "", "usage": None}


def strict(body: Json) -> Json:
    """Refuses every optional field and every message field it does not know."""
    extra = set(body) & {"stream_options", "parallel_tool_calls", "response_format", "max_completion_tokens"}
    known = {"role", "content", "tool_calls", "tool_call_id"}
    extra |= {key for message in body["messages"] for key in message if key not in known}
    if extra:
        return {"status": 400, "error": {"message": f"Extra inputs are not permitted: {sorted(extra)}"}}
    return {**plain(body), "usage": None}


def no_tools(body: Json) -> Json:
    """A model that knows no tools; asked for JSON it answers in JSON."""
    if body.get("tools"):
        return {"status": 400, "error": {"message": "odd does not support tools"}}
    if "response_format" in body and not any(m["role"] == "assistant" for m in body["messages"]):
        return {"text": json.dumps({"tool": "save_note", "args": ARGS}, ensure_ascii=False)}
    return {"text": json.dumps({"say": TEXT}, ensure_ascii=False)}


# Kinds after which everything is as if the endpoint were well-behaved: the call, then the words.
HARMLESS: dict[str, Policy] = {
    "well-behaved": plain,
    "no index": each_delta(without_index),
    "no id": each_delta(without_id),
    "neither index nor id": each_delta(lambda delta, first: without_id(without_index(delta, first), first)),
    "nulls in later fragments": each_delta(nulls_later),
    "the word null in later fragments": each_delta(null_words_later),
    "arguments encoded twice": arguments(json.dumps(json.dumps(ARGS))),
    "text behind the arguments": arguments(json.dumps(ARGS) + "\n</tool_call>\n{}"),
    "relaxed JSON": arguments("{text: 'likes oolong 茶',}"),
    "escaped characters": arguments(json.dumps(ARGS)),
    "a template mark on the name": named("save_note<|channel|>commentary"),
    "the call as tagged text": as_text(lambda call: f"<tool_call>\n{call}\n</tool_call>"),
    "the call as bare JSON": as_text(lambda call: call),
    "calls with finish reason stop": lambda body: {**plain(body), "finish": "stop"},
    "an unknown finish reason": lambda body: {**plain(body), "finish": "end_turn"},
    "two ends": lambda body: raw([*events(body)[:-1], events(body)[-2], events(body)[-1]]),
    "odd events": odd_events,
    "torn bytes": torn,
    "one plain body": plain_body,
    "no usage": lambda body: {**plain(body), "usage": None},
    "reasoning_content": reasoning("reasoning_content"),
    "reasoning": reasoning("reasoning"),
    "think tags": text(lambda answer: f"<think>\nlet me think\n</think>\n\n{answer}"),
    "a pause with comments": lambda body: raw([b": waiting\n\n", 0.01, b": waiting\n\n", *events(body)]),
    "dropped half-way once": once(half(drop=True)),
    "ended half-way once": once(half()),
    "an error half-way once": once(half(lambda body: {"error": {"message": "overloaded"}})),
    "nothing once": once(nothing),
    "only reasoning once": once(lambda body: {"text": "", "reasoning": "let me think", "usage": None}),
    "busy once": once(lambda body: {"status": 429, "headers": {"retry-after": "0.01"}, "error": {"message": "busy"}}),
    "a fault once": once(lambda body: {"status": 500, "error": {"message": "oops"}}),
    "strict about fields": strict,
    "no tools at all": no_tools,
}  # fmt: skip
