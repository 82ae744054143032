"""Make messages fit for every endpoint: one system message, paired calls, valid arguments, clean text.

messages -> messages.  Touches: nothing (pure).
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from chat.llm.arguments import history_arguments, mend
from chat.llm.call_deltas import new_id
from chat.types import Json

_NO_RESULT = "No result: the call was interrupted."


def prepare(messages: Iterable[Json]) -> list[Json]:
    """Strict endpoints refuse a whole conversation for one odd message; none of these leaves odd."""
    system: list[str] = []
    prepared: list[Json] = []
    open_calls: list[str] = []
    for message in messages:
        role = message.get("role")
        if role in {"system", "developer"}:
            system.append(text_of(message.get("content")))
            continue
        if role == "tool":
            if message.get("tool_call_id") in open_calls:
                open_calls.remove(message["tool_call_id"])
                prepared.append(_result(message["tool_call_id"], text_of(message.get("content"))))
            continue  # a result without its call is refused by many endpoints
        prepared += [_result(call_id, _NO_RESULT) for call_id in open_calls]
        open_calls = []
        if role == "assistant":
            if clean := _assistant(message):
                prepared.append(clean)
                open_calls = [call["id"] for call in clean.get("tool_calls", ())]
        elif content := message.get("content"):
            content = content if isinstance(content, list) else mend(str(content))
            prepared.append({"role": "user", "content": content})
    prepared += [_result(call_id, _NO_RESULT) for call_id in open_calls]
    if text := "\n\n".join(part for part in system if part):
        prepared.insert(0, {"role": "system", "content": text})
    return prepared


def text_of(content: Any) -> str:
    """The words of a message."""
    if content is None:
        return ""
    if isinstance(content, list):
        return mend("".join(str(part.get("text") or "") for part in content if isinstance(part, dict)))
    return mend(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))


def call_ids(messages: Sequence[Json]) -> set[str]:
    """The ids of all calls in a conversation."""
    return {str(call.get("id")) for message in messages for call in message.get("tool_calls") or ()}


def _result(call_id: str, text: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _assistant(message: Json) -> Json | None:
    text = text_of(message.get("content"))
    calls = [_call(call) for call in message.get("tool_calls") or () if call.get("function")]
    if calls:
        return {"role": "assistant", "content": text or None, "tool_calls": calls}
    return {"role": "assistant", "content": text} if text.strip() else None


def _call(call: Json) -> Json:
    function = call["function"]
    return {
        "id": str(call.get("id") or new_id()),
        "type": "function",
        "function": {"name": mend(function["name"]), "arguments": history_arguments(function.get("arguments"))},
    }
