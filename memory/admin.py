"""The admin's upkeep of memories: search, edit, retire, restore, merge, forget; each access is logged for the person.

rows -> admin pages; a staff member's act -> records, forget.  Touches: *writer* of MemoryAccess; all else through its writers.

An edit embeds anew and keeps history; a deletion is a forgetting, also "delete selected": the index, the stored copies
and the receipts go with it.
"""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from unfold.admin import ModelAdmin, TabularInline

from memory import forget, hygiene, outbox, records
from memory.errors import MemoryRefused
from memory.models import EntityFact, MemoryAccess, MemoryRecord, RecordEdit
from memory.recall import recall

FOUND = 50  # memories of one person that a search by meaning adds


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
        return [("person", _("The person")), ("agent", _("The agent")), ("tool", _("A tool")), ("staff", _("Staff"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> QuerySet[MemoryRecord]:
        return queryset.filter(source__by=self.value()) if self.value() else queryset


class History(TabularInline):
    model = RecordEdit
    extra = 0
    can_delete = False
    readonly_fields = ("before", "by", "at")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(MemoryRecord)
class MemoryRecordAdmin(ModelAdmin):
    list_display = ("text", "user", "kind", "status", "confidence", "recalled", "index_state", "created_at")
    list_filter = ("status", "kind", NeverRecalled, SourceOf, "index_state", ("user", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("user",)
    list_per_page = 50
    search_fields = ("text", "tokens")
    search_help_text = lazy("Words of the memory; with a person chosen on the right, its meaning too")
    fields = (
        "user",
        "text",
        "kind",
        "status",
        "pinned",
        "confidence",
        "source",
        "retired_because",
        "recalled",
        "created_at",
    )
    readonly_fields = ("user", "kind", "status", "confidence", "source", "retired_because", "recalled", "created_at")
    inlines = (History,)
    actions = ("retire", "restore", "merge_selected", "forget_selected")
    list_before_template = "admin/memory_upkeep.html"

    # ---- finding ----

    def get_queryset(self, request: HttpRequest) -> QuerySet[MemoryRecord]:
        rows: QuerySet[MemoryRecord] = super().get_queryset(request).defer("vector")
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[MemoryRecord], search_term: str
    ) -> tuple[QuerySet[MemoryRecord], bool]:
        """Words over everybody; meaning only inside one person's memories, for recall never looks across people."""
        found, distinct = super().get_search_results(request, queryset, search_term)
        owner = request.GET.get("user__id__exact", "")
        if search_term and owner.isdigit():
            near = recall(int(owner), search_term, limit=FOUND, floor=0.0, pinned=False).recalls
            found = found | queryset.filter(id__in=[item.id for item in near])
        return found, distinct

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, {**(extra_context or {}), "drift": outbox.drift()})
        shown = getattr(response, "context_data", None)
        if shown and "cl" in shown:
            owners: dict[int, int] = {}
            for row in shown["cl"].result_list:
                owners[row.user_id] = owners.get(row.user_id, 0) + 1
            for owner, count in owners.items():
                saw(request, owner, "listed", count)
        return response

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        row = self.get_object(request, object_id)
        if row is not None and request.method == "GET":
            saw(request, row.user_id, "opened")
        response: HttpResponse = super().change_view(request, object_id, *args, **kwargs)
        return response

    # ---- changing ----

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: MemoryRecord, form: Any, change: bool) -> None:
        """Through the writer: history, a new vector, the index."""
        if "text" in form.changed_data:
            try:
                records.edit(obj.user_id, obj.id, form.cleaned_data["text"], request.user.pk)
            except MemoryRefused as refusal:
                self.message_user(request, str(refusal), messages.ERROR)
        if "pinned" in form.changed_data:
            records.pin(obj.user_id, obj.id, form.cleaned_data["pinned"])
        saw(request, obj.user_id, "edited")

    def delete_model(self, request: HttpRequest, obj: MemoryRecord) -> None:
        self._forget(request, [obj])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> None:
        self._forget(request, list(queryset))

    @admin.action(description=lazy("Forget for good, everywhere"), permissions=["delete"])
    def forget_selected(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> None:
        self._forget(request, list(queryset))

    @admin.action(description=lazy("Retire"), permissions=["change"])
    def retire(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> None:
        for row in queryset:
            records.retire(row.user_id, row.id, _("retired by staff"))
            saw(request, row.user_id, "retired")

    @admin.action(description=lazy("Restore"), permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> None:
        for row in queryset:
            records.restore(row.user_id, row.id)
            saw(request, row.user_id, "restored")

    @admin.action(description=lazy("Merge into one"), permissions=["change"])
    def merge_selected(self, request: HttpRequest, queryset: QuerySet[MemoryRecord]) -> None:
        rows = list(queryset)
        if len(rows) < 2 or len({row.user_id for row in rows}) != 1:
            self.message_user(request, _("Choose two or more memories of one person."), messages.ERROR)
            return
        receipt = records.merge(rows[0].user_id, [row.id for row in rows])
        saw(request, rows[0].user_id, "merged", len(rows))
        self.message_user(request, receipt.reason or receipt.text)

    def _forget(self, request: HttpRequest, rows: list[MemoryRecord]) -> None:
        by_owner: dict[int, list[UUID]] = {}
        for row in rows:
            by_owner.setdefault(row.user_id, []).append(row.id)
        for owner, ids in by_owner.items():
            receipt = forget.forget(owner, ids, by="staff")
            saw(request, owner, "forgot", len(ids))
            self.message_user(request, "; ".join(receipt.lines))

    # ---- upkeep ----

    def get_urls(self) -> list[URLPattern]:
        own = [
            path("hygiene/", self.admin_site.admin_view(self.hygiene_view), name="memory_hygiene"),
            path("mend/", self.admin_site.admin_view(self.mend_view), name="memory_mend"),
        ]
        return [*own, *super().get_urls()]

    def hygiene_view(self, request: HttpRequest) -> TemplateResponse:
        """Duplicates, near-duplicates, contradictions, never recalled, expired."""
        context = {**self.admin_site.each_context(request), "title": _("Memory hygiene"), "report": hygiene.report()}
        return TemplateResponse(request, "admin/memory_hygiene.html", context)

    def mend_view(self, request: HttpRequest) -> HttpResponse:
        if request.method == "POST" and self.has_change_permission(request):
            drained = outbox.mend()
            self.message_user(request, _("The index was mended: %(what)s") % {"what": drained})
        return self.changelist_view(request)


@admin.register(EntityFact)
class EntityFactAdmin(ModelAdmin):
    """For reading: facts change with the memories that state them."""

    list_display = ("subject", "attribute", "value", "user", "valid_from", "valid_to")
    list_filter = ("attribute", ("user", admin.RelatedOnlyFieldListFilter))
    search_fields = ("subject", "attribute", "value")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def saw(request: HttpRequest, owner: int, action: str, count: int = 1) -> None:
    """The person can see who looked at or changed their memories. Looking at one's own is no news."""
    if request.user.pk != owner:
        name = request.user.get_username()
        MemoryAccess.objects.create(
            user_id=owner, staff_id=request.user.pk, staff_name=name, action=action, count=count
        )
