"""Expire, fade and merge memories now, rather than in the night.

people -> what was done.  Touches: records.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from memory.consolidate import consolidate
from memory.models import UserMemory


class Command(BaseCommand):
    help = "Expire what is over, let go of what was never of use, merge what says the same."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", type=int, action="append", help="id of a person; default: everybody")

    def handle(self, *args: Any, **options: Any) -> None:
        people = options["user"] or list(UserMemory.objects.order_by("user_id").values_list("user_id", flat=True))
        for user_id in people:
            done = consolidate(user_id)
            self.stdout.write(f"user {user_id}: {done.expired} expired, {done.faded} faded, {done.merged} merged")
