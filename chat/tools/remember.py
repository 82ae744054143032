"""Keep something lasting about the person.

text, kind -> receipt.  Touches: memory.records.
"""

from typing import Literal
from uuid import UUID

from pydantic import Field

from chat.db import in_db
from chat.models import Message, ToolCall
from chat.tools import registry
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext
from memory import lexical, records, statements
from memory.types import Receipt

OWN_WORDS = 0.6  # of a memory must stand in what the person said, once something from outside was read


class RememberArgs(Args):
    text: str = Field(
        description="one short, complete sentence that makes sense on its own", min_length=1, max_length=600
    )
    kind: Literal["fact", "preference", "howto"] = Field(
        default="fact", description="fact, preference, or howto (when … then …)"
    )


async def run(args: RememberArgs, ctx: ToolContext) -> Done:
    return await in_db(_run, args, ctx)


def _run(args: RememberArgs, ctx: ToolContext) -> Done:
    if _echoes_a_question(args.text, ctx.turn_id):
        reason = "It only repeats what was asked; the answer is in the conversation."
        receipt = Receipt(status="dropped", text=args.text, reason=reason)
    else:
        receipt = records.remember(
            ctx.user_id,
            args.text,
            kind=args.kind,
            # A way of doing things steers later turns: the person sees it before it counts.
            review=args.kind == "howto" or _may_be_anothers(args.text, ctx.conversation_id),
            source={"by": "agent", "turn": str(ctx.turn_id), "iteration": ctx.iteration},
            conversation_id=ctx.conversation_id,
        )
    said = {
        "kept": "Remembered",
        "duplicate": "Known already",
        "merged": "Remembered, and merged with what was known",
        "superseded": "Remembered; it replaces what was known before",
        "review": "Waits for the person's review",
    }.get(receipt.status, f"Not remembered: {receipt.reason}")
    return Done(data=receipt.as_json(), summary=f"{said}: {receipt.text}"[:300], text=f"{said}.")


def _echoes_a_question(text: str, turn_id: UUID) -> bool:
    """Whether a text is made of the words of a question alone: "12 times 12 is 144" tells nothing about the person."""
    said = Message.objects.filter(turn_id=turn_id, role=Message.Role.USER).values_list("text", flat=True)
    held = [sentence for message in said for sentence in statements.sentences(message)]
    asked = lexical.content(" ".join(sentence for sentence in held if statements.is_question(sentence)))
    stated = lexical.content(" ".join(sentence for sentence in held if not statements.is_question(sentence)))
    terms = lexical.content(text)
    return len(terms & asked) >= OWN_WORDS * len(terms) and not (terms & stated) - asked


def _may_be_anothers(text: str, conversation_id: UUID) -> bool:
    """Whether a page or the like may have put this into the model's mouth: the person then looks at it first."""
    used = ToolCall.objects.filter(turn__conversation_id=conversation_id, status=ToolCall.Status.SUCCEEDED)
    contracts = [registry.find(tool) for tool in used.values_list("tool", flat=True).distinct().order_by()]
    if not any(contract is None or contract.from_outside for contract in contracts):
        return False
    said = Message.objects.filter(conversation_id=conversation_id, role=Message.Role.USER).order_by("-id")
    known = lexical.content(" ".join(said.values_list("text", flat=True)[:50]))
    terms = lexical.content(text)
    return len(terms & known) < OWN_WORDS * len(terms)


CONTRACT = Contract(
    name="remember",
    purpose="Keep one lasting fact or preference of the person, for later conversations.",
    not_for="values of the task at hand (update_slots), secrets, text from web pages, what is only so today",
    args=RememberArgs,
    run=run,
    tier=Tier.LOCAL,
    returns={
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": {"enum": ["kept", "duplicate", "merged", "superseded", "review", "refused", "dropped"]},
            "record_id": {"type": "string"},
            "reason": {"type": "string"},
        },
    },
    returns_empty="never empty: the status says what became of it",
    failures=(
        FailureMode(
            when="it looks like a password, key or card number", advice="tell the person that secrets are not kept"
        ),
        FailureMode(
            when="the person asked to forget this",
            advice="tell the person; only they can keep it, by “Keep it after all” in the Memory panel",
        ),
    ),
    cost="free",
    latency="milliseconds",
    repeatable=True,
    quota=10,
)
