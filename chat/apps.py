"""The chat app: registers the system checks, what forgetting reaches in this room, and how turns reach a worker.

Touches: nothing.
"""

from django.apps import AppConfig
from django.conf import settings
from django.core import checks


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat import redact
        from chat.checks import check_tools

        checks.register(check_tools)
        redact.register()
        if settings.AGENT_RUNNER == "scaled":
            from chat import jobs, wake

            wake.deliver_by(jobs.deliver)
