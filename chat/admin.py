"""The admin's view of what happened: for reading why a turn went wrong. Nothing here writes.

rows -> admin pages.  Touches: reads. Every table has its writer, and the admin is none of them.

Looking after memories needs permissions of its own (memory); none of these is implied by them.
"""

import json
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin, TabularInline

from chat.mcp import tools as mcp_tools
from chat.models import Approval, Conversation, Iteration, Message, ToolCall, Turn
from chat.tokens import estimate
from chat.tools import describe, registry

LONGEST = 20_000  # characters of one value on a page


class ReadOnly:
    """May be seen by those with the view permission, and changed by nobody."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def shown(value: object) -> SafeString:
    """JSON as a person reads it; escaped, and cut when it is endless."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return format_html('<pre class="whitespace-pre-wrap break-words">{}</pre>', text[:LONGEST])


class MessageInline(ReadOnly, TabularInline):
    model = Message
    fields = ["created_at", "role", "mark", "text"]
    readonly_fields = fields
    extra = 0
    ordering = ["id"]
    per_page = 50


class IterationInline(ReadOnly, TabularInline):
    model = Iteration
    fields = ["number", "step_key", "thought", "outcome", "reason", "prompt_tokens", "reply_tokens", "model_ms"]
    readonly_fields = fields
    extra = 0
    show_change_link = True


class CallInline(ReadOnly, TabularInline):
    model = ToolCall
    fk_name = "iteration"
    fields = ["index", "tool", "tier", "status", "summary"]
    readonly_fields = fields
    extra = 0
    show_change_link = True


@admin.register(Conversation)
class ConversationAdmin(ReadOnly, ModelAdmin):
    list_display = ["__str__", "user", "turn_count", "updated_at"]
    list_filter = ["updated_at"]
    search_fields = ["title", "user__username", "id"]
    list_select_related = ["user"]
    ordering = ["-updated_at"]
    inlines = [MessageInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        rows: QuerySet[Conversation] = super().get_queryset(request)
        return rows.annotate(turn_count=Count("turns"))

    @admin.display(description=_("turns"))
    def turn_count(self, row: Any) -> int:
        count: int = row.turn_count
        return count


@admin.register(Turn)
class TurnAdmin(ReadOnly, ModelAdmin):
    list_display = ["__str__", "user", "status", "end", "gate", "model", "iterations_used", "cost", "created_at"]
    list_filter = ["status", "end", "gate", "model", "created_at"]
    search_fields = ["goal", "reason", "id", "conversation__id", "conversation__user__username"]
    list_select_related = ["conversation__user"]
    ordering = ["-created_at"]
    inlines = [IterationInline]

    @admin.display(description=_("person"), ordering="conversation__user__username")
    def user(self, row: Turn) -> str:
        return row.conversation.user.get_username()


@admin.register(Iteration)
class IterationAdmin(ReadOnly, ModelAdmin):
    list_display = ["__str__", "step_key", "outcome", "reason", "prompt_tokens", "reply_tokens", "model_ms", "own_ms"]
    list_filter = ["outcome", "estimated", "started_at"]
    search_fields = ["turn__id", "reason"]
    ordering = ["-started_at"]
    inlines = [CallInline]
    fields = [
        ("turn", "number", "step_key", "plan_revision"),
        ("outcome", "reason"),
        "thought",
        ("prompt_tokens", "reply_tokens", "cached_tokens", "estimated", "cost"),
        ("model_ms", "own_ms", "started_at", "ended_at"),
        "context",
        "model_output",
        "memory_receipt",
        "what_changed",
    ]

    @admin.display(description=_("what the model saw"))
    def context(self, row: Iteration) -> SafeString:
        return shown(row.sections)

    @admin.display(description=_("what the model wrote"))
    def model_output(self, row: Iteration) -> SafeString:
        return shown(row.raw)

    @admin.display(description=_("memory receipt"))
    def memory_receipt(self, row: Iteration) -> SafeString:
        return shown(row.receipt)

    @admin.display(description=_("notes and changes"))
    def what_changed(self, row: Iteration) -> SafeString:
        return shown({"notes": row.notes, "changes": row.changes})


@admin.register(ToolCall)
class ToolCallAdmin(ReadOnly, ModelAdmin):
    list_display = ["tool", "tier", "status", "summary", "started_at", "ended_at"]
    list_filter = ["status", "tier", "tool", "started_at"]
    search_fields = ["id", "turn__id", "tool", "summary"]
    ordering = ["-iteration_id", "index"]
    fields = [
        ("turn", "iteration", "index", "step_key"),
        ("tool", "version", "tier", "status"),
        ("started_at", "ended_at"),
        "effective_arguments",
        "proposed_arguments",
        "returned",
        "text",
        "fault",
        "traceback",
    ]
    change_list_template = "admin/chat/calls.html"

    def get_urls(self) -> list[URLPattern]:
        mine = path("contracts/", self.admin_site.admin_view(self.contracts), name="tool_contracts")
        return [mine, *super().get_urls()]

    def contracts(self, request: HttpRequest) -> HttpResponse:
        """What the model is told of each tool, and what that costs in every request."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = [
            {"contract": contract, "schema": schema, "tokens": estimate(schema), "line": describe.line(contract)}
            for contract in {**registry.builtin(), **mcp_tools.contracts()}.values()
            for schema in [json.dumps(describe.function_schema(contract), ensure_ascii=False, indent=2)]
        ]
        context = {
            **self.admin_site.each_context(request),
            "title": _("Tool contracts"),
            "rows": rows,
            "total": sum(row["tokens"] for row in rows),
        }
        return TemplateResponse(request, "admin/chat/contracts.html", context)

    @admin.display(description=_("effective arguments"))
    def effective_arguments(self, row: ToolCall) -> SafeString:
        return shown(row.args)

    @admin.display(description=_("arguments as the model gave them"))
    def proposed_arguments(self, row: ToolCall) -> SafeString:
        return shown(row.proposed)

    @admin.display(description=_("result"))
    def returned(self, row: ToolCall) -> SafeString:
        return shown(row.result)

    @admin.display(description=_("fault"))
    def fault(self, row: ToolCall) -> SafeString:
        return shown(row.error)


@admin.register(Approval)
class ApprovalAdmin(ReadOnly, ModelAdmin):
    list_display = ["tool", "tier", "status", "edited", "decided_by", "asked_at", "decided_at", "expires_at"]
    list_filter = ["status", "tier", "tool", "edited", "asked_at"]
    search_fields = ["id", "turn__id", "tool", "digest"]
    list_select_related = ["decided_by"]
    ordering = ["-asked_at"]
    fields = [
        ("turn", "call"),
        ("tool", "version", "tier", "status", "edited"),
        ("asked_at", "expires_at", "decided_at", "decided_by"),
        "why",
        "reason",
        "effective_arguments",
        "decided_facts",
        "digest",
    ]

    @admin.display(description=_("effective arguments"))
    def effective_arguments(self, row: Approval) -> SafeString:
        return shown(row.args)

    @admin.display(description=_("decided facts behind them"))
    def decided_facts(self, row: Approval) -> SafeString:
        return shown(row.because)


from chat import admin_mcp as admin_mcp  # noqa: E402
