"""Which URL goes to which room.

Touches: nothing.
"""

from django.contrib import admin
from django.urls import include, path

from agentweb import health

urlpatterns = [
    path("admin/", admin.site.urls),
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("", include("chat.urls")),
]
