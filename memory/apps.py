"""The memory room as an app: hears of rows that are deleted with a conversation or an account.

Touches: signals.
"""

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"

    def ready(self) -> None:
        from memory import removals  # needs the models

        removals.listen()
