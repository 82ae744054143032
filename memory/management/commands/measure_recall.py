"""Measure how well memories are found.

file -> a table.  Touches: nothing that stays: it writes as people made for it, and rolls back.
"""

import json
import statistics
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from memory.measure import ALL, Measured, measure, read


class Command(BaseCommand):
    help = "Recall@1/@5/@10 and MRR on a LoCoMo file, or on a file with facts and queries."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            corpora = read(json.loads(options["file"].read_text(encoding="utf-8")))
        except (OSError, ValueError) as fault:
            raise CommandError(str(fault)) from fault
        with transaction.atomic():
            people = get_user_model()
            users = {c.name: people.objects.create_user(f"measure {c.name}").pk for c in corpora}
            done = measure(corpora, users)
            transaction.set_rollback(True)
        self.table(done)

    def table(self, done: Measured) -> None:
        columns = ("R@1", "R@5", "R@10", "MRR")
        self.stdout.write(f"{'':16}{'group':14}{'questions':>10}" + "".join(f"{name:>8}" for name in columns))
        for (road, group), figures in sorted(done.figures.items(), key=lambda item: (item[0][1] != ALL, item[0][1])):
            row = figures.row()
            cells = "".join(
                f"{row[name] * (1 if name == 'MRR' else 100):8.{3 if name == 'MRR' else 1}f}" for name in columns
            )
            self.stdout.write(f"{road:16}{group:14}{figures.count:10}{cells}")
        self.stdout.write(
            f"\nwrite: median {statistics.median(done.write_ms):.1f} ms; "
            f"recall: median {statistics.median(done.recall_ms):.1f} ms, embedding the question included"
        )
        if (auc := done.auc()) is not None:
            self.stdout.write(f"is the answer stored? AUC of the best score {auc:.2f}")
            for least in (0.20, 0.23, 0.25, 0.27, 0.30, 0.33, 0.36, 0.40, 0.45):
                kept, silent = done.floor(least)
                self.stdout.write(
                    f"  floor {least:.2f}: {kept:.0%} of answerable kept, {silent:.0%} of others get nothing"
                )
