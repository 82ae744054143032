"""Which of many tools fit a text: hybrid search over contracts, so that what the model reads stays small.

contracts, text -> names, best first.  Touches: the embedder.

Score of a tool = cosine with its name and with its purpose, + the share of the text's words that it has, + the same of
its pack's best. Small sentence vectors err on a single tool, seldom on the field: who writes of a flight is offered what
belongs to flights.
"""

import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from chat.tools.contract import Contract
from memory import lexical
from memory.embed import embedder

log = logging.getLogger(__name__)
WORDS = 0.25  # weight of the lexical half; measured by tests/bench/bench_offer.py, as the next two
PACK = 1.0  # weight of the pack's score
BEST = 3  # tools by which a pack is judged
LOOSE = {"core", "control"}  # packs whose tools have nothing to do with each other


def fitting(contracts: Mapping[str, Contract], text: str, *, limit: int, named: Sequence[str] = ()) -> tuple[str, ...]:
    """At most `limit` names, the named ones and what they need first, then the best. A small model reads from the top."""
    wanted = [name for name in named if name in contracts]
    wanted += [need for name in wanted for need in contracts[name].needs if need in contracts]
    return tuple(dict.fromkeys([*wanted, *_ranked(contracts, text)]))[:limit]


def _ranked(contracts: Mapping[str, Contract], text: str) -> list[str]:
    names = list(contracts)
    if not names:
        return []
    spoken = tuple(_spoken(name) for name in names)
    purposes = tuple(one.purpose for one in contracts.values())
    scores = WORDS * _coverage(text, tuple(map(" ".join, zip(spoken, purposes, strict=True))))
    try:
        key = embedder().key
        asked = _asked(text[:1_000], key)
        scores = scores + (_vectors(spoken, key) @ asked + _vectors(purposes, key) @ asked) / 2
    except Exception:  # words alone still rank; a turn must not fail for a search over tools
        log.warning("The embedder cannot be used; tools are ranked by words alone.", exc_info=True)
    scores = scores + PACK * _of_packs(list(contracts.values()), scores)
    return [names[index] for index in np.argsort(-scores, kind="stable")]


def _spoken(name: str) -> str:
    """The name as words, without its server's: a pack has a score of its own."""
    return name.rsplit("__", 1)[-1].replace("_", " ")


def _of_packs(contracts: Sequence[Contract], scores: np.ndarray) -> np.ndarray:
    """For each tool the mean of the best of its pack."""
    packs: dict[str, list[float]] = {}
    for contract, score in zip(contracts, scores, strict=True):
        packs.setdefault(_pack(contract), []).append(float(score))
    means = {pack: sum(best) / len(best) for pack, all_of in packs.items() for best in [sorted(all_of)[-BEST:]]}
    return np.array([means[_pack(contract)] for contract in contracts])


def _pack(contract: Contract) -> str:
    return f"{contract.pack} {contract.name}" if contract.pack in LOOSE else contract.pack


def _coverage(text: str, lines: tuple[str, ...]) -> np.ndarray:
    """Of each line, how much of the text's words it has, a rare word counting for more."""
    have, rarity = _words(lines)
    terms = {
        term: weight * rarity.get(term, math.log(1 + len(lines))) for term, weight in lexical.query_terms(text).items()
    }
    total = sum(terms.values()) or 1.0
    return np.array([sum(weight for term, weight in terms.items() if term in words) / total for words in have])


@lru_cache(maxsize=8)
def _words(lines: tuple[str, ...]) -> tuple[tuple[frozenset[str], ...], Mapping[str, float]]:
    have = tuple(frozenset(lexical.tokens(line)) for line in lines)
    counts = Counter(term for words in have for term in words)
    return have, {term: math.log(1 + len(lines) / (1 + count)) for term, count in counts.items()}


@lru_cache(maxsize=64)
def _asked(text: str, key: str) -> np.ndarray:
    """Of a task: one request asks several times what fits it, and so does the next."""
    vector: np.ndarray = np.asarray(embedder().embed_queries([text]))[0]
    return vector


@lru_cache(maxsize=16)
def _vectors(lines: tuple[str, ...], key: str) -> np.ndarray:
    """Of the contracts, once for each set of them and each embedder."""
    return np.asarray(embedder().embed_passages(list(lines)))
