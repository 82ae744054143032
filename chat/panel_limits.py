"""The gate board: what the newest turn has used of each limit, and the gate that ended it.

Turn -> gauges.  Touches: rows (reads).
"""

from dataclasses import dataclass

from chat import budget, words
from chat.models import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    name: str
    label: str
    used: float
    limit: float
    text: str
    known: bool = True
    level: str = ""  # near, over
    ended: bool = False  # this gate ended the turn


def gauges(turn: Turn | None, *, revisions: int) -> list[Gauge]:
    """The gate board: what the turn has used of each limit, and the gate that ended it."""
    if turn is None:
        return []
    limits, tokens = budget.limits(turn.limits), turn.prompt_tokens + turn.reply_tokens
    repeats = same_in_a_row(turn, limits.repeats)
    figures: list[tuple[str, float, float, str]] = [
        ("iterations", turn.iterations_used, limits.iterations, f"{turn.iterations_used} / {limits.iterations}"),
        ("tokens", tokens, limits.tokens, f"{words.count(tokens)} / {words.count(limits.tokens)}"),
        ("seconds", turn.seconds, limits.seconds, f"{words.clock(turn.seconds)} / {words.clock(limits.seconds)}"),
        ("cost", turn.cost or 0, limits.cost, f"{words.money(turn.cost)} / {limits.cost:.2f}"),
        ("revisions", revisions, limits.revisions, f"{revisions} / {limits.revisions}"),
        ("repeats", repeats, limits.repeats, f"{repeats} / {limits.repeats}"),
    ]
    return [gauge(turn, *figure) for figure in figures]


def gauge(turn: Turn, name: str, used: float, limit: float, text: str) -> Gauge:
    known = name != "cost" or turn.cost is not None
    level = "over" if limit and used >= limit else "near" if limit and used >= 0.85 * limit else ""
    return Gauge(
        name=name,
        label=str(words.GATES[name]),
        used=used,
        limit=limit,
        text=text if known else words.money(None),
        known=known,
        level=level,
        ended=turn.gate == name,
    )


def same_in_a_row(turn: Turn, limit: int) -> int:
    """How often the newest action stands at the end, one after the other; done once, it is no repeat."""
    recent = list(turn.calls.order_by("-iteration_id", "-index").values_list("tool", "digest")[: max(limit, 1)])
    times = next((n for n, call in enumerate(recent) if call != recent[0]), len(recent))
    return times if times > 1 else 0
