"""After a turn: what the person said that is worth keeping becomes memory, with a receipt of what was kept or dropped.

a turn's words -> memory receipts.  Touches: memory.records; the last iteration's changes (through record.py).

Only the person's own words are candidates: never recalled text, tool results or pages. Rules decide here, so that
nothing is learnt from an instruction that stood in a document.
"""

from typing import Any
from uuid import UUID

from chat.loop import record
from chat.models import Message, Turn
from memory import records, statements
from memory.errors import MemoryRefused
from memory.models import UserMemory

LIKES = "likes"


def learn(turn_id: UUID) -> int:
    """Keep what the person stated in this turn. Returns how many receipts were written."""
    turn = Turn.objects.select_related("conversation").get(id=turn_id)
    user_id = turn.conversation.user_id
    if records.mode(user_id) == UserMemory.Mode.OFF:
        return 0
    said = turn.messages.filter(role=Message.Role.USER).order_by("id")
    receipts = [receipt for message in said for receipt in _of(user_id, turn, message)]
    if receipts:
        record.note_memory(turn_id, receipts)
    return len(receipts)


def _of(user_id: int, turn: Turn, message: Message) -> list[dict[str, Any]]:
    """One receipt for each statement that holds a fact; the rest of a message is no candidate."""
    receipts = []
    for sentence in statements.sentences(message.text[:20_000]):
        facts = statements.facts_in(sentence) if statements.is_statement(sentence) else ()
        if not facts:
            continue
        kind = "preference" if any(fact.attribute == LIKES for fact in facts) else "fact"
        source = {"by": "person", "turn": str(turn.id), "message": message.id, "quote": sentence}
        try:
            receipt = records.remember(
                user_id,
                sentence,
                kind=kind,
                source=source,
                conversation_id=turn.conversation_id,
                facts=facts,
                when=message.created_at,
            )
        except MemoryRefused as refusal:
            receipts.append({"status": "refused", "text": sentence, "reason": str(refusal)})
        else:
            receipts.append(receipt.as_json())
    return receipts
