"""The product served again and again without paying for its imports each time: one parent imports, each child serves.

a line on stdin -> a child that runs `manage.py serve`.  Touches: processes.

Started as a program it is the parent: it imports the product once, opens nothing, and forks a child for each line it
reads. What the child runs is the product's own command; AGENT_CRASH_ARMED names a file that may name a point to die at
(points.py). Imported, it is the other side: `Forked`, a Served whose starts take a fraction of a second.
"""

import contextlib
import gc
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.served import ROOT, Served

ARMED = "CRASH_ARMED"
# What the command, the first page and the first turn would import.
FIRST_USED = ("agentweb.management.commands.serve", "agentweb.urls", "openai", "mcp.client.streamable_http")


class Forked(Served):
    """As Served; `kill` is kill -9 of the child that serves."""

    parent: subprocess.Popen[bytes] | None = None
    child = 0
    is_down = True

    def launch(self) -> None:
        if self.parent is None:
            command = [sys.executable, "-m", "tests.crash.forked", str(self.port)]
            log = self.log.open("ab")
            env = self.environment() | {ARMED: str(self.armed)}
            self.parent = subprocess.Popen(
                command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        assert self.parent.stdin and self.parent.stdout
        self.parent.stdin.write(b"serve\n")
        self.parent.stdin.flush()
        self.child, self.is_down = int(self.parent.stdout.readline()), False

    @property
    def armed(self) -> Path:
        """The file that may name a point to die at."""
        return self.folder / "armed"

    @property
    def pid(self) -> int:
        return self.child

    def hit(self) -> None:
        """kill -9, without waiting for the end."""
        os.kill(self.child, signal.SIGKILL)

    def is_alive(self) -> bool:
        """Whether the child still runs; a zombie that the parent has not reaped yet has died."""
        with contextlib.suppress(OSError), open(f"/proc/{self.child}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
        return False

    def wait(self) -> None:
        """Until the child is gone: the parent says so."""
        if not self.is_down:
            assert self.parent and self.parent.stdout
            self.parent.stdout.readline()
            self.is_down = True

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def close(self) -> None:
        self.kill()
        if self.parent and self.parent.stdin:
            self.parent.stdin.close()
            self.parent.wait(20)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if not self.is_down:
                os.kill(self.child, number)
        self.wait()


def parent(port: str) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "agentweb.settings"
    import django

    django.setup()
    for name in FIRST_USED:
        importlib.import_module(name)
    from django.core.management import execute_from_command_line
    from django.test import Client

    from chat.tools import registry
    from tests.crash import points

    registry.builtin()
    Client(headers={"host": "localhost"}).get("/login/")  # compiles what the first page needs; reads no row
    points.set_up(os.environ[ARMED])
    gc.freeze()
    for _line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.dup2(2, 1)  # what it prints is the log's; stdout is for the two lines below
            execute_from_command_line(["manage.py", "serve", "--port", port])
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("gone", flush=True)


if __name__ == "__main__":
    parent(sys.argv[1])
