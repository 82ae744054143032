"""Which kinds of memory exist: every file in this folder that has a KIND.

name -> Kind.  Touches: nothing (pure).
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from memory import kinds
from memory.kinds.base import Kind

NOT_KINDS = {"base", "registry"}


@cache
def all_kinds() -> Mapping[str, Kind]:
    modules = sorted(info.name for info in pkgutil.iter_modules(kinds.__path__) if info.name not in NOT_KINDS)
    found = [importlib.import_module(f"memory.kinds.{module}").KIND for module in modules]
    return MappingProxyType({kind.name: kind for kind in found})


def find(name: str) -> Kind:
    """The kind of that name; a kind whose file is gone is treated as a fact, so that its rows stay usable."""
    return all_kinds().get(name) or all_kinds()["fact"]
