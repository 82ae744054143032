"""A fact: something that is so until it changes.

Touches: nothing (pure).
"""

from django.utils.translation import gettext_lazy as _

from memory.kinds.base import Kind

KIND = Kind(name="fact", label=_("Fact"), half_life=365)
