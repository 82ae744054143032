"""Run a short Python program in a sandbox: an interpreter of its own, without files, network or imports to escape by.

code, inputs -> value, printed text.  Touches: a worker process that is thrown away afterwards.
"""

import json
from typing import Any

from pydantic import Field

from chat.errors import ToolFailed
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext

SECONDS = 2.0
MEMORY = 64 << 20
PRINTED = 20_000  # bytes
LIMITS = {
    "max_feed_duration_secs": SECONDS,
    "max_memory": MEMORY,
    "max_recursion_depth": 200,
    "max_suspensions": 100,
    "max_total_sleep_secs": 0.5,
}


class RunPythonArgs(Args):
    code: str = Field(description="the program; its last expression is the result", min_length=1, max_length=20_000)
    inputs: dict[str, Any] = Field(default_factory=dict, description="values the program reads by name")


async def run(args: RunPythonArgs, ctx: ToolContext) -> Done:
    import pydantic_monty as monty  # starts worker processes: only when it is used

    printed = monty.CollectString(PRINTED)
    try:
        # A pool for one call: a worker that was driven into a corner serves nobody else.
        async with (
            monty.AsyncMonty(min_processes=1, max_processes=1, request_timeout=SECONDS + 5) as pool,
            pool.checkout(limits=LIMITS) as session,  # type: ignore[arg-type]
        ):
            value = await session.feed_run(args.code, inputs=args.inputs, print_callback=printed)
    except monty.MontySyntaxError as fault:
        raise ToolFailed(
            f"The program is not valid: {_first(fault)}", next="Mend it and run it again.", mend=True
        ) from fault
    except monty.MontyCrashedError as fault:
        what = "The program was ended: it used too much time or memory."
        raise ToolFailed(what, next="Use a smaller input or a faster way.", mend=True) from fault
    except monty.MontyError as fault:
        raise ToolFailed(
            f"The program failed: {_first(fault)}", _cause(fault), "Mend it and run it again.", mend=True
        ) from fault
    data = {"value": _json(value), "printed": printed.output}
    shown = printed.output.strip() or json.dumps(data["value"], ensure_ascii=False)
    return Done(data=data, summary=shown[:120])


def _first(fault: BaseException) -> str:
    lines = [line for line in str(fault).strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(fault).__name__


def _cause(fault: BaseException) -> str:
    text = str(fault)
    if "TimeoutError" in text or "MemoryError" in text:
        return f"A program may use {SECONDS:g} seconds and {MEMORY >> 20} MB."
    if any(word in text for word in ("PermissionError", "ModuleNotFoundError", "NameError", "AttributeError")):
        return "There are no files, no network and few modules (json, re, math, datetime, collections, itertools, statistics is not there)."
    return ""


def _json(value: Any) -> Any:
    """The value as JSON, cut to a size that a context can hold."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(str(value)[:PRINTED])
    return json.loads(text) if len(text) <= PRINTED else text[:PRINTED]


CONTRACT = Contract(
    name="run_python",
    purpose="Compute with a short Python program on given values (no files, no network).",
    not_for="saving or reading anything",
    args=RunPythonArgs,
    run=run,
    tier=Tier.READ,
    returns={"type": "object", "required": ["value"]},
    returns_empty='{"value": null}: the last line is no expression',
    failures=(FailureMode(when="the program fails or takes too long", advice="mend it, or use a smaller input"),),
    cost="free",
    latency=f"at most {SECONDS:g} seconds",
    timeout=15,
    repeatable=True,
)
