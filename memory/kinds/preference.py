"""A preference: how the person likes things to be.

Touches: nothing (pure).
"""

from django.utils.translation import gettext_lazy as _

from memory.kinds.base import Kind

KIND = Kind(name="preference", label=_("Preference"), half_life=365)
