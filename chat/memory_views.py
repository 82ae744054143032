"""HTTP door of memory: what a person does to their memories, in the panel and on the page of all.

request -> the refreshed fragment or page.  Touches: memory (its writers); rows (reads); events.
"""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat import events, panel_memory
from chat.owned import PersonRequest, conversation_of, signed_in
from chat.panel_views import CONFLICT, REFUSED, show
from memory import forget, records
from memory.models import MemoryRecord

PAGE = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What has to be said after an act."""

    notice: str = ""
    status: int = 200
    receipt: dict[str, Any] | None = None


@signed_in
@require_POST
def panel_act(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    """Correct, forget, pin, keep or drop, from the Memory panel."""
    conversation = conversation_of(request, conversation_id)
    said = do(request.user.pk, request.POST)
    events.tell_sync(conversation.pk, "memory-changed")
    return show(request, conversation, "memory", notice=said.notice, status=said.status, receipt=said.receipt)


@signed_in
@require_POST
def act(request: PersonRequest) -> HttpResponse:
    """The same from the page of all memories."""
    said = do(request.user.pk, request.POST)
    events.tell_user_sync(request.user.pk, "memory-changed")
    return listing(request, said)


def do(user_id: int, posted: QueryDict) -> Said:
    """One act on memories of this very person; an id of somebody else's is as good as none."""
    op = posted.get("op", "")
    ids = [text for text in posted.getlist("id") if panel_memory.is_uuid(text)]
    mine = [str(pk) for pk in MemoryRecord.objects.filter(user_id=user_id, pk__in=ids).values_list("pk", flat=True)]
    if not mine:
        return Said(notice=_("It is no longer there."), status=CONFLICT)
    if op == "correct":
        text = posted.get("text", "").strip()
        if not text:
            return Said(notice=_("A memory needs words; to be rid of it, forget it."), status=REFUSED)
        records.edit(user_id, mine[0], text, by=user_id)
        return Said(notice=_("Corrected. The agent uses the new words from now on."))
    if op in {"pin", "unpin"}:
        records.pin(user_id, mine[0], op == "pin")
        return Said()
    if op in {"accept", "restore"}:
        records.restore(user_id, mine[0])
        return Said(notice=_("Kept."))
    if op == "drop":
        records.retire(user_id, mine[0], _("not wanted"))
        return Said(notice=_("Not kept."))
    if op == "forget":
        return Said(receipt=receipt_of(forget.forget(user_id, mine)))
    return Said(notice=_("Nothing was changed."), status=REFUSED)


def receipt_of(receipt: Any) -> dict[str, Any]:
    return {"title": _("Forgotten."), "lines": []}


@signed_in
@require_GET
@never_cache
def memories(request: PersonRequest) -> HttpResponse:
    return listing(request, Said())


def listing(request: PersonRequest, said: Said) -> HttpResponse:
    asked = request.POST if request.method == "POST" else request.GET
    rows = found(request.user.pk, asked)
    page = Paginator(rows, PAGE).get_page(asked.get("page"))
    keep = QueryDict(mutable=True)
    keep.update({name: asked[name] for name in ("q", "kind", "status") if asked.get(name)})
    context = {
        "section": "memories",
        "page": page,
        "rows": [panel_memory.record_row(record) for record in page],
        "kinds": MemoryRecord.objects.filter(user_id=request.user.pk).values_list("kind", flat=True).distinct(),
        "statuses": MemoryRecord.Status.choices,
        "asked": {name: asked.get(name, "") for name in ("q", "kind", "status", "edit", "forget")},
        "keep": keep.urlencode() + "&" if keep else "",
        "said": said,
    }
    return render(request, "memories/page.html", context, status=said.status)


def found(user_id: int, asked: QueryDict) -> QuerySet[MemoryRecord]:
    rows = MemoryRecord.objects.filter(user_id=user_id).defer("vector", "tokens")
    if asked.get("kind"):
        rows = rows.filter(kind=asked["kind"])
    if asked.get("status") in MemoryRecord.Status.values:
        rows = rows.filter(status=asked["status"])
    for word in asked.get("q", "").split()[:10]:
        rows = rows.filter(text__icontains=word)
    return rows.order_by("-pinned", "-created_at", "pk")


@signed_in
@require_GET
@never_cache
def export(request: PersonRequest) -> HttpResponse:
    rows = MemoryRecord.objects.filter(user_id=request.user.pk).prefetch_related("facts", "edits")
    body = {"memories": [exported(record) for record in rows.defer("vector", "tokens").order_by("created_at")]}
    text = json.dumps(body, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
    response = HttpResponse(text, content_type="application/json; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="memories.json"'
    return response


def exported(record: MemoryRecord) -> dict[str, Any]:
    names = ("id", "kind", "text", "confidence", "status", "pinned", "source", "retired_because", "expires_at",
             "recalled", "recalled_at", "created_at", "updated_at", "conversation_id", "superseded_by_id")  # fmt: skip
    facts = ("subject", "attribute", "value", "many", "valid_from", "valid_to")
    return {
        **{name: getattr(record, name) for name in names},
        "facts": [{name: getattr(fact, name) for name in facts} for fact in record.facts.all()],
        "earlier_texts": [{"text": edit.before, "at": edit.at} for edit in record.edits.all()],
    }


@signed_in
def forget_everything(request: PersonRequest) -> HttpResponse:
    """Asks first; then forgets all of this person's memories and shows what was removed."""
    if request.method == "POST" and request.POST.get("sure") == "yes":
        receipt = receipt_of(forget.forget_all(request.user.pk))
        events.tell_user_sync(request.user.pk, "memory-changed")
        return render(request, "memories/forget_all.html", {"receipt": receipt, "section": "memories"})
    count = MemoryRecord.objects.filter(user_id=request.user.pk).count()
    return render(request, "memories/forget_all.html", {"count": count, "section": "memories"})
