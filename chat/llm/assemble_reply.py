"""Make one Reply of an endpoint's answer, streamed or not, whatever the endpoint does to the format.

bytes -> (kind, text) as it comes, then a Reply.  Touches: nothing (pure).
"""

from collections.abc import Callable, Collection
from typing import Any

from django.utils.translation import gettext as _

from chat.llm.arguments import is_complete, mend, parse_arguments
from chat.llm.call_deltas import CallDeltas, new_id
from chat.llm.sse import EventReader
from chat.llm.text_parts import ANSWER, CLOSED, THOUGHT, TextParts
from chat.llm.written_calls import json_calls, written_calls
from chat.types import Json, RawCall, Reply, TokenUse

__all__ = ["ReplyAssembler", "parse_arguments"]

_LENGTH = {"length", "max_tokens", "max_output_tokens", "model_length"}
_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")


class ReplyAssembler:
    """Takes the body piece by piece. `feed` and `close` return what may be shown; `reply` is the result.

    offered: names of the tools the model may call; empty: text is never read as a call.
    taken: call ids already used in the conversation. make_id: what makes the missing ones.
    """

    def __init__(
        self, offered: Collection[str] = (), taken: Collection[str] = (), make_id: Callable[[], str] = new_id
    ) -> None:
        self.offered, self.taken, self.make_id = offered, taken, make_id
        self.error: Any = None  # what the endpoint reported in place of an answer
        self.finish = ""  # the reason it gave for the end
        self.broken = False  # set by the caller: the body did not come to its end
        self.usage: Json | None = None
        self.grown: set[int] = set()  # calls that grew since the caller looked
        self._reader = EventReader()
        self._parts = TextParts(with_calls=bool(offered))
        self._deltas = CallDeltas(offered)
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._before: list[str] = []  # text before an end of thinking that had no beginning
        self._half = ""  # the first half of a surrogate pair
        self._model = ""
        self._in_deltas = False
        self._length = 0
        self._notes: list[str] = []

    @property
    def ended(self) -> bool:
        """Whether the endpoint said that the reply is over."""
        return self._reader.done

    @property
    def unread(self) -> str:
        return self._reader.unread

    @property
    def length(self) -> int:
        """Characters of text and thinking so far."""
        return self._length

    @property
    def is_empty(self) -> bool:
        return not (self._deltas.calls or self._parts.marks or "".join(self._before + self._text).strip())

    def feed(self, chunk: bytes) -> list[tuple[str, str]]:
        """Take a piece of the body; what of it can be shown."""
        shown: list[tuple[str, str]] = []
        for event in self._reader.feed(chunk):
            self._take(event, shown)
        return shown

    def close(self) -> list[tuple[str, str]]:
        """The body has ended; what was held back."""
        shown: list[tuple[str, str]] = []
        for event in self._reader.close():
            self._take(event, shown)
        self._half = ""
        self._keep(self._parts.close(), shown)
        return shown

    def call_so_far(self, number: int) -> tuple[str, str]:
        """Name and arguments of a call as far as they have come."""
        part = self._deltas.calls[number]
        return part.name, part.arguments

    # ---- events ----

    def _take(self, event: Json, shown: list[tuple[str, str]]) -> None:
        if event.get("error"):
            self.error = self.error or event["error"]
            return
        if "choices" not in event and isinstance(said := event.get("detail") or event.get("message"), str):
            self.error = self.error or said  # an error without the usual wrapping
            return
        if isinstance(usage := event.get("usage"), dict):
            self.usage = usage  # the last one counts: interim ones are sums so far
        if not self._model and isinstance(model := event.get("model"), str):
            self._model = model
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                self._choose(choice, shown)

    def _choose(self, choice: Json, shown: list[tuple[str, str]]) -> None:
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._in_deltas = True
        elif not self._in_deltas:  # a whole message behind its own deltas would double them
            delta = choice.get("message")
        if isinstance(delta, dict):
            if content := delta.get("content"):
                self._content(content, shown)
            for field in _REASONING_FIELDS:
                if reasoning := delta.get(field):
                    self._think(_plain(reasoning), shown)
                    break
            if calls := delta.get("tool_calls"):
                self._grow(calls)
            if isinstance(call := delta.get("function_call"), dict):
                self._grow([{"index": 0, "function": call}])
            if isinstance(refusal := delta.get("refusal"), str) and refusal:
                self._say(refusal, shown)
        if not self.finish and isinstance(reason := choice.get("finish_reason"), str):
            self.finish = reason.strip().lower().replace("null", "").replace("none", "")

    def _grow(self, calls: Any) -> None:
        if (number := self._deltas.feed(calls)) >= 0:
            self.grown.add(number)

    def _content(self, content: Any, shown: list[tuple[str, str]]) -> None:
        if isinstance(content, str):
            self._say(content, shown)
            return
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, dict) and str(part.get("type")) in {"thinking", "reasoning", "reasoning_text"}:
                self._think(_plain(part), shown)
            elif isinstance(part, dict) and str(part.get("type")) in {"tool_use", "tool_call", "function_call"}:
                arguments = part.get("input", part.get("arguments"))
                self._grow([{"id": part.get("id"), "function": {"name": part.get("name"), "arguments": arguments}}])
            else:
                self._say(_plain(part), shown)

    def _say(self, text: str, shown: list[tuple[str, str]]) -> None:
        if self._half:
            text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if text := mend(text):
            self._length += len(text)
            self._keep(self._parts.feed(text), shown)

    def _think(self, text: str, shown: list[tuple[str, str]]) -> None:
        if text:
            self._length += len(text)
            self._reasoning.append(text)
            shown.append((THOUGHT, mend(text)))

    def _keep(self, pieces: list[tuple[str, str]], shown: list[tuple[str, str]]) -> None:
        for kind, text in pieces:
            if kind == ANSWER:
                self._text.append(text)
            elif kind == THOUGHT:
                self._reasoning.append(text)
            elif kind == CLOSED and not self._reasoning:
                self._before, self._text = self._before + self._text, []
            if text:
                shown.append((kind, text))

    # ---- the result ----

    def reply(self) -> Reply:
        """The whole answer; call `close` first."""
        notes = list(self._notes)
        text, reasoning = mend("".join(self._text)).strip(), mend("".join(self._reasoning)).strip()
        calls = self._deltas.finish(self.taken, self.make_id)
        cut = self.broken or (not self.finish and not self._reader.done)
        finish: Any = "cut" if cut else "length" if self.finish in _LENGTH else "stop"
        if not calls and self.offered:
            calls, text = self._written(text, finish, notes)
        if before := mend("".join(self._before)).strip():
            text, reasoning = (text, before) if text or calls else (before, reasoning)
        if self._parts.unclosed == "think" and finish == "stop" and not text and not calls:
            text, reasoning = reasoning, ""
            notes.append(_("The model did not mark where its thinking ends; all of it is shown."))
        if finish == "cut" and calls:
            notes.append(_("The stream broke off; none of its calls is run."))
            calls = ()
        elif finish == "length":
            notes.append(_("The reply reached its limit and was cut off."))
            if calls and not is_complete(calls[-1].arguments):
                notes.append(_("The call to %(tool)s was cut off and cannot be run.") % {"tool": calls[-1].name})
        if self.finish == "content_filter":
            notes.append(_("The endpoint's content filter ended the reply."))
        if calls and finish == "stop":
            finish = "calls"
        use = read_usage(self.usage)
        return Reply(
            text=text, reasoning=reasoning, calls=calls, finish=finish, usage=use, model=self._model, notes=tuple(notes)
        )

    def _written(self, text: str, finish: str, notes: list[str]) -> tuple[tuple[RawCall, ...], str]:
        """Calls that the model wrote as text, and the text without them."""
        found: list[tuple[str, str]] = []
        broken = finish != "stop"
        marks = self._parts.marks[:-1] if broken and self._parts.unclosed == "call" else self._parts.marks
        for mark in marks:
            found += written_calls(mark, self.offered)
        if not found and (bare := json_calls(text, self.offered)):
            found, text = bare, ""
        if found:
            notes.append(_("The model wrote its call as text; it was read as a call."))
        elif self._parts.marks:
            notes.append(_("The model wrote a tool call as text that cannot be read."))
        deltas = CallDeltas(self.offered)
        deltas.feed(
            [{"id": f"call-{n}", "index": n, "function": {"name": name}} for n, (name, _args) in enumerate(found)]
        )
        for part, (_name, arguments) in zip(deltas.calls, found, strict=True):
            part.id, part.args = "", [arguments]
        return deltas.finish(self.taken, self.make_id), text


def read_usage(usage: Json | None) -> TokenUse:
    """Token counts as the endpoint reports them; estimated=True when it does not."""
    usage = usage or {}
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    reply = _count(usage, "completion_tokens", "output_tokens")
    details = usage.get("prompt_tokens_details")
    cached = _count(details, "cached_tokens") if isinstance(details, dict) else _count(usage, "cached_tokens")
    return TokenUse(prompt=prompt, reply=reply, cached=min(cached, prompt), estimated=not (prompt or reply))


def _count(numbers: Json, *names: str) -> int:
    for name in names:
        value = numbers.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9:
            return int(value)
    return 0


def _plain(part: Any) -> str:
    """The text of a content part, however deep it is packed."""
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "".join(map(_plain, part))
    if isinstance(part, dict):
        for key in ("text", "thinking", "reasoning", "content", "value"):
            if part.get(key):
                return _plain(part[key])
    return ""
