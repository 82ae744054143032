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

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def rows(page: str, heading: str = "") -> dict[str, list[str]]:
    """The rows below a heading (or of the whole page) whose first cell is code, by that cell."""
    text = (ROOT / page).read_text()
    if heading:
        text = re.split(r"\n#+ ", text.split(f"{heading}\n", 1)[1], maxsplit=1)[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return {row[0].strip("`"): row[1:] for row in cells if row[0].startswith("`")}


def test_every_tool_has_a_row_with_its_tier_and_file() -> None:
    from chat.tools import registry

    documented = {
        name: (row[0], re.findall(r"tools/(\w+)\.py", row[-1]))
        for name, row in rows("docs/extending.md", "### The tools there are").items()
    }
    assert documented == {
        contract.name: (str(contract.tier), [contract.run.__module__.rsplit(".", 1)[-1]])
        for contract in registry.builtin().values()
    }


def test_every_memory_kind_has_a_row() -> None:
    from memory.kinds import registry

    assert set(rows("docs/extending.md", "## A memory kind")) == {kind.name for kind in registry.all_kinds().values()}


def test_every_panel_has_a_row() -> None:
    from chat import panels

    assert set(rows("docs/extending.md", "## A panel")) == panels.names()


def test_every_setting_has_a_row_and_every_row_is_a_setting() -> None:
    read = {
        ast.literal_eval(node.args[0])
        for node in ast.walk(ast.parse((ROOT / "agentweb/settings.py").read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith("env_")
    }
    assert set(rows("docs/settings.md")) == read


def test_settings_that_code_reads_exist() -> None:
    from django.conf import settings

    read = {
        name: path
        for room in ("agentweb", "chat", "memory", "planning")
        for path in (ROOT / room).rglob("*.py")
        for name in re.findall(r"\bsettings\.((?:AGENT|OPENAI)_[A-Z_]+)", path.read_text())
    }
    assert not [f"{path}: {name}" for name, path in read.items() if not hasattr(settings, name)]


def test_every_dependency_has_its_reason_in_the_readme() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[\[<>=~ ]", line, maxsplit=1)[0] for line in wanted}
    text = (ROOT / "README.md").read_text().split("## Dependencies", 1)[1]
    assert set(re.findall(r"^\| ([a-z0-9-]+) \|", text, re.MULTILINE)) - {"package"} == names


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    dead = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not dead


def test_the_glossary_says_what_the_code_calls_it() -> None:
    for word in re.findall(r"`([\w./]+)`", (ROOT / "docs/glossary.md").read_text()):
        assert (ROOT / word).exists() or "/" not in word, word
        if re.match(r"(chat|memory|planning)\.", word):
            module, name = word.rsplit(".", 1)
            assert hasattr(importlib.import_module(module), name), word


def test_the_functions_that_the_states_name_exist() -> None:
    """A function that was renamed must be renamed in the drawing too."""
    source = "\n".join(path.read_text() for room in ("chat", "planning") for path in (ROOT / room).rglob("*.py"))
    transitions = re.findall(r"^\| [a-z] \|[^|]*\|([^|]*)\|", (ROOT / "docs/states.md").read_text(), re.MULTILINE)
    named = {word for cell in transitions for word in re.findall(r"`(\w+)`", cell)}
    assert named and not [name for name in sorted(named) if f"def {name}(" not in source]


def test_the_loop_in_the_readme_is_the_loop() -> None:
    """The same lines, whitespace and comments apart."""

    def calls(text: str) -> list[str]:
        return re.findall(r"(?:await )?\b(observe|decide|assemble|intend|act|record|verify|gate|conclude)\(", text)

    shown = (ROOT / "README.md").read_text().split("```python", 1)[1].split("```", 1)[0]
    real = (ROOT / "chat/loop/turn.py").read_text().split("while True:", 1)[1]
    assert calls(shown) == calls(real)


def test_what_make_is_told_to_do_it_can() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        name for page in PAGES for name in re.findall(r"(?:^    |`)make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }
    assert named <= targets


def test_the_repository_speaks_of_the_product_alone() -> None:
    listed = subprocess.run(["git", "ls-files", "*.lock"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    for name in listed:
        assert "://" not in (ROOT / name).read_text(), f"{name} names the place its packages came from"
