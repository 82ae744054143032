"""Which URL goes to which door of documents.

Touches: views.
"""

from django.urls import path

from chat import document_views

document_urlpatterns = [
    path("c/<uuid:conversation_id>/documents/", document_views.upload_or_list, name="documents"),
    path("documents/", document_views.mine, name="my-documents"),
    path("documents/upload/", document_views.upload, name="documents-upload"),
    path("documents/<uuid:document_id>/", document_views.document, name="document"),
    path("documents/<uuid:document_id>/delete/", document_views.delete, name="document-delete"),
]
