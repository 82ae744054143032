"""A how-to: "when … then …", learnt from a turn that went well after a failure, or from a correction.

Touches: nothing (pure).
"""

from django.utils.translation import gettext_lazy as _

from memory.kinds.base import Kind

# It enters the prompt as a rule, so it must fit clearly: a rule in the wrong place does harm.
KIND = Kind(name="howto", label=_("How to"), half_life=180, floor_extra=0.08)
