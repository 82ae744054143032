"""Many chats at once on one web process: what people wait for, what fails, what it costs.

    python -m tests.load.chats --chats 1 20 100 200      answers of 200 tokens at 50 a second
    python -m tests.load.chats --chats 50 --mail 0.3 --reload 0.3 --browse     with approvals, reloads and fetched pages
    python -m tests.load.chats --idle 1000               open pages where nothing happens

numbers of chats -> one printed line each.  Touches: an instance and a scripted endpoint of its own, on free ports.

Every token of the scripted endpoint is the time it was sent, so the delay of each one is seen on the page.
"""

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import aiohttp

from tests.load.person import Person, Seen
from tests.support.served import ROOT, Served

TICK = os.sysconf("SC_CLK_TCK")
HEADER = (
    f"{'chats':>6} {'failed':>7} {'first token ms p50 p95':>23} {'over direct':>12} {'relay ms p50 p99':>17} "
    f"{'total':>6} {'us/token':>9} {'us/token, turn':>15} {'RSS MB':>7} {'busy':>5}"
)


@contextmanager
def endpoint(delay: float) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.load.endpoint", "--delay", str(delay)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait(10)


def people(served: Served, count: int) -> list[tuple[str, str]]:
    """Session cookie and conversation of each, made in the instance's own data directory."""
    made = subprocess.run(
        [sys.executable, "-m", "tests.load.people", str(count)],
        cwd=ROOT,
        env={**os.environ, "AGENT_DATA_DIR": str(served.folder / "data")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [(cookie, conversation) for cookie, conversation in (line.split() for line in made.splitlines())]


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def rss_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def has_chroma(pid: int) -> bool:
    return "chromadb" in Path(f"/proc/{pid}/maps").read_text()


async def direct(http: aiohttp.ClientSession, url: str) -> float:
    """Milliseconds to the first token for a bare client."""
    started = time.monotonic()
    body = {"model": "load", "stream": True, "messages": [{"role": "user", "content": f"load:stream:1:{uuid4().hex}"}]}
    async with http.post(f"{url}/chat/completions", json=body) as response:
        async for line in response.content:
            if re.search(rb"\d+\.\d{4} ", line):
                return (time.monotonic() - started) * 1000
    raise AssertionError("no token came")


def kind(number: int, count: int, share: float) -> bool:
    """Whether this one is among the share, spread evenly."""
    return int((number + 1) * share) > int(number * share) if count else False


async def chats(options: argparse.Namespace, served: Served, http: aiohttp.ClientSession, crew: list[Person]) -> str:
    pid, ideal = served.process.pid, options.tokens * options.delay
    bare = [await direct(http, options.url) for _ in range(10)]
    for person in crew:
        await person.open()
    started, cpu_started = time.monotonic(), cpu_seconds(pid)
    tasks = [asyncio.create_task(one(options, person, number, len(crew))) for number, person in enumerate(crew)]
    steady = asyncio.create_task(streaming(pid, tasks, crew))
    seen = await asyncio.gather(*tasks)
    took, used = time.monotonic() - started, cpu_seconds(pid) - cpu_started
    for person in crew:
        await person.close()
    return line(seen, bare, ideal, await steady, used, took, rss_mb(pid), chroma=has_chroma(pid))


async def one(options: argparse.Namespace, person: Person, number: int, count: int) -> Seen:
    await asyncio.sleep(options.ramp * number / count)
    is_mail = kind(number, count, options.mail)
    reloads = kind(number, count, options.reload)
    task = f"load:{'mail' if is_mail else 'stream'}:{options.tokens}:{uuid4().hex}"
    return await person.ask(
        task,
        options.tokens,
        seconds=options.patience,
        approve=is_mail,
        reload_at=options.tokens // 2 if reloads else 0,
        browse=options.browse,
    )


async def streaming(pid: int, tasks: Sequence[asyncio.Task[Seen]], crew: Sequence[Person]) -> float | None:
    """CPU microseconds for each token while all stream and none begins or ends; None when there was no such time."""
    while not all(person.text for person in crew):
        if any(task.done() for task in tasks):
            return None
        await asyncio.sleep(0.05)
    begun, cpu, had = time.monotonic(), cpu_seconds(pid), sum(len(person.text) for person in crew)
    while not any(task.done() for task in tasks):
        spent, length = cpu_seconds(pid) - cpu, sum(len(person.text) for person in crew) - had
        per_token = spent * 1e6 * (len(crew[0].text.split(" ", 1)[0]) + 1) / length if length else None
        await asyncio.sleep(0.02)
    return per_token if time.monotonic() - begun > 0.5 else None


def line(
    seen: Sequence[Seen],
    bare: Sequence[float],
    ideal: float,
    steady: float | None,
    used: float,
    took: float,
    rss: float,
    *,
    chroma: bool,
) -> str:
    good = [each for each in seen if not each.fault]
    for fault in sorted({each.fault for each in seen if each.fault})[:3]:
        print(f"  failed: {fault}")
    if not good:
        return f"{len(seen):>6} {len(seen):>7}"
    first = [(each.first - each.said) * 1000 for each in good]
    delays = [delay * 1000 for each in good for delay in each.delays]
    total = statistics.mean(each.last - each.said for each in good) / ideal
    return (
        f"{len(seen):>6} {len(seen) - len(good):>7} {point(first, 50):>15.0f} {point(first, 95):>7.0f} "
        f"{point(first, 95) - point(bare, 50):>12.0f} {point(delays, 50):>9.0f} {point(delays, 99):>7.0f} {total:>6.2f} "
        f"{f'{steady:.0f}' if steady else '-':>9} {used * 1e6 / max(1, sum(each.tokens for each in good)):>15.0f} "
        f"{rss:>6.0f}{'+' if chroma else ' '} {used / took:>5.0%}"
    )


def point(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else float("nan")


async def idle(served: Served, crew: Sequence[Person]) -> None:
    pid = served.process.pid
    before = rss_mb(pid)
    started = time.monotonic()
    for at in range(0, len(crew), 50):
        await asyncio.gather(*(person.open() for person in crew[at : at + 50]))
    opened = time.monotonic() - started
    cpu = cpu_seconds(pid)
    await asyncio.sleep(10)
    busy, after = (cpu_seconds(pid) - cpu) / 10, rss_mb(pid)
    print(
        f"{len(crew)} idle sockets, opened in {opened:.1f} s: RSS {before:.0f} -> {after:.0f} MB, "
        f"{(after - before) * 1024 / len(crew):.0f} KB each, {busy:.1%} of a core"
    )
    for person in crew:
        await person.close()


async def run(options: argparse.Namespace, served: Served) -> None:
    most = max([*options.chats, options.idle, 1])
    made = people(served, most)
    async with AsyncExitStack() as stack:
        connector = aiohttp.TCPConnector(limit=0)
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        crew = [Person(http, served.base, cookie, conversation) for cookie, conversation in made]
        await crew[0].open()
        warm = await crew[0].ask(f"load:stream:5:{uuid4().hex}", 5, seconds=60)  # imports, connections
        assert not warm.fault, warm.fault
        await crew[0].close()
        await asyncio.sleep(2)
        print(f"load average {os.getloadavg()[0]:.1f}; a + at RSS: Chroma is loaded")
        if options.idle:
            await idle(served, crew[: options.idle])
        if options.chats:
            print(HEADER)
        for count in options.chats:
            for _run in range(options.runs):
                print(await chats(options, served, http, crew[:count]), flush=True)
                await asyncio.sleep(2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chats", type=int, nargs="*", default=[])
    parser.add_argument("--idle", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds between two tokens")
    parser.add_argument("--ramp", type=float, default=0.0, help="seconds over which the chats begin; 0: all at once")
    parser.add_argument("--runs", type=int, default=1, help="of each number of chats")
    parser.add_argument("--mail", type=float, default=0.0, help="share that approve an action first")
    parser.add_argument("--reload", type=float, default=0.0, help="share that load the page anew half-way")
    parser.add_argument("--browse", action="store_true", help="fetch what a page fetches at each change")
    parser.add_argument("--embedder", default="use", help="AGENT_EMBEDDER of the instance")
    parser.add_argument("--patience", type=float, default=120, help="seconds until an answer counts as failed")
    options = parser.parse_args()
    with endpoint(options.delay) as options.url:
        served = Served(
            AGENT_MODEL="load",
            OPENAI_BASE_URL=options.url,
            OPENAI_API_KEY="none",
            AGENT_EMBEDDER=options.embedder,
            AGENT_LEARN_BY_MODEL="0",
            AGENT_EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
        )
        try:
            asyncio.run(run(options, served))
        finally:
            served.stop()


if __name__ == "__main__":
    main()
