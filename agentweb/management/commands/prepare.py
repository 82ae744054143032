"""Bring the tables up to date before several processes start.

nothing -> tables as this code expects them.  Touches: the database (migrations).
"""

from typing import Any

from django.core.management.base import BaseCommand

from agentweb.prepare import migrate


class Command(BaseCommand):
    help = "Wait for the database and apply missing migrations."

    def handle(self, *args: Any, **options: Any) -> None:
        migrate()
