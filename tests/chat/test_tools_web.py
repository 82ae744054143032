"""The web tools against a web that is hostile, slow, broken or large. A server on loopback plays it.

Touches: a port on loopback; name resolution is played where a name must change its mind.
"""

import asyncio
import gzip
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from chat.errors import OutcomeUnknown, ToolFailed
from chat.tools import arguments, guarded, registry
from chat.tools.contract import Done, ToolContext
from tests.support.pages import Pages, served

ARTICLE = "<html><head><title>{title}</title></head><body><nav>menu</nav><article><p>{text}</p></article></body></html>"
WORDS = "Rain is expected over the city wall of Xi'an in the afternoon, and it clears up in the evening. " * 4


@pytest.fixture(scope="module")
def web() -> Iterator[Pages]:
    with served() as pages:
        yield pages


@pytest.fixture(autouse=True)
def _allowed(settings: Any, web: Pages) -> None:
    settings.AGENT_FETCH_ALLOW = [web.address]


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    return ToolContext(
        user_id=1, conversation_id=uuid4(), turn_id=uuid4(), iteration=1, idempotency_key="key-1", workspace=tmp_path
    )


async def run(name: str, ctx: ToolContext, **given: Any) -> Done:
    contract = registry.builtin()[name]
    return await contract.run(contract.args.model_validate(arguments.effective(contract, given).args), ctx)


async def test_a_page_is_read_without_its_menus_and_with_its_address(web: Pages, ctx: ToolContext) -> None:
    url = web.put("/page", ARTICLE.format(title="Weather", text=WORDS))
    done = await run("fetch_page", ctx, url=url)
    assert done.data["url"] == url and done.data["title"] == "Weather"
    assert "city wall" in done.data["text"] and "menu" not in done.data["text"]


@pytest.mark.parametrize("header", ["text/html; charset=gb18030", "text/html"])
async def test_a_chinese_page_of_an_older_charset_is_read(web: Pages, ctx: ToolContext, header: str) -> None:
    text = "西安城墙今天下午有雨，傍晚转晴。" * 8
    page = f'<html><head><meta charset="gb18030"></head><body><p>{text}</p></body></html>'
    done = await run("fetch_page", ctx, url=web.put("/gb", page.encode("gb18030"), kind=header))
    assert "傍晚转晴" in done.data["text"]


async def test_plain_text_and_json_are_read_as_they_are(web: Pages, ctx: ToolContext) -> None:
    assert (await run("fetch_page", ctx, url=web.put("/t", "a < b", kind="text/plain"))).data["text"] == "a < b"
    assert (await run("fetch_page", ctx, url=web.put("/j", "[1]", kind="application/json"))).data["text"] == "[1]"


async def test_a_redirect_is_followed_and_the_last_address_is_cited(web: Pages, ctx: ToolContext) -> None:
    web.put("/end", ARTICLE.format(title="End", text=WORDS))
    url = web.put("/start", "", status=302, Location="/end")
    assert (await run("fetch_page", ctx, url=url)).data["url"].endswith("/end")


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:1/", "http://localhost/", "http://169.254.169.254/latest/", "//[::1]/", "http://2130706433/",
        "file:///etc/passwd", "ftp://example.com/", "http://user@127.0.0.1/", "http://[::ffff:10.0.0.1]/", "javascript:1",
    ],
)  # fmt: skip
async def test_a_redirect_to_where_it_must_not_go_is_refused(web: Pages, ctx: ToolContext, location: str) -> None:
    with pytest.raises(ToolFailed) as fault:
        await run("fetch_page", ctx, url=web.put("/away", "", status=302, Location=location))
    assert "never fetched" in fault.value.what or "Only plain" in fault.value.what


async def test_redirects_in_a_circle_come_to_an_end(web: Pages, ctx: ToolContext) -> None:
    with pytest.raises(ToolFailed, match="circles"):
        await run("fetch_page", ctx, url=web.put("/loop", "", status=302, Location="/loop"))


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ({"body": "gone", "status": 404}, "answered 404"),
        ({"body": "broken", "status": 500}, "answered 500"),
        ({"body": b"\x89PNG", "kind": "image/png"}, "not text"),
        ({"body": b"%PDF", "kind": "application/pdf"}, "not text"),
        ({"body": "<html><body></body></html>"}, "no readable text"),
        ({"body": b"", "kind": "text/plain"}, "no readable text"),
        ({"body": b"\x1f\x8bnonsense", "Content_Encoding": "gzip"}, "packed wrongly"),
        ({"body": b"xx", "Content_Encoding": "br"}, "not asked for"),
        ({"body": "short", "Content_Length": "9999"}, "broke off"),
    ],
)
async def test_a_page_that_cannot_be_used_is_said_to_be_so(
    web: Pages, ctx: ToolContext, page: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolFailed, match=said) as fault:
        await run("fetch_page", ctx, url=web.put("/bad", page.pop("body"), **page))
    assert fault.value.next


async def test_a_packed_bomb_is_unpacked_no_further_than_a_page_may_be_large(web: Pages) -> None:
    bomb = gzip.compress(b"a" * 300_000_000, 9)
    page = await guarded.fetch("GET", web.put("/bomb", bomb, kind="text/plain", Content_Encoding="gzip"))
    assert page.cut and len(page.body) == guarded.MAX_BYTES


async def test_a_large_page_is_cut_and_says_so(web: Pages, ctx: ToolContext) -> None:
    done = await run("fetch_page", ctx, url=web.put("/large", "x " * 5_000_000, kind="text/plain"))
    assert done.data["cut"] and len(done.data["text"]) <= 12_000


async def test_a_server_that_never_answers_costs_its_time_and_no_more(
    ctx: ToolContext, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    settings.AGENT_FETCH_ALLOW = [address]
    monkeypatch.setattr(guarded, "WHOLE", 0.3)
    with pytest.raises(ToolFailed, match="in time") as late:
        await run("fetch_page", ctx, url=f"http://{address}/")
    assert late.value.retry and not isinstance(late.value, OutcomeUnknown)
    with pytest.raises(OutcomeUnknown):
        await run("http_request", ctx, url=f"http://{address}/", body="x")
    server.close()


async def test_a_name_is_resolved_once_and_connected_to_what_was_checked(
    web: Pages, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that changes its mind after the check wins nothing."""
    host, port = web.address.split(":")
    settings.AGENT_FETCH_ALLOW = [f"rebind.test:{port}"]
    asked: list[str] = []

    async def getaddrinfo(name: str, *_args: Any, **_more: Any) -> list[Any]:
        asked.append(name)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host if len(asked) == 1 else "10.0.0.1", int(port)))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    web.put("/r", "here", kind="text/plain")
    page = await guarded.fetch("GET", f"http://rebind.test:{port}/r")
    assert page.body == b"here" and asked == ["rebind.test"]
    assert web.seen[-1][2]["Host"] == f"rebind.test:{port}"


@pytest.mark.parametrize(
    "inner",
    ["127.0.0.1", "10.1.2.3", "::1", "fe80::1%eth0", "fec0::1", "::ffff:192.168.0.1", "0.0.0.0", "255.255.255.255"],
)
async def test_one_private_address_among_public_ones_refuses_the_name(
    monkeypatch: pytest.MonkeyPatch, inner: str
) -> None:
    async def getaddrinfo(*_args: Any, **_more: Any) -> list[Any]:
        return [(0, 0, 0, "", (address, 80)) for address in ("93.184.216.34", inner)]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    with pytest.raises(ToolFailed, match="never fetched"):
        await guarded.check("http://two-faced.test/")


async def test_an_address_that_is_down_gives_way_to_the_next(
    web: Pages, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = web.address.split(":")
    settings.AGENT_FETCH_ALLOW = [f"two.test:{port}"]

    async def getaddrinfo(*_args: Any, **_more: Any) -> list[Any]:
        return [(0, 0, 0, "", (address, int(port))) for address in ("127.9.9.9", host)]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    web.put("/r", "here", kind="text/plain")
    assert (await guarded.fetch("GET", f"http://two.test:{port}/r")).body == b"here"


# ---- requests that change something -------------------------------------------------------------------------


async def test_a_request_is_sent_once_with_its_key(web: Pages, ctx: ToolContext) -> None:
    url = web.put("/do", "done", kind="text/plain")
    web.seen.clear()
    done = await run("http_request", ctx, url=url, body="你好", headers={"X-A": "b"})
    assert done.data["status"] == 200 and done.data["text"] == "done"
    ((method, _path, headers, body),) = web.seen
    assert (method, body.decode(), headers["Idempotency-Key"], headers["X-A"]) == ("POST", "你好", "key-1", "b")


async def test_a_reply_that_is_no_text_does_not_undo_what_was_done(web: Pages, ctx: ToolContext) -> None:
    done = await run("http_request", ctx, url=web.put("/png", b"\x89PNG", kind="image/png"))
    assert done.data["text"] == "(4 bytes of image/png)"


@pytest.mark.parametrize(
    ("status", "unknown"), [(302, False), (400, False), (401, False), (404, False), (500, True), (503, True)]
)
async def test_a_request_that_was_refused_is_no_success(
    web: Pages, ctx: ToolContext, status: int, unknown: bool
) -> None:
    with pytest.raises(ToolFailed, match=str(status)) as fault:
        await run("http_request", ctx, url=web.put("/no", "no", status=status, Location="/x"))
    assert isinstance(fault.value, OutcomeUnknown) is unknown


async def test_nothing_listening_is_a_failure_and_nothing_unknown(ctx: ToolContext, settings: Any) -> None:
    settings.AGENT_FETCH_ALLOW = ["127.0.0.1:9"]
    with pytest.raises(ToolFailed, match="could not be reached") as fault:
        await run("http_request", ctx, url="http://127.0.0.1:9/")
    assert not isinstance(fault.value, OutcomeUnknown)


@pytest.mark.parametrize("headers", [{"Host": "x"}, {"content-length": "1"}, {"a": "b\r\nc: d"}, {"a\nb": "c"}])
async def test_headers_cannot_smuggle(ctx: ToolContext, headers: dict[str, str]) -> None:
    with pytest.raises(Exception, match="cannot be set"):
        await run("http_request", ctx, url="https://example.com", headers=headers)


# ---- search ----------------------------------------------------------------------------------------------------


@pytest.fixture
def searx(settings: Any, web: Pages) -> Pages:
    settings.AGENT_SEARCH, settings.AGENT_SEARCH_URL = "searxng", f"http://{web.address}"
    return web


async def test_search_returns_titles_addresses_and_snippets(searx: Pages, ctx: ToolContext) -> None:
    hits = [{"title": "A", "url": "https://a.example/", "content": "about a"}, {"title": "B", "url": "javascript:1"}]
    searx.put("/search", json.dumps({"results": hits}), kind="application/json")
    done = await run("web_search", ctx, query="西安 天气")
    assert done.data["results"] == [{"title": "A", "url": "https://a.example/", "snippet": "about a"}]
    assert "https://a.example/" in done.text


async def test_search_that_finds_nothing_says_so(searx: Pages, ctx: ToolContext) -> None:
    searx.put("/search", '{"results": []}', kind="application/json")
    done = await run("web_search", ctx, query="x")
    assert done.data["results"] == [] and done.text == "Nothing was found."


@pytest.mark.parametrize(
    ("answer", "status"),
    [("not json", 200), ("[]", 200), ('{"results": "no"}', 200), ('{"results": [1, null]}', 200), ("", 500), ("", 429)],
)
async def test_a_search_provider_that_answers_nonsense_harms_nothing(
    searx: Pages, ctx: ToolContext, answer: str, status: int
) -> None:
    searx.put("/search", answer, status=status)
    try:
        assert (await run("web_search", ctx, query="x")).data["results"] == []
    except ToolFailed as fault:
        assert fault.next
