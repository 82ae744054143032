"""The chat app: loads the system checks and the registry of tools.

Touches: nothing.
"""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"
