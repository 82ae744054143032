"""How a writer says that a turn may go on, without knowing who runs turns: the port between turns and runners.

turn became ready -> whoever listens, or delivers.  Touches: nothing.

The embedded runner listens: it looks at the rows once they are in. The scaled one delivers: a job is written beside the
rows, in the same transaction. Both find by themselves what neither brought, and a guarded claim makes doubles harmless.
"""

from collections.abc import Callable

from django.db import transaction

from chat.models import Turn

_listeners: list[Callable[[], None]] = []
_deliverers: list[Callable[[Turn], None]] = []


def listen(callback: Callable[[], None]) -> None:
    """Call back after each commit that made a turn ready; in the thread that committed."""
    _listeners.append(callback)


def unlisten(callback: Callable[[], None]) -> None:
    if callback in _listeners:
        _listeners.remove(callback)


def deliver_by(deliver: Callable[[Turn], None]) -> None:
    """Call within the transaction that makes a turn ready: what it writes is there if and only if the turn is."""
    if deliver not in _deliverers:
        _deliverers.append(deliver)


def wake(turn: Turn) -> None:
    """This turn is ready. Called in the transaction that made it so."""
    for deliver in _deliverers:
        deliver(turn)

    def call() -> None:
        for listener in list(_listeners):
            listener()

    transaction.on_commit(call)
