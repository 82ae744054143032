"""Registered servers and their tools: the one writer of both tables.

staff's acts, what a server lists -> rows.  Touches: McpServer, McpTool; the servers (refresh).

What a server lists is only seen; it is offered once staff have accepted exactly that.
"""

import asyncio
import base64
import hashlib
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.errors import Refused
from chat.mcp import clean, client
from chat.mcp.types import Listed, Spec, Trouble
from chat.models import McpServer, McpTool

NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")
SECRET = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
QUIET = timedelta(seconds=60)  # health that has not changed is written no more often

_changes = 0  # of this process, so that it sees its own at once


def changes() -> int:
    return _changes


# What staff do


@transaction.atomic
def add(
    name: str,
    *,
    command: Sequence[str] = (),
    url: str = "",
    secrets: Mapping[str, str] | None = None,
    trusted: bool = False,
    timeout: int = 30,
    enabled: bool = True,
) -> McpServer:
    """Register a server. Nothing of it is offered before its tools were listed and accepted."""
    row = McpServer(name=name)
    return change(
        row, command=command, url=url, secrets=secrets or {}, trusted=trusted, timeout=timeout, enabled=enabled
    )


@transaction.atomic
def change(
    row: McpServer,
    *,
    command: Sequence[str],
    url: str,
    secrets: Mapping[str, str],
    trusted: bool,
    timeout: int,
    enabled: bool,
) -> McpServer:
    """`secrets`: name -> value, "env:NAME", or "" to remove; those that are not named stay as they are."""
    check(row.name, command=command, url=url, secrets=secrets)
    row.transport = McpServer.Transport.HTTP if url else McpServer.Transport.STDIO
    row.command, row.url = list(command), url
    row.trusted, row.timeout, row.enabled = trusted, timeout, enabled
    row.secrets = _merged(row.secrets, secrets)
    row.revision = _next()
    row.save()
    return row


def check(name: str, *, command: Sequence[str], url: str, secrets: Mapping[str, str]) -> None:
    """Raises Refused, in words for the form."""
    if not NAME.fullmatch(name):
        raise Refused(_("A server's name is 1 to 20 small letters, digits and dashes, a letter first."))
    if bool(command) == bool(url):
        raise Refused(_("Give a command or an address, one of both."))
    if url and not re.match(r"https?://[^/\s@]+(/|$)", url):
        raise Refused(_("The address must begin with http:// or https:// and hold no name or password."))
    for secret, value in secrets.items():
        if not SECRET.fullmatch(secret) or any(sign in value for sign in "\n\r\x00"):
            raise Refused(_("%(name)s cannot be a variable or header.") % {"name": secret[:40]})


@transaction.atomic
def remove(row: McpServer) -> None:
    McpServer.objects.filter(id=row.id).delete()
    _next()


def refresh(server_id: int) -> str:
    """Ask the server for its list, over a connection of its own; returns what is to be said about it."""
    try:
        found = asyncio.run(client.listed(spec(server_id)))
    except Trouble as trouble:
        health(server_id, up=False, words=trouble.for_staff)
        return trouble.for_staff
    saw(server_id, found)
    waiting = sum(tool.to_accept for tool in McpTool.objects.filter(server=server_id))
    return _("%(count)s tools; %(waiting)s to accept.") % {"count": len(found), "waiting": waiting}


@transaction.atomic
def accept(tool_id: int, digest: str) -> McpTool:
    """Offer the tool as it was shown; `digest` is of what was shown. Raises Refused when it is another by now."""
    row = McpTool.objects.select_related("server").select_for_update().get(id=tool_id)
    if row.unfit or row.gone:
        raise Refused(_("%(tool)s cannot be used.") % {"tool": row.full_name})
    if digest_of(row.seen) != digest:
        raise Refused(
            _("%(tool)s has changed again since it was shown. Look at it once more.") % {"tool": row.full_name}
        )
    row.accepted, row.accepted_at = row.seen, timezone.now()
    row.save(update_fields=["accepted", "accepted_at"])
    _touch(row.server_id)
    return row


@transaction.atomic
def withdraw(tool_id: int) -> McpTool:
    """No longer offer it."""
    row = McpTool.objects.select_related("server").select_for_update().get(id=tool_id)
    row.accepted = row.accepted_at = None
    row.save(update_fields=["accepted", "accepted_at"])
    _touch(row.server_id)
    return row


# What a server shows


@transaction.atomic
def saw(server_id: int, listed: Sequence[Listed]) -> None:
    """Keep what it lists now. What differs from what was accepted is not offered until it is accepted."""
    server = McpServer.objects.select_for_update().filter(id=server_id).first()
    if server is None:
        return
    rows = {row.name: row for row in server.tools.all()}
    changed, names = False, set()
    for one in listed:
        name = clean.seen(one.name, 60)
        if not name or name in names:
            continue  # twice the same name: the first counts
        names.add(name)
        changed |= _keep(rows.get(name) or McpTool(server=server, name=name), one)
    missing = [row.id for row in rows.values() if row.name not in names and not row.gone]
    changed |= bool(McpTool.objects.filter(id__in=missing).update(gone=True))
    if changed:
        _touch(server_id)
    health(server_id, up=True, words=_("%(count)s tools") % {"count": len(names)})


def _keep(row: McpTool, one: Listed) -> bool:
    """Whether anything is new."""
    try:
        seen, unfit = clean.tool(row.server.name, one), ""
    except clean.Unfit as fault:
        seen, unfit = {}, str(fault)
    if row.id and not row.gone and (row.seen, row.unfit) == (seen, unfit):
        return False
    row.seen, row.unfit, row.gone = seen, unfit, False
    row.save()
    return True


def health(server_id: int, *, up: bool, words: str) -> None:
    """Keep what was last seen of it; seldom, for every call comes by here."""
    status = McpServer.Health.UP if up else McpServer.Health.DOWN
    now, text = timezone.now(), clean.seen(words, 300)
    row = McpServer.objects.filter(id=server_id).only("health", "health_text", "checked_at").first()
    if row and (row.health != status or row.health_text != text or not row.checked_at or row.checked_at < now - QUIET):
        McpServer.objects.filter(id=server_id).update(health=status, health_text=text, checked_at=now)


# What a call needs


def spec(server_id: int) -> Spec:
    """How the server is reached, its secrets open. Raises Trouble."""
    row = McpServer.objects.filter(id=server_id).first()
    if row is None or not row.enabled:
        raise Trouble(_("It is switched off."), sent=False)
    return Spec(
        id=row.id,
        name=row.name,
        command=tuple(row.command),
        url=row.url,
        secrets={name: _opened(name, kept) for name, kept in row.secrets.items()},
        timeout=float(row.timeout),
    )


def still_accepted(tool_id: int, digest: str) -> bool:
    row = McpTool.objects.select_related("server").filter(id=tool_id).first()
    return row is not None and row.offered and digest_of(row.seen) == digest


def digest_of(definition: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(definition, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


# Secrets


def _merged(kept: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    secrets = dict(kept)
    for name, value in given.items():
        if not value:
            secrets.pop(name, None)
        else:
            secrets[name] = value if value.startswith("env:") else "sealed:" + _seal().encrypt(value.encode()).decode()
    return secrets


def _opened(name: str, kept: str) -> str:
    if kept.startswith("env:"):
        value = os.environ.get(kept.removeprefix("env:"))
        if value is None:
            raise Trouble(_("The variable %(name)s is not set.") % {"name": kept.removeprefix("env:")}, sent=False)
        return value
    try:
        return _seal().decrypt(kept.removeprefix("sealed:").encode()).decode()
    except InvalidToken:
        raise Trouble(
            _("The secret %(name)s cannot be read: the instance's key has changed. Enter it again.") % {"name": name},
            sent=False,
        ) from None


def _seal() -> MultiFernet:
    keys = [settings.SECRET_KEY, *map(str, settings.SECRET_KEY_FALLBACKS)]
    return MultiFernet(
        [Fernet(base64.urlsafe_b64encode(hashlib.sha256(f"mcp secrets {key}".encode()).digest())) for key in keys]
    )


# Revisions


def _touch(server_id: int) -> None:
    McpServer.objects.filter(id=server_id).update(revision=_next())


def _next() -> int:
    """A revision no other change has, in whatever process; this process sees the change once it is committed."""

    def seen() -> None:
        global _changes
        _changes += 1

    transaction.on_commit(seen)
    return time.time_ns() // 1_000
