"""A start that cannot succeed says why and what to do, without a traceback.

Touches: subprocesses.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest


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
