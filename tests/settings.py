"""The product's settings in an environment of the tests' own.

Touches: the environment, before Django reads it: pytest-django reads the settings before any conftest is loaded.
"""

import os
import tempfile

# Before Django loads: a data directory of its own, no real endpoint, a deterministic embedder.
for name in [name for name in os.environ if name.startswith(("AGENT_", "OPENAI_"))]:
    if name not in {"AGENT_DATABASE_URL", "AGENT_REDIS_URL", "AGENT_RUNNER"}:
        del os.environ[name]
os.environ |= {
    "AGENT_DATA_DIR": tempfile.mkdtemp(prefix="agentweb-test-"),
    "AGENT_ALLOW_LLM": "0",
    "AGENT_MODEL": "demo",
    "AGENT_LEARN_BY_MODEL": "0",  # the scripts of the stories know nothing of a call after the turn
    "AGENT_EMBEDDER": "hashed",
    "DJANGO_SETTINGS_MODULE": "agentweb.settings",
}

from agentweb.settings import *  # noqa: F403

if not AGENT_DATABASE_URL:  # noqa: F405
    # A file, as in production: Django's in-memory default shares one cache among threads, where a second writer
    # is refused at once ("table is locked") instead of waiting its turn.
    DATABASES["default"]["TEST"] = {"NAME": AGENT_DATA_DIR / "test.sqlite3"}  # noqa: F405
