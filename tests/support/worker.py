"""A worker as an operator starts it, on the database of the test.

database, endpoint -> a process of `manage.py work`.  Touches: a subprocess, a temporary folder.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from chat.models import Turn
from tests.support.served import ROOT

PATIENCE = 60.0


class WorkerProcess:
    """`kill` is kill -9, `stop` is SIGTERM."""

    def __init__(self, endpoint_url: str, redis_url: str = "") -> None:
        folder = tempfile.mkdtemp(prefix="agentweb-worker-")
        self.log = Path(folder) / "worker.log"
        url = settings.AGENT_DATABASE_URL.rsplit("/", 1)[0] + "/" + connection.settings_dict["NAME"]
        env = {name: value for name, value in os.environ.items() if not name.startswith(("AGENT_", "OPENAI_"))}
        env |= {
            "DJANGO_SETTINGS_MODULE": "agentweb.settings",
            "AGENT_DATA_DIR": folder,
            "AGENT_DATABASE_URL": url,
            "AGENT_REDIS_URL": redis_url or settings.AGENT_REDIS_URL,
            "AGENT_RUNNER": "scaled",
            "AGENT_EMBEDDER": "hashed",
            "AGENT_LEARN_BY_MODEL": "0",
            "OPENAI_BASE_URL": endpoint_url,
            "OPENAI_API_KEY": "none",
            "AGENT_MODEL": "played",
            "PYTHONUNBUFFERED": "1",
        }
        with self.log.open("wb") as log:
            command = [sys.executable, "manage.py", "work"]
            self.process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log)
        wait(lambda: "Working on turns" in self.log.read_text() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()

    def runs(self, turn: Turn) -> bool:
        return f":{self.process.pid}:" in Turn.objects.get(id=turn.id).owner

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


def wait(until: Callable[[], Any], patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not until():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
