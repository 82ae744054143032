"""Staff's pages for MCP servers: register one, see how it is, look at what it offers and accept it.

staff's acts -> servers.  Touches: reads; every write goes through chat.mcp.servers.

Registering a server runs a program here, or sends secrets of this instance to an address: superusers only. Who may change
tools may accept them. What is accepted is what the page showed, however often the server has changed it since.
"""

import difflib
import json
import shlex
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from chat.errors import Refused
from chat.mcp import servers
from chat.mcp.tools import tier_of
from chat.models import McpServer, McpTool

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[McpServer]
else:
    ModelForm = forms.ModelForm


class ServerForm(ModelForm):
    command_line = forms.CharField(
        label=lazy("Command"),
        required=False,
        max_length=2_000,
        widget=UnfoldAdminTextInputWidget,
        help_text=lazy(
            "A program on this machine and its arguments, such as: uvx mcp-server-time. Or give an address."
        ),
    )
    new_secrets = forms.CharField(
        label=lazy("Secrets"),
        required=False,
        max_length=20_000,
        strip=False,
        widget=UnfoldAdminTextareaWidget,
        help_text=lazy(
            "One NAME=value a line: variables of the program, or headers of each request. NAME=env:OTHER reads a variable "
            "of this instance; NAME= removes one. They are stored encrypted and never shown; those not named here stay."
        ),
    )

    class Meta:
        model = McpServer
        fields = ["name", "url", "timeout", "trusted", "enabled"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["command_line"].initial = shlex.join(self.instance.command)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        name = given.get("name") or self.instance.name
        try:
            given["command"] = shlex.split(given.get("command_line") or "")
        except ValueError:
            raise forms.ValidationError({"command_line": _("A quotation mark is missing.")}) from None
        given["secrets"] = _pairs(given.get("new_secrets") or "")
        try:
            servers.check(name, command=given["command"], url=given.get("url") or "", secrets=given["secrets"])
        except Refused as fault:
            raise forms.ValidationError(str(fault)) from fault
        return given


def _pairs(text: str) -> dict[str, str]:
    pairs = {}
    for line in filter(str.strip, text.splitlines()):
        name, sign, value = line.partition("=")
        if not sign:
            # Not the line itself: it may be a secret.
            raise forms.ValidationError({"new_secrets": _("Each line must be NAME=value.")})
        pairs[name.strip()] = value.strip()
    return pairs


class SuperusersWrite:
    """Staff see; superusers register."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(getattr(request.user, "is_superuser", False))

    has_change_permission = has_delete_permission = has_add_permission


@admin.register(McpServer)
class McpServerAdmin(SuperusersWrite, ModelAdmin):
    form = ServerForm
    list_display = ["name", "transport", "enabled", "trusted", "health", "health_text", "checked_at", "to_look_at"]
    list_filter = ["health", "enabled", "trusted"]
    fieldsets = [
        (None, {"fields": ["name", "command_line", "url", "new_secrets", "kept_secrets", "timeout"]}),
        (None, {"fields": ["trusted", "enabled"]}),
        (None, {"fields": ["health", "health_text", "checked_at", "what_it_offers"]}),
    ]
    readonly_fields = ["kept_secrets", "health", "health_text", "checked_at", "what_it_offers"]
    actions = ["refresh", "accept"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        # Its tools, plans and approvals carry its name.
        return [*self.readonly_fields, "name"] if obj else self.readonly_fields

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Who may not change a server is shown its rows, not the fields of the form."""
        if self.has_change_permission(request, obj):
            return self.fieldsets
        return [
            (None, {"fields": ["name", "transport", "url", "kept_secrets", "timeout", "trusted", "enabled"]}),
            self.fieldsets[2],
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[McpServer]:
        rows: QuerySet[McpServer] = super().get_queryset(request)
        return rows.prefetch_related("tools__server")

    def save_model(self, request: HttpRequest, obj: McpServer, form: Any, change: bool) -> None:
        given = form.cleaned_data
        servers.change(
            obj,
            command=given["command"],
            url=given["url"],
            secrets=given["secrets"],
            trusted=given["trusted"],
            timeout=given["timeout"],
            enabled=given["enabled"],
        )

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Its tools go with it, though none of them can be deleted by itself."""
        shown, counts, _lacking, protected = super().get_deleted_objects(objs, request)
        return shown, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: McpServer) -> None:
        servers.remove(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[McpServer]) -> None:
        for row in queryset:
            servers.remove(row)

    @admin.action(description=lazy("Ask for its tools now"), permissions=["accept"])
    def refresh(self, request: HttpRequest, queryset: QuerySet[McpServer]) -> None:
        for row in queryset:
            said = servers.refresh(row.id)
            row.refresh_from_db()
            level = messages.SUCCESS if row.health == McpServer.Health.UP else messages.ERROR
            self.message_user(request, f"{row.name}: {said}", level)

    @admin.action(description=lazy("Look at what is new and accept it"), permissions=["accept"])
    def accept(self, request: HttpRequest, queryset: QuerySet[McpServer]) -> HttpResponse:
        return _to_look_at(McpTool.objects.filter(server__in=queryset))

    def has_accept_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("chat.change_mcptool")

    @admin.display(description=lazy("to accept"))
    def to_look_at(self, row: McpServer) -> str:
        waiting = sum(tool.to_accept for tool in row.tools.all())
        return str(waiting) if waiting else "–"

    @admin.display(description=lazy("kept secrets"))
    def kept_secrets(self, row: McpServer) -> str:
        """Names alone; of one that is read from the environment also from where."""
        words = [f"{name} ({kept})" if kept.startswith("env:") else name for name, kept in sorted(row.secrets.items())]
        return ", ".join(words) or "–"

    @admin.display(description=lazy("what it offers"))
    def what_it_offers(self, row: McpServer) -> SafeString:
        lines = [f"{tool.full_name} · {tier_of(row, tool.seen)} · {state(tool)}" for tool in row.tools.all()]
        return format_html('<pre class="whitespace-pre-wrap">{}</pre>', "\n".join(lines) or "–")


@admin.register(McpTool)
class McpToolAdmin(ModelAdmin):
    list_display = ["full_name", "tier", "state_words", "accepted_at"]
    list_filter = ["server", "gone"]
    list_select_related = ["server"]
    search_fields = ["name"]
    fields = ["full_name", "tier", "state_words", "accepted_at", "what_is_new", "definition"]
    readonly_fields = fields
    actions = ["accept", "withdraw"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        mine = path("accept/", self.admin_site.admin_view(self.accepting), name="chat_mcptool_accept")
        return [mine, *super().get_urls()]

    @admin.action(description=lazy("Look at what is new and accept it"), permissions=["change"])
    def accept(self, request: HttpRequest, queryset: QuerySet[McpTool]) -> HttpResponse:
        return _to_look_at(queryset)

    @admin.action(description=lazy("No longer offer"), permissions=["change"])
    def withdraw(self, request: HttpRequest, queryset: QuerySet[McpTool]) -> None:
        for row in queryset:
            servers.withdraw(row.id)
            self.log_change(request, row, "withdrawn")

    def accepting(self, request: HttpRequest) -> HttpResponse:
        """What is new, in full; what is ticked is accepted as it stands here."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            for ticked in request.POST.getlist("tool"):
                self._accept(request, *ticked.partition(":")[::2])
            return HttpResponseRedirect(reverse("admin:chat_mcptool_changelist"))
        ids = [int(one) for one in request.GET.get("ids", "").split(",") if one.isdecimal()][:500]
        rows = [row for row in McpTool.objects.filter(id__in=ids).select_related("server") if row.to_accept]
        shown = [
            {
                "row": row,
                "tier": tier_of(row.server, row.seen),
                "diff": diff(row),
                "digest": servers.digest_of(row.seen),
            }
            for row in rows
        ]
        context = {**self.admin_site.each_context(request), "title": _("Accept tools"), "rows": shown}
        return TemplateResponse(request, "admin/chat/mcp_accept.html", context)

    def _accept(self, request: HttpRequest, tool_id: str, digest: str) -> None:
        try:
            row = servers.accept(int(tool_id), digest)
        except (Refused, ValueError, McpTool.DoesNotExist) as fault:
            said = str(fault) if isinstance(fault, Refused) else _("This tool is no longer there.")
            self.message_user(request, said, messages.ERROR)
        else:
            self.log_change(request, row, f"accepted {digest}")
            self.message_user(request, _("%(tool)s is offered now.") % {"tool": row.full_name}, messages.SUCCESS)

    @admin.display(description=lazy("tier"))
    def tier(self, row: McpTool) -> str:
        return str(tier_of(row.server, row.seen))

    @admin.display(description=lazy("state"))
    def state_words(self, row: McpTool) -> str:
        return state(row)

    @admin.display(description=lazy("what is new"))
    def what_is_new(self, row: McpTool) -> SafeString:
        return format_html('<pre class="whitespace-pre-wrap">{}</pre>', diff(row) or "–")

    @admin.display(description=lazy("as last seen"))
    def definition(self, row: McpTool) -> SafeString:
        return format_html('<pre class="whitespace-pre-wrap">{}</pre>', _pretty(row.seen))


def state(row: McpTool) -> str:
    if row.unfit:
        return _("Cannot be used: %(why)s") % {"why": row.unfit}
    if row.gone:
        return _("No longer there")
    if row.to_accept:
        return _("New: to be accepted") if row.accepted is None else _("Changed: to be accepted again")
    return _("Offered") if row.offered else _("The server is switched off")


def diff(row: McpTool) -> str:
    """Line by line what differs from what was accepted; all of it when nothing was."""
    before = _pretty(row.accepted).splitlines() if row.accepted else []
    lines = difflib.unified_diff(before, _pretty(row.seen).splitlines(), n=2, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _pretty(definition: Any) -> str:
    return json.dumps(definition, ensure_ascii=False, indent=1)


def _to_look_at(rows: QuerySet[McpTool]) -> HttpResponseRedirect:
    ids = ",".join(str(row.id) for row in rows.select_related("server") if row.to_accept)
    return HttpResponseRedirect(f"{reverse('admin:chat_mcptool_accept')}?ids={ids}")
