"""The admin's own Content-Security-Policy: its theme needs inline styles and Alpine, which compiles expressions.

response of an admin page -> the same, with the wider policy.  Touches: nothing.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.csp import CSP
from django.utils.deprecation import MiddlewareMixin


class AdminPolicy(MiddlewareMixin):
    """Stands after Django's CSP middleware, which reads what is left here. Pages of the product keep the strict one."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.path.startswith(reverse("admin:index")):
            # No inline script is allowed even here: a stored text that got past the escaping would still not run.
            policy: dict[str, Any] = dict(settings.SECURE_CSP)
            policy["script-src"] = [*policy["script-src"], CSP.UNSAFE_EVAL]
            policy["style-src"] = [*policy["style-src"], CSP.UNSAFE_INLINE]
            response._csp_config = policy  # type: ignore[attr-defined]  # as csp_override does
        return response
