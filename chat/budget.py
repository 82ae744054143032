"""What a turn may use, and what is left.

settings, Turn -> Limits, Usage.  Touches: nothing (pure).
"""

from dataclasses import asdict
from typing import Any

from django.conf import settings

from chat.types import Limits, Usage


def from_settings() -> dict[str, Any]:
    """The limits a new turn starts with, as stored on its row."""
    return asdict(
        Limits(
            iterations=settings.AGENT_MAX_ITERATIONS,
            tokens=settings.AGENT_MAX_TOKENS,
            seconds=settings.AGENT_MAX_SECONDS,
            cost=settings.AGENT_MAX_COST,
            repeats=settings.AGENT_MAX_REPEATS,
            revisions=settings.AGENT_MAX_REVISIONS,
            step_iterations=settings.AGENT_STEP_ITERATIONS,
        )
    )


def limits(stored: dict[str, Any]) -> Limits:
    return Limits(**{**from_settings(), **stored})


def larger(stored: dict[str, Any]) -> dict[str, Any]:
    """The limits after the person chose to go on: each grows by the original amount."""
    first = from_settings()
    now = {**first, **stored}
    grown = {name: now[name] + first[name] for name in ("iterations", "tokens", "seconds", "cost", "revisions")}
    return {**now, **grown}


def near(limits: Limits, usage: Usage) -> str:
    """What the model is told when little is left; empty while there is enough."""
    left = limits.iterations - usage.iterations
    tokens = limits.tokens - usage.tokens
    if left <= 3:
        return f"Only {max(left, 0)} iterations are left in this turn: take the shortest way to a useful answer."
    if tokens < limits.tokens * 0.15:
        return f"Only about {max(tokens, 0)} tokens are left in this turn: be brief."
    return ""
