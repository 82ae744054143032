"""The two probes, and a production set-up that Django's own deployment checks accept.

Touches: a subprocess for the settings.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import AsyncClient

from agentweb import health

PRODUCTION = {
    "AGENT_HTTPS": "1",
    "AGENT_HSTS_SECONDS": "31536000",
    "AGENT_HSTS_ALL": "1",
    "AGENT_ALLOWED_HOSTS": "agent.example.org",
    "AGENT_TRUSTED_ORIGINS": "https://agent.example.org",
}


async def test_a_living_process_answers_without_asking_the_database(async_client: AsyncClient) -> None:
    response = await async_client.get("/healthz")
    assert response.status_code == 200


@pytest.mark.django_db(transaction=True)
async def test_an_instance_with_tables_disk_and_events_is_ready(async_client: AsyncClient) -> None:
    response = await async_client.get("/readyz")
    assert response.status_code == 200, response.content
    assert response.content.decode().count("OK") == 4


@pytest.mark.django_db(transaction=True)
async def test_a_data_directory_that_cannot_be_written_is_not_ready(
    async_client: AsyncClient, settings: object, tmp_path: Path
) -> None:
    settings.AGENT_DATA_DIR = tmp_path / "gone"  # type: ignore[attr-defined]
    response = await async_client.get("/readyz")
    assert response.status_code == 500
    assert health.DataDirectory.__name__ in response.content.decode()


def test_the_documented_production_settings_pass_the_deployment_checks(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("AGENT_", "DJANGO_"))}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    done = subprocess.run(
        command, env=env | PRODUCTION | {"AGENT_DATA_DIR": str(tmp_path)}, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
