"""Many tools: whether the right one is among those a plan is made from, and what contracts cost a request as they grow.

    python -m tests.bench.bench_offer

nothing -> a table.  Touches: a data directory of its own, removed at the end.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(tempfile.mkdtemp(prefix="agentweb-bench-"))
os.environ |= {"AGENT_DATA_DIR": str(FOLDER), "AGENT_MODEL": "demo", "AGENT_LOG_LEVEL": "ERROR"}
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentweb.settings")

import django

django.setup()

from django.conf import settings
from django.core.management import call_command

from chat.mcp import servers
from chat.models import McpTool
from chat.tokens import estimate
from chat.tools import describe, offer, registry
from tests.support.many_tools import STEPS, UNSEEN
from tests.support.many_tools import servers as offers

ALL = settings.AGENT_TOOLS_OFFERED + settings.AGENT_TOOLS_NAMED
type Steps = Sequence[tuple[str, str]]


def fill() -> None:
    """Register every server and accept what it lists, as staff would."""
    for name, listed in offers().items():
        row = servers.add(name, command=("program",))
        servers.saw(row.id, listed)
        for tool in row.tools.all():
            servers.accept(tool.id, servers.digest_of(tool.seen))


def found(steps: Steps, limit: int) -> int:
    tools = registry.business()
    return sum(tool in offer.fitting(tools, says, limit=limit) for tool, says in steps)


def tokens(count: int) -> tuple[int, float]:
    """(tools there are, tokens of the lines and names that a plan is made from), when so many tools are accepted."""
    keep = [tool.id for tool in McpTool.objects.order_by("id")[: max(count - 17, 0)]]
    tools = {
        name: one
        for name, one in registry.business().items()
        if one.parameters is None or McpTool.objects.filter(id__in=keep, name=name.split("__")[1]).exists()
    }
    spent = []
    for _tool, says in STEPS[:25]:
        names = offer.fitting(tools, says, limit=ALL)
        lines = [describe.line(tools[name]) for name in names[: settings.AGENT_TOOLS_OFFERED]]
        spent.append(estimate("\n".join(lines)) + estimate(json.dumps(sorted(names))))
    return len(tools), sum(spent) / len(spent)


def main() -> None:
    call_command("migrate", verbosity=0)
    fill()
    print(f"tools: {len(registry.business())}")
    for title, steps in (("steps", STEPS), ("of them in Chinese", STEPS[-20:]), ("steps not tuned on", UNSEEN)):
        cells = [f"{limit}: {found(steps, limit)}/{len(steps)}" for limit in (10, 20, 40, ALL)]
        print(f"{title:20} right tool among the first", *cells)
    whole = sum(describe.tokens(one) for one in registry.business().values())
    print(f"all contracts as schemas: {whole} tokens")
    for count in (20, 50, 100, 200):
        there, spent = tokens(count)
        print(f"{there} tools: {spent:.0f} tokens of a planning request")
    began = time.perf_counter()
    found(STEPS, ALL)
    print(f"{(time.perf_counter() - began) * 1000 / len(STEPS):.1f} ms a search")


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
