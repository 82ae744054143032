"""The frozen values of the memory room.

Touches: nothing (pure).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotView:
    name: str
    kind: str
    value: Any
    set_by: str
    iteration: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """A memory brought back for this iteration, with the reason it is here or was cut."""

    id: str
    kind: str
    text: str
    score: float  # the sum of the four parts below
    semantic: float
    lexical: float
    recency: float
    confidence: float
    fate: str  # shown, below_floor, over_limit, over_budget, not_fitting
    source: str  # in plain words: "you said so on 12 May"
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What a search brought: the shown ones first, then the best of those that were cut."""

    recalls: tuple[Recall, ...] = ()
    notice: str = ""  # how the search was degraded, for the person; empty: it was not
    ms: float = 0.0

    @property
    def shown(self) -> tuple[Recall, ...]:
        return tuple(recall for recall in self.recalls if recall.fate == "shown")


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDraft:
    """One statement about an entity, not yet kept."""

    subject: str  # "user" is the person
    attribute: str
    value: str  # empty with `ends`: whatever the value was
    many: bool = False  # several values may be true at once
    ends: bool = False  # this is no longer so


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """A memory or fact that a newer one put out of force."""

    what: Literal["memory", "fact"]
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of something to be remembered."""

    status: Literal["kept", "duplicate", "merged", "refused", "review", "superseded", "dropped"]
    text: str = ""
    record_id: str = ""
    reason: str = ""  # in plain words
    retired: tuple[Retired, ...] = ()
    similar: tuple[str, ...] = ()  # ids of memories close to it, for a hint
    may_confirm: bool = False  # refused because it was forgotten: the person may have it kept all the same

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "text": self.text,
            "record_id": self.record_id,
            "reason": self.reason,
            "retired": [{"what": item.what, "id": item.id, "text": item.text} for item in self.retired],
            "may_confirm": self.may_confirm,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that may be worth remembering, with why."""

    text: str
    kind: str = "fact"
    facts: tuple[FactDraft, ...] = ()
    worth: float = 0.5  # lasting value, 0 to 1
    quote: str = ""  # the words it is from
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactView:
    id: int
    subject: str
    attribute: str
    value: str
    valid_from: datetime
    valid_to: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What is being forgotten, for those who must blot it out of their own rows."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]  # the memories' texts, old versions and quotes
    values: tuple[str, ...]  # what stood in them that is telling by itself: codes, names, values of facts
    messages: tuple[int, ...]  # the messages they came from
    places: tuple[str, ...] = ()  # the turns and conversations they came from


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A passage of a document with its citation."""

    document_id: UUID
    document: str
    number: int
    heading: str
    page: int | None
    text: str
    score: float
    link: str  # opens at the place

    @property
    def place(self) -> str:
        """Where it stands, in short: "report.pdf, p. 3, Costs › Travel"."""
        page = f"p. {self.page}" if self.page else ""
        return ", ".join(part for part in (self.document, page, self.heading) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search of the documents brought."""

    passages: tuple[Passage, ...] = ()
    notice: str = ""
