"""Words as they are compared: stems, ids and their parts, Chinese characters in ones and twos.

text -> tokens.  Touches: nothing (pure).

A memory is scored by coverage: how much of the question's terms, weighted by rarity, it holds. Measured better
than BM25 on short texts, and it lies between 0 and 1, so that it adds up with a cosine.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from threading import Lock

import snowballstemmer

UNIGRAM_WEIGHT = 0.5  # one Chinese character says less than two together
LONG_CODE = 5  # characters from which an identifier is telling by itself; "2024" or "3pm" is not
_CJK_RUN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_WORD = re.compile(r"[^\W_]+(?:[-_./:@#'’+][^\W_]+)*")
_PART = re.compile(r"[^\W\d_]+|\d+")
_STOP = frozenset(
    "a an the and or but if of to in on at by for with from as is are was were be been being am do does did done doing "
    "have has had having i me my mine we us our ours you your yours he him his she her hers it its they them their "
    "theirs this that these those there here so than too very can could will would shall should may might must not no "
    "nor s t d m ll re ve im ive id just about into over under again then once also any some each such only own same "
    "user user's users".split()
)
_ASKING = frozenset("what which who whom whose when where why how tell know".split())
_STOP_CJK = frozenset("的 了 是 在 和 与 也 都 就 吗 呢 吧 啊 我 你 他 她 它 们 这 那 有 个".split())
_ASKING_CJK = re.compile(
    "什么|甚么|怎么样|怎么|怎样|哪里|哪儿|哪个|哪些|哪天|哪|谁|为什么|为何|多少|几点|几|吗|呢|用户|请问|告诉|知道"
)
_stemmer = snowballstemmer.stemmer("english")
_lock = Lock()


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    with _lock:  # the stemmer keeps its word in itself
        return str(_stemmer.stemWord(word))


def tokens(text: str) -> list[str]:
    """What a memory is found by, in order, repeats kept."""
    text = unicodedata.normalize("NFKC", text).casefold()
    found: list[str] = []
    for run in _CJK_RUN.findall(text):
        found += [run[i : i + 2] for i in range(len(run) - 1)]
        found += [char for char in run if char not in _STOP_CJK]
    for word in _WORD.findall(_CJK_RUN.sub(" ", text)):
        found += _of_word(word.replace("’", "'"))
    return found


def query_terms(text: str) -> dict[str, float]:
    """What a question asks for, with the weight of each term before rarity."""
    found = [token for token in tokens(_ASKING_CJK.sub(" ", text)) if token not in _ASKING]
    return {token: UNIGRAM_WEIGHT if len(token) == 1 and _CJK_RUN.match(token) else 1.0 for token in found}


def content(text: str) -> frozenset[str]:
    """The set of words that carry the meaning, to compare two texts: no single Chinese characters."""
    return frozenset(t for t in tokens(text) if len(t) > 1 or not _CJK_RUN.match(t))


def identifiers(text: str) -> frozenset[str]:
    """Numbers, codes and ids: two texts that differ in one are not the same."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return frozenset(word for word in _WORD.findall(_CJK_RUN.sub(" ", text)) if any(c.isdigit() for c in word))


def codes(text: str) -> frozenset[str]:
    """The identifiers that are telling by themselves."""
    return frozenset(word for word in identifiers(text) if len(word) >= LONG_CODE)


def joined(words: Iterable[str]) -> str:
    return " ".join(words)


def _of_word(word: str) -> list[str]:
    word = word.removesuffix("'s")
    if word in _STOP:
        return []
    if not any(char.isdigit() for char in word) and not re.search(r"[-_./:@#+']", word):
        return [_stem(word)]
    parts = [part for part in _PART.findall(word) if len(part) > 1 or part.isdigit()]
    return [word, *(_stem(part) for part in parts if part != word and part not in _STOP)]
