"""Wiring of the project as an app, so that its commands, checks and locale are found.

Touches: nothing.
"""

from typing import Any

from django.apps import AppConfig
from django.core import checks

from agentweb.env import unknown_names


class AgentwebConfig(AppConfig):
    name = "agentweb"

    def ready(self) -> None:
        checks.register(known_settings)


def known_settings(**_more: Any) -> list[checks.CheckMessage]:
    """A misspelt setting would be passed over in silence."""
    hint = "docs/settings.md has the list."
    return [checks.Warning(f"There is no setting {name}.", hint=hint, id="agentweb.W001") for name in unknown_names()]
