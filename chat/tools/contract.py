"""What a tool must declare, and what it gets to work with.

Touches: nothing (pure).
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict


class Tier(StrEnum):
    """The effect of a tool, decided by its contract, never by the model or a result."""

    READ = "read"  # free, parallel, retried
    WRITE = "write"  # always through an approval
    EXPENSIVE = "expensive"  # quota, paused above a threshold
    LOCAL = "local"  # the agent's own bookkeeping


class Args(BaseModel):
    """Base of every tool's arguments: unknown names are refused, text is stripped."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool may know of the turn it runs in. The user is set by code: a tool never chooses whose data it touches."""

    user_id: int
    conversation_id: UUID
    turn_id: UUID
    iteration: int
    idempotency_key: str  # the same for every attempt at this very call
    workspace: Path  # the conversation's own folder; may not exist yet
    progress: Callable[[str], Awaitable[None]] | None = None  # a word on how far it is, for the page


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a tool returns: the evidence, and one line about it for a person."""

    data: Any  # JSON: kept as evidence, read by acceptance checks, shown to the model
    summary: str  # "Rain, 14 °C"
    text: str = ""  # how the model reads it; empty: the data as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureMode:
    when: str  # "the city is not in the data"
    advice: str  # "use one of the cities that the message lists"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """All that is fixed about a tool. A system check refuses an incomplete one at start-up."""

    name: str
    purpose: str  # one sentence the model reads
    not_for: str  # what it does not do, and which tool does
    args: type[Args]
    run: Callable[..., Awaitable[Done]]  # run(args, ctx)
    tier: Tier
    returns: Mapping[str, Any]  # JSON Schema of the data
    returns_empty: str  # what an empty result looks like and means
    failures: tuple[FailureMode, ...]
    cost: str  # "free", "about $0.01 a call"
    latency: str  # "under a second"
    timeout: float = 20.0  # seconds
    repeatable: bool = False  # running it twice does no harm
    quota: int = 20  # calls per turn
    day_quota: int = 0  # calls per user and day; 0: none (expensive tools must set one)
    pack: str = "core"  # a coarse group
    # One line in words for the approval card: effect(args) -> "Books a suite for 2 nights".
    effect: Callable[[Any], str] | None = None
    # What the card shows beside the fields: preview(args, ctx) -> text (a diff, a price).
    preview: Callable[[Any, ToolContext], str] | None = None
    # Dollars of one call: price(args) -> 0.02. An expensive tool without it always asks the person.
    price: Callable[[Any], float] | None = None
    # Whether others write what it returns (pages, mail, files that were given); said to the model with every word of it.
    outside: bool = False
    # Argument -> words a person uses ("From"); default: the field's title.
    labels: Mapping[str, str] = field(default_factory=dict)
    # Checks a plan step about this tool gets when the plan names none: [{"kind", ...params}].
    checks: tuple[Mapping[str, Any], ...] = ()
    # Tools whose result this one cannot do without (a hotel_id comes from search_hotels): a plan gets a step for each.
    needs: tuple[str, ...] = ()
    # Whether the instance is set up for it; a tool that could only fail is not offered.
    available: Callable[[], bool] = lambda: True
    parameters: Mapping[str, Any] | None = None  # JSON Schema from outside (MCP); None: made from args

    @property
    def from_outside(self) -> bool:
        """A tool that is itself from outside is not asked."""
        return self.outside or self.parameters is not None

    @property
    def version(self) -> str:
        """Changes when what the model or the person relies on changes."""
        shape = [self.name, self.purpose, self.tier, self.schema(), dict(self.returns)]
        return hashlib.sha256(json.dumps(shape, sort_keys=True, default=str).encode()).hexdigest()[:12]

    def schema(self) -> dict[str, Any]:
        """The arguments as JSON Schema, without the noise that costs tokens. Shared: whoever changes it makes a copy."""
        return slim(dict(self.parameters)) if self.parameters is not None else _schema_of(self.args)


@cache
def _schema_of(args: type[Args]) -> dict[str, Any]:
    """Made once for each class: generating it takes longer than the rest of an iteration."""
    return slim(args.model_json_schema())


def digest(tool: str, version: str, args: Mapping[str, Any]) -> str:
    """The digest an approval is bound to: tool, version and effective arguments."""
    canonical = json.dumps([tool, version, args], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def slim(schema: dict[str, Any]) -> dict[str, Any]:
    """Inline $defs and drop titles: the same meaning in fewer tokens."""
    defs = schema.pop("$defs", {})

    def walk(node: Any, *, names: bool = False) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = defs.get(str(node["$ref"]).rsplit("/", 1)[-1], {})
            return walk({**target, **{key: value for key, value in node.items() if key != "$ref"}})
        return {
            key: walk(value, names=key == "properties")
            for key, value in node.items()
            if names or key not in {"title", "$schema"}
        }

    result: dict[str, Any] = walk(schema)
    # Local models read a plain type better than "anyOf [X, null]".
    for name, prop in result.get("properties", {}).items():
        options = [option for option in prop.get("anyOf", []) if option.get("type") != "null"]
        if len(options) == 1:
            rest = {key: value for key, value in prop.items() if key not in {"anyOf", "default"}}
            result["properties"][name] = {**options[0], **rest}
    return result
