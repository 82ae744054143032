"""The planning room as an app.

Touches: nothing.
"""

from django.apps import AppConfig


class PlanningConfig(AppConfig):
    name = "planning"
