"""Tools, drafts and steps that the planning tests speak of.

Touches: nothing (pure).
"""

from typing import Any
from uuid import uuid4

from planning.drafts import PlanDraft, StepDraft
from planning.types import Evidence, StepView, ToolFacts


def fact(name: str, purpose: str, tier: str = "read", **more: Any) -> ToolFacts:
    return ToolFacts(name=name, tier=tier, purpose=purpose, **more)


TOOLS = {
    facts.name: facts
    for facts in (
        fact(
            "get_weather",
            "Tell the weather of a day.",
            checks=({"kind": "result_matches", "schema": {"type": "object", "required": ["condition"]}},),
        ),
        fact(
            "search_hotels",
            "Find hotels.",
            checks=({"kind": "result_matches", "schema": {"type": "object", "required": ["hotels"]}},),
        ),
        fact("book_hotel", "Book a room.", "write", needs=("search_hotels",), choices=(("suite", "standard"),)),
        fact("calculate", "Work out a sum."),
        fact("read_file", "Read a file."),
        fact("write_file", "Save a text to a file.", "write"),
        fact("now", "Tell the time."),
    )
}


def draft(*steps: Any, **more: Any) -> PlanDraft:
    """("title", "tool") or ("title", "tool", [1, 2]) or anything a StepDraft is made from."""
    made = [
        dict(zip(("title", "tool", "after"), step, strict=False)) if isinstance(step, tuple) else step for step in steps
    ]
    return PlanDraft.model_validate({"steps": made, **more})


def step(title: str, tool: str, status: str = "pending", **more: Any) -> StepView:
    given: dict[str, Any] = {
        "key": uuid4().hex[:8],
        "index": 1,
        "depends_on": (),
        "attempts": 0,
        "iterations": 0,
        "note": "",
        "found": "",
        "checks": (),
    }
    return StepView(**{**given, "title": title, "tools": (tool,), "status": status, **more})


def evidence(tool: str, result: Any, *, succeeded: bool = True) -> Evidence:
    return Evidence(call_id=uuid4(), tool=tool, succeeded=succeeded, result=result)


def one(title: str = "Look", tool: str = "now", **more: Any) -> StepDraft:
    return StepDraft.model_validate({"title": title, "tool": tool, **more})
