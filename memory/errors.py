"""Why a change of what is known is refused.

Touches: nothing (pure).
"""


class SlotRefused(Exception):
    """A change of the state slots is not valid; `faults` says why, each in words the author can act on."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class MemoryRefused(Exception):
    """A memory cannot be changed as asked; the message is for the person."""


class EmbedderDown(Exception):
    """Texts cannot be turned into vectors now; search by words goes on."""


class IndexDown(Exception):
    """The vector index cannot be used now; exact search goes on."""


class DocumentRefused(Exception):
    """A file cannot be taken in; the message is for the person."""
