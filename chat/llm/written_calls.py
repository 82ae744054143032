"""Read tool calls that a model wrote as text instead of calling, in the forms that models and templates use.

a passage -> names and arguments.  Touches: nothing (pure).
"""

import json
import re
from collections.abc import Collection
from typing import Any

from chat.llm.arguments import parse_arguments
from chat.llm.call_deltas import clean_name
from chat.llm.text_parts import CALL_MARKS


def written_calls(mark: str, offered: Collection[str]) -> list[tuple[str, str]]:
    """The calls in a passage that a model wrote as text instead of calling: names and arguments."""
    text = mark
    for opener, closer in CALL_MARKS.items():
        if opener != "<function=" and opener != "<|channel|>commentary":
            text = text.replace(opener, " ")
            text = text.replace(closer, " ") if closer else text
    text = text.strip()
    if "<function=" in text:
        pairs = re.findall(r"<function=([^>]+)>(.*?)(?:</function>|\Z)", text, re.DOTALL)
        return [_xml_call(name, body, offered) for name, body in pairs]
    if harmony := re.search(r"to=(?:functions\.)?([\w.-]+).*?<\|message\|>(.*?)(?:<\|call\|>|\Z)", text, re.DOTALL):
        return [(clean_name(harmony[1], offered), harmony[2].strip())]
    if keyed := re.match(r"([\w.-]+)\s*<arg_key>", text):
        pairs = re.findall(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", text, re.DOTALL)
        return [(clean_name(keyed[1], offered), _arguments_of(pairs))]
    if named := re.match(r"([\w.-]+)\s*(?:\[ARGS\])?\s*(\{.*)", text, re.DOTALL):
        return [(clean_name(named[1], offered), named[2].strip())]
    return json_calls(text, offered, any_name=True)


def json_calls(text: str, offered: Collection[str], *, any_name: bool = False) -> list[tuple[str, str]]:
    """Calls written as JSON: {"name", "arguments"} or {"tool", "args"}, alone, in a list, or one after another."""
    text = re.sub(r"^```[a-zA-Z]*\s*|\s*```$", "", text.strip())
    decoder, at, calls = json.JSONDecoder(strict=False), 0, []
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            repaired = parse_arguments(text) if at == 0 else ""
            if not isinstance(repaired, dict):
                return []
            value, at = repaired, len(text)
        for item in value if isinstance(value, list) else [value]:
            call = _json_call(item, offered, any_name=any_name)
            if call is None:
                return []
            calls.append(call)
        while at < len(text) and text[at] in " \t\r\n,;":
            at += 1
    return calls


def _json_call(item: Any, offered: Collection[str], *, any_name: bool) -> tuple[str, str] | None:
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("function"), dict):
        item = item["function"]
    name = next((item[key] for key in ("name", "tool", "tool_name", "function") if isinstance(item.get(key), str)), "")
    keys = [key for key in ("arguments", "args", "parameters", "input") if key in item]
    name = clean_name(name, offered) if name else ""
    if not name or (name not in offered and not (any_name and keys)) or (not keys and len(item) > 1):
        return None
    arguments = item[keys[0]] if keys else {}
    return name, arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _xml_call(name: str, body: str, offered: Collection[str]) -> tuple[str, str]:
    pairs = re.findall(r"<parameter=([^>]+)>(.*?)(?:</parameter>|(?=<parameter=)|\Z)", body, re.DOTALL)
    return clean_name(name.strip(), offered), _arguments_of(pairs) if pairs else body.strip()


def _arguments_of(pairs: list[tuple[str, str]]) -> str:
    """Arguments given one by one as text; only lists and objects are read as JSON, the schema reads the rest."""
    values: dict[str, Any] = {}
    for key, raw in pairs:
        value: Any = raw.strip()
        if value[:1] in {"{", "["}:
            try:
                value = json.loads(value)
            except ValueError:
                pass
        values[key.strip()] = value
    return json.dumps(values, ensure_ascii=False)
