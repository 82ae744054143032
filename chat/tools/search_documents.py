"""Search the files the person gave, with citations.

question -> passages.  Touches: memory.documents.
"""

from pydantic import Field

from chat.db import in_db
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext
from memory import documents


class SearchDocumentsArgs(Args):
    query: str = Field(description="what to look for, as a question or a few words", min_length=1, max_length=400)
    limit: int = Field(default=4, ge=1, le=10, description="how many passages at most")


async def run(args: SearchDocumentsArgs, ctx: ToolContext) -> Done:
    return await in_db(_run, args, ctx)


def _run(args: SearchDocumentsArgs, ctx: ToolContext) -> Done:
    found = documents.find(ctx.user_id, args.query, conversation_id=ctx.conversation_id, limit=args.limit)
    passages = [
        {
            "cite": item.place,
            "text": item.text,
            "link": item.link,
            "document": item.document,
            "page": item.page,
            "score": round(item.score, 2),
        }
        for item in found.passages
    ]
    text = "\n\n".join(f"[{item.place}]\n{item.text}" for item in found.passages)
    if not passages:
        known = [item.name for item in documents.of(ctx.user_id, ctx.conversation_id)]
        text = f"Nothing fits in: {', '.join(known[:20])}." if known else "The person has given no documents."
    if found.notice:
        text += f"\n({found.notice})"
    names = ", ".join(dict.fromkeys(item.document for item in found.passages))
    summary = f"{len(passages)} passages from {names}" if passages else "Nothing found"
    return Done(data={"passages": passages, "notice": found.notice}, summary=summary[:300], text=text)


CONTRACT = Contract(
    name="search_documents",
    purpose="Search the files the person has uploaded; each passage comes with its citation.",
    not_for="the web (web_search), what is known about the person (search_memory), files you wrote (read_file)",
    args=SearchDocumentsArgs,
    run=run,
    tier=Tier.READ,
    returns={
        "type": "object",
        "required": ["passages"],
        "properties": {
            "passages": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["cite", "text", "link"],
                    "properties": {
                        "cite": {"type": "string"},
                        "text": {"type": "string"},
                        "link": {"type": "string"},
                        "document": {"type": "string"},
                        "page": {"type": ["integer", "null"]},
                        "score": {"type": "number"},
                    },
                },
            },
            "notice": {"type": "string"},
        },
    },
    returns_empty="an empty list: no uploaded file speaks of that; say so, do not make it up",
    failures=(
        FailureMode(when="no file has been uploaded", advice="ask the person to upload one, or go on without it"),
    ),
    cost="free",
    latency="under a second",
    repeatable=True,
)
