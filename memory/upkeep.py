"""One small step of memory upkeep at a time: the index, new vectors, expiry, consolidation.

what waits -> whether something was done.  Touches: outbox, consolidate.
"""

import time

from memory import consolidate, outbox

CONSOLIDATE_EVERY = 60.0  # seconds between looks for a person whose memories are due
_looked = 0.0


def round_of_upkeep() -> bool:
    """Do a little of what waits. True: there is more to do, come back soon."""
    global _looked
    done = outbox.drain()
    if time.monotonic() - _looked > CONSOLIDATE_EVERY:
        _looked = time.monotonic()
        consolidate.one_that_is_due()
    return bool(not done.fault and (done.embedded or done.indexed or done.removed))
