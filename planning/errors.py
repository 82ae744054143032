"""Why a plan change is refused.

Touches: nothing (pure).
"""


class PlanRefused(Exception):
    """The plan has faults; `faults` names all of them, each in words the model can act on."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class StaleRevision(Exception):
    """The plan changed since it was read; `current` is the revision in force."""

    def __init__(self, current: int) -> None:
        super().__init__(f"The plan is at revision {current} now.")
        self.current = current
