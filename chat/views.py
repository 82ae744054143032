"""HTTP door: the page, its fragments, and what a person does to a conversation.

request -> HTML.  Touches: conversations, turns; rows (reads).

A page includes the very fragments that a refresh returns, so that both always show the same.
"""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat import conversations, timeline, turns
from chat.conversation_list import PAGE, listing
from chat.conversation_list import entry as conversation_list_entry
from chat.errors import Refused
from chat.models import Conversation, Turn
from chat.owned import PersonRequest, conversation_of, iteration_of, signed_in
from chat.status import progress_of, standing

MOST_LISTED = 1000


@signed_in
@require_GET
def start(request: PersonRequest) -> HttpResponse:
    return redirect("conversation", conversation_id=conversations.create(request.user).id)


@signed_in
@require_POST
def new(request: PersonRequest) -> HttpResponse:
    return redirect("conversation", conversation_id=conversations.create(request.user).id)


@signed_in
@require_GET
@never_cache  # "Back" must not bring back a card that has been decided since
def conversation(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    shown = conversation_of(request, conversation_id)
    return render(
        request,
        "chat/page.html",
        {
            **_header(shown),
            "page": timeline.page(shown),
            "listing": listing(request.user),
            "examples": _examples(),
            "longest_message": str(conversations.MAX_TEXT),
        },
    )


@signed_in
@require_GET
@never_cache
def header(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    return render(request, "chat/header.html", _header(conversation_of(request, conversation_id)))


@signed_in
@require_GET
@never_cache
def turn(request: PersonRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    return _turn(request, conversation_of(request, conversation_id), turn_id)


@signed_in
@require_GET
@never_cache
def earlier_or_newer(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    """Turns before or after one that the page has: `before` and `after` are turn numbers."""
    shown = conversation_of(request, conversation_id)
    before, after = _number(request, "before"), _number(request, "after")
    page = timeline.page(shown, before=before or 0, after=after)
    return render(request, "chat/turns.html", {"conversation": shown, "page": page})


@signed_in
@require_GET
@never_cache
def iteration(request: PersonRequest, conversation_id: UUID, iteration_id: int) -> HttpResponse:
    """What an opened line of the stream shows."""
    shown = conversation_of(request, conversation_id)
    row = iteration_of(request, shown, iteration_id)
    return render(request, "chat/iteration.html", {"conversation": shown, "row": row})


@signed_in
@require_GET
@never_cache
def conversation_list(request: PersonRequest) -> HttpResponse:
    limit = min(max(_number(request, "limit") or PAGE, PAGE), MOST_LISTED)
    found = listing(request.user, request.GET.get("q", ""), limit)
    return render(request, "chat/conversations.html", {"listing": found, "current": _current(request)})


@signed_in
@require_GET
@never_cache
def entry(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    """One line of the list; with `rename`, as a form for its title."""
    shown = conversation_of(request, conversation_id)
    if "rename" in request.GET:
        return render(request, "chat/rename.html", {"conversation": shown, "current": _current(request)})
    return _entry(request, shown)


@signed_in
@require_POST
def rename(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    shown = conversation_of(request, conversation_id)
    if title := request.POST.get("title", "").strip():
        conversations.rename(shown, title)
    return _entry(request, shown)


@signed_in
@require_POST
def delete(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    conversations.delete(conversation_of(request, conversation_id))
    response = HttpResponse(status=204)
    if _current(request) == str(conversation_id):
        response["HX-Redirect"] = reverse("start")
    else:
        response["HX-Trigger"] = "conversations-changed"
    return response


@signed_in
@require_POST
def retry(request: PersonRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    shown = conversation_of(request, conversation_id)
    get_object_or_404(Turn, pk=turn_id, conversation=shown)
    return _act(request, shown, turn_id, lambda: turns.retry(request.user, turn_id))


@signed_in
@require_POST
def continue_turn(request: PersonRequest, conversation_id: UUID, turn_id: UUID) -> HttpResponse:
    shown = conversation_of(request, conversation_id)
    get_object_or_404(Turn, pk=turn_id, conversation=shown)
    return _act(request, shown, turn_id, lambda: turns.continue_with_more(request.user, turn_id))


def _act(request: PersonRequest, shown: Conversation, turn_id: UUID, act: Any) -> HttpResponse:
    """Do it, and answer with the turn as it is then; a refusal is said in it."""
    refused = ""
    try:
        act()
    except Refused as fault:
        refused = str(fault)
    response = _turn(request, shown, turn_id, refused=refused)
    response["HX-Trigger"] = "new-turns"
    return response


def _turn(request: PersonRequest, shown: Conversation, turn_id: UUID, **more: Any) -> HttpResponse:
    rows = timeline.views(Turn.objects.filter(id=turn_id, conversation=shown), request.user.id)
    if not rows:
        raise Http404
    return render(request, "chat/turn.html", {"conversation": shown, "view": rows[0], **more})


def _entry(request: PersonRequest, shown: Conversation) -> HttpResponse:
    context = {"entry": conversation_list_entry(shown), "current": _current(request)}
    response = render(request, "chat/entry.html", context)
    if request.method == "POST":
        response["HX-Trigger"] = "conversations-changed"
    return response


def _header(shown: Conversation) -> dict[str, Any]:
    latest = shown.turns.order_by("-number").only("id", "status", "end").first()
    progress = progress_of([latest.id]) if latest and latest.status == Turn.Status.RUNNING else {}
    return {
        "conversation": shown,
        "current": str(shown.id),
        "latest": latest,
        "standing": standing(latest.status, latest.end, progress.get(latest.id)) if latest else standing(None),
    }


def _current(request: PersonRequest) -> str:
    """The conversation that the page shows, as the page says."""
    try:
        return str(UUID(request.GET.get("current") or request.POST.get("current") or ""))
    except ValueError:
        return ""


def _number(request: PersonRequest, name: str) -> int | None:
    given = request.GET.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 9 else None


def _examples() -> list[str]:
    return [
        _(
            "Two nights in Xi'an from October 1. Check that day's weather first; "
            "if it rains book a suite, otherwise a standard room."
        ),
        _("Remember that I prefer quiet rooms on a high floor."),
        _("Save a note: call the accountant about the tax return before October 10."),
    ]
