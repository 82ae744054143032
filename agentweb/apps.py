"""Wiring of the project as an app, so that its commands and locale are found.

Touches: nothing.
"""

from django.apps import AppConfig


class AgentwebConfig(AppConfig):
    name = "agentweb"
