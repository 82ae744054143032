"""A note about a document: what it is and what it says in short. Its passages are searched by search_documents.

Touches: nothing (pure).
"""

from django.utils.translation import gettext_lazy as _

from memory.kinds.base import Kind

KIND = Kind(name="document", label=_("Document note"), half_life=365)
