"""What memory costs when there is much of it: recall, writing, filling and rebuilding the index, size on disk.

    python -m tests.bench.bench_memory [--people 50] [--memories 100000] [--large 10000]

nothing -> a table.  Touches: a data directory of its own, removed at the end.
"""

import argparse
import os
import random
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(tempfile.mkdtemp(prefix="agentweb-bench-"))
os.environ |= {"AGENT_DATA_DIR": str(FOLDER), "AGENT_MODEL": "demo", "AGENT_LOG_LEVEL": "ERROR"}
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentweb.settings")

import django

django.setup()

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command

from memory import outbox, records, shelf
from memory.embed import embedder
from memory.index import index
from memory.models import MemoryRecord
from memory.recall import recall
from tests.bench.memories import fill, sentence

QUESTIONS = [
    "who repaired the old printer at work?",
    "which seat does my cousin prefer",
    "invoice 4711",
    "green tea in May",
    "谁修好了打印机？",
]


def timed(work: Callable[[int], object], times: int) -> str:
    """By the clock and by the processor: on a busy machine only the second can be compared."""
    taken, worked = [], []
    for number in range(times):
        started, busy = time.perf_counter(), time.process_time()
        work(number)
        taken.append((time.perf_counter() - started) * 1000)
        worked.append((time.process_time() - busy) * 1000)
    return " | ".join(
        f"{name} p50 {p50:6.1f} p95 {p95:6.1f} ms"
        for name, (p50, p95) in (("wall", ends(taken)), ("CPU", ends(worked)))
    )


def ends(taken: list[float]) -> tuple[float, float]:
    return statistics.median(taken), sorted(taken)[int(len(taken) * 0.95)]


def recall_of(user: User, times: int = 200) -> str:
    vectors = embedder().embed_queries(QUESTIONS)

    def ask(number: int) -> object:
        which = number % len(QUESTIONS)
        return recall(user.pk, QUESTIONS[which], limit=6, floor=0.27, vector=vectors[which])

    ask(0)
    return timed(ask, times)


def megabytes(path: Path) -> float:
    return sum(item.stat().st_size for item in path.rglob("*") if item.is_file()) / 1e6


def resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def say(what: str, value: object) -> None:
    print(f"{what:58} {value}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=10_000)
    options = parser.parse_args()
    dice = random.Random(7)
    call_command("migrate", verbosity=0)
    people = [User.objects.create(username=f"person {n}") for n in range(options.people)]
    first, others = people[0], people[1:]
    each = (options.memories - options.large) // max(len(others), 1)

    settings.AGENT_EXACT_LIMIT = 0  # the index is asked, however few there are
    started = time.perf_counter()
    fill(first, options.large, dice)
    say(f"{options.large:,} rows embedded and written, rows/s", round(options.large / (time.perf_counter() - started)))
    drained()
    say(f"recall, {options.large:,} of one person, nobody else, by the index", recall_of(first))
    for user in others:
        fill(user, each, dice)
    drained()
    say("rows in all", f"{MemoryRecord.objects.count():,} of {options.people} people")
    say(f"recall, {options.large:,} of one person, by the index", recall_of(first))
    settings.AGENT_EXACT_LIMIT = options.memories
    shelf.drop(first.pk)
    say(f"recall, {options.large:,} of one person, exactly from the rows", recall_of(first))
    say(f"recall, {each:,} of one person, exactly from the rows", recall_of(others[0]))
    settings.AGENT_EXACT_LIMIT = options.large

    def cold(user: User) -> Callable[[int], object]:
        def ask(_number: int) -> object:
            shelf.drop(user.pk)
            return recall(user.pk, QUESTIONS[0], limit=6, floor=0.27)

        return ask

    say(f"first recall of a person in a process, {each:,} memories", timed(cold(others[1]), 10))
    say(f"first recall of a person in a process, {options.large:,}", timed(cold(first), 10))
    writes = iter(range(10_000_000))

    def write(user: User) -> Callable[[int], object]:
        return lambda _n: records.remember(user.pk, sentence(next(writes) + 10**7, dice), source={"by": "person"})

    say(f"remember, to {each:,}, embedding and duplicate check included", timed(write(others[0]), 100))
    say(f"remember, to {options.large:,}, the same", timed(write(first), 100))
    drained()
    started = time.perf_counter()
    outbox.mend()
    say("index rebuilt from the rows, s", round(time.perf_counter() - started, 1))
    say("database, MB", round((FOLDER / "agentweb.sqlite3").stat().st_size / 1e6))
    say("index, MB", round(megabytes(FOLDER / "chroma")))
    say("most memory of this process, MB", round(resident()))
    drift = outbox.drift()
    say("index in step with the rows", drift.in_step)


def drained() -> None:
    started = time.perf_counter()
    done = outbox.drain_all()
    seconds = time.perf_counter() - started
    say("put into the index, rows/s", f"{done.indexed / max(seconds, 0.001):,.0f} ({done.indexed:,} rows) {done.fault}")


if __name__ == "__main__":
    try:
        main()
    finally:
        index().close()
        shutil.rmtree(FOLDER, ignore_errors=True)
