"""Which tools exist: every file in this folder that has a CONTRACT or CONTRACTS, and what MCP servers offer.

name -> contract.  Touches: the tables of MCP servers (reads, once a second at most).
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from chat import tools
from chat.mcp import tools as mcp_tools
from chat.tools import policy
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
    own = {name: one for name, one in builtin().items() if one.pack != "control" and one.available()}
    return {name: one for name, one in {**mcp_tools.contracts(), **own}.items() if not policy.denied(one)}


def find(name: str) -> Contract | None:
    return builtin().get(name) or mcp_tools.contracts().get(name)
