"""Put the fragments of tool calls together, whichever of index, id and name the endpoint leaves out.

tool_calls of a stream's deltas -> RawCalls.  Touches: nothing (pure).
"""

import json
import re
from collections.abc import Callable, Collection
from typing import Any
from uuid import uuid4

from chat.llm.arguments import is_complete, mend
from chat.types import RawCall

_NOTHING = {"", "null", "none", "undefined"}


def new_id() -> str:
    return f"call_{uuid4().hex[:16]}"


def clean_name(name: str, offered: Collection[str]) -> str:
    """The tool's name without what templates stick to it; unknown names stay, for the loop to refuse."""
    name = mend(name).strip().strip("\"'`").strip()
    name = name.split("<|", 1)[0].strip()
    if name in offered or not offered:
        return name
    bare = re.sub(r"(:\d+|\(\))$", "", name)
    for candidate in (bare, bare.rsplit(".", 1)[-1], bare.rsplit("/", 1)[-1]):
        if candidate in offered:
            return candidate
    return name


class PartCall:
    """One call while it streams."""

    __slots__ = ("args", "id", "index", "name")

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.args: list[str] = []

    @property
    def arguments(self) -> str:
        if len(self.args) > 1:
            self.args = ["".join(self.args)]  # asked for again and again while it grows
        return self.args[0] if self.args else ""

    def is_whole(self) -> bool:
        return bool(self.args) and is_complete(self.arguments)


class CallDeltas:
    """The calls of one reply so far."""

    __slots__ = ("calls", "offered")

    def __init__(self, offered: Collection[str] = ()) -> None:
        self.calls: list[PartCall] = []
        self.offered = offered

    def feed(self, deltas: Any) -> int:
        """Take the fragments of one delta; the number of the call that grew, -1 for none."""
        grown = -1
        for delta in deltas if isinstance(deltas, list) else [deltas]:
            if isinstance(delta, dict):
                grown = self._take(delta)
        return grown

    def _take(self, delta: dict[str, Any]) -> int:
        function = delta.get("function")
        if not isinstance(function, dict):
            function = delta  # name and arguments without the wrapping
        name, call_id = _said(function.get("name")), _said(delta.get("id"))
        arguments = function.get("arguments")
        index = _whole(delta.get("index"))
        if not (name or call_id or arguments):
            return -1
        part = self._find(index, call_id, name, arguments)
        if call_id and not part.id:
            part.id = call_id
        if name and name != part.name:
            self._name(part, name)
        if isinstance(arguments, str):
            as_long = len(arguments) == sum(map(len, part.args))
            said_again = len(arguments) > 2 and as_long and arguments == part.arguments and part.is_whole()
            part.args += [] if said_again else [arguments]
        elif isinstance(arguments, dict):
            part.args = [json.dumps(arguments, ensure_ascii=False)]
        return self.calls.index(part)

    def _find(self, index: int | None, call_id: str, name: str, arguments: Any) -> PartCall:
        """The call that this fragment belongs to; a new one when none can be meant."""
        last = self.calls[-1] if self.calls else None
        if index is not None:
            part = next((c for c in reversed(self.calls) if c.index == index), None)
            if part is None and not name and not call_id:
                part = last  # a number that counts fragments, not calls
        else:
            part = next((c for c in reversed(self.calls) if call_id and c.id == call_id), last)
        if part is None:
            return self._new(index)
        # Another id is another call, unless the endpoint makes up an id for every fragment of one.
        other_id = bool(call_id and part.id and call_id != part.id)
        if other_id and (part.is_whole() or (name and (name != part.name or not part.arguments.strip()))):
            return self._new(index)
        # Endpoints that number every call 0, or not at all, and give no ids: a name after a whole call starts another.
        if name and part.name and part.is_whole() and (_says_something(arguments) or (index is None and not call_id)):
            return self._new(index)
        return part

    def _new(self, index: int | None) -> PartCall:
        self.calls.append(PartCall(index))
        return self.calls[-1]

    def _name(self, part: PartCall, name: str) -> None:
        """A name that comes later completes the first; it replaces it only if the tools say so."""
        if not part.name:
            part.name = name
        elif part.name + name in self.offered:
            part.name += name
        elif clean_name(part.name, self.offered) not in self.offered and name in self.offered:
            part.name = name

    def finish(self, taken: Collection[str] = (), make_id: Callable[[], str] = new_id) -> tuple[RawCall, ...]:
        """The calls with unique ids; fragments that never got a name are dropped."""
        seen = set(taken)
        calls: list[RawCall] = []
        for part in self.calls:
            name = clean_name(part.name, self.offered)
            repeats = bool(calls) and name == calls[-1].name and not part.id and not part.args
            if not name or repeats:  # an end mark that repeats the name is no second call
                continue
            call_id = mend(part.id)
            if not call_id or call_id in seen:
                call_id = make_id()
            seen.add(call_id)
            calls.append(RawCall(id=call_id, name=name, arguments=mend(part.arguments)))
        return tuple(calls)


def _said(value: Any) -> str:
    """A name or id that says something; endpoints send null, "" and "null" too."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip().lower() not in _NOTHING else ""


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _says_something(arguments: Any) -> bool:
    return bool(arguments.strip()) if isinstance(arguments, str) else isinstance(arguments, dict)
