"""The documentation names everything there is, and nothing that is not.

Touches: the documentation, the registries, the source (reads).
"""

import ast
import importlib
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from chat import checks, panels
from chat.models import Approval, ToolCall, Turn
from chat.tools import registry
from chat.tools.contract import Contract
from memory.kinds.registry import all_kinds
from planning.models import Condition, Step

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("agentweb", "chat", "memory", "planning")
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows(text: str) -> dict[str, list[str]]:
    """The rows of tables whose first cell is code, by that cell."""
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in lines}


def section(page: str, heading: str) -> str:
    return re.split(r"\n#+ ", read(page).split(f"{heading}\n", 1)[1], maxsplit=1)[0]


def sources() -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def test_every_tool_has_a_row_with_its_tier_pack_and_file() -> None:
    documented = rows(section("docs/extending.md", "### The tools there are"))
    assert {name: row[:2] for name, row in documented.items()} == {
        c.name: [str(c.tier), c.pack] for c in registry.builtin().values()
    }
    for name, contract in registry.builtin().items():
        assert f"/{contract.run.__module__.replace('.', '/')}.py" in documented[name][-1], name


def test_every_memory_kind_has_a_row_with_its_half_life() -> None:
    documented = rows(section("docs/extending.md", "## A memory kind"))
    assert {name: float(row[0]) for name, row in documented.items()} == {
        kind.name: kind.half_life for kind in all_kinds().values()
    }


def test_every_panel_has_a_row() -> None:
    assert set(rows(section("docs/extending.md", "## A panel"))) == panels.names()


def test_the_example_tool_works_as_it_stands() -> None:
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(CODE.findall(read("docs/extending.md"))[0], "docs/extending.md", "exec"), names)
    contract = names["CONTRACT"]
    assert isinstance(contract, Contract)
    assert not list(checks.faults(contract))


def test_every_setting_has_a_row_and_every_row_is_a_setting() -> None:
    found = set()
    for node in ast.walk(ast.parse(read("agentweb/settings.py"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith("env_"):
            found.add(ast.literal_eval(node.args[0]))
    assert set(rows(read("docs/settings.md"))) == found


def test_settings_that_code_reads_exist() -> None:
    from django.conf import settings

    read_by = {
        name: path
        for path in sources()
        for name in re.findall(r"\bsettings\.((?:AGENT|OPENAI)_[A-Z_]+)", path.read_text())
    }
    assert not [f"{path}: {name}" for name, path in read_by.items() if not hasattr(settings, name)]


def test_every_dependency_has_its_reason_in_the_readme() -> None:
    wanted = tomllib.loads(read("pyproject.toml"))["project"]["dependencies"]
    names = {re.split(r"[\[<>=~ ]", line, maxsplit=1)[0] for line in wanted}
    text = read("README.md").split("## Dependencies", 1)[1]
    assert set(re.findall(r"^\| ([a-z0-9-]+) \|", text, re.MULTILINE)) - {"package"} == names


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    dead = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not dead


def test_the_glossary_says_what_the_code_calls_it() -> None:
    for word in re.findall(r"`([\w./]+)`", read("docs/glossary.md")):
        assert (ROOT / word).exists() or "/" not in word, word
        if re.match(r"(chat|memory|planning)\.", word):
            module, name = word.rsplit(".", 1)
            assert hasattr(importlib.import_module(module), name), word


def test_every_status_is_drawn() -> None:
    text = read("docs/states.md")
    for choices in (Turn.Status, Turn.End, ToolCall.Status, Approval.Status, Step.Status, Condition.Status):
        missing = [value for value in choices.values if not re.search(rf"\b{value}\b", text)]
        assert not missing, choices.__qualname__


def test_the_functions_that_the_states_name_exist() -> None:
    """A function that was renamed must be renamed in the drawing too."""
    named = re.findall(r"^\| [a-z] \|[^|]*\|([^|]*)\|", read("docs/states.md"), re.MULTILINE)
    functions = {word for cell in named for word in re.findall(r"`(\w+)`", cell)}
    source = "\n".join(path.read_text() for path in sources())
    assert len(functions) > 30
    assert not [name for name in sorted(functions) if f"def {name}(" not in source]


def test_the_loop_in_the_readme_is_the_loop() -> None:
    """The same verbs in the same order, comments apart."""

    def verbs(text: str) -> list[str]:
        return re.findall(r"\b(observe|decide|assemble|intend|act|record|verify|gate|conclude)\(", text)

    shown = CODE.findall(read("README.md"))[0]
    assert verbs(shown) == verbs(read("chat/loop/turn.py").split("while True:", 1)[1])


def test_what_make_is_told_to_do_it_can() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    named = {
        name for page in PAGES for name in re.findall(r"(?:^    |`)make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }
    assert named <= targets


def test_the_lock_files_name_no_place_that_packages_came_from() -> None:
    listed = subprocess.run(["git", "ls-files", "*.lock"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(listed.stdout.split()) == 2
    for name in listed.stdout.split():
        assert "://" not in read(name), name
