"""The real product, served as a person would start it, on a free port with a data directory of its own.

settings -> a running instance.  Touches: a subprocess, a temporary folder.
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60  # seconds until a start that never comes is a failure


class Served:
    """One instance. `restart` keeps its data and port; `kill` is kill -9."""

    def __init__(self, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="agentweb-served-"))
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.settings = {"AGENT_MODEL": "demo", "AGENT_EMBEDDER": "hashed", **settings}
        self.log = self.folder / "served.log"
        self.start()

    def start(self) -> None:
        self.launch()
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.is_alive():
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.base}/login/", timeout=5):
                return
            time.sleep(0.1)
        raise AssertionError(f"It did not start:\n{self.log.read_text()[-4000:]}")

    def launch(self) -> None:
        command = [sys.executable, "manage.py", "serve", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=self.environment(), stdout=log, stderr=log)

    @property
    def pid(self) -> int:
        return self.process.pid

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def environment(self) -> dict[str, str]:
        env = {
            name: value for name, value in os.environ.items() if not name.startswith(("AGENT_", "OPENAI_", "DJANGO_"))
        }
        return env | {"AGENT_DATA_DIR": str(self.folder / "data"), "PYTHONUNBUFFERED": "1", **self.settings}

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)  # a job in the background has SIGINT ignored
            self.process.wait(20)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)

    def close(self) -> None:
        self.stop()

    def restart(self) -> None:
        self.stop()
        self.start()

    def links(self) -> tuple[str, str]:
        """The newest links: for the person, and for the staff user."""
        command = [sys.executable, "manage.py", "signin_link", "--base", self.base]
        done = subprocess.run(command, cwd=ROOT, env=self.environment(), capture_output=True, text=True, check=True)
        person, staff = re.findall(r"http://\S+", done.stdout)
        return person, staff


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def serving(**settings: str) -> Iterator[Served]:
    served = Served(**settings)
    try:
        yield served
    finally:
        served.stop()
