"""Make people who are signed in and have one conversation each; printed as `cookie conversation`, one a line.

    python -m tests.load.people 100

count -> lines.  Touches: the rows of the instance whose AGENT_DATA_DIR is set.
"""

import os
import sys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentweb.settings")

import django

django.setup()

from importlib import import_module
from uuid import uuid4

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User

from chat import conversations

sessions = import_module(settings.SESSION_ENGINE)
for _number in range(int(sys.argv[1])):
    user = User.objects.create_user(uuid4().hex[:20])
    session = sessions.SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    print(f"{settings.SESSION_COOKIE_NAME}={session.session_key}", conversations.create(user).id)
