"""Which tools exist: every file in this folder that has a CONTRACT or CONTRACTS.

name -> contract.  Touches: nothing (pure).
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from chat import tools
from chat.tools.contract import Contract


@cache
def builtin() -> Mapping[str, Contract]:
    """All contracts of this folder, by name. Raises ValueError when two files claim one name."""
    found: dict[str, Contract] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(tools.__path__)):
        loaded = importlib.import_module(f"chat.tools.{module}")
        contracts = [loaded.CONTRACT] if hasattr(loaded, "CONTRACT") else list(getattr(loaded, "CONTRACTS", ()))
        for contract in contracts:
            if contract.name in found:
                raise ValueError(f"Two tools are named {contract.name}.")
            found[contract.name] = contract
    return MappingProxyType(found)


def business() -> dict[str, Contract]:
    """The tools that do the person's work and can be used as this instance is set up."""
    found = builtin().items()
    return {name: contract for name, contract in found if contract.pack != "control" and contract.available()}


def find(name: str) -> Contract | None:
    return builtin().get(name)
