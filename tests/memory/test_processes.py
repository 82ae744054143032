"""Several processes on one data directory: killed, writing side by side, one of them holding the index.

child processes -> rows and index afterwards.  Touches: a data directory of its own, real processes.
"""

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("AGENT_DATABASE_URL")), reason="the children make a SQLite file of their own"
)
PRELUDE = """
import os, signal, sys
import django
django.setup()
from django.contrib.auth.models import User
from memory import outbox, records
from memory.index import index
from memory.models import MemoryRecord
from memory.recall import recall
def tell(user, text):
    return records.remember(user.pk, text, source={"by": "person"})
def kill():
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Place:
    """A data directory that child processes work on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, code: str) -> "subprocess.Popen[str]":
        env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("AGENT_")},
            "AGENT_DATA_DIR": str(self.folder),
            "AGENT_EMBEDDER": "hashed",
            "AGENT_LOG_LEVEL": "ERROR",
            "DJANGO_SETTINGS_MODULE": "agentweb.settings",
            "PYTHONPATH": str(settings.BASE_DIR),
        }
        command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code)]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, code: str) -> str:
        out, err = (child := self.start(code)).communicate(timeout=100)
        assert child.returncode in {0, -9}, err
        return out.strip()


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with tables and two people, made once."""
    found = Place(tmp_path_factory.mktemp("migrated"))
    found.run(
        """
        from django.core.management import call_command
        call_command("migrate", verbosity=0)
        User.objects.create(username="alice"); User.objects.create(username="bob")
        """
    )
    return found.folder


@pytest.fixture
def place(tmp_path: Path, migrated: Path) -> Place:
    return Place(Path(shutil.copytree(migrated, tmp_path / "data")))


HEALED = """
done = outbox.drain_all()
print(outbox.drift().in_step, MemoryRecord.objects.count(), index().counts())
"""


def test_killed_between_rows_and_index_nothing_is_lost_and_the_next_process_heals(place: Place) -> None:
    place.run(
        """
        alice = User.objects.get(username="alice")
        for n in range(20): tell(alice, f"My thing {n} is item{n}")
        outbox.drain_all()
        for n in range(20, 40): tell(alice, f"My thing {n} is item{n}")
        kill()
        """
    )
    assert place.run(HEALED) == "True 40 {'mem-hashed-3': 40}"


def test_killed_while_the_index_is_rebuilt_the_old_one_stays_in_force(place: Place) -> None:
    place.run(
        """
        alice = User.objects.get(username="alice")
        for n in range(20): tell(alice, f"My thing {n} is item{n}")
        outbox.drain_all()
        from memory.index import Index
        real = Index.upsert
        def half(self, name, rows):
            real(self, name, rows[:5]); kill()
        Index.upsert = half
        outbox.mend()
        """
    )
    assert place.run(HEALED) == "True 20 {'mem-hashed-3': 20}"


def test_two_processes_that_write_at_once_lose_nothing_and_corrupt_nothing(place: Place) -> None:
    code = """
        user = User.objects.get(username="alice")
        for n in range(40):
            tell(user, f"My {sys.platform}{%d} thing {n} is item{%d}{n}")
            outbox.drain()
        print(MemoryRecord.objects.count() >= 40)
        """
    children = [place.start(code % (number, number)) for number in (1, 2)]
    for child in children:
        out, err = child.communicate(timeout=100)
        assert out.strip() == "True", err
    assert place.run(HEALED).startswith("True 80 ")


def test_what_one_process_writes_another_recalls_at_once(place: Place) -> None:
    asking = place.start(
        """
        alice = User.objects.get(username="alice")
        tell(alice, "I like tea")
        print(len(recall(alice.pk, "boat Nina", limit=5, floor=0.27).shown), flush=True)
        import time, pathlib
        flag = pathlib.Path(os.environ["AGENT_DATA_DIR"], "written")
        while not flag.exists(): time.sleep(0.02)
        print([item.text for item in recall(alice.pk, "boat Nina", limit=5, floor=0.27).shown])
        """
    )
    assert asking.stdout is not None
    assert asking.stdout.readline() == "0\n"
    place.run(
        """
        tell(User.objects.get(username="alice"), "My boat is called Nina")
        open(os.path.join(os.environ["AGENT_DATA_DIR"], "written"), "w")
        """
    )
    out, err = asking.communicate(timeout=60)
    assert out.strip() == "['My boat is called Nina']", err


def test_the_commands_check_rebuild_and_mend(place: Place) -> None:
    out = place.run(
        """
        from django.core.management import call_command
        from django.core.management.base import CommandError
        alice = User.objects.get(username="alice")
        for text in ("I like tea", "My boat is called Nina"): tell(alice, text)
        try: call_command("check_memories")
        except CommandError as fault: print("FAULT", fault)
        call_command("check_memories", "--mend")
        call_command("reindex_memories", "--embed")
        call_command("check_memories")
        call_command("consolidate_memories")
        """
    )
    assert "FAULT The index is not in step" in out
    assert "Mended." in out
    assert "Rebuilt: 2 of 2 rows are in the index." in out
    assert out.rstrip().endswith("user 1: 0 expired, 0 faded, 0 merged")


def test_a_command_beside_a_running_server_leaves_the_index_to_it(place: Place) -> None:
    server = place.start(
        """
        tell(User.objects.get(username="alice"), "I like tea")
        outbox.drain_all()
        print("up", flush=True)
        import time, pathlib
        while not pathlib.Path(os.environ["AGENT_DATA_DIR"], "over").exists(): time.sleep(0.02)
        print(outbox.drain_all().indexed, outbox.drift().in_step)
        """
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "up\n"
    said = place.run(
        """
        from django.core.management import call_command
        call_command("reindex_memories")
        open(os.path.join(os.environ["AGENT_DATA_DIR"], "over"), "w")
        """
    )
    assert "Another process holds the index." in said
    out, err = server.communicate(timeout=60)
    assert out.strip() == "1 True", err


# ---- a disk that is really full ---------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path, migrated: Path) -> Iterator[Place]:
    """A data directory on a file system of 160 MB of its own."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield Place(Path(shutil.copytree(migrated, folder / "data")))
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


FULL = """
import pathlib
from django.db import DatabaseError
folder = pathlib.Path(os.environ["AGENT_DATA_DIR"])
alice = User.objects.get(username="alice")
def fill(leave):
    import shutil
    with open(folder.parent / "ballast", "ab") as file:
        while (free := shutil.disk_usage(folder).free) > leave:
            file.write(b"x" * min(free - leave, 1 << 20)); file.flush()
"""


def test_on_a_full_disk_nothing_committed_is_lost_talk_goes_on_and_it_heals_when_there_is_room(
    small_disk: Place,
) -> None:
    out = small_disk.run(
        FULL
        + """
for n in range(20): tell(alice, f"My thing {n} is item{n}")
outbox.drain_all()
tell(alice, "My boat is called Nina")
fill(leave=1 << 20)
print("index:", outbox.drain().fault)
kept = 0
fill(leave=0)
for n in range(400):
    try:
        kept += tell(alice, f"My box {n} holds " + "paper " * 300 + str(n)).status == "kept"
    except DatabaseError as fault:
        print("rows:", fault); break
print("asked:", [item.text for item in recall(alice.pk, "boat Nina", limit=1, floor=0.2).shown])
print("kept", kept)
"""
    )
    said = dict(line.split(": ", 1) for line in out.splitlines() if ": " in line)
    assert "full" in said["index"] and "full" in said["rows"]
    assert said["asked"] == "['My boat is called Nina']"
    (small_disk.folder.parent / "ballast").unlink()
    count = 21 + int(out.splitlines()[-1].split()[1])
    assert small_disk.run(HEALED) == f"True {count} {{'mem-hashed-3': {count}}}"


def test_a_kill_on_a_full_disk_loses_nothing_that_was_committed(small_disk: Place) -> None:
    small_disk.run(
        FULL
        + """
for n in range(20): tell(alice, f"My thing {n} is item{n}")
outbox.drain_all()
for n in range(20, 30): tell(alice, f"My thing {n} is item{n}")
fill(leave=0)
outbox.drain()
kill()
"""
    )
    (small_disk.folder.parent / "ballast").unlink()
    assert small_disk.run(HEALED) == "True 30 {'mem-hashed-3': 30}"


def test_an_index_folder_deleted_under_a_stopped_server_is_made_anew_and_said(place: Place) -> None:
    place.run(
        """
        alice = User.objects.get(username="alice")
        for n in range(20): tell(alice, f"My thing {n} is item{n}")
        outbox.drain_all()
        """
    )
    shutil.rmtree(place.folder / "chroma")
    out = place.run(
        """
        from django.conf import settings
        settings.AGENT_EXACT_LIMIT = 0
        alice = User.objects.get(username="alice")
        found = recall(alice.pk, "thing 7 item7", limit=1, floor=0.2)
        print([item.text for item in found.shown], found.notice)
        print(outbox.drain_all().rebuilt, outbox.drift().in_step)
        """
    )
    assert "My thing 7 is item7" in out and "being rebuilt" in out
    assert out.splitlines()[-1] == "True True"
