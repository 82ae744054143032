"""How a writer says that a turn may go on, without knowing who runs turns.

turn became ready -> whoever listens.  Touches: nothing.
"""

from collections.abc import Callable

from django.db import transaction

_listeners: list[Callable[[], None]] = []


def listen(callback: Callable[[], None]) -> None:
    _listeners.append(callback)


def unlisten(callback: Callable[[], None]) -> None:
    if callback in _listeners:
        _listeners.remove(callback)


def wake() -> None:
    """Tell the runner of this process to look now, once the transaction is in. A poll finds the rest."""

    def call() -> None:
        for listener in list(_listeners):
            listener()

    transaction.on_commit(call)
