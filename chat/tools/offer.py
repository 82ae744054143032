"""Which of many tools fit a text: hybrid search over contracts, so that what the model reads stays small.

contracts, text -> names, best first.  Touches: the embedder.

Score = cosine of meanings + the share of the text's words that the contract has, as for memories. A pack comes as a
whole where one of its tools is among the best: what belongs together is needed together.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from chat.tools.contract import Contract
from memory import lexical
from memory.embed import embedder

log = logging.getLogger(__name__)
WORDS = 0.5  # weight of the lexical half, as measured for memories


def fitting(contracts: Mapping[str, Contract], text: str, *, limit: int, named: Sequence[str] = ()) -> tuple[str, ...]:
    """At most `limit` names, the named ones and what they need first, then the best. A small model reads from the top."""
    wanted = [name for name in named if name in contracts]
    wanted += [need for name in wanted for need in contracts[name].needs if need in contracts]
    ranked = _ranked(contracts, text)
    # The best tool's pack, as far as there is room: search and booking of one pack answer one task.
    pack = contracts[ranked[0]].pack
    mates = [name for name in ranked if contracts[name].pack == pack and pack not in {"core", "control"}]
    return tuple(dict.fromkeys([*wanted, *ranked[: limit // 2], *mates, *ranked]))[:limit]


def _ranked(contracts: Mapping[str, Contract], text: str) -> list[str]:
    names = list(contracts)
    lines = tuple(_line(contracts[name]) for name in names)
    scores = np.array([WORDS * _coverage(text, line) for line in lines])
    try:
        known = _vectors(lines, embedder().key)
        scores = scores + known @ np.asarray(embedder().embed_queries([text[:1_000]]))[0]
    except Exception:  # words alone still rank; a turn must not fail for a search over tools
        log.warning("The embedder cannot be used; tools are ranked by words alone.", exc_info=True)
    return [names[index] for index in np.argsort(-scores, kind="stable")]


def _line(contract: Contract) -> str:
    return f"{contract.name.replace('_', ' ')}: {contract.purpose}"


def _coverage(text: str, line: str) -> float:
    terms = lexical.query_terms(text)
    have = set(lexical.tokens(line))
    total = sum(terms.values())
    return sum(weight for term, weight in terms.items() if term in have) / total if total else 0.0


@lru_cache(maxsize=8)
def _vectors(lines: tuple[str, ...], key: str) -> np.ndarray:
    """Of the contracts, once for each set of them and each embedder."""
    return np.asarray(embedder().embed_passages(list(lines)))
