"""Tool calls for endpoints that have none: the tools are described in words, the call comes back as JSON.

messages and tools -> messages and a JSON Schema; reply text -> calls.  Touches: nothing (pure).
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import jiter
from django.template.loader import render_to_string

from chat.llm.arguments import parse_arguments
from chat.llm.call_deltas import clean_name, new_id
from chat.llm.written_calls import json_calls, written_calls
from chat.types import Json, RawCall, Reply


def without_tools(messages: Sequence[Json], tools: Sequence[Json], *, must_call: bool) -> list[Json]:
    """The same conversation for an endpoint that knows only text. Expects prepared messages."""
    described = [
        {"name": tool["function"]["name"], "about": tool["function"].get("description", ""), "args": _dump(_args(tool))}
        for tool in tools
    ]
    values = {"tools": described, "must_call": must_call}
    rules = render_to_string("json_wire.txt", values, using="prompts").strip()
    spoken: list[Json] = []
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] == "system":
            _say(spoken, "system", f"{message['content']}\n\n{rules}")
        elif message["role"] == "tool":
            name = names.get(message["tool_call_id"], "the tool")
            _say(spoken, "user", f"Result of {name}:\n{message['content']}")
        elif calls := message.get("tool_calls"):
            names |= {call["id"]: call["function"]["name"] for call in calls}
            written = [
                f'{{"tool": {_dump(call["function"]["name"])}, "args": {call["function"]["arguments"]}}}'
                for call in calls
            ]
            _say(spoken, "assistant", "\n".join(written))
        else:
            _say(spoken, message["role"], message["content"])
    if not spoken or spoken[0]["role"] != "system":
        spoken.insert(0, {"role": "system", "content": rules})
    return spoken


def schema(tools: Sequence[Json], *, must_call: bool) -> Json:
    """The shape of the reply: one of the tools with its arguments, or words."""
    shapes: list[Json] = [
        {
            "type": "object",
            "properties": {"tool": {"const": tool["function"]["name"]}, "args": _args(tool)},
            "required": ["tool", "args"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    if not must_call:
        say = {"type": "object", "properties": {"say": {"type": "string"}}, "required": ["say"]}
        shapes.append({**say, "additionalProperties": False})
    return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}


def read(reply: Reply, offered: Collection[str]) -> Reply:
    """The reply with the calls that its text holds; text that holds none stays text."""
    if reply.calls:
        return reply
    if reply.finish in {"cut", "length"}:
        name, _ = so_far(reply.text)
        if name and reply.finish == "length":
            half = RawCall(id=new_id(), name=clean_name(name, offered), arguments=reply.text)
            return replace(reply, text="", calls=(half,))
        return reply
    said = parse_arguments(reply.text)
    if isinstance(said, dict) and isinstance(said.get("say"), str) and "tool" not in said:
        return replace(reply, text=said["say"])
    found = json_calls(reply.text, offered, any_name=True) or written_calls(reply.text, offered)
    if not found:
        return reply
    calls = tuple(RawCall(id=new_id(), name=name, arguments=arguments) for name, arguments in found)
    return replace(reply, text="", calls=calls, finish="calls")


def so_far(text: str) -> tuple[str, str]:
    """The call in text that still grows: its tool and its arguments, as complete JSON."""
    try:
        value: Any = jiter.from_json(text.strip().encode("utf-8", "ignore"), partial_mode="trailing-strings")
    except ValueError:
        return "", ""
    if not isinstance(value, dict) or not isinstance(value.get("tool"), str):
        return "", ""
    return value["tool"], _dump(value.get("args") or {})


def _args(tool: Json) -> Json:
    parameters: Json = tool["function"].get("parameters") or {"type": "object", "properties": {}}
    return parameters


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _say(spoken: list[Json], role: str, text: str) -> None:
    """Join what one side says in a row: many templates want the sides to take turns."""
    if spoken and spoken[-1]["role"] == role:
        spoken[-1] = {"role": role, "content": f"{spoken[-1]['content']}\n\n{text}"}
    else:
        spoken.append({"role": role, "content": text})
