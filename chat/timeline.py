"""A turn as the stream shows it: what was said and each iteration, in the order it happened.

Turn rows -> TurnView.  Touches: rows (reads).

The number of queries is the same for one turn and for fifteen, however long they were.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from chat import approval_card, words
from chat.approval_card import Card
from chat.call_line import LONG, CallLine, call_line, items, short
from chat.models import Conversation, Iteration, Message, ToolCall, Turn
from chat.status import Standing, progress_of, standing
from chat.turns import places as turn_places
from planning.models import Condition, Plan

PAGE = 15  # turns shown at first; earlier ones on demand
MOST_NEW = 100  # that a page which slept can fetch at once
RECALLED = 2  # memories named in a line


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationLine:
    row: Iteration
    calls: tuple[CallLine, ...]
    text: str  # what the model said, in short, when it called nothing
    notes: tuple[str, ...]
    conditions: tuple[Condition, ...]  # decided in this iteration
    recalled: tuple[str, ...]  # memories that came up for the first time in this turn
    recalled_more: int
    tone: str
    took: str

    @property
    def version(self) -> str:
        """Changes whenever the opened line would show something else."""
        return "-".join([self.row.outcome or "open", *(line.call.status for line in self.calls)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    text: str
    url: str = ""
    is_tool: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidLine:
    message: Message
    sources: tuple[Source, ...] = ()
    open_points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    turn: Turn
    entries: tuple[SaidLine | IterationLine, ...]
    standing: Standing
    iterations: int  # the last one that is on the page
    latest: bool  # nothing came after it
    before: int  # turns that come before this one in the queue
    plan_waits: bool  # the person is asked to look at the plan before its first step

    @property
    def streams(self) -> bool:
        return self.turn.status in {Turn.Status.QUEUED, Turn.Status.RUNNING}

    @property
    def answering(self) -> bool:
        """The last iteration may hold the answer: its streamed text stays until the answer is here."""
        last = next((line for line in reversed(self.entries) if isinstance(line, IterationLine)), None)
        if last is None or last.row.outcome or not self.streams:
            return False
        return not last.calls or any(line.call.tool == "finish" for line in last.calls)

    @property
    def asks(self) -> bool:
        """The last thing in it is a question to the person."""
        last = self.entries[-1] if self.entries else None
        return isinstance(last, SaidLine) and last.message.mark == Message.Mark.QUESTION

    @property
    def can_retry(self) -> bool:
        return self.latest and self.turn.end in {Turn.End.FAILED, Turn.End.STOPPED, Turn.End.EXHAUSTED}

    @property
    def can_continue(self) -> bool:
        return self.latest and self.turn.end == Turn.End.EXHAUSTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    turns: tuple[TurnView, ...]  # oldest first
    earlier: int  # the number to ask for those before; 0: there are none


def page(conversation: Conversation, *, before: int = 0, after: int | None = None) -> Page:
    """The last turns, those before one, or those after one."""
    rows = conversation.turns.order_by("-number")
    if after is not None:
        newer = conversation.turns.filter(number__gt=after).order_by("number")
        return Page(turns=views(newer[:MOST_NEW], conversation.user_id), earlier=0)
    found = list((rows.filter(number__lt=before) if before else rows)[: PAGE + 1])
    more = len(found) > PAGE
    shown = Turn.objects.filter(id__in=[turn.id for turn in found[:PAGE]])
    return Page(turns=views(shown, conversation.user_id), earlier=found[PAGE - 1].number if more else 0)


def views(turns: QuerySet[Turn], user_id: int) -> tuple[TurnView, ...]:
    """Turns of one conversation with all that the stream shows of them, oldest first."""
    # What only the trace shows stays in the database: it is most of the bytes.
    iterations = Iteration.objects.defer("sections", "offered", "raw", "changes")
    calls = ToolCall.objects.defer("result", "text", "proposed", "traceback")
    rows = list(
        turns.prefetch_related(
            "messages", Prefetch("iterations", iterations), Prefetch("iterations__calls", calls), "conditions"
        )
    )
    rows.sort(key=lambda turn: turn.number)
    progress = progress_of(turn.id for turn in rows if turn.status == Turn.Status.RUNNING)
    newest = Turn.objects.filter(conversation__in={turn.conversation_id for turn in rows}).order_by("-number")
    last = newest.values_list("id", flat=True).first() if rows else None
    unapproved = _unapproved(turn.id for turn in rows if turn.status == Turn.Status.WAITING_USER)
    # One person has at most one open turn in a conversation, so this is asked once or not at all.
    places = turn_places() if any(turn.status == Turn.Status.QUEUED for turn in rows) else {}
    cards = approval_card.of_turns(rows, user_id=user_id)
    return tuple(
        TurnView(
            turn=turn,
            entries=_entries(turn, cards),
            standing=standing(turn.status, turn.end, progress.get(turn.id)),
            iterations=max((row.number for row in turn.iterations.all()), default=0),
            latest=turn.id == last,
            before=places.get(turn.id, 0),
            plan_waits=turn.id in unapproved,
        )
        for turn in rows
    )


def _unapproved(turn_ids: Iterable[UUID]) -> set[UUID]:
    """Those whose newest plan waits for the person."""
    ids = list(turn_ids)
    plans = Plan.objects.filter(turn_id__in=ids).order_by("revision") if ids else Plan.objects.none()
    return {turn_id for turn_id, approved in dict(plans.values_list("turn_id", "approved")).items() if not approved}


def _entries(turn: Turn, cards: Mapping[UUID, Card]) -> tuple[SaidLine | IterationLine, ...]:
    """Messages and iterations by time. A message that steered stands before the first iteration that could read it."""
    dated: list[tuple[datetime, int, SaidLine | IterationLine]] = []
    tools = {call.tool for row in turn.iterations.all() for call in row.calls.all()}
    for message in turn.messages.all():
        dated.append((message.created_at, 0, _said(message, tools)))
    seen: set[str] = set()
    decided: dict[int, list[Condition]] = defaultdict(list)
    for condition in turn.conditions.all():
        if condition.status != Condition.Status.OPEN and condition.iteration:
            decided[condition.iteration].append(condition)
    before = datetime.min.replace(tzinfo=UTC)
    for row in turn.iterations.all():
        # The row is written when the model has decided; what it read was read before that.
        began = max(before, row.started_at - timedelta(milliseconds=row.model_ms))
        before = max(before, row.started_at)
        dated.append((began, 1, _iteration(turn, row, tuple(decided[row.number]), seen, cards)))
    opening = min((at for at, kind, _line in dated if kind == 0), default=None)
    dated.sort(key=lambda entry: (entry[0] != opening, entry[0], entry[1]))
    return tuple(line for _at, _kind, line in dated)


def _said(message: Message, tools: Collection[str]) -> SaidLine:
    data = message.data if isinstance(message.data, dict) else {}
    return SaidLine(
        message=message,
        sources=tuple(_sources(data.get("sources"), tools)),
        open_points=tuple(str(point) for point in items(data.get("open_points")) if point),
    )


def _sources(given: Any, tools: Collection[str]) -> Iterable[Source]:
    """A source is a tool, a sentence, an address, or both; only a web address becomes a link."""
    for item in items(given):
        text, url = str(item), str(item)
        if isinstance(item, Mapping):
            url = str(item.get("url") or "")
            text = str(item.get("title") or item.get("text") or item.get("name") or url)
        if text.strip():
            is_link = url.startswith(("https://", "http://")) and " " not in url
            yield Source(text=text, url=url if is_link else "", is_tool=text in tools)


def _iteration(
    turn: Turn, row: Iteration, decided: tuple[Condition, ...], seen: set[str], cards: Mapping[UUID, Card]
) -> IterationLine:
    calls = tuple(call_line(call, cards.get(call.id)) for call in row.calls.all())
    fresh = [str(item.get("text", "")) for item in _shown(row.receipt) if _first(seen, str(item.get("id")))]
    return IterationLine(
        row=row,
        calls=calls,
        text="" if calls else short(row.thought, LONG),
        notes=_notes(row.notes, decided),
        conditions=decided,
        recalled=tuple(short(text, LONG) for text in fresh[:RECALLED]),
        recalled_more=max(0, len(fresh) - RECALLED),
        tone=_tone([line.tone for line in calls], running=turn.is_open and not row.outcome),
        took=_took(row),
    )


def _shown(receipt: Any) -> list[Mapping[str, Any]]:
    return [item for item in items(receipt) if isinstance(item, Mapping) and item.get("fate") == "shown"]


def _first(seen: set[str], key: str) -> bool:
    new = key not in seen
    seen.add(key)
    return new


def _notes(notes: Any, decided: Sequence[Condition]) -> tuple[str, ...]:
    """What the loop has to say, less what is said of a decided condition already."""
    texts = (str(note.get("text", "")) if isinstance(note, Mapping) else str(note) for note in items(notes))
    return tuple(text for text in texts if text and not any(condition.question in text for condition in decided))


def _took(row: Iteration) -> str:
    """Working time: the model's and the tools'. Waiting for the person is not work."""
    spans = [words.span_ms(call.started_at, call.ended_at) or 0 for call in row.calls.all()]
    total = row.model_ms + sum(spans)
    return words.took(total) if total >= 1 else ""


def _tone(tones: Sequence[str], *, running: bool) -> str:
    """The most pressing one counts."""
    return next((tone for tone in ("warm", "bad", "busy", "good") if tone in tones), "busy" if running else "")
