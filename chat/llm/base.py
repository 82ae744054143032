"""One protocol for every model: a Request goes in, text streams past, a Reply comes back.

Request -> Reply.  Touches: nothing (pure).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from chat.errors import LLMUnavailable
from chat.types import Json, Reply

# kind ("answer": the text of the reply; "thought": the model's reasoning) and what of it is new.
OnText = Callable[[str, str], Awaitable[None] | None]
# number of the call in the reply, the tool's name, and its arguments so far (JSON text, perhaps incomplete).
OnCall = Callable[[int, str, str], Awaitable[None] | None]
# a sentence for the person: "The endpoint is busy; trying again in 2 s."
OnNotice = Callable[[str], Awaitable[None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model."""

    messages: tuple[Json, ...]  # in the form of the chat completions API, the system message first
    tools: tuple[Json, ...] = ()  # function schemas
    must_call: bool = False  # a call is required, not only allowed
    schema: Json | None = None  # JSON Schema that the text of the reply must fit
    max_tokens: int
    temperature: float = 0.0


class ContextTooLong(LLMUnavailable):
    """The request is longer than the model can read.

    Shorten it and send again. limit, sent: tokens as the endpoint counts them; 0 when it does not say.
    """

    advice = "Start a new conversation, or give the model a larger context (and set AGENT_CONTEXT_TOKENS to match)."

    def __init__(self, message: str = "", *, limit: int = 0, sent: int = 0) -> None:
        super().__init__(message)
        self.limit, self.sent = limit, sent


class LLM(Protocol):
    """A model as the loop sees it. Cancelling `reply` closes the stream to the endpoint at once."""

    @property
    def name(self) -> str:
        """What the person is shown: "qwen-1.5b · localhost"."""

    @property
    def is_demo(self) -> bool:
        """Whether rules stand in for a language model."""

    async def reply(
        self,
        request: Request,
        *,
        on_text: OnText | None = None,
        on_call: OnCall | None = None,
        on_notice: OnNotice | None = None,
    ) -> Reply:
        """Ask the model. Raises LLMUnavailable, or ContextTooLong when a shorter request may work."""
