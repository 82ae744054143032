"""Search what is known about the person from earlier conversations.

question -> memories, or what was so on a past day.  Touches: memory.recall, memory.past.
"""

import re
from datetime import date

from django.conf import settings
from django.utils import timezone
from pydantic import Field, field_validator

from chat.db import in_db
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext
from chat.tools.dates import read_date
from memory import facts, past
from memory.recall import count_recalled, recall
from memory.types import FactView

# A question for all that is known resembles no memory: the best are shown whatever their score.
EVERYTHING = re.compile(
    r"\b(know|remember|known|learned|stored) about (me|the (user|person))\b|\bwhat do (i|you know i) (like|prefer)\b|^everything$"
    r"|你?(知道|了解|记得)我(些|的)?(什么|哪些)|关于我(的一切)?[？?。]?$|我(喜欢|偏好)(些)?什么",
    re.IGNORECASE,
)


class SearchMemoryArgs(Args):
    query: str = Field(description="what to look for, as a question or a few words", min_length=1, max_length=400)
    limit: int = Field(default=5, ge=1, le=20, description="how many at most")
    on: date | None = Field(default=None, description="a past day: what was so then, since changed or not")

    _day = field_validator("on", mode="before")(lambda value: read_date(value, year=None))


async def run(args: SearchMemoryArgs, ctx: ToolContext) -> Done:
    return await in_db(_run, args, ctx)


def _then(args: SearchMemoryArgs, user_id: int, day: date) -> Done:
    held = past.was_so(user_id, past.end_of(day), args.query, args.limit)
    memories = [
        {"id": f"fact-{fact.id}", "text": facts.sentence(fact), "kind": "fact", "source": _span(fact)} for fact in held
    ]
    text = "\n".join(f"- {item['text']} ({item['source']})" for item in memories)
    summary = f"{len(held)} of {day.isoformat()}" if held else "Nothing found"
    data = {"memories": memories, "notice": ""}
    return Done(data=data, summary=summary, text=text or f"Nothing is known about {day.isoformat()}.")


def _span(fact: FactView) -> str:
    since = f"from {timezone.localtime(fact.valid_from):%Y-%m-%d}"
    return f"{since} until {timezone.localtime(fact.valid_to):%Y-%m-%d}" if fact.valid_to else f"{since}, still so"


def _run(args: SearchMemoryArgs, ctx: ToolContext) -> Done:
    if args.on:
        return _then(args, ctx.user_id, args.on)
    floor = -1.0 if EVERYTHING.search(args.query) else settings.AGENT_RECALL_FLOOR
    found = recall(ctx.user_id, args.query, limit=args.limit, floor=floor, unasked=False)
    shown = found.shown
    count_recalled(ctx.user_id, [item.id for item in shown])
    memories = [
        {"id": item.id, "text": item.text, "kind": item.kind, "score": round(item.score, 2), "source": item.source}
        for item in shown
    ]
    text = "\n".join(f"- {item.text} ({item.source})" for item in shown) or "Nothing is known about that."
    if found.notice:
        text += f"\n({found.notice})"
    summary = f"{len(shown)} found" if shown else "Nothing found"
    return Done(data={"memories": memories, "notice": found.notice}, summary=summary, text=text)


CONTRACT = Contract(
    name="search_memory",
    purpose="Search what is known about the person from earlier conversations.",
    not_for="the web (web_search), uploaded files (search_documents), what was said in this conversation",
    args=SearchMemoryArgs,
    run=run,
    tier=Tier.READ,
    returns={
        "type": "object",
        "required": ["memories"],
        "properties": {
            "memories": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["id", "text"],
                    "properties": {
                        "id": {"type": "string"},
                        "text": {"type": "string"},
                        "kind": {"type": "string"},
                        "score": {"type": "number"},
                        "source": {"type": "string"},
                    },
                },
            },
            "notice": {"type": "string"},
        },
    },
    returns_empty="an empty list: nothing is known about that; ask the person or go on without it",
    failures=(
        FailureMode(when="the search is degraded", advice="use what was found; the notice says what is missing"),
    ),
    cost="free",
    latency="milliseconds",
    repeatable=True,
)
