"""The tools that ship, one by one: success, empty, failure, hostile input.

Touches: a temporary workspace; no network.
"""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.test import AsyncClient

from chat.db import in_db
from chat.errors import ModelMistake, ToolFailed
from chat.tools import arguments, registry
from chat.tools.contract import Done, ToolContext
from chat.tools.travel import YEAR
from memory import records

pytestmark = pytest.mark.django_db


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    return ToolContext(
        user_id=1,
        conversation_id=uuid4(),
        turn_id=uuid4(),
        iteration=1,
        idempotency_key="11111111-aaaa",
        workspace=tmp_path / "files",
    )


async def run(name: str, ctx: ToolContext, **given: Any) -> Done:
    """As the loop runs it: effective arguments first."""
    contract = registry.builtin()[name]
    args = arguments.effective(contract, given).args
    return await contract.run(contract.args.model_validate(args), ctx)


# ---- arithmetic, clock, travel -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("17 * 23", 391),
        ("17×23=", 391),
        ("2^10", 1024),
        ("(1+2)/4", 0.75),
        ("sqrt(16)", 4),
        ("-3 % 5", 2),
        ("1e3+1", 1001),
    ],
)
async def test_calculate_works_out(ctx: ToolContext, expression: str, value: float) -> None:
    assert (await run("calculate", ctx, expression=expression)).data["value"] == value


@pytest.mark.parametrize(
    "expression",
    [
        "1/0",
        "9**9**9",
        "10**100",
        "__import__('os')",
        "(1).__class__",
        "a+1",
        "'x'*9",
        "lambda: 1",
        "[1]*10**9",
        "1 if 1 else 2",
        "(" * 200,
    ],
)
async def test_calculate_refuses_in_words(ctx: ToolContext, expression: str) -> None:
    with pytest.raises(ToolFailed) as fault:
        await run("calculate", ctx, expression=expression)
    assert fault.value.next


async def test_now_knows_time_zones_and_says_when_it_does_not(ctx: ToolContext) -> None:
    assert "+08:00" in (await run("now", ctx, time_zone="Asia/Shanghai")).data["now"]
    with pytest.raises(ToolFailed):
        await run("now", ctx, time_zone="../../etc/passwd")


@pytest.mark.parametrize(
    "date", [f"{YEAR}-10-01", "10-01", "October 1", f"1 October {YEAR}", "10月1日", f"{YEAR}年10月1日", f"{YEAR}/10/1"]
)
@pytest.mark.parametrize("city", ["Xi'an", "西安", "xian"])
async def test_the_weather_is_found_however_city_and_date_are_written(ctx: ToolContext, date: str, city: str) -> None:
    assert (await run("get_weather", ctx, city=city, date=date)).data["condition"] == "rain"


async def test_an_unknown_date_or_city_names_the_known_ones(ctx: ToolContext) -> None:
    with pytest.raises(ToolFailed, match="no forecast") as fault:
        await run("get_weather", ctx, city="Xi'an", date=f"{YEAR}-10-09")
    assert f"{YEAR}-10-01" in fault.value.cause
    with pytest.raises(ToolFailed, match="Atlantis"):
        await run("get_weather", ctx, city="Atlantis", date=f"{YEAR}-10-01")


async def test_the_same_key_twice_is_one_booking(ctx: ToolContext) -> None:
    given = {"hotel_id": "XA-204", "date_from": f"{YEAR}-10-01", "nights": 2, "room": "suite"}
    first, second = await run("book_hotel", ctx, **given), await run("book_hotel", ctx, **given)
    assert first.data["order_id"] == second.data["order_id"] and first.data["total"] == 1960


async def test_a_room_the_hotel_does_not_have_is_refused(ctx: ToolContext) -> None:
    with pytest.raises(ToolFailed, match="no suite"):
        await run("book_hotel", ctx, hotel_id="XA-317", date_from=f"{YEAR}-10-01", nights=1, room="suite")


# ---- arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "effective"),
    [({"nights": "2"}, 2), ({"nights": "2.0"}, 2), ({"room": "SUITE"}, "suite"), ({"wishes": "quiet"}, ["quiet"])],
)
def test_a_harmless_slip_is_mended_and_noted(given: dict[str, Any], effective: Any) -> None:
    base = {"hotel_id": "XA-204", "date_from": f"{YEAR}-10-01", "nights": 1, "room": "standard"}
    found = arguments.effective(registry.builtin()["book_hotel"], base | given)
    assert found.args[next(iter(given))] == effective and found.notes


def test_everything_wrong_is_explained_at_once() -> None:
    with pytest.raises(ModelMistake) as fault:
        arguments.effective(registry.builtin()["book_hotel"], {"hotel_id": "", "nights": 99, "room": "cave", "spy": 1})
    for word in ("nights", "room", "suite", "date_from", "spy"):
        assert word in str(fault.value)


# ---- files -----------------------------------------------------------------------------------------------


async def test_files_are_saved_listed_read_and_deleted(ctx: ToolContext) -> None:
    assert (await run("list_files", ctx)).data["files"] == []
    await run("write_file", ctx, path="notes/a.txt", content="你好 hello")
    assert (await run("list_files", ctx)).data["files"][0]["path"] == "notes/a.txt"
    assert (await run("read_file", ctx, path="notes/a.txt")).data["text"] == "你好 hello"
    await run("delete_file", ctx, path="notes/a.txt")
    with pytest.raises(ToolFailed):
        await run("read_file", ctx, path="notes/a.txt")


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "a/../../x", "~/.ssh/id", "a\0b", "..\\x", "C:/../..", "a\nb", "."]
)
@pytest.mark.parametrize("tool", ["read_file", "write_file", "delete_file"])
async def test_no_path_leaves_the_folder(ctx: ToolContext, tool: str, path: str) -> None:
    ctx.workspace.mkdir(parents=True)
    (ctx.workspace.parent / "x").write_text("outside")
    with pytest.raises((ModelMistake, ToolFailed)):
        await run(tool, ctx, path=path, **({"content": "no"} if tool == "write_file" else {}))
    assert (ctx.workspace.parent / "x").read_text() == "outside"


async def test_a_link_out_of_the_folder_is_not_followed(ctx: ToolContext) -> None:
    ctx.workspace.mkdir(parents=True)
    (ctx.workspace.parent / "secret").write_text("outside")
    (ctx.workspace / "link").symlink_to(ctx.workspace.parent / "secret")
    with pytest.raises(ToolFailed, match="outside"):
        await run("read_file", ctx, path="link")


def test_the_card_of_a_write_shows_the_difference(ctx: ToolContext) -> None:
    ctx.workspace.mkdir(parents=True)
    (ctx.workspace / "a.txt").write_text("old\nsame\n")
    contract = registry.builtin()["write_file"]
    shown = contract.preview(contract.args(path="a.txt", content="new\nsame\n"), ctx)  # type: ignore[misc, call-arg]
    assert "-old" in shown and "+new" in shown


# ---- sandbox ---------------------------------------------------------------------------------------------


async def test_python_returns_its_last_expression_and_what_it_printed(ctx: ToolContext) -> None:
    done = await run("run_python", ctx, code="print('hi')\nsorted(rows)[-1]", inputs={"rows": [3, 1, 2]})
    assert done.data == {"value": 3, "printed": "hi\n"}


ESCAPES = [
    "open('/etc/passwd').read()",
    "import os\nos.system('id')",
    "import subprocess\nsubprocess.run(['id'])",
    "import socket\nsocket.socket()",
    "import ctypes",
    "import sys\nsys.modules['os']",
    "__import__('os').system('id')",
    "__builtins__['open']('/etc/passwd')",
    "().__class__.__bases__[0].__subclasses__()",
    "(lambda: 0).__globals__",
    "(lambda: 0).__code__",
    "getattr((), '__class__').__mro__",
    "'{0.__class__.__init__.__globals__}'.format(1)",
    "from pathlib import Path\nPath('/etc/passwd').read_text()",
    "import os\nos.environ['HOME']",
    "import os\nos.listdir('/')",
    "eval(\"open('/etc/passwd')\")",
    "exec(\"import os\\nos.system('id')\")",
    "compile('1', '', 'eval')",
    "globals()['__builtins__']['open']",
    "import importlib\nimportlib.import_module('os')",
    "while True: pass",
    "try:\n    while True: pass\nexcept BaseException: pass",
    "x = []\nwhile True: x.append('a' * 10**6)",
    "'a' * 10**12",
    "[0] * 10**10",
    "2 ** 10**9",
    "def f(): return f()\nf()",
    "import time\ntime.sleep(100)",
    "while True: print('x' * 1000)",
]


@pytest.mark.parametrize("code", ESCAPES)
async def test_the_sandbox_holds(ctx: ToolContext, code: str) -> None:
    """Each attempt fails in words, and the event loop stays free meanwhile."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticker = asyncio.create_task(tick())
    started = time.monotonic()
    with pytest.raises(ToolFailed) as fault:
        await run("run_python", ctx, code=code)
    seconds = time.monotonic() - started
    ticker.cancel()
    assert fault.value.mend and "Traceback" not in fault.value.what
    assert seconds < 12
    assert seconds < 0.5 or ticks > 5


@pytest.mark.django_db(transaction=True)
async def test_the_page_is_served_while_programs_burn(ctx: ToolContext, alice: object) -> None:
    """Every worker is a process of its own: whoever looks at a page waits no longer than the machine is slow."""
    client = AsyncClient()
    await client.aforce_login(alice)  # type: ignore[arg-type]
    burning = [asyncio.create_task(run("run_python", ctx, code="while True: pass")) for _program in range(3)]
    slowest, late, answers = 0.0, 0.0, 0
    while not all(task.done() for task in burning):
        began = time.monotonic()
        assert (await client.get("/waiting/")).status_code == 200
        slowest, answers = max(slowest, time.monotonic() - began), answers + 1
        began = time.monotonic()
        await asyncio.sleep(0.01)
        late = max(late, time.monotonic() - began - 0.01)
    results = await asyncio.gather(*burning, return_exceptions=True)
    assert all(isinstance(result, ToolFailed) for result in results)
    assert answers >= 5 and slowest < 2.0 and late < 1.0


# ---- web and mail ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://0.0.0.0/", "http://10.0.0.1/", "http://192.168.1.1/",
        "http://172.16.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[fe80::1]/", "http://[fd00::1]/",
        "http://[::ffff:127.0.0.1]/", "http://[::ffff:a9fe:a9fe]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/",
        "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://100.64.0.1/", "http://224.0.0.1/",
        "http://user:pass@example.com/", "file:///etc/passwd", "gopher://127.0.0.1/", "ftp://example.com/", "javascript:alert(1)",
        "http://", "not a url", "http://example.com:99999/",
    ],
)  # fmt: skip
async def test_no_private_address_is_fetched_in_any_form(ctx: ToolContext, url: str) -> None:
    with pytest.raises((ToolFailed, ModelMistake)):
        await run("fetch_page", ctx, url=url)


async def test_web_search_that_is_not_set_up_says_so_and_is_not_offered(ctx: ToolContext) -> None:
    with pytest.raises(ToolFailed, match="not set up"):
        await run("web_search", ctx, query="x")
    assert "web_search" not in registry.business()


async def test_an_email_goes_through_django(ctx: ToolContext) -> None:
    await run("send_email", ctx, to=["a@example.com"], subject="Hi", text="你好")
    assert [m.subject for m in mail.outbox] == ["Hi"] and mail.outbox[0].to == ["a@example.com"]


@pytest.mark.parametrize("given", [{"to": ["nobody"]}, {"to": []}, {"subject": "a\nBcc: x@example.com"}])
async def test_a_bad_email_is_refused(ctx: ToolContext, given: dict[str, Any]) -> None:
    with pytest.raises(ModelMistake):
        await run("send_email", ctx, **{"to": ["a@example.com"], "subject": "s", "text": "t"} | given)
    assert mail.outbox == []


def test_every_write_tool_says_what_it_does_on_the_card() -> None:
    writes = [contract for contract in registry.builtin().values() if contract.tier == "write"]
    assert {"book_hotel", "write_file", "delete_file", "send_email", "http_request"} <= {c.name for c in writes}
    assert all(contract.effect for contract in writes)


@pytest.mark.django_db(transaction=True)
async def test_search_memory_answers_what_was_so_on_a_past_day(ctx: ToolContext, alice: Any) -> None:
    moved = {"I live in Paris": datetime(2026, 4, 1, tzinfo=UTC), "I moved to Rome": datetime(2026, 6, 1, tzinfo=UTC)}
    for text, when in moved.items():
        await in_db(records.remember, alice.pk, text, source={"by": "person"}, when=when)
    mine = replace(ctx, user_id=alice.pk)
    done = await run("search_memory", mine, query="Where did I live?", on="2026-05-15")
    assert done.text == "- The user lives in Paris (from 2026-04-01 until 2026-06-01)"
    assert [item["text"] for item in (await run("search_memory", mine, query="Where do I live?")).data["memories"]] == [
        "I moved to Rome"
    ]
    assert "Nothing is known" in (await run("search_memory", mine, query="x", on="2001-01-01")).text


async def test_a_date_gone_by_is_taken_as_the_one_that_is_coming(ctx: ToolContext) -> None:
    done = await run("get_weather", ctx, city="Xi'an", date="2023-10-02")
    assert done.data["date"] == f"{YEAR}-10-02"
