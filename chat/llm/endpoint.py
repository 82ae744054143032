"""What is known of one endpoint: the request it takes, learnt from what it refused.

Request -> request body; refusal -> what to leave out.  Touches: what was learnt, in memory.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from django.utils.translation import gettext as _

from chat.llm import json_wire
from chat.llm.base import Request
from chat.llm.prepare import prepare
from chat.types import Json

# What a reply can do without; dropped when an endpoint refuses it.
_OPTIONAL = ("stream_options", "temperature", "tool_choice", "response_format")
_NO_TOOLS = re.compile(
    r"(does not|doesn't|not) support(ed)? (tool|function)"
    r"|(tool|function)s?( use| calling| param)?\W+(is |are )?not support"
    r"|no endpoints found that support tool|requires?.{0,20}--(jinja|enable-auto-tool-choice)|tool-call-parser",
    re.IGNORECASE,
)
_STRANGE_FIELD = re.compile(
    r"extra (inputs|fields)|not permitted|unrecogni[sz]ed|unsupported|unknown|unexpected|not (supported|allowed)"
    r"|invalid|does not support|additional propert",
    re.IGNORECASE,
)
_TEXT_FOR_CALLS = 2  # so often words came where a call was required, and never a call: ask by JSON


@dataclass(slots=True, kw_only=True)
class Endpoint:
    """One model behind one address. It lives as long as the process, and learns as it is used."""

    base_url: str
    model: str
    wire: Literal["auto", "native", "json"] = "auto"
    no_tools: bool = False  # it refuses tool schemas, or never calls
    token_field: str = "max_tokens"
    formats: list[str] = field(default_factory=lambda: ["json_schema", "json_object", ""])  # best first
    dropped: set[str] = field(default_factory=set)
    calls_seen: bool = False
    words_for_calls: int = 0

    @property
    def by_json(self) -> bool:
        """Whether tool calls are asked for as JSON in the text."""
        return self.wire == "json" or (self.wire == "auto" and self.no_tools)

    def body(self, request: Request) -> Json:
        """The body of the request as this endpoint takes it."""
        messages = prepare(request.messages)
        schema = request.schema
        body: Json = {"model": self.model, "stream": True, "stream_options": {"include_usage": True}}
        body |= {"temperature": request.temperature, self.token_field: request.max_tokens}
        if request.tools and schema is None:
            if self.by_json:
                messages = json_wire.without_tools(messages, request.tools, must_call=request.must_call)
                schema = json_wire.schema(request.tools, must_call=request.must_call)
            else:
                body |= {"tools": list(request.tools), "tool_choice": "required" if request.must_call else "auto"}
        if schema is not None:
            messages = self._with_format(body, messages, schema)
        body["messages"] = messages
        return {key: value for key, value in body.items() if key not in self.dropped}

    def _with_format(self, body: Json, messages: list[Json], schema: Json) -> list[Json]:
        """Ask for the schema in the strictest way the endpoint takes; in words where it does not enforce it."""
        if self.formats[0] == "json_schema":
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
            return messages
        if self.formats[0] == "json_object":
            body["response_format"] = {"type": "json_object"}
        rule = f"Reply with one JSON object that fits this JSON Schema, and nothing else:\n{_dump(schema)}"
        head = messages[:1] if messages and messages[0]["role"] == "system" else []
        said = f"{head[0]['content']}\n\n{rule}" if head else rule
        return [{"role": "system", "content": said}, *messages[len(head) :]]

    def learn(self, body: Json, message: str) -> str:
        """Change what the endpoint's refusal is about; what was changed, empty when nothing can be."""
        lowered = message.lower()
        if "tools" in body and self.wire == "auto" and _NO_TOOLS.search(message):
            self.no_tools = True
            return _("with tools described in words")
        if "max_completion_tokens" in lowered and self.token_field == "max_tokens":
            self.token_field = "max_completion_tokens"
            return _("with max_completion_tokens in place of max_tokens")
        named = [name for name in _OPTIONAL if name in body and name in lowered]
        if "response_format" in body and not named and re.search(r"json_schema|json_object|grammar|schema", lowered):
            named = ["response_format"]
        if "tool_choice" in body and not named and re.search(r"tool[_ ]choice|\brequired\b", lowered):
            named = ["tool_choice"]
        if not named and _STRANGE_FIELD.search(message):
            named = [name for name in _OPTIONAL if name in body and name != "response_format"]
        if "response_format" in named:
            self.formats = self.formats[1:] or [""]
        self.dropped |= set(named) - {"response_format"}
        return _("without %(fields)s") % {"fields": ", ".join(named)} if named else ""

    def saw(self, request: Request, *, calls: bool, native: bool) -> str:
        """Notice whether the endpoint calls when it must; a word for the notes when that changes the wire."""
        if calls:
            self.calls_seen, self.words_for_calls = self.calls_seen or native, 0
        elif request.must_call and request.tools and native:
            self.words_for_calls += 1
            if self.wire == "auto" and not self.calls_seen and self.words_for_calls >= _TEXT_FOR_CALLS:
                self.no_tools = True
                return _("The model does not call tools in this endpoint's way; it is asked for JSON from now on.")
        return ""


def offered_names(tools: Sequence[Json]) -> tuple[str, ...]:
    return tuple(str(tool["function"]["name"]) for tool in tools)


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
