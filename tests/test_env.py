"""Settings from the environment: a value that cannot be meant stops the start with its name and what is meant.

environment -> value or refusal.  Touches: os.environ.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentweb import env


@pytest.mark.parametrize(
    ("read", "raw"),
    [
        (lambda: env.env_int("AGENT_X", 3, least=1), "0"),
        (lambda: env.env_int("AGENT_X", 3), "-5"),
        (lambda: env.env_int("AGENT_X", 3), "many"),
        (lambda: env.env_float("AGENT_X", 3), "nan"),
        (lambda: env.env_float("AGENT_X", 3), "inf"),
        (lambda: env.env_float("AGENT_X", 3), "-0.1"),
        (lambda: env.env_bool("AGENT_X", True), "maybe"),
        (lambda: env.env_choice("AGENT_X", "", "brave"), "bing"),
        (lambda: env.env_url("AGENT_X", "postgresql"), "mysql://x"),
        (lambda: env.env_url("AGENT_X", "http", "https"), "not-a-url"),
        (lambda: env.env_url("AGENT_X", "http", "https"), "http://"),
        (lambda: env.env_zone("AGENT_X", "UTC"), "Mars/Base"),
        (lambda: env.env_zone("AGENT_X", "UTC"), "../etc"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, read: object, raw: str
) -> None:
    monkeypatch.setenv("AGENT_X", raw)
    with pytest.raises(ImproperlyConfigured, match="AGENT_X must"):
        read()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("read", "raw", "value"),
    [
        (lambda: env.env_int("AGENT_X", 3, least=1), "", 3),
        (lambda: env.env_int("AGENT_X", -1, least=0), "", -1),
        (lambda: env.env_float("AGENT_X", 3), "0.5", 0.5),
        (lambda: env.env_choice("AGENT_X", "", "brave"), "", ""),
        (lambda: env.env_url("AGENT_X", "postgresql"), "postgresql:///agentweb", "postgresql:///agentweb"),
        (lambda: env.env_url("AGENT_X", "http"), "http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
        (lambda: env.env_zone("AGENT_X", "UTC"), "Asia/Shanghai", "Asia/Shanghai"),
    ],
)
def test_what_is_meant_is_read(monkeypatch: pytest.MonkeyPatch, read: object, raw: str, value: object) -> None:
    monkeypatch.setenv("AGENT_X", raw)
    assert read() == value  # type: ignore[operator]


def test_a_misspelt_setting_is_warned_of_and_a_new_data_directory_is_the_owners(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    here = {key: value for key, value in os.environ.items() if not key.startswith(("AGENT_", "DJANGO_"))}
    here |= {"AGENT_DATA_DIR": str(folder), "AGENT_MAX_ITERATONS": "3"}
    run = subprocess.run([sys.executable, "manage.py", "check"], env=here, capture_output=True, text=True, check=True)
    assert "There is no setting AGENT_MAX_ITERATONS" in run.stderr
    assert folder.stat().st_mode & 0o077 == 0
