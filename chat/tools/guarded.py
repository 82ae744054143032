"""HTTP to the outside, guarded: no address of this machine or its networks is ever reached.

URL -> response.  Touches: the network.

A name is resolved once, every address it has is checked, and the connection goes to a checked address, so that a
name that changes its mind between check and use (DNS rebinding) wins nothing. Redirects are followed by hand and
each is checked again.
"""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2 as httpx
from django.conf import settings

from chat.errors import ToolFailed

REDIRECTS = 4
MAX_BYTES = 2_000_000
SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    url: str  # after redirects
    status: int
    kind: str  # media type
    body: bytes
    cut: bool  # the body was longer than MAX_BYTES
    charset: str = ""


async def fetch(method: str, url: str, *, headers: dict[str, str] | None = None, body: str | None = None) -> Page:
    """Raises ToolFailed in words for every way this can go wrong."""
    for _redirect in range(REDIRECTS + 1):
        async with _open(method, url, headers or {}, body) as response:
            if response.is_redirect and method in {"GET", "HEAD"}:
                url = urljoin(url, response.headers.get("location", ""))
                continue
            return await _read(url, response)
    raise ToolFailed("The page redirects in circles.", next="Use another address.", mend=True)


@asynccontextmanager
async def _open(method: str, url: str, headers: dict[str, str], body: str | None) -> AsyncIterator[httpx.Response]:
    parts, address = await check(url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    pinned = parts._replace(netloc=f"[{address}]{port}" if ":" in address else f"{address}{port}")
    sent = {"User-Agent": "agentweb/0.1", **headers, "Host": host + port}
    try:
        async with (
            httpx.AsyncClient(timeout=SECONDS, follow_redirects=False, trust_env=False) as client,
            # The certificate is checked against the name, though the connection goes to the checked address.
            client.stream(
                method, pinned.geturl(), headers=sent, content=body, extensions={"sni_hostname": host}
            ) as response,
        ):
            yield response
    except httpx.TimeoutException as fault:
        raise ToolFailed(
            f"{host} did not answer in time.", "It is slow or down.", "Try once more, or another page.", retry=True
        ) from fault
    except httpx.HTTPError as fault:
        raise ToolFailed(
            f"{host} could not be reached ({type(fault).__name__}).",
            "It is down, or the address is wrong.",
            "Use another address.",
            mend=True,
        ) from fault


async def check(url: str) -> tuple[Any, str]:
    """The parts of an allowed URL, and the address to connect to."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as fault:
        raise ToolFailed("That is no web address.", next="Give a full https address.", mend=True) from fault
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.password:
        raise ToolFailed(
            "Only plain http and https addresses can be used.", next="Give a full https address.", mend=True
        )
    try:
        found = await asyncio.get_running_loop().getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as fault:
        raise ToolFailed(
            f"{parts.hostname} is not known.",
            "The name is wrong, or there is no network.",
            "Check the address.",
            mend=True,
        ) from fault
    addresses = [str(entry[4][0]) for entry in found]
    bad = [address for address in addresses if not is_public(address)]
    if not addresses or (bad and parts.netloc not in settings.AGENT_FETCH_ALLOW):
        raise ToolFailed(
            f"{parts.hostname} is an address inside a private network, which is never fetched.",
            next="Use a public address, or tell the person.",
        )
    return parts, addresses[0]


def is_public(address: str) -> bool:
    """Whether an address belongs to the public internet, looking through every form that wraps another."""
    try:
        ip = ipaddress.ip_address(address.split("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


async def _read(url: str, response: httpx.Response) -> Page:
    body, cut = b"", False
    async with asyncio.timeout(SECONDS):
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                body, cut = body[:MAX_BYTES], True
                break
    kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
    return Page(
        url=url, status=response.status_code, kind=kind, body=body, cut=cut, charset=response.charset_encoding or ""
    )


def text_of(page: Page) -> str:
    """The body as text; what is not text is refused."""
    if page.kind and not (
        page.kind.startswith("text/") or page.kind.endswith(("json", "xml", "xhtml+xml", "javascript"))
    ):
        raise ToolFailed(
            f"{page.url} is not text ({page.kind}).", next="Use a page that can be read as text.", mend=True
        )
    try:
        return page.body.decode(page.charset or "utf-8", "replace").replace("\0", "")
    except LookupError:
        return page.body.decode("utf-8", "replace").replace("\0", "")
