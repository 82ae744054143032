"""Fetch what the signed-in person owns, or 404.

request, id -> row.  Touches: rows (reads).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, resolve_url
from django_htmx.middleware import HtmxDetails

from chat.models import Approval, Conversation, Grant, Iteration, ToolCall


class PersonRequest(HttpRequest):
    """A request of somebody who is signed in."""

    user: User
    htmx: HtmxDetails


View = Callable[..., HttpResponse]


def signed_in(view: View) -> View:
    """Send a stranger to the login page. A fragment request moves the whole page there, never the fragment."""

    @wraps(view)
    def inner(request: PersonRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if not request.htmx:
            return redirect_to_login(request.get_full_path())
        back = request.htmx.current_url_abs_path or "/"
        response = HttpResponse(status=401)
        response["HX-Redirect"] = f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': back})}"
        return response

    return inner


def conversation_of(request: PersonRequest, conversation_id: UUID) -> Conversation:
    return get_object_or_404(Conversation, pk=conversation_id, user=request.user)


def approval_of(request: PersonRequest, approval_id: UUID) -> Approval:
    rows = Approval.objects.select_related(
        "call__iteration", "call__turn__conversation", "turn__conversation", "decided_by"
    )
    return get_object_or_404(rows, pk=approval_id, turn__conversation__user=request.user)


def call_of(request: PersonRequest, call_id: UUID) -> ToolCall:
    rows = ToolCall.objects.select_related("iteration", "turn__conversation")
    return get_object_or_404(rows, pk=call_id, turn__conversation__user=request.user)


def iteration_of(request: PersonRequest, conversation: Conversation, iteration_id: int) -> Iteration:
    rows = Iteration.objects.select_related("turn__conversation").prefetch_related("calls")
    return get_object_or_404(rows, pk=iteration_id, turn__conversation=conversation)


def grant_of(request: PersonRequest, grant_id: int) -> Grant:
    return get_object_or_404(Grant, pk=grant_id, conversation__user=request.user)
