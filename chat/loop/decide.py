"""Context -> Decision: ask the model for the next step, typing its text on the way.

Context -> Decision.  Touches: the model, events.
"""

import re
import time

from django.conf import settings

from chat.errors import LLMUnavailable
from chat.llm.arguments import parse_arguments
from chat.llm.base import LLM, ContextTooLong, Request
from chat.loop.assemble import assemble
from chat.loop.typist import Typist
from chat.types import Call, Context, Decision, RawCall, Reply, Snapshot

SHRINK = 0.6  # of the tokens, each time the endpoint says that the request is too long
MAX_CALLS = 12  # of one reply; a flood beyond it is refused call by call


async def decide(snapshot: Snapshot, context: Context, llm: LLM) -> Decision:
    """Raises LLMUnavailable when the endpoint gave nothing that can be used."""
    started = time.monotonic()
    typist = Typist(snapshot)
    reply, context = await _ask(snapshot, context, llm, typist)
    await typist.flush()
    typist.close()  # a turn that is stopped or fails before this leaves what was typed to the runner
    if reply.finish == "cut":
        raise CutOff(typist.text)
    calls = tuple(_call(raw, cut=reply.finish == "length") for raw in reply.calls)
    return Decision(
        calls=calls,
        text=reply.text.strip(),
        reply=reply,
        context=context,
        model_ms=round((time.monotonic() - started) * 1000),
    )


class CutOff(LLMUnavailable):
    """The endpoint's answer ended half-way."""

    advice = "What had arrived is kept above. Try again; if it happens often, look at the endpoint's log."

    def __init__(self, partial: str) -> None:
        super().__init__()
        self.partial = partial


async def _ask(snapshot: Snapshot, context: Context, llm: LLM, typist: Typist) -> tuple[Reply, Context]:
    """One reply; a request that is too long is shortened and sent again, never the same one twice."""
    for _attempt in range(3):
        request = Request(
            messages=context.messages,
            tools=context.tools,
            must_call=context.must_call,
            max_tokens=settings.AGENT_REPLY_TOKENS,
        )
        try:
            reply = await llm.reply(request, on_text=typist.thought, on_call=typist.call, on_notice=typist.notice)
            return reply, context
        except ContextTooLong as fault:
            smaller = assemble(snapshot, tokens=int(min(fault.limit or context.tokens, context.tokens) * SHRINK))
            if smaller.messages == context.messages:
                raise
            context = smaller
    raise ContextTooLong


def _call(raw: RawCall, *, cut: bool) -> Call:
    name = re.sub(r"<\|.*", "", raw.name).strip()
    if cut:
        return Call(
            tool=name, args={}, fault="The reply reached its token limit, so this call was not run. Make it shorter."
        )
    args = parse_arguments(raw.arguments)
    if isinstance(args, str):
        return Call(tool=name, args={}, fault=args)
    return Call(tool=name, args=args)
