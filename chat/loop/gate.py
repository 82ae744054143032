"""The pure rule that ends an iteration: continue, pause, finish or stop, with the reason.

Snapshot, Decision, Verdict -> Outcome.  Touches: nothing (pure).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from chat.errors import ModelMistake
from chat.tools import arguments, registry
from chat.types import Call, CallView, Decision, Outcome, Snapshot, Usage, Verdict


def gate(snapshot: Snapshot, decision: Decision, verdict: Verdict) -> Outcome:
    """What the person waits for comes first, then the end, then the limits, and else the loop goes on."""
    if verdict.answer is not None:
        return Outcome(kind="finish", reason=_("The task was answered."), answer=verdict.answer)
    if verdict.waiting:
        return Outcome(kind="pause", waits_for="approval", reason=_("An action waits for your approval."))
    if verdict.question:
        return Outcome(kind="pause", waits_for="user", reason=verdict.question)
    if verdict.plan_unapproved:
        return Outcome(kind="pause", waits_for="user", reason=_("The plan waits for your approval."))
    if snapshot.plain_text_before and decision.reply and not decision.calls and not decision.text:
        reason = _(
            "The model gave an empty reply again and again. Look at the endpoint's log, or choose another model."
        )
        return _stop("repeats", reason)
    stop = limit(snapshot, used(snapshot, decision, verdict), actions(snapshot, decision))
    if stop and stop.gate == "repeats" and decision.reply and decision.reply.finish == "length":
        # What repeats is the cut, not the action: no call of a cut reply is run.
        return _stop("repeats", _("The model's replies reached their token limit each time (AGENT_REPLY_TOKENS)."))
    return stop or Outcome(kind="continue")


def used(snapshot: Snapshot, decision: Decision, verdict: Verdict) -> Usage:
    """What the turn has used, this iteration included."""
    before, reply = snapshot.usage, decision.reply
    calls = [use for use in (reply.usage if reply else None, verdict.use) if use is not None]
    costs = [use.cost for use in calls if use.cost is not None]
    return Usage(
        iterations=max(before.iterations, snapshot.number),
        tokens=before.tokens + sum(use.prompt + use.reply for use in calls),
        seconds=before.seconds + decision.model_ms / 1000,
        cost=(before.cost or 0.0) + sum(costs) if costs or before.cost is not None else None,
        revisions=before.revisions,
    )


def actions(snapshot: Snapshot, decision: Decision) -> tuple[str, ...]:
    """What the turn did, oldest first, one mark an action: the tool and its exact arguments."""
    # A decision taken up again after a pause is among the recent calls already.
    new = [f"{call.tool} {sorted(_effective(call).items())}" for call in decision.calls] if decision.reply else []
    return (*(mark(call) for call in snapshot.recent), *new)


def _effective(call: Call) -> Mapping[str, Any]:
    """The arguments as the recent calls hold them, with defaults; as they came where they could not be used."""
    contract = registry.find(call.tool)
    try:
        return arguments.effective(contract, call.args).args if contract and not call.fault else call.args
    except ModelMistake:
        return call.args


def mark(call: CallView) -> str:
    return f"{call.tool} {sorted(call.args.items())}"


def limit(snapshot: Snapshot, usage: Usage, actions: Sequence[str]) -> Outcome | None:
    """The first limit that is reached, named in plain words with the figures."""
    limits = snapshot.limits
    if (times := repeats(actions)) >= limits.repeats:
        name = actions[-1].split(" ", 1)[0]
        return _stop(
            "repeats",
            _("%(tool)s was called %(times)s times in a row with the same arguments.") % {"tool": name, "times": times},
        )
    if (length := cycle(actions)) and limits.repeats > 1:
        return _stop(
            "repeats", _("The same %(length)s actions went round %(times)s times.") % {"length": length, "times": 3}
        )
    if usage.iterations >= limits.iterations:
        return _stop("iterations", _("All %(limit)s iterations of this turn are used.") % {"limit": limits.iterations})
    if usage.tokens >= limits.tokens:
        return _stop(
            "tokens", _("%(used)s of %(limit)s tokens are used.") % {"used": usage.tokens, "limit": limits.tokens}
        )
    if usage.seconds >= limits.seconds:
        return _stop("seconds", _("The working time of %(limit)s seconds is over.") % {"limit": round(limits.seconds)})
    if usage.cost is not None and usage.cost >= limits.cost:
        return _stop("cost", _("$%(used).3f of $%(limit).2f are spent.") % {"used": usage.cost, "limit": limits.cost})
    if usage.revisions > limits.revisions:
        return _stop("revisions", _("The plan was revised %(limit)s times.") % {"limit": limits.revisions})
    return None


def repeats(actions: Sequence[str]) -> int:
    """How often the last action was done in a row."""
    count = 0
    for action in reversed(actions):
        if action != actions[-1]:
            break
        count += 1
    return count


def cycle(actions: Sequence[str]) -> int:
    """The length (2 or 3) of a group of different actions that the turn has just done three times; 0: none."""
    for length in (2, 3):
        tail = tuple(actions[-3 * length :])
        group = tail[:length]
        if len(tail) == 3 * length and len(set(group)) > 1 and tail == group * 3:
            return length
    return 0


def _stop(gate: str, reason: str) -> Outcome:
    return Outcome(kind="stop", gate=gate, reason=reason)
