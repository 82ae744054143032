"""The loop, on one screen.

claimed Turn -> Outcome.  Touches: the verbs below, nothing else.
"""

from chat.llm.base import LLM
from chat.loop.act import act
from chat.loop.assemble import assemble
from chat.loop.decide import decide
from chat.loop.gate import gate
from chat.loop.observe import observe
from chat.loop.record import conclude, intend, record
from chat.loop.verify import verify
from chat.models import Turn
from chat.types import Before, Outcome


async def run_turn(turn: Turn, llm: LLM) -> Outcome:
    """Work on a turn until it ends or waits for the person."""
    before: Before | None = None
    while True:
        snapshot = await observe(turn, before)  # what is so
        decision = snapshot.pending or await decide(snapshot, assemble(snapshot), llm)
        decision = await intend(snapshot, decision)  # write before acting
        results = await act(snapshot, decision)  # the model's mistakes come back as results
        written = await record(snapshot, decision, results)  # write back before judging
        verdict = await verify(snapshot, written, llm)  # judge what was written, not what was said
        outcome = gate(snapshot, decision, verdict)
        before = await conclude(snapshot, decision, written, verdict, outcome)
        if outcome.leaves_loop:
            return outcome
