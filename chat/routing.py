"""Websocket doors of the chat room.

Touches: consumers.
"""

from django.urls import path

from chat.consumers import ConversationConsumer

websocket_urlpatterns = [
    path("ws/c/<uuid:conversation_id>/", ConversationConsumer.as_asgi()),
]
