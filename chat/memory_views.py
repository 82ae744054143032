"""HTTP door of memory: what a person does to their memories, in the panel and on the page of all.

request -> the refreshed fragment or page.  Touches: memory (its writers); rows (reads); events.
"""

import json
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat import events, panel_memory, words
from chat.owned import PersonRequest, conversation_of, signed_in
from chat.panel_views import CONFLICT, REFUSED, show
from memory import accesses, facts, forget, hygiene, past, records
from memory.kinds import registry
from memory.models import MemoryRecord, UserMemory
from memory.types import Receipt

PAGE = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What has to be said after an act."""

    notice: str = ""
    status: int = 200
    receipt: forget.ForgetReceipt | None = None


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
    return listing(request, said, "#list" if request.htmx else "")


def do(user_id: int, posted: QueryDict) -> Said:
    """One act on memories of this very person; an id of somebody else's is as good as none."""
    op = posted.get("op", "")
    if op == "add":  # the person's own entry: whatever the mode says, and what was forgotten once too
        return receipt(records.remember(user_id, posted.get("text", ""), source={"by": "person"}))
    ids = [text for text in posted.getlist("id") if panel_memory.is_uuid(text)]
    mine = [str(pk) for pk in MemoryRecord.objects.filter(user_id=user_id, pk__in=ids).values_list("pk", flat=True)]
    if not mine:
        return Said(notice=_("It is no longer there."), status=CONFLICT)
    if op == "correct":
        return receipt(records.edit(user_id, mine[0], posted.get("text", ""), user_id))
    if op in {"pin", "unpin"}:
        records.pin(user_id, mine[0], op == "pin")
        return Said()
    if op == "accept":
        return receipt(records.accept(user_id, mine[0]))
    if op == "drop":
        records.decline(user_id, mine[0])
        return Said(notice=_("Not kept, and not proposed again."))
    if op == "retire":
        records.retire(user_id, mine[0])
        return Said(notice=_("Retired: it is no longer recalled."))
    if op == "restore":
        records.restore(user_id, mine[0])
        return Said(notice=_("Back in force."))
    if op == "merge":
        return receipt(records.merge(user_id, mine))
    if op == "unmerge":
        count = records.unmerge(user_id, mine[0])
        return Said(notice=ngettext("%(n)d memory is back.", "%(n)d memories are back.", count) % {"n": count})
    if op == "forget":
        return Said(receipt=forget.forget(user_id, mine))
    return Said(notice=_("Nothing was changed."), status=REFUSED)


def receipt(done: Receipt) -> Said:
    """What became of a correction or a proposal, in words."""
    notice = f"{words.WRITTEN.get(done.status, done.status)}. {done.reason}".strip()
    return Said(notice=notice, status=REFUSED if done.status == "refused" else 200)


@signed_in
@require_POST
def set_mode(request: PersonRequest) -> HttpResponse:
    """How this person's memory learns: by itself, after asking, or not at all."""
    chosen = request.POST.get("mode", "")
    if chosen in UserMemory.Mode.values:
        records.set_mode(request.user.pk, chosen)
    return redirect("memories")


@signed_in
@require_GET
@never_cache
def memories(request: PersonRequest) -> HttpResponse:
    return listing(request, Said())


def listing(request: PersonRequest, said: Said, part: str = "") -> HttpResponse:
    asked = request.POST if request.method == "POST" else request.GET
    rows = found(request.user.pk, asked)
    page = Paginator(rows, PAGE).get_page(asked.get("page"))
    keep = QueryDict(mutable=True)
    keep.update({name: asked[name] for name in ("q", "kind", "status") if asked.get(name)})
    context = {
        "section": "memories",
        "page": page,
        "rows": [panel_memory.record_row(record) for record in page],
        "kinds": [(kind.name, kind.label) for kind in registry.all_kinds().values()],
        "statuses": MemoryRecord.Status.choices,
        "asked": {name: asked.get(name, "") for name in ("q", "kind", "status", "edit", "forget")},
        "keep": keep.urlencode() + "&" if keep else "",
        "said": said,
        "forgetting": previewed(request) if request.method == "GET" else None,
        "mode": records.mode(request.user.pk),
        "modes": UserMemory.Mode.choices,
        "accesses": accesses.of(request.user.pk, 20),
    }
    return render(request, f"memories/page.html{part}", context, status=said.status)


def previewed(request: PersonRequest) -> forget.Preview | None:
    """What forgetting would take with it: one memory, or all that fits the words searched for."""
    asked = request.GET.get("forget", "")
    if asked == "found" and request.GET.get("q", "").strip():
        return forget.preview(request.user.pk, query=request.GET["q"].strip()[:300])
    return forget.preview(request.user.pk, [asked]) if panel_memory.is_uuid(asked) else None


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
@never_cache
def hygiene_report(request: PersonRequest) -> HttpResponse:
    """What is doubled, contradicts itself, was never of use or is over, of this person's memories; and what to do about it."""
    said = Said()
    if request.method == "POST":
        said = do(request.user.pk, request.POST)
        events.tell_user_sync(request.user.pk, "memory-changed")
    report = hygiene.report([request.user.pk])
    context = {
        "section": "memories",
        "said": said,
        "report": report,
        "groups": [
            (_("The same twice"), report.duplicates),
            (_("One says the same and more"), report.near_duplicates),
            (_("Contradict each other"), report.contradictions),
        ],
    }
    return render(request, "memories/hygiene.html", context, status=said.status)


@signed_in
@require_GET
@never_cache
def then(request: PersonRequest) -> HttpResponse:
    """What was so on a day, as far as the person has told: today's without a day."""
    day = parse_day(request.GET.get("on", "")) or timezone.localdate()
    query = request.GET.get("q", "").strip()[:300]
    held = past.was_so(request.user.pk, past.end_of(day), query)
    rows = [(facts.sentence(fact), fact) for fact in held]
    return render(request, "memories/then.html", {"section": "memories", "day": day, "query": query, "rows": rows})


def parse_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


@signed_in
@require_GET
@never_cache
def export(request: PersonRequest) -> HttpResponse:
    """Everything that is kept about the person."""
    text = json.dumps(forget.export(request.user.pk), ensure_ascii=False, indent=1)
    response = HttpResponse(text, content_type="application/json; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="memories.json"'
    return response


@signed_in
def forget_everything(request: PersonRequest) -> HttpResponse:
    """Asks first; then forgets all of this person's memories and shows what was removed."""
    if request.method == "POST" and request.POST.get("sure") == "yes":
        done = forget.forget_all(request.user.pk)
        events.tell_user_sync(request.user.pk, "memory-changed")
        return render(request, "memories/forget_all.html", {"receipt": done, "section": "memories"})
    count = MemoryRecord.objects.filter(user_id=request.user.pk).count()
    context = {"count": count, "earlier": forget.forgettings(request.user.pk), "section": "memories"}
    return render(request, "memories/forget_all.html", context)
