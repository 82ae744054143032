"""Rebuild the vector index from the rows.

rows -> a fresh index.  Touches: the index; vectors of rows made by another embedder.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory import outbox
from memory.embed import embedder
from memory.errors import EmbedderDown, IndexDown


class Command(BaseCommand):
    help = "Rebuild the vector index from the rows, in a new folder. The old files are erased."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--embed", action="store_true", help="embed every text anew first, whatever embedder made it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stdout.write(f"Embedder: {embedder().key}")
            if options["embed"]:
                outbox.forget_vectors()
            while outbox.re_embed(256):
                done, total = outbox.progress()
                self.stdout.write(f"Embedded {done} of {total}.")
        except EmbedderDown as fault:
            raise CommandError(f"The embedder cannot be used: {fault}") from fault
        try:
            outbox.mend()
        except IndexDown as fault:
            outbox.order_rebuild()
            self.stdout.write(f"{fault} Every row is marked; the process that holds the index will put them in.")
            return
        found = outbox.drift()
        self.stdout.write(self.style.SUCCESS(f"Rebuilt: {found.indexed} of {found.rows} rows are in the index."))
