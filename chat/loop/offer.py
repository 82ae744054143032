"""Which tools the model may call now: it follows from state, in code.

Plan, Step, replan reason -> names.  Touches: nothing (pure).

No plan: plan, ask, or finish. A step: its own tools, the tools its tools need, and the ways out. No open step: finish.
A call to anything else is refused with the reason, so that an idea of the model never widens what it may do.
"""

from collections.abc import Sequence

from planning.types import PlanView, StepView

BEFORE_PLAN = ("set_plan", "ask_user", "finish")  # and find_tools, where there are more tools than can be shown
WAYS_OUT = ("update_slots", "ask_user", "mark_step_failed")


def offered(
    plan: PlanView | None,
    step: StepView | None,
    replan: str,
    *,
    may_revise: bool,
    may_finish: bool,
    new_words: bool,
    more_tools: bool = False,
    beside: Sequence[StepView] = (),
) -> tuple[str, ...]:
    search = ("find_tools",) if more_tools else ()
    if plan is None:
        return (*BEFORE_PLAN, *search)
    revise = ("revise_plan",) if may_revise else ()
    if replan:
        # A model that may give up at the first failure does so.
        return (*revise, "ask_user", *search, *(("finish",) if may_finish else ())) if may_revise else ("finish",)
    if step is None:
        return ("finish", *(revise if new_words else ()))
    # The plan may be changed after a failure or when the person said something; else a choice less keeps it to the step.
    tools = dict.fromkeys([*step.tools, *(name for other in beside for name in other.tools)])
    return (*tools, *WAYS_OUT, *(revise if step.attempts or new_words else ()))


def unread(step: StepView | None, *, only_reads: bool, tried: Sequence[str], mendable: bool) -> frozenset[str]:
    """What may be called and is not described yet, for every schema is paid in each request of the step.

    Giving a step up is no choice before something went wrong in it; nor is asking where a try costs nothing: a read.
    A call that would do with other values is made again, and changes no plan: a small model that may note the fault
    notes it for ever, and one that may give up does so at once.
    """
    if mendable:
        give_up = {"mark_step_failed", "ask_user"} if tried.count("failed") == 1 else set()
        return frozenset({"update_slots", "revise_plan", *give_up})
    if step is None or step.attempts or any(status != "succeeded" for status in tried):
        return frozenset()
    return frozenset({"mark_step_failed", "ask_user"} if only_reads else {"mark_step_failed"})


def why_not(tool: str, plan: PlanView | None, step: StepView | None, names: tuple[str, ...]) -> str:
    """What the model is told about a call that was not offered."""
    choice = ", ".join(names)
    if plan is None:
        return f"{tool} cannot be called before there is a plan. Call set_plan with a step that uses {tool}. Offered now: {choice}."
    if step is None:
        return f"{tool} is not offered: no step is open. Offered now: {choice}."
    return f"{tool} is not offered in step {step.index} ({step.title}). Offered now: {choice}."


def step_keys(step: StepView, beside: Sequence[StepView], calls: Sequence[str]) -> list[str]:
    """Which step each call of a decision belongs to: one for each step that may use the tool, in order; else the one in focus."""
    free = [step, *beside]
    found = []
    for tool in calls:
        mine = next((one for one in free if tool in one.tools), None)
        if mine is not None:
            free.remove(mine)
        found.append(mine.key if mine else step.key)
    return found
