"""Draw a panel inside a page, the very fragment that its refresh returns.

panel name, Conversation -> HTML.  Touches: chat.panels.
"""

from typing import Any

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from chat import panels
from chat.models import Conversation

register = template.Library()


@register.simple_tag(takes_context=True)
def panel(context: Context, name: str, conversation: Conversation) -> SafeString:
    return mark_safe(panels.render(name, conversation, {}, context["request"]))  # rendered by a template, escaped there


@register.simple_tag
def panel_later(name: str, conversation: Conversation) -> SafeString:
    """The place of a panel that is fetched when its tab is opened."""
    return format_html(
        '<div id="panel-{}" class="panel" data-panel="{}" data-due hx-get="{}" hx-trigger="shown" hx-swap="outerMorph"></div>',
        name,
        name,
        reverse("panel", args=[conversation.pk, name]),
    )


@register.filter
def entry(mapping: Any, key: Any) -> Any:
    """One value of a mapping by a key that is a variable."""
    return mapping.get(key) if mapping else None
