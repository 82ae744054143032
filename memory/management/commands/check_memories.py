"""Compare the vector index with the rows.

rows, index -> what differs.  Touches: nothing, unless asked to mend.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory import outbox
from memory.errors import IndexDown


class Command(BaseCommand):
    help = "Show how the vector index differs from the rows; exit code 1 when it does."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--mend", action="store_true", help="bring the index in step")

    def handle(self, *args: Any, **options: Any) -> None:
        found = outbox.drift()
        for name in ("rows", "indexed", "pending", "missing", "surplus", "to_embed"):
            self.stdout.write(f"{name.replace('_', ' '):10} {getattr(found, name)}")
        if found.fault:
            self.stdout.write(f"fault      {found.fault}")
        if found.in_step:
            self.stdout.write(self.style.SUCCESS("The index is in step with the rows."))
            return
        if not options["mend"]:
            raise CommandError("The index is not in step with the rows; --mend brings it there.")
        try:
            outbox.drain_all()
            if not outbox.drift().in_step:
                outbox.mend()
        except IndexDown as fault:
            raise CommandError(f"It could not be mended: {fault}") from fault
        if not outbox.drift().in_step:
            raise CommandError("It could not be mended; is the index held by a running server?")
        self.stdout.write(self.style.SUCCESS("Mended."))
