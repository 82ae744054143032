"""Template filters for what people, models and tools wrote.

text or JSON -> what the page shows.  Touches: nothing (pure).
"""

from typing import Any

from django import template
from django.utils.safestring import SafeString

from chat import markdown as rendering
from chat import words

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    return rendering.render(text)


@register.filter
def pretty(value: Any) -> str:
    """JSON as it is, readable; escaped by the template like any text."""
    return words.pretty(value)


@register.filter
def took(ms: float | None) -> str:
    return words.took(ms)
