"""HTTP doors of the chat room.

Touches: views.
"""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
