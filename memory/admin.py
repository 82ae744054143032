"""The admin's upkeep of memories: find, edit, retire, restore, merge, forget; every look is logged for the person.

a staff member's act -> records, forget, outbox.  Touches: reads; all writes go through their writers.

An edit embeds anew and keeps history; a deletion is a forgetting, "delete selected" too: index, stored copies and
receipts go with it. Permissions are those of this room alone: upkeep of memories shows no conversation.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from unfold.admin import ModelAdmin, TabularInline

from memory import accesses, documents, facts, forget, hygiene, outbox, records
from memory.errors import IndexDown
from memory.kinds import registry
from memory.models import Document, EntityFact, Forgetting, MemoryAccess, MemoryRecord, RecordEdit
from memory.recall import recall, source_words

FOUND = 20  # memories of one person that a search by meaning adds
MONTHS = 24  # back, that "true in" offers
MOST_PEOPLE = 25  # whose memories one search looks into by meaning, each person's by itself


class NeverRecalled(admin.SimpleListFilter):
    title = lazy("recalled")
    parameter_name = "recalled"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("never", _("Never")), ("yes", _("At least once"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> QuerySet[MemoryRecord]:
        if self.value() == "never":
            return queryset.filter(recalled=0)
        return queryset.filter(recalled__gt=0) if self.value() == "yes" else queryset


class SourceOf(admin.SimpleListFilter):
    title = lazy("source")
    parameter_name = "by"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        words = {"person": _("The person"), "agent": _("The agent"), "tool": _("A tool"), "staff": _("Staff")}
        return [*words.items(), ("code", _("The product"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> QuerySet[MemoryRecord]:
        return queryset.filter(source__by=self.value()) if self.value() else queryset


class TrueIn(admin.SimpleListFilter):
    """ "What was true in May?": facts in force at some time of that month."""

    title = lazy("true in")
    parameter_name = "true_in"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        first = timezone.localdate().replace(day=1)
        months = [
            first := first if number == 0 else (first - timedelta(days=1)).replace(day=1) for number in range(MONTHS)
        ]
        return [("now", _("now")), *((f"{month:%Y-%m}", date_format(month, "YEAR_MONTH_FORMAT")) for month in months)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[EntityFact]) -> QuerySet[EntityFact]:
        if self.value() == "now":
            return queryset.filter(valid_to=None)
        if not self.value():
            return queryset
        first = datetime.strptime(str(self.value()), "%Y-%m")
        begins = timezone.make_aware(first)
        ends = timezone.make_aware((first + timedelta(days=32)).replace(day=1))
        return queryset.filter(Q(valid_to=None) | Q(valid_to__gt=begins), valid_from__lt=ends)


class KindOf(admin.SimpleListFilter):
    title = lazy("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind.name, str(kind.label)) for kind in registry.all_kinds().values()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> QuerySet[MemoryRecord]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


class ReadOnly:
    """For reading: these rows change with the memories they belong to."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class Logged:
    """A list of rows that belong to people: each page shown is a look at theirs."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, extra_context)  # type: ignore[misc]
        shown = getattr(response, "context_data", None) or {}
        if "cl" in shown:
            action = "searched" if request.GET.get("q") else "listed"
            accesses.note(request.user, action, Counter(row.user_id for row in shown["cl"].result_list))
        return response

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        row = self.get_object(request, object_id)  # type: ignore[attr-defined]
        if row is not None and request.method == "GET":
            accesses.note(request.user, "opened", {row.user_id: 1})
        response: HttpResponse = super().change_view(request, object_id, *args, **kwargs)  # type: ignore[misc]
        return response


class History(ReadOnly, TabularInline):
    model = RecordEdit
    verbose_name = lazy("earlier wording")
    verbose_name_plural = lazy("earlier wordings")
    extra = 0
    fields = readonly_fields = ("before", "by", "at")


@admin.register(MemoryRecord)
class MemoryRecordAdmin(Logged, ModelAdmin):
    list_display = ("short", "user", "kind", "status", "origin", "confidence", "recalled", "index_state", "created_at")
    list_filter = ("status", KindOf, NeverRecalled, SourceOf, "index_state", ("user", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("user",)
    list_per_page = 50
    list_fullwidth = True
    list_before_template = "admin/memory/drift.html"
    search_fields = ("text",)
    search_help_text = lazy("Words, or what it is about: each person's memories are searched by meaning, too.")
    fields = (
        "user",
        "text",
        "pinned",
        ("kind", "status", "confidence"),
        ("origin", "retired_because", "superseded_by"),
        "states",
        ("created_at", "expires_at", "recalled", "recalled_at"),
        ("index_state", "vector_key"),
    )
    readonly_fields = tuple(
        "user kind status confidence origin states retired_because superseded_by created_at expires_at recalled recalled_at "
        "index_state vector_key".split()
    )
    inlines = (History,)
    actions = ("retire", "restore", "merge_selected", "unmerge_selected")

    # ---- finding ----

    def get_queryset(self, request: HttpRequest) -> QuerySet[MemoryRecord]:
        rows: QuerySet[MemoryRecord] = super().get_queryset(request)
        return rows.defer("vector", "tokens")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[MemoryRecord], search_term: str
    ) -> tuple[QuerySet[MemoryRecord], bool]:
        """Words over the chosen rows; meaning inside each person's own, for nothing ever ranks across people."""
        found, distinct = super().get_search_results(request, queryset, search_term)
        if not search_term:
            return found, distinct
        people = list(queryset.order_by().values_list("user_id", flat=True).distinct()[: MOST_PEOPLE + 1])
        near: list[str] = []
        for user_id in people if len(people) <= MOST_PEOPLE else ():
            fitting = recall(user_id, search_term, limit=FOUND, floor=settings.AGENT_RECALL_FLOOR, unasked=False)
            near += [item.id for item in fitting.shown]
        return queryset.filter(Q(id__in=near) | Q(id__in=found.order_by().values("id"))), distinct

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        done, total = outbox.progress()
        told = {"waiting": outbox.waiting(), "embedded": done, "to_embed": total - done, "embeddable": total}
        return super().changelist_view(request, {**(extra_context or {}), **told})

    @admin.display(description=lazy("memory"), ordering="text")
    def short(self, obj: MemoryRecord) -> str:
        return Truncator(obj.text).chars(120)

    @admin.display(description=lazy("source"))
    def origin(self, obj: MemoryRecord) -> str:
        return source_words(obj.source, obj.created_at, of_staff=True)

    @admin.display(description=lazy("facts it states"))
    def states(self, obj: MemoryRecord) -> str:
        return "; ".join(f"{fact}" for fact in facts.stated_by(obj.user_id, [obj.id])) or "–"

    # ---- changing ----

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: MemoryRecord, form: Any, change: bool) -> None:
        """Through the writer: history, a new vector, facts, the index."""
        if "text" in form.changed_data:
            receipt = records.edit(obj.user_id, obj.id, form.cleaned_data["text"], request.user.pk)
            if receipt.status == "refused":
                self.message_user(request, receipt.reason, messages.ERROR)
        if "pinned" in form.changed_data:
            records.pin(obj.user_id, obj.id, form.cleaned_data["pinned"])
        if form.changed_data:
            accesses.note(request.user, "edited", {obj.user_id: 1})

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """History and facts are written by their writers, never from the form."""
        for formset in formsets:
            formset.new_objects, formset.changed_objects, formset.deleted_objects = [], [], []

    @admin.action(description=lazy("Retire"), permissions=["change"])
    def retire(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> None:
        for row in queryset:
            records.retire(row.user_id, row.id, _("retired by the operator"))
        self._tell(request, "retired", queryset)

    @admin.action(description=lazy("Restore"), permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> None:
        for row in queryset:
            records.restore(row.user_id, row.id)
        self._tell(request, "restored", queryset)

    @admin.action(description=lazy("Merge into one"), permissions=["change"])
    def merge_selected(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> None:
        rows = list(queryset)
        if len({row.user_id for row in rows}) != 1:
            self.message_user(request, _("Choose memories of one person."), messages.ERROR)
            return
        receipt = records.merge(rows[0].user_id, [row.id for row in rows])
        if receipt.status == "refused":
            self.message_user(request, receipt.reason, messages.ERROR)
            return
        self._tell(request, "merged", rows)

    @admin.action(description=lazy("Undo the merge"), permissions=["change"])
    def unmerge_selected(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> None:
        undone = [row for row in queryset if records.unmerge(row.user_id, row.id)]
        self._tell(request, "unmerged", undone)

    # ---- forgetting ----

    def get_actions(
        self, request: HttpRequest, action_location: Any = admin.ActionLocation.CHANGE_LIST
    ) -> dict[str, Any]:
        """Django's own deletion asks first and shows what goes; here it is a forgetting, and is called so."""
        actions: dict[str, Any] = super().get_actions(request, action_location)
        if "delete_selected" in actions:
            words = _("Forget for good, everywhere")
            actions["delete_selected"] = replace(
                actions["delete_selected"], description=words, plural_description=words
            )
        return actions

    def delete_model(self, request: HttpRequest, obj: MemoryRecord) -> None:
        self._forget(request, [obj])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> None:
        self._forget(request, queryset)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """What the question before a deletion shows: all that the forgetting takes, and not what may stop it."""
        by_owner = _ids_by_owner(objs)
        found = [forget.preview(owner, ids) for owner, ids in by_owner.items()]
        texts = [row.text for item in found for row in (*item.records, *item.built_on)]
        texts += [line for item in found for line in item.lines]
        accesses.note(request.user, "opened", {owner: len(ids) for owner, ids in by_owner.items()})
        counts: Counter[str] = Counter()
        for item in found:
            counts.update({forget.name_of(name): number for name, number in item.counts.items() if number})
        denied = set() if self.has_delete_permission(request) else {str(self.opts.verbose_name)}
        return texts, dict(counts), denied, []

    def _forget(self, request: HttpRequest, rows: Iterable[MemoryRecord]) -> None:
        for owner, ids in _ids_by_owner(rows).items():
            receipt = forget.forget(owner, ids, by="staff")
            accesses.note(request.user, "forgot", {owner: len(ids)})
            self.message_user(request, "; ".join(receipt.lines) or _("There was nothing left of it."))

    def _tell(self, request: HttpRequest, action: str, rows: Iterable[MemoryRecord]) -> None:
        touched = list(rows)
        accesses.note(request.user, action, Counter(row.user_id for row in touched))
        said = ngettext("%(n)d memory.", "%(n)d memories.", len(touched)) % {"n": len(touched)}
        self.message_user(request, f"{_(action.capitalize())}: {said}")

    # ---- upkeep ----

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("hygiene/", view(self.hygiene_view), name="memory_hygiene"),
            path("mend/", view(self.mend_view), name="memory_mend"),
        ]
        return [*own, *super().get_urls()]

    def hygiene_view(self, request: HttpRequest) -> TemplateResponse:
        """Duplicates, near-duplicates, open contradictions, never recalled, expired, blocked; drift of the index."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        report = hygiene.report()
        pairs = (*report.duplicates, *report.near_duplicates, *report.contradictions)
        accesses.note(request.user, "listed", Counter(pair.user_id for pair in pairs for _row in (1, 2)))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Memory hygiene"),
            "report": report,
            "drift": outbox.drift(),
            "may_mend": self.has_change_permission(request),
            "sections": [
                (_("The same twice"), report.duplicates),
                (_("One says the same and more"), report.near_duplicates),
                (_("Contradict each other"), report.contradictions),
            ],
        }
        return TemplateResponse(request, "admin/memory/hygiene.html", context)

    def mend_view(self, request: HttpRequest) -> HttpResponse:
        if not self.has_change_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            try:
                now = outbox.mend_soon()
                self.message_user(
                    request, _("The index was rebuilt.") if now else _("The index is being rebuilt in the background.")
                )
            except IndexDown as fault:
                self.message_user(request, str(fault), messages.ERROR)
        return HttpResponseRedirect(reverse("admin:memory_hygiene"))


@admin.register(EntityFact)
class EntityFactAdmin(ReadOnly, Logged, ModelAdmin):
    list_display = ("subject", "attribute", "value", "user", "valid_from", "valid_to")
    list_filter = (
        TrueIn,
        "attribute",
        ("valid_to", admin.EmptyFieldListFilter),
        ("user", admin.RelatedOnlyFieldListFilter),
    )
    list_select_related = ("user",)
    search_fields = ("subject", "attribute", "value")


@admin.register(MemoryAccess)
class MemoryAccessAdmin(ReadOnly, ModelAdmin):
    list_display = ("at", "staff_name", "action", "count", "user")
    list_filter = ("action", ("user", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("user",)


@admin.register(Forgetting)
class ForgettingAdmin(ReadOnly, ModelAdmin):
    list_display = ("at", "user", "by", "what")
    list_select_related = ("user",)

    @admin.display(description=lazy("what has gone"))
    def what(self, obj: Forgetting) -> str:
        return "; ".join(forget.in_words(obj.counts))


@admin.register(Document)
class DocumentAdmin(ModelAdmin):
    """Names and sizes, not the contents: those are the person's."""

    list_display = ("name", "user", "status", "size", "pages", "chunks_total", "created_at")
    list_filter = ("status", ("user", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("user",)
    fields = readonly_fields = (
        "name",
        "user",
        "media_type",
        "size",
        "pages",
        "chunks_total",
        "status",
        "fault",
        "created_at",
    )

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        rows = list(objs)
        denied = set() if self.has_delete_permission(request) else {str(self.opts.verbose_name)}
        return [row.name for row in rows], {str(_("passages")): sum(row.chunks_total for row in rows)}, denied, []

    def delete_model(self, request: HttpRequest, obj: Document) -> None:
        documents.delete(obj.user_id, obj.id)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        for row in queryset:
            documents.delete(row.user_id, row.id)


def _ids_by_owner(rows: Iterable[MemoryRecord]) -> dict[int, Sequence[UUID]]:
    found: dict[int, list[UUID]] = {}
    for row in rows:
        found.setdefault(row.user_id, []).append(row.id)
    return dict(found)
