"""Faults, grouped by who must act next; the docstring is the default message.

Touches: nothing (pure).
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar


class AgentError(Exception):
    """Something went wrong."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class ModelMistake(AgentError):
    """The model's call cannot be used as it is; the model is told and corrects it."""


class ToolFailed(AgentError):
    """A tool could not do what was asked; the model is told and adapts.

    what: what happened; cause: the likely cause; next: what to do next; retry: the same call may work later;
    mend: the same call would work with other values; known: argument -> the values that would do;
    quoted: what the other side said, which is data to the model.
    """

    def __init__(
        self,
        what: str,
        cause: str = "",
        next: str = "",
        *,
        retry: bool = False,
        mend: bool = False,
        known: Mapping[str, Sequence[str]] | None = None,
        quoted: str = "",
    ) -> None:
        super().__init__(what)
        self.what, self.cause, self.next, self.retry, self.quoted = what, cause, next, retry, quoted
        self.known = {name: list(values) for name, values in (known or {}).items()}
        self.mend = mend or bool(self.known)


class OutcomeUnknown(ToolFailed):
    """A call that changes something was cut off after it was sent: it may have happened or not. The person decides."""


class BudgetSpent(AgentError):
    """The budget of this turn is spent."""


class TurnCancelled(AgentError):
    """The turn was stopped."""


class LostClaim(AgentError):
    """Another worker has taken this turn over; this one must let go of it."""


class LLMUnavailable(AgentError):
    """The model's endpoint cannot be used; the operator must act.

    advice: what to do about it, in plain words.
    """

    advice: ClassVar[str] = "Check that the endpoint is running and that OPENAI_BASE_URL is right, then send again."

    def __init__(self, message: str = "", advice: str = "") -> None:
        super().__init__(message)
        self.what_to_do = advice or self.advice


class Refused(AgentError):
    """What the person asked for is no longer possible; they are told why."""


class Busy(Refused):
    """More waits than can be done soon; the same may be asked for again a little later."""
