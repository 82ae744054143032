"""Which panels exist, and what each draws: rebuilt from rows, with no new search.

panel name, Conversation, options -> HTML.  Touches: rows (reads).

The files in templates/panels are the allow-list. A panel of its own needs a template; a reader here only when it
draws more than the conversation and its newest turn.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest
from django.template.loader import render_to_string

from chat import panel_memory, panel_plan, panel_state, panel_trace
from chat.models import Conversation, Turn

Options = Mapping[str, str]
Reader = Callable[[Conversation, Turn | None, Options], dict[str, Any]]

READERS: dict[str, Reader] = {
    "plan": panel_plan.read,
    "state": panel_state.read,
    "memory": panel_memory.read,
    "trace": panel_trace.read,
}


@cache
def names() -> frozenset[str]:
    return frozenset(path.stem for path in Path(settings.BASE_DIR, "templates", "panels").glob("*.html"))


def context(name: str, conversation: Conversation, options: Options) -> dict[str, Any]:
    """What one panel draws. Raises Http404 for a name that is no panel."""
    if name not in names():
        raise Http404
    turn = conversation.turns.order_by("-number").first()
    drawn = READERS[name](conversation, turn, options) if name in READERS else {}
    return {"conversation": conversation, "turn": turn, "options": options, **drawn}


def render(name: str, conversation: Conversation, options: Options, request: HttpRequest, **more: Any) -> str:
    return render_to_string(f"panels/{name}.html", context(name, conversation, options) | more, request=request)
