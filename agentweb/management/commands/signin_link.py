"""Print new one-time sign-in links.

base URL -> links.  Touches: the terminal.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from agentweb.sign_in_links import links


class Command(BaseCommand):
    help = "Print new one-time links to sign in as you and as admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--base", default="http://127.0.0.1:8000")

    def handle(self, *args: Any, base: str, **options: Any) -> None:
        person, staff = links(base)
        self.stdout.write(
            f"Sign in as you:    {person}\nSign in as admin:  {staff}\nEach link works once, within a day."
        )
