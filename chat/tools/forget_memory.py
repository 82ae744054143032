"""Forget something about the person for good.

what to forget -> receipt.  Touches: memory.forget.
"""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field

from chat.db import in_db
from chat.errors import ToolFailed
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext
from memory import forget
from memory.ids import uuids


class ForgetMemoryArgs(Args):
    about: str = Field(description="what to forget, in the person's words", min_length=2, max_length=300)
    ids: list[str] = Field(
        default_factory=list, max_length=50, description="ids from search_memory; without them all that fits `about`"
    )


async def run(args: ForgetMemoryArgs, ctx: ToolContext) -> Done:
    return await in_db(_run, args, ctx)


def _found(args: ForgetMemoryArgs, user_id: int) -> forget.Preview:
    return forget.preview(user_id, uuids(args.ids), query="" if args.ids else args.about)


def _run(args: ForgetMemoryArgs, ctx: ToolContext) -> Done:
    found = _found(args, ctx.user_id)
    if not found.records:
        raise ToolFailed(
            "Nothing was forgotten: no memory of this person fits.",
            cause="The ids are unknown, or nothing like that was ever remembered.",
            next="Call search_memory first and give the ids it returns, or tell the person that nothing is known.",
        )
    receipt = forget.forget(ctx.user_id, found.ids)
    # The words stay out of the result: it is kept as evidence, and would be one more copy.
    text = f"Forgotten for good: {'; '.join(receipt.lines)}."
    return Done(data={"forgotten": len(found.records), "counts": receipt.counts}, summary=text[:300], text=text)


def preview(args: ForgetMemoryArgs, ctx: ToolContext) -> str:
    """What the card shows: the very memories, and what goes with them."""
    found = _found(args, ctx.user_id)
    if not found.records:
        return _("No memory fits; nothing would be forgotten.")
    rows = [f"- {row.text[:200]}" for row in (*found.records, *found.built_on)[:20]]
    more = len(found.records) + len(found.built_on) - len(rows)
    rows += [_("… and %(more)s more") % {"more": more}] if more > 0 else []
    return "\n".join([*rows, "", *found.lines])


def _effect(args: ForgetMemoryArgs) -> str:
    return _("Forgets for good what is known about “%(about)s”") % {"about": args.about}


CONTRACT = Contract(
    name="forget_memory",
    purpose="Forget for good what is known about the person, when they ask for it.",
    not_for="correcting a memory (remember the new fact instead), state of this conversation (update_slots)",
    args=ForgetMemoryArgs,
    run=run,
    tier=Tier.WRITE,
    returns={
        "type": "object",
        "required": ["forgotten"],
        "properties": {"forgotten": {"type": "integer"}, "counts": {"type": "object"}},
    },
    returns_empty="never empty: when nothing fits it fails and says so",
    failures=(FailureMode(when="no memory fits", advice="search_memory first; give the ids it returns"),),
    cost="free",
    latency="about a second",
    quota=5,
    effect=_effect,
    preview=preview,
    labels={"about": gettext_noop("What to forget"), "ids": gettext_noop("Memories")},
)
