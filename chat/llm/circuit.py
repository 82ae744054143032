"""Leave an endpoint alone that is down, or that asks to be: one circuit for each address, shared by all turns of a process.

what became of each request -> whether the next may be sent now, later, or not at all.  Touches: nothing (pure).

Closed: requests go through. After some faults in a row it opens: turns are told at once, instead of each waiting for the
same silence. When its time is over one request is let through to see; it closes the circuit, or keeps it open for longer.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from chat.errors import LLMUnavailable
from chat.llm.faults import LONGEST_WAIT, Fault

FAULTS = 5  # in a row, of an endpoint that is down or silent
OPEN_SECONDS, LONGEST_OPEN = 10.0, 120.0  # doubled each time that it is still down
PROBE_SECONDS = 30.0  # after which one that was let through to see counts as lost


@dataclass(slots=True, kw_only=True)
class Circuit:
    """One endpoint as this process has seen it lately."""

    where: str
    clock: Callable[[], float] = time.monotonic
    faults: int = 0  # in a row
    opened: int = 0  # in a row
    looking: bool = False  # one was let through to see
    next_try: float = 0.0  # while it is open
    quiet_until: float = 0.0  # the endpoint asked to wait

    def admit(self) -> float:
        """Seconds to wait before the next request; 0: send it now. Raises LLMUnavailable while the circuit is open."""
        now = self.clock()
        if self.faults >= FAULTS:
            if now < self.next_try:
                raise self._open(self.next_try - now)
            self.looking, self.next_try = True, now + PROBE_SECONDS  # this one goes through, the others not yet
        return max(0.0, self.quiet_until - now)

    def answered(self) -> None:
        """Something came back, were it a refusal: the endpoint is alive."""
        self.faults = self.opened = 0
        self.looking = False

    def failed(self, fault: Fault) -> None:
        if fault.kind == "busy" and fault.wait:
            self.quiet_until = max(self.quiet_until, self.clock() + min(fault.wait, LONGEST_WAIT))
        if fault.kind == "broken":
            return  # it answers, badly: that says nothing of the next request
        if fault.kind != "down":
            self.answered()
            return
        self.faults += 1
        # Requests that were under way when it opened fail one after the other; only a look keeps it open for longer.
        if self.faults == FAULTS or self.looking:
            self.opened, self.looking = self.opened + 1, False
            self.next_try = self.clock() + min(LONGEST_OPEN, OPEN_SECONDS * 2.0 ** (self.opened - 1))

    def _open(self, seconds: float) -> LLMUnavailable:
        what = _("The endpoint %(where)s failed %(times)d times in a row; it is tried again in %(seconds)d s.")
        values = {"where": self.where, "times": self.faults, "seconds": max(1, round(seconds))}
        return LLMUnavailable(what % values, _("Send again then. If it stays so, look at the endpoint's log."))
