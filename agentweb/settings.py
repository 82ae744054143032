"""All settings of agentweb; ours are named AGENT_* and come from the environment.

environment -> Django settings.  Touches: the data directory (made when missing).
"""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP

from agentweb.env import env_bool, env_choice, env_float, env_int, env_list, env_str, env_url, env_zone
from agentweb.secrets import data_directory, instance_secret

BASE_DIR = Path(__file__).resolve().parent.parent
# Before numpy is imported: more threads only fight over the cores, and the embedder's spin while they wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Everything one instance knows lives in this folder: database, index, files, secret key.
AGENT_DATA_DIR = data_directory(Path(env_str("AGENT_DATA_DIR") or BASE_DIR / ".data"))

DEBUG = env_bool("AGENT_DEBUG", False)
SECRET_KEY = env_str("AGENT_SECRET_KEY") or instance_secret(AGENT_DATA_DIR)
ALLOWED_HOSTS = env_list("AGENT_ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env_list("AGENT_TRUSTED_ORIGINS", [])

INSTALLED_APPS = [
    "daphne",
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "agentweb",
    "planning",
    "memory",
    "chat",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "agentweb.admin_policy.AdminPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "agentweb.urls"
ASGI_APPLICATION = "agentweb.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
    {
        # What the model reads: no HTML escaping, and a missing name is an error, not a blank.
        "NAME": "prompts",
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates" / "prompts"],
        "APP_DIRS": False,
        "OPTIONS": {"autoescape": False, "string_if_invalid": "<<missing: %s>>"},
    },
]


def _database(url: str) -> dict[str, object]:
    """SQLite in the data directory, or PostgreSQL when AGENT_DATABASE_URL says so."""
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": AGENT_DATA_DIR / "agentweb.sqlite3",
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": (
                    "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;PRAGMA secure_delete=ON;"
                ),
            },
        }
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_HEALTH_CHECKS": True,  # a pooled connection that a restart of PostgreSQL cut is replaced, not handed out
        "OPTIONS": {"pool": {"min_size": 2, "max_size": 12}},
    }


AGENT_DATABASE_URL = env_url("AGENT_DATABASE_URL", "postgresql", "postgres")
DATABASES = {"default": _database(AGENT_DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Who works on turns: embedded, the process that serves the pages; scaled, processes of their own (manage.py work).
AGENT_RUNNER = env_choice("AGENT_RUNNER", "embedded", "scaled")
if AGENT_DATABASE_URL:  # the job queue lives in PostgreSQL; its tables are there whoever runs the turns
    INSTALLED_APPS.append("procrastinate.contrib.django")
PROCRASTINATE_AUTODISCOVER_MODULE_NAME = ""  # jobs are named in chat/jobs.py, tasks are the worker's

AGENT_REDIS_URL = env_url("AGENT_REDIS_URL", "redis", "rediss", "unix")
CHANNEL_LAYERS: dict[str, dict[str, object]] = {
    "default": {"BACKEND": "channels.layers.InMemoryChannelLayer", "CONFIG": {"capacity": 1000}}
}
if AGENT_REDIS_URL:
    from redis.asyncio.retry import Retry  # a quarter of a second of import that only several processes need
    from redis.backoff import NoBackoff

    CHANNEL_LAYERS["default"] = {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {
            "hosts": [
                {
                    "address": AGENT_REDIS_URL,
                    # A socket waits 5 s for its next event; redis-py gives up on every read after just as long.
                    "socket_timeout": 20,
                    "socket_connect_timeout": 2,
                    # Events are told once: a turn does not wait for a server that is away.
                    "retry": Retry(NoBackoff(), retries=1),
                }
            ],
            "capacity": 1000,
        },
    }

AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend", "sesame.backends.ModelBackend"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
# A sign-in link works once, for a day.
SESAME_ONE_TIME = True
SESAME_MAX_AGE = 24 * 3600

UNFOLD = {
    "SITE_TITLE": "agentweb",
    "SITE_HEADER": "agentweb",
    "SITE_URL": "/",
    "SHOW_VIEW_ON_SITE": False,
    "SIDEBAR": {"show_search": True},
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "agentweb" / "locale"]
TIME_ZONE = env_zone("AGENT_TIME_ZONE", "UTC")
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = AGENT_DATA_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)  # whitenoise complains of a missing one; it serves the sources as they are
WHITENOISE_USE_FINDERS = True

SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "connect-src": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "object-src": [CSP.NONE],
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
# Behind TLS these are set to 1; `make run` serves plain HTTP on loopback.
AGENT_HTTPS = env_bool("AGENT_HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = AGENT_HTTPS
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]  # probes come from inside, without TLS
SECURE_HSTS_SECONDS = env_int("AGENT_HSTS_SECONDS", 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env_bool("AGENT_HSTS_ALL", False)  # subdomains too
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if AGENT_HTTPS else None
# Several instances run side by side on one host name, which cookies do not tell apart by port.
SESSION_COOKIE_NAME = env_str("AGENT_COOKIE", "agentweb_session")
CSRF_COOKIE_NAME = SESSION_COOKIE_NAME + "_csrf"

if AGENT_RUNNER == "scaled" and not (AGENT_DATABASE_URL and AGENT_REDIS_URL):
    raise ImproperlyConfigured("AGENT_RUNNER=scaled needs AGENT_DATABASE_URL and AGENT_REDIS_URL.")

# The endpoint. Empty: look for a local server, else the demo model.
AGENT_MODEL = env_str("AGENT_MODEL")  # a model's name; "demo" forces the demo model
OPENAI_BASE_URL = env_url("OPENAI_BASE_URL", "http", "https")
OPENAI_API_KEY = env_str("OPENAI_API_KEY")
AGENT_LLM_WIRE = env_choice(
    "AGENT_LLM_WIRE", "auto", "native", "json"
)  # auto, native (tool calls) or json (JSON replies)
AGENT_LLM_TIMEOUT = env_float("AGENT_LLM_TIMEOUT", 120, least=1)  # seconds without a byte from the endpoint
AGENT_LLM_RETRIES = env_int("AGENT_LLM_RETRIES", 2)  # after a fault of the endpoint that may pass
AGENT_PRICE_IN = env_float("AGENT_PRICE_IN", -1, least=-1)  # dollars per million prompt tokens; -1: look it up
AGENT_PRICE_OUT = env_float("AGENT_PRICE_OUT", -1, least=-1)  # dollars per million reply tokens; -1: look it up
AGENT_ALLOW_LLM = env_bool("AGENT_ALLOW_LLM", True)  # False: a call to a real endpoint is an error (tests)

# The budget of one turn; a gate ends the turn at the first one reached.
AGENT_MAX_ITERATIONS = env_int("AGENT_MAX_ITERATIONS", 30, least=1)
AGENT_MAX_TOKENS = env_int("AGENT_MAX_TOKENS", 60_000, least=1)  # prompt and reply tokens together
AGENT_MAX_SECONDS = env_float("AGENT_MAX_SECONDS", 900, least=1)  # working time; waiting for the person is free
AGENT_MAX_COST = env_float("AGENT_MAX_COST", 0.50)  # dollars
AGENT_MAX_REPEATS = env_int("AGENT_MAX_REPEATS", 3, least=1)  # the same action in a row
AGENT_MAX_REVISIONS = env_int("AGENT_MAX_REVISIONS", 4)  # plan revisions by the agent
AGENT_STEP_ITERATIONS = env_int(
    "AGENT_STEP_ITERATIONS", 6, least=1
)  # iterations one step may use before it must be replanned
AGENT_CONTEXT_TOKENS = env_int("AGENT_CONTEXT_TOKENS", 6_000, least=1_000)  # what the model may see in one request
AGENT_TOOLS_OFFERED = env_int(
    "AGENT_TOOLS_OFFERED", 20
)  # tools a plan is made from, described; more are found by search
AGENT_TOOLS_NAMED = env_int("AGENT_TOOLS_NAMED", 40)  # tools beside them that are shown by their name alone
AGENT_SUMMARY_TOKENS = env_int("AGENT_SUMMARY_TOKENS", 2_000)  # older talk beyond this is folded into the summary
AGENT_REPLY_TOKENS = env_int("AGENT_REPLY_TOKENS", 1_500, least=1)  # reserved for its reply
AGENT_DENY_TOOLS = env_list("AGENT_DENY_TOOLS", [])  # tools nobody may use; names or patterns such as "web_*"
AGENT_ASK_TOOLS = env_list("AGENT_ASK_TOOLS", [])  # tools that ask the person at every call, whatever was allowed
AGENT_ASK_ABOVE = env_float("AGENT_ASK_ABOVE", 0.05)  # dollars of a turn that expensive tools may spend unasked
AGENT_APPROVAL_HOURS = env_float("AGENT_APPROVAL_HOURS", 24, least=0.01)  # until an approval expires
AGENT_NOTIFY_EMAIL = env_bool("AGENT_NOTIFY_EMAIL", False)  # mail people at their address when something waits for them
AGENT_NOTIFY_WEBHOOK = env_url(
    "AGENT_NOTIFY_WEBHOOK", "http", "https"
)  # an address that is told of it by POST; empty: none
AGENT_NOTIFY_AFTER = env_float("AGENT_NOTIFY_AFTER", 60)  # seconds that it has waited by then
AGENT_URL = env_url(
    "AGENT_URL", "http", "https", default="http://localhost:8000"
)  # of this instance, for the links in such notices
AGENT_TURNS_AT_ONCE = env_int("AGENT_TURNS_AT_ONCE", 200, least=1)  # turns one process works on; more wait in the queue
AGENT_TURNS_PER_PERSON = env_int("AGENT_TURNS_PER_PERSON", 20)  # turns of one person that run at once; 0: no limit
AGENT_TURNS_IN_ALL = env_int("AGENT_TURNS_IN_ALL", 0)  # turns that run at once, all processes together; 0: no limit
AGENT_QUEUE_PER_PERSON = env_int("AGENT_QUEUE_PER_PERSON", 50)  # turns of one person that may wait; 0: no limit
AGENT_QUEUE_LIMIT = env_int(
    "AGENT_QUEUE_LIMIT", 500, least=1
)  # turns that may wait in all; beyond it new ones are refused
AGENT_LEASE_SECONDS = env_float(
    "AGENT_LEASE_SECONDS", 8, least=0.1
)  # a turn whose worker is silent for this long is taken up

# Memory.
AGENT_EMBEDDER = env_choice(
    "AGENT_EMBEDDER", "use", "hashed", "openai"
)  # use (offline), hashed (tests), or openai (OPENAI_BASE_URL)
AGENT_EMBED_MODEL = env_str("AGENT_EMBED_MODEL", "text-embedding-3-small")  # for AGENT_EMBEDDER=openai
AGENT_CHROMA_URL = env_url("AGENT_CHROMA_URL", "http", "https")  # empty: Chroma in process, in the data directory
# Up to this many memories of one person are searched exactly, from the vectors kept in the rows; above it Chroma is
# asked first. Measured: exact search of 10,000 takes 3 ms, and Chroma only pays beyond.
AGENT_EXACT_LIMIT = env_int("AGENT_EXACT_LIMIT", 10_000)
AGENT_DOCUMENT_MB = env_int("AGENT_DOCUMENT_MB", 20)  # the largest file a person may give the agent to read
AGENT_LEARN_BY_MODEL = env_bool("AGENT_LEARN_BY_MODEL", True)  # ask the model about statements no rule understood
AGENT_RECALL_FLOOR = env_float("AGENT_RECALL_FLOOR", 0.24)  # below this score nothing is recalled
AGENT_RECALL_LIMIT = env_int("AGENT_RECALL_LIMIT", 6)  # memories put in front of the model at most

# The web.
AGENT_SEARCH = env_choice(
    "AGENT_SEARCH", "", "searxng", "brave", "tavily"
)  # provider of web_search: searxng, brave or tavily; empty: none
AGENT_SEARCH_URL = env_url("AGENT_SEARCH_URL", "http", "https")  # address of a SearXNG instance
AGENT_SEARCH_KEY = env_str("AGENT_SEARCH_KEY")  # key of Brave or Tavily
AGENT_FETCH_ALLOW = env_list(
    "AGENT_FETCH_ALLOW", []
)  # host:port inside a private network that may be fetched all the same

EMAIL_BACKEND = env_str("AGENT_EMAIL_BACKEND", "django.core.mail.backends.console.EmailBackend")
DEFAULT_FROM_EMAIL = env_str("AGENT_EMAIL_FROM", "agent@localhost")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {
        "handlers": ["console"],
        "level": env_choice("AGENT_LOG_LEVEL", "WARNING", "DEBUG", "INFO", "ERROR", "CRITICAL"),
    },
}
