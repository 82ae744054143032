"""HTTP to the outside, guarded: no address of this machine or its networks is ever reached.

URL -> response.  Touches: the network.

A name is resolved once, every address it has is checked, and the connection goes to a checked address, so that a
name that changes its mind between check and use (DNS rebinding) wins nothing. Redirects are followed by hand and
each is checked again.
"""

import asyncio
import ipaddress
import re
import socket
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

import httpx2 as httpx
from django.conf import settings

from chat.errors import OutcomeUnknown, ToolFailed

REDIRECTS = 4
MAX_BYTES = 2_000_000  # unpacked
SECONDS = 15.0  # without a byte
WHOLE = 30.0  # seconds for all of it, redirects included
ADDRESSES = 3  # of one name, tried one after the other
READS = {"GET", "HEAD"}
NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Not sent for certain; after any other fault a request may have had its effect.
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.LocalProtocolError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    url: str  # after redirects
    status: int
    kind: str  # media type
    body: bytes
    cut: bool  # the body was longer than MAX_BYTES
    charset: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A checked address of a URL."""

    parts: SplitResult
    host: str  # in ASCII
    addresses: tuple[str, ...]


async def fetch(method: str, url: str, *, headers: Mapping[str, str] | None = None, body: str | None = None) -> Page:
    """Raises ToolFailed in words for every way this can go wrong, OutcomeUnknown where it may have had its effect."""
    try:
        async with asyncio.timeout(WHOLE):
            for _redirect in range(REDIRECTS + 1):
                found = await _try(method, url, headers or {}, body)
                if isinstance(found, Page):
                    return found
                url = urljoin(url, found)
    except TimeoutError as fault:
        raise _late(method, urlsplit(url).hostname or "") from fault
    raise ToolFailed("The page redirects in circles.", next="Use another address.", mend=True)


async def _try(method: str, url: str, headers: Mapping[str, str], body: str | None) -> Page | str:
    """The page, or where it redirects to."""
    target = await check(url)
    for index, address in enumerate(target.addresses, 1):
        try:
            return await _send(method, url, target, address, headers, body)
        except UNSENT as fault:
            if index == len(target.addresses):
                raise ToolFailed(
                    f"{target.host} could not be reached ({type(fault).__name__}).",
                    "It is down, or the address is wrong.",
                    "Use another address.",
                    mend=True,
                ) from fault
        except httpx.TimeoutException as fault:
            raise _late(method, target.host) from fault
        except httpx.HTTPError as fault:
            what = f"{target.host} broke off the connection ({type(fault).__name__})."
            if method not in READS:
                raise OutcomeUnknown(f"{what} Nobody knows whether it took the request.") from fault
            raise ToolFailed(what, "It does not speak HTTP well.", "Use another address.", mend=True) from fault
    raise AssertionError("unreachable")


def _late(method: str, host: str) -> ToolFailed:
    what = f"{host} did not answer in time."
    if method not in READS:
        return OutcomeUnknown(f"{what} Nobody knows whether it took the request.")
    return ToolFailed(what, "It is slow or down.", "Try once more, or another page.", retry=True)


async def _send(
    method: str, url: str, target: Target, address: str, headers: Mapping[str, str], body: str | None
) -> Page | str:
    port = f":{target.parts.port}" if target.parts.port else ""
    place = f"[{address}]{port}" if ":" in address else f"{address}{port}"
    pinned = target.parts._replace(netloc=place, fragment="").geturl()
    sent = {"User-Agent": "agentweb/0.1", "Accept-Encoding": "gzip", **headers, "Host": target.host + port}
    async with (
        httpx.AsyncClient(timeout=SECONDS, follow_redirects=False, trust_env=False) as client,
        # The certificate is checked against the name, though the connection goes to the checked address.
        client.stream(method, pinned, headers=sent, content=body, extensions={"sni_hostname": target.host}) as response,
    ):
        if response.is_redirect and method in READS:
            return str(response.headers.get("location", ""))
        return await _read(url, response)


async def check(url: str) -> Target:
    """The addresses to connect to. Raises ToolFailed for a URL that may not be fetched."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = (parts.hostname or "").encode("idna").decode()
    except (ValueError, UnicodeError) as fault:
        raise ToolFailed("That is no web address.", next="Give a full https address.", mend=True) from fault
    if parts.scheme not in {"http", "https"} or not host or parts.username or parts.password:
        raise ToolFailed(
            "Only plain http and https addresses can be used.", next="Give a full https address.", mend=True
        )
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as fault:
        raise ToolFailed(
            f"{host} is not known.", "The name is wrong, or there is no network.", "Check the address.", mend=True
        ) from fault
    addresses = tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
    allowed = parts.netloc.lower() in settings.AGENT_FETCH_ALLOW
    if not addresses or not (allowed or all(map(is_public, addresses))):
        raise ToolFailed(
            f"{host} is an address inside a private network, which is never fetched.",
            next="Use a public address, or tell the person.",
        )
    return Target(parts=parts, host=host, addresses=addresses[:ADDRESSES])


def is_public(address: str) -> bool:
    """Whether an address belongs to the public internet, looking through every form that wraps another."""
    try:
        ip = ipaddress.ip_address(address.split("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if ip.is_site_local:
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


async def _read(url: str, response: httpx.Response) -> Page:
    """At most MAX_BYTES, counted unpacked: a small packed body may be a very large one."""
    unpack = _unpacker(response.headers.get("content-encoding", ""), url)
    body, cut = bytearray(), False
    async for chunk in response.aiter_raw():
        body += unpack(chunk, MAX_BYTES + 1 - len(body))
        if len(body) > MAX_BYTES:
            del body[MAX_BYTES:]
            cut = True
            break
    kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
    charset = response.charset_encoding or ""
    return Page(url=url, status=response.status_code, kind=kind, body=bytes(body), cut=cut, charset=charset)


def _unpacker(encoding: str, url: str) -> Callable[[bytes, int], bytes]:
    """A function of a chunk and of how much there is room for."""
    if encoding.strip().lower() in {"", "identity"}:
        return lambda chunk, room: chunk
    if encoding.strip().lower() not in {"gzip", "x-gzip"}:
        raise ToolFailed(f"{url} is packed in a way that was not asked for.", next="Use another page.", mend=True)
    inner = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def unpack(chunk: bytes, room: int) -> bytes:
        try:
            return inner.decompress(chunk, max(room, 1))
        except zlib.error as fault:
            raise ToolFailed(f"{url} is packed wrongly.", next="Use another page.", mend=True) from fault

    return unpack


def text_of(page: Page) -> str:
    """The body as text; what is not text is refused."""
    if page.kind and not (page.kind.startswith("text/") or page.kind.endswith(("json", "xml", "javascript"))):
        raise ToolFailed(
            f"{page.url} is not text ({page.kind[:60]}).", next="Use a page that can be read as text.", mend=True
        )
    try:
        return page.body.decode(page.charset or _declared(page.body), "replace").replace("\0", "")
    except LookupError:
        return page.body.decode("utf-8", "replace").replace("\0", "")


def _declared(body: bytes) -> str:
    """The charset that a page names itself, as older Chinese ones do."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    found = re.search(rb"""charset\s*=\s*["']?\s*([\w-]{2,30})""", body[:2_048], re.IGNORECASE)
    return found[1].decode("ascii", "replace") if found else "utf-8-sig"
