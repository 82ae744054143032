"""Accepted tools of MCP servers as contracts, and the call behind each.

McpTool rows -> contracts; arguments -> Done.  Touches: reads McpServer, McpTool; the servers.

An untrusted server's tool always asks the person. Nothing here raises into a chat but ToolFailed.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from django.db import DatabaseError
from django.db.models import Count, Max
from django.utils.translation import gettext as _
from pydantic import ConfigDict

from chat.db import in_db
from chat.errors import OutcomeUnknown, ToolFailed
from chat.mcp import clean, client, elicit, servers
from chat.mcp.types import Answer, Kept, Listed, Trouble
from chat.models import McpServer, McpTool
from chat.tools import files
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext

EVERY = 1.0  # seconds between looks at the revision
SPARE = 5.0  # seconds that the loop waits beyond the server's own time

log = logging.getLogger(__name__)


class McpArgs(Args):
    """Anything: these arguments are checked by the server's own schema."""

    model_config = ConfigDict(extra="allow", str_strip_whitespace=False)


@dataclass(slots=True)
class _Known:
    contracts: Mapping[str, Contract] = field(default_factory=lambda: MappingProxyType({}))
    revision: tuple[int, int] | None = None  # how many servers, and the newest change
    changes: int = -1
    looked: float = float("-inf")


_known = _Known()
_lock = threading.Lock()


def contracts() -> Mapping[str, Contract]:
    """What is offered now, by name; looks at the table once a second at most, and never from within an event loop."""
    if not _in_loop() and (time.monotonic() - _known.looked > EVERY or _known.changes != servers.changes()):
        with _lock:
            _look()
    return _known.contracts


def _in_loop() -> bool:
    """There no query may be made. What was last known is a second old: each iteration begins with one in a thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _look() -> None:
    changes = servers.changes()
    try:
        found = McpServer.objects.aggregate(count=Count("id"), newest=Max("revision"))
        revision = (found["count"], found["newest"] or 0)
        if revision != _known.revision:
            rows = McpTool.objects.filter(server__enabled=True, accepted__isnull=False).select_related("server")
            _known.contracts = MappingProxyType({row.full_name: contract(row) for row in rows if row.offered})
            _known.revision = revision
    except DatabaseError:  # the table is not there yet, or the database is away: the rest of the tools work on
        log.warning("The tools of MCP servers could not be read", exc_info=True)
    _known.changes, _known.looked = changes, time.monotonic()


def contract(row: McpTool) -> Contract:
    definition, server = row.accepted or {}, row.server
    tier = tier_of(server, definition)
    return Contract(
        name=row.full_name,
        purpose=definition["description"] or f"{row.name} of {server.name}",
        not_for="what another tool says it does",
        args=McpArgs,
        run=_runner(row, servers.digest_of(definition), reads=tier == Tier.READ),
        tier=tier,
        returns={},
        returns_empty="an empty text: the server said nothing",
        failures=(FailureMode(when="the server refuses or is down", advice="Go another way, or tell the person."),),
        cost="as the server asks",
        latency="seconds",
        timeout=server.timeout + SPARE,
        repeatable=tier == Tier.READ and bool(definition["repeatable"]),
        pack=server.name,
        outside=True,
        effect=_effect(row.name, server.name),
        parameters=definition["schema"],
    )


def tier_of(server: McpServer, definition: Mapping[str, Any]) -> Tier:
    """Its own word that it only reads counts for nothing until staff have marked the server as trusted."""
    return Tier.READ if server.trusted and definition.get("read_only") else Tier.WRITE


def _effect(tool: str, server: str) -> Callable[[Any], str]:
    return lambda args: _("Calls %(tool)s of %(server)s") % {"tool": tool, "server": server}


def _runner(row: McpTool, digest: str, *, reads: bool) -> Callable[[Mapping[str, Any], ToolContext], Awaitable[Done]]:
    server_id, server, tool_id, name = row.server_id, row.server.name, row.id, row.name

    async def run(args: Mapping[str, Any], ctx: ToolContext) -> Done:
        async def note(listed: Sequence[Listed]) -> None:
            await in_db(servers.saw, server_id, listed)

        spec = None
        try:
            spec = await in_db(servers.spec, server_id)
            async with asyncio.timeout(spec.timeout):
                session = await client.opened(spec, note)
                if not await in_db(servers.still_accepted, tool_id, digest):
                    raise ToolFailed(
                        f"{name} of {server} is not what it was when it was accepted.",
                        "The server has changed it, or it was switched off.",
                        "Go another way, and tell the person that staff must look at it.",
                    )
                asking = elicit.Asking(server=server, answers=await in_db(elicit.answers, ctx.turn_id))
                answer = await client.call(session, name, args, ctx.idempotency_key, asking, ctx.progress)
        except TimeoutError:
            assert spec is not None
            late = Trouble(f"No answer within {spec.timeout:g} seconds.")
            raise await _failed(server_id, server, late, reads=reads) from None
        except Trouble as trouble:
            raise await _failed(server_id, server, trouble, reads=reads) from None
        await in_db(servers.health, server_id, up=True, words=_("Answers"))
        if answer.asked:
            raise _asks(server, name, answer)
        kept = [] if answer.error else await asyncio.to_thread(_keep, ctx.workspace, server, answer.files)
        return done(server, name, "\n".join([answer.text, *kept]).strip(), answer.structured, error=answer.error)

    return run


def _keep(workspace: Path, server: str, found: Sequence[Kept]) -> list[str]:
    """What else came, into the conversation's folder, where the person can download it."""
    names = [f"{server}/{file.name}" for file in found if files.keep(workspace, f"{server}/{file.name}", file.data)]
    left = len(found) - len(names)
    said = [f"(Saved among the files of the conversation: {', '.join(names)})"] if names else []
    return [*said, *([f"({left} more were too large or too many to keep.)"] if left else [])]


def _asks(server: str, tool: str, answer: Answer) -> ToolFailed:
    """It goes on once the person has said what the server wants to know."""
    return ToolFailed(
        f"{server} wants to know something of the person first.",
        next=f"Call ask_user with exactly '{server} asks: ' and its question, then {server}__{tool} again: their answer "
        "is passed on.",
        mend=True,
        quoted=f"{' '.join(answer.asked)} [it said: {answer.text[:500]}]",
    )


def done(server: str, tool: str, text: str, structured: Any, *, error: bool) -> Done:
    if error:
        raise ToolFailed(f"{tool} of {server} failed.", quoted=clean.seen(text, 2_000))
    data = {"server": server, "text": text} | ({"structured": structured} if structured is not None else {})
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return Done(data=data, summary=clean.seen(first, 120) or _("Nothing was said"), text=text or "(an empty result)")


async def _failed(server_id: int, server: str, trouble: Trouble, *, reads: bool) -> ToolFailed:
    """What the model is told; whether it happened is said as far as it is known, and else asked of the person."""
    if trouble.refused:
        return ToolFailed(f"{server} refused the call.", quoted=str(trouble))
    await in_db(servers.health, server_id, up=False, words=trouble.for_staff)
    what, why = f"The server {server} does not work.", str(trouble)
    if trouble.sent and not reads:
        return OutcomeUnknown(f"{what} Whether it was done is not known.", quoted=why)
    return ToolFailed(what if trouble.sent else f"{what} Nothing was done.", quoted=why)
