"""The chat app: registers the system checks and what forgetting reaches in this room.

Touches: nothing.
"""

from django.apps import AppConfig
from django.core import checks


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat import redact
        from chat.checks import check_tools

        checks.register(check_tools)
        redact.register()
