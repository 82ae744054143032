"""HTTP doors of the chat room.

Touches: views.
"""

from django.contrib.auth.views import LogoutView
from django.urls import path

from chat import file_views, model_view, views
from chat.document_urls import document_urlpatterns
from chat.panel_urls import panel_urlpatterns
from chat.sign_in import OneTimeLink, SignIn

urlpatterns = [
    path("", views.start, name="start"),
    path("conversations/", views.conversation_list, name="conversations"),
    path("conversations/new/", views.new, name="new"),
    path("c/<uuid:conversation_id>/", views.conversation, name="conversation"),
    path("c/<uuid:conversation_id>/header/", views.header, name="header"),
    path("c/<uuid:conversation_id>/turns/", views.earlier_or_newer, name="turns"),
    path("c/<uuid:conversation_id>/t/<uuid:turn_id>/", views.turn, name="turn"),
    path("c/<uuid:conversation_id>/t/<uuid:turn_id>/retry/", views.retry, name="retry"),
    path("c/<uuid:conversation_id>/t/<uuid:turn_id>/more/", views.continue_turn, name="continue"),
    path("c/<uuid:conversation_id>/i/<int:iteration_id>/", views.iteration, name="iteration"),
    path("c/<uuid:conversation_id>/entry/", views.entry, name="entry"),
    path("c/<uuid:conversation_id>/rename/", views.rename, name="rename"),
    path("c/<uuid:conversation_id>/delete/", views.delete, name="delete"),
    path("c/<uuid:conversation_id>/files/<path:path>", file_views.download, name="file"),
    path("model/", model_view.model, name="model"),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("enter/", OneTimeLink.as_view(), name="enter"),
    *panel_urlpatterns,
    *document_urlpatterns,
]
