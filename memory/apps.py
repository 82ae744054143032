"""The memory room as an app.

Touches: nothing.
"""

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
