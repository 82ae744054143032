"""A start that cannot succeed says why and what to do, without a traceback.

Touches: subprocesses.
"""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.support.served import Served


def start(data: Path | str, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("AGENT_", "DJANGO_"))}
    env |= {"AGENT_DATA_DIR": str(data), "AGENT_MODEL": "demo", **settings}
    command = [sys.executable, "manage.py", "serve", *options]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)


def test_a_port_in_use_is_named_with_another_to_try(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = start(tmp_path, "--port", str(port))
    assert done.returncode == 1 and f"PORT={port + 1}" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"AGENT_MAX_TOKENS": "lots"}, "AGENT_MAX_TOKENS must be a whole number"),
        ({"AGENT_HTTPS": "perhaps"}, "AGENT_HTTPS must be 1 or 0"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named(tmp_path: Path, settings: dict[str, str], says: str) -> None:
    done = start(tmp_path, **settings)
    assert done.returncode == 1 and says in done.stderr and "Traceback" not in done.stderr


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = start(tmp_path / "file" / "data")
    assert done.returncode == 1 and "AGENT_DATA_DIR" in done.stderr and "Traceback" not in done.stderr


def test_it_says_where_it_is_how_to_get_in_and_what_answers_and_ends_when_told() -> None:
    served = Served()
    try:
        said = served.log.read_text()
        with urllib.request.urlopen(f"{served.base}/readyz", timeout=20) as ready:
            assert ready.status == 200
    finally:
        asked = time.monotonic()
        served.stop()
    assert time.monotonic() - asked < 10 and served.process.returncode == 0
    links = re.findall(rf"{served.base}/enter/\S+", said)
    assert len(links) == 2 and links[1].endswith("next=/admin/")
    assert "demo model" in said and str(served.folder / "data") in said
    assert "Stopped." in served.log.read_text() and "Traceback" not in served.log.read_text()
