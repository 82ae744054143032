"""How well memories are found: a set of texts and questions with known answers, through the product's own road.

texts, questions -> Recall@k and MRR, beside meaning alone and words alone.  Touches: rows of people made for it.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memory import lexical, records
from memory.embed import embedder
from memory.models import MemoryRecord, UserMemory
from memory.recall import recall
from memory.shelf import shelf

ALL = "all"
EVERYTHING = -9.0  # a floor below every score


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    group: str
    answers: frozenset[str]  # keys of the texts that answer it; empty: nothing does


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """One person's texts, in the order they were said, and what is asked of them."""

    name: str
    texts: tuple[tuple[str, str, datetime], ...]  # key, text, when
    questions: tuple[Question, ...]


@dataclass(slots=True)
class Figures:
    """Sums over questions; `row` makes means of them."""

    count: int = 0
    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, ranked: Sequence[str], answers: frozenset[str]) -> None:
        self.count += 1
        for k in (1, 5, 10):
            self.sums[f"R@{k}"] += len(answers & set(ranked[:k])) / len(answers)
        first = next((rank for rank, key in enumerate(ranked, 1) if key in answers), 0)
        self.sums["MRR"] += 1 / first if first else 0.0

    def row(self) -> dict[str, float]:
        return {name: value / max(self.count, 1) for name, value in self.sums.items()}


@dataclass(slots=True)
class Measured:
    figures: dict[tuple[str, str], Figures] = field(default_factory=dict)  # (road, group) -> figures
    top_scores: list[tuple[bool, float]] = field(default_factory=list)  # (answerable, best score)
    write_ms: list[float] = field(default_factory=list)
    recall_ms: list[float] = field(default_factory=list)

    def add(self, road: str, question: Question, ranked: Sequence[str]) -> None:
        for group in (ALL, question.group):
            self.figures.setdefault((road, group), Figures()).add(ranked, question.answers)

    def auc(self) -> float | None:
        """How well the best score tells whether anything stored answers the question."""
        good = np.asarray([score for answerable, score in self.top_scores if answerable])
        bad = np.asarray([score for answerable, score in self.top_scores if not answerable])
        if not len(good) or not len(bad):
            return None
        return float((good[:, None] > bad[None, :]).mean() + 0.5 * (good[:, None] == bad[None, :]).mean())

    def floor(self, least: float) -> tuple[float, float]:
        """At this floor: the share of answerable questions that keep something, of the others that get nothing."""
        good = [score >= least for answerable, score in self.top_scores if answerable]
        bad = [score < least for answerable, score in self.top_scores if not answerable]
        return sum(good) / max(len(good), 1), sum(bad) / max(len(bad), 1)


def measure(corpora: Iterable[Corpus], users: Mapping[str, int], depth: int = 25) -> Measured:
    """Write each corpus as its person's memories, then ask. `users`: corpus name -> an empty account."""
    done = Measured()
    for corpus in corpora:
        user_id = users[corpus.name]
        keys = _write(user_id, corpus, done)
        for question in corpus.questions:
            found = recall(user_id, question.text, limit=depth, floor=EVERYTHING, unasked=False)
            done.recall_ms.append(found.ms)
            ranked = [key for item in found.recalls for key in keys.get(item.id, [])]
            best = found.recalls[0].score if found.recalls else 0.0
            done.top_scores.append((bool(question.answers), best))
            if question.answers:
                done.add("product", question, ranked)
                for road, order in _halves(user_id, question.text, depth).items():
                    done.add(road, question, [key for id_ in order for key in keys.get(id_, [])])
    return done


def _write(user_id: int, corpus: Corpus, done: Measured) -> dict[str, list[str]]:
    """Record id -> the keys of the texts it holds; a text that was known already shares the record."""
    keys: dict[str, list[str]] = defaultdict(list)
    for key, text, when in corpus.texts:
        started = time.perf_counter()
        receipt = records.remember(user_id, text, source={"by": "person", "turn": key}, when=when)
        done.write_ms.append((time.perf_counter() - started) * 1000)
        if receipt.record_id:
            keys[receipt.record_id].append(key)
    for row in MemoryRecord.objects.filter(user_id=user_id, source__has_key="merged"):
        keys[str(row.id)] += [key for source in row.source["merged"] for key in keys.get(source, [])]
    return keys


def _halves(user_id: int, query: str, depth: int) -> dict[str, list[str]]:
    """The same rows ranked by meaning alone and by words alone."""
    maker = embedder()
    held = shelf(MemoryRecord, UserMemory.objects.get(user_id=user_id), maker.key)
    parts = held.parts(maker.embed_queries([query])[0], lexical.query_terms(query), {}, time.time())
    masked = {
        "meaning alone": np.where(np.isfinite(parts.total), parts.semantic, -np.inf),
        "words alone": np.where(np.isfinite(parts.total), parts.lexical, -np.inf),
    }
    return {
        road: [str(held.ids[i]) for i in np.argsort(-scores, kind="stable")[:depth]] for road, scores in masked.items()
    }


# ---- files ------------------------------------------------------------------------------------------


def read(data: Any) -> list[Corpus]:
    """A LoCoMo file, or facts with queries; raises ValueError for anything else."""
    if isinstance(data, list) and data and "conversation" in data[0]:
        return [_conversation(item) for item in data]
    if isinstance(data, dict) and "facts" in data and "queries" in data:
        return [_facts(data)]
    raise ValueError("This is neither a LoCoMo file nor a file with facts and queries.")


def _conversation(item: Mapping[str, Any]) -> Corpus:
    """Every turn is a memory, dated by its session; categories 1 to 4 are asked, as in the published figures."""
    groups = {1: "multi-hop", 2: "temporal", 3: "open domain", 4: "single-hop"}
    talk, texts = item["conversation"], []
    for number in range(1, 100):
        when = _session_date(str(talk.get(f"session_{number}_date_time", "")))
        for turn in talk.get(f"session_{number}", ()):
            caption = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            texts.append((turn["dia_id"], f"{turn['speaker']}: {turn['text']}{caption}", when))
    known = {key for key, _text, _when in texts}
    questions = tuple(
        Question(text=qa["question"], group=groups[qa["category"]], answers=frozenset(qa["evidence"]) & known)
        for qa in item["qa"]
        if qa["category"] in groups and frozenset(qa["evidence"]) & known
    )
    return Corpus(name=str(item["sample_id"]), texts=tuple(texts), questions=questions)


def _session_date(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return datetime(2023, 1, 1, tzinfo=UTC)


def _facts(data: Mapping[str, Any]) -> Corpus:
    """Dated facts, distractors before them, queries by kind; what is superseded is no answer."""
    texts = [(f"d{i}", text, datetime(2024, 1, 1, tzinfo=UTC)) for i, text in enumerate(data["distractors"])]
    dated = [
        (i, fact, datetime.strptime(fact["date"], "%Y-%m").replace(tzinfo=UTC)) for i, fact in enumerate(data["facts"])
    ]
    texts += [(f"f{i}", fact["text"], when) for i, fact, when in sorted(dated, key=lambda item: item[2])]
    questions = tuple(
        Question(text=q["query"], group=q["kind"], answers=frozenset(f"f{i}" for i in q["relevant"]))
        for q in data["queries"]
    )
    return Corpus(name="facts", texts=tuple(texts), questions=questions)
