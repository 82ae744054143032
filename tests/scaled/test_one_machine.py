"""`make run-scaled` as a person would start it: one port, and what a person sees when a process behind it is killed.

Touches: scripts/run-scaled.sh with all that it starts, on free ports of the loopback; aiohttp as the browser.
"""

import asyncio
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest
from django.conf import settings

from tests.support.served import ROOT, free_port

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(settings.AGENT_RUNNER != "scaled", reason="once, with the other tests of workers"),
]
PATIENCE = 120.0


class Machine:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="agentweb-scaled-"))
        self.folder.chmod(0o711)  # as root, the user who runs PostgreSQL must get through
        self.log = self.folder / "machine.log"
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        env = {
            name: value for name, value in os.environ.items() if not name.startswith(("AGENT_", "OPENAI_", "DJANGO_"))
        }
        env |= {"AGENT_DATA_DIR": str(self.folder / "data"), "AGENT_MODEL": "demo", "AGENT_EMBEDDER": "hashed"}
        env |= {"HOST": "127.0.0.1", "PORT": str(port)}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(["scripts/run-scaled.sh"], cwd=ROOT, env=env, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while not (self.answers() and len(self.processes("manage.py work")) == 2 and self.said("Working on") == 2):
            assert self.process.poll() is None and time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.2)

    def answers(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self.base}/readyz", timeout=5) as ready:
            return bool(ready.status == 200)
        return False

    def said(self, words: str) -> int:
        return self.log.read_text().count(words)

    def processes(self, command: str = "") -> list[int]:
        """Those of this machine that run the command: they have its data directory in their environment, or below it."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                pid, line = int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                ours = str(self.folder) in (entry / "environ").read_text(errors="replace") or str(self.folder) in line
                if ours and command in line and "with-services" not in line:
                    found.append(pid)
        return found

    def holder(self, client_port: int) -> int:
        """The process at the other end of a connection."""
        ends = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        inode = next(end[9] for end in ends if end[2].endswith(f":{client_port:04X}") and end[3] == "01")
        return next(pid for pid in self.processes("manage.py serve") if f"socket:[{inode}]" in _open_files(pid))

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def _open_files(pid: int) -> set[str]:
    found = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.add(str(file.readlink()))
    return found


@pytest.fixture
def machine() -> Iterator[Machine]:
    machine = Machine()
    yield machine
    if machine.process.poll() is None:
        machine.stop()


class Page:
    """One person with one page open: signed in, in the conversation that a first visit begins."""

    def __init__(self, machine: Machine, session: aiohttp.ClientSession) -> None:
        self.machine, self.session = machine, session

    async def open(self) -> None:
        if not self.session.cookie_jar:
            link = re.findall(r"http://\S+/enter/\S+", self.machine.log.read_text())[0]
            async with self.session.get(link) as page:
                self.conversation = page.url.path.split("/")[2]
        url = f"{self.machine.base}/ws/c/{self.conversation}/"
        self.socket = await self.session.ws_connect(url, headers={"Origin": self.machine.base})

    async def answer_to(self, question: str) -> str:
        """What is typed onto the page, up to the end of the turn."""
        await self.socket.send_json({"type": "say", "text": question, "id": uuid4().hex})
        typed = ""
        async with asyncio.timeout(PATIENCE):
            while True:
                frame = await self.socket.receive_json()
                typed += frame["text"] if frame["type"] == "delta" and frame["kind"] == "answer" else ""
                if typed and frame["type"] == "changed" and "trace-changed" in frame["changed"]:
                    return typed

    async def closed(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while not self.socket.closed:
                await self.socket.receive()

    def port(self) -> int:
        port: int = self.socket.get_extra_info("sockname")[1]
        return port


async def test_a_killed_web_process_and_a_killed_worker_cost_a_reconnect_and_nothing_else(machine: Machine) -> None:
    jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        page = Page(machine, session)
        await page.open()
        assert "391" in await page.answer_to("What is 17 * 23?")
        machine.kill(machine.holder(page.port()))
        await page.closed()
        await page.open()  # the other one is there already
        machine.kill(machine.processes("manage.py work")[0])
        assert "396" in await page.answer_to("What is 18 * 22?")
    for command in ("manage.py serve", "manage.py work"):
        await _until(lambda command=command: len(machine.processes(command)) == 2)  # both are started again
    machine.stop()
    assert machine.processes() == []


async def _until(state: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not state():
            await asyncio.sleep(0.1)
