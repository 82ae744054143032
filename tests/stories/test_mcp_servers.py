"""A server that somebody else made (excel-mcp-server) in whole turns, as a program and over HTTP.

Touches: whole turns through the websocket; the server's process, on loopback.
"""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import openpyxl
import pytest
from django.contrib.auth.models import User

from chat.db import in_db
from chat.llm.scripted import ScriptedLLM, call
from chat.mcp import client as sessions
from chat.mcp import servers
from chat.mcp import tools as mcp_tools
from chat.models import Approval, McpServer
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
PROGRAM = str(Path(sys.executable).parent / "excel-mcp-server")
OFFERS = ["--tools", "workbooks,data"]
BOOK = {"path": "stock.xlsx"}
SHEET = {"path": "stock.xlsx", "sheet": "Sheet1"}


@pytest.fixture(autouse=True)
async def _sessions_close(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    monkeypatch.setattr(mcp_tools, "_known", mcp_tools._Known())
    yield
    await sessions.close()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    program = subprocess.Popen(
        [PROGRAM, "streamable-http", "--host", "127.0.0.1", "--port", str(port), "--allow-dir", str(tmp_path), *OFFERS]
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            break
        time.sleep(0.05)  # a program of others says by nothing else that it is ready
    yield f"http://127.0.0.1:{port}/mcp"
    program.terminate()
    program.wait(10)


def register(**how: object) -> None:
    server = servers.add("excel", trusted=True, timeout=30, **how)  # type: ignore[arg-type]
    said = servers.refresh(server.id)
    assert McpServer.objects.get().health == "up", said
    for tool in server.tools.all():
        servers.accept(tool.id, servers.digest_of(tool.seen))


async def keep_stock(alice: User, folder: Path) -> None:
    script = [
        plan(
            ("Make a workbook", "excel__create_workbook"),
            ("Write the stock into it", "excel__write_range"),
            ("Read it back", "excel__read_range"),
        ),
        call("excel__create_workbook", **BOOK),
        call("excel__write_range", **SHEET, at="A1", rows=[["tea", 3], ["rice", 5]]),
        call("excel__read_range", **SHEET),
        finish("The stock is kept: tea 3, rice 5."),
    ]
    async with Stage(alice, ScriptedLLM(script)) as stage:
        turn = await stage.say("Keep the stock in a workbook: 3 tea, 5 rice")
        first = await stage.asked(turn)
        assert (first.tool, first.tier, list(folder.iterdir())) == ("excel__create_workbook", "write", [])
        await stage.decide(first, grant=True, digest=first.digest)
        second = await stage.row(
            lambda: Approval.objects.filter(turn=turn, status="asked", tool="excel__write_range").first(), turn
        )
        assert not sheet(folder)
        await stage.decide(second, grant=True, args=second.args | {"rows": [["tea", 4], ["rice", 5]]})
        turn = await stage.ended(turn)
        made = [(row.tool, row.status) for row in await stage.calls(turn) if row.tool.startswith("excel__")]
        read = (await stage.calls(turn))[-2]
    assert turn.end == "finished", turn.reason
    assert made == [
        ("excel__create_workbook", "succeeded"),
        ("excel__write_range", "succeeded"),
        ("excel__read_range", "succeeded"),
    ]
    assert read.result["structured"]["values"] == sheet(folder) == [["tea", 4], ["rice", 5]]


def sheet(folder: Path) -> list[list[object]]:
    """What is in the file, read without the server."""
    rows = openpyxl.load_workbook(folder / "stock.xlsx")["Sheet1"].values
    return [list(row) for row in rows if any(row)]


async def test_a_write_of_a_program_that_others_made_runs_after_approval(alice: User, tmp_path: Path) -> None:
    await in_db(register, command=(PROGRAM, "stdio", "--allow-dir", str(tmp_path), *OFFERS))
    await keep_stock(alice, tmp_path)


async def test_a_write_over_http_runs_after_approval(alice: User, tmp_path: Path, address: str) -> None:
    await in_db(register, url=address)
    await keep_stock(alice, tmp_path)


async def test_what_is_rejected_reaches_no_server(alice: User, tmp_path: Path) -> None:
    await in_db(register, command=(PROGRAM, "stdio", "--allow-dir", str(tmp_path), *OFFERS))
    script = [
        plan(("Make a workbook", "excel__create_workbook")),
        call("excel__create_workbook", **BOOK),
        finish("You did not want it."),
    ]
    async with Stage(alice, ScriptedLLM(script)) as stage:
        turn = await stage.say("Make a workbook")
        await stage.decide(await stage.asked(turn), grant=False, reason="No.")
        await stage.ended(turn)
    assert not list(tmp_path.iterdir())


async def test_what_the_server_itself_refuses_is_told_to_the_model_in_its_words(alice: User, tmp_path: Path) -> None:
    await in_db(register, command=(PROGRAM, "stdio", "--allow-dir", str(tmp_path), *OFFERS))
    script = [
        plan(("Read it", "excel__read_range")),
        call("excel__read_range", path="../../etc/passwd", sheet="Sheet1"),
        finish("It cannot be read."),
    ]
    async with Stage(alice, ScriptedLLM(script)) as stage:
        turn = await stage.say("Read the file")
        failed = await stage.row(lambda: turn.calls.filter(tool="excel__read_range").exclude(text="").first(), turn)
    assert failed.status == "failed" and "excel failed" in failed.text and "Traceback" not in failed.text
