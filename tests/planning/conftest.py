"""A turn to plan for.

Touches: rows.
"""

import pytest
from django.contrib.auth.models import User

from chat.models import Conversation, Turn


@pytest.fixture
def turn(alice: User) -> Turn:
    conversation = Conversation.objects.create(user=alice)
    return Turn.objects.create(conversation=conversation, number=1, goal="Two nights in Xi'an")
