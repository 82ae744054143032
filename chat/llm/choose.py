"""Which model answers: the one the operator names, else a local server that is found, else the demo model.

settings, what listens on this machine -> LLM.  Touches: the network (a look at two local ports), a short memory of it.
"""

import asyncio
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from chat.errors import LLMUnavailable
from chat.llm.base import LLM, Request
from chat.llm.demo import DemoLLM
from chat.llm.openai_api import OpenAILLM, load_client
from chat.llm.price import is_private

OPENAI_URL = "https://api.openai.com/v1"
LOCAL_URLS = ("http://127.0.0.1:11434/v1", "http://127.0.0.1:8080/v1")  # Ollama, llama.cpp
LOOK_SECONDS = 0.3  # a local server answers in far less
KEPT_SECONDS = 30.0  # how long a look is believed
MODELS_SECONDS = 10.0  # for the list of a named endpoint
_NO_CHAT = ("embed", "whisper", "tts", "dall-e", "rerank", "moderation", "bge-", "clip")

_seen: dict[tuple[str, ...], tuple[float, "Found | None"]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An endpoint and the models it lists."""

    base_url: str
    models: tuple[str, ...]


async def choose() -> LLM:
    """Raises LLMUnavailable when an endpoint is named but cannot be used: it is never replaced in silence."""
    name = settings.AGENT_MODEL
    if name == "demo":
        return _demo()
    if settings.OPENAI_BASE_URL or settings.OPENAI_API_KEY:
        _allowed()
        base_url = settings.OPENAI_BASE_URL or OPENAI_URL
        model = name or _pick(await _listed(base_url, MODELS_SECONDS), base_url)
        return OpenAILLM(base_url=base_url, model=model, api_key=settings.OPENAI_API_KEY)
    found = await _local() if settings.AGENT_ALLOW_LLM else None
    if found is not None:
        return OpenAILLM(base_url=found.base_url, model=name or _pick(found, found.base_url), is_free=True)
    if name:
        raise LLMUnavailable(
            _("AGENT_MODEL names %(model)s, but no endpoint is set and none was found on this machine.")
            % {"model": name},
            _("Set OPENAI_BASE_URL, start the local server, or set AGENT_MODEL=demo."),
        )
    return _demo()


@lru_cache(maxsize=1)
def _demo() -> DemoLLM:
    return DemoLLM()


async def warm() -> None:
    """Load the client before the first message: its import takes a second, and would hold up every chat."""
    await asyncio.to_thread(load_client)
    await DemoLLM(delay=0.0).reply(Request(messages=({"role": "user", "content": "hi"},), max_tokens=10))


def forget() -> None:
    """Look again at the next message."""
    _seen.clear()


def _allowed() -> None:
    if not settings.AGENT_ALLOW_LLM:
        raise LLMUnavailable(_("Calls to a real endpoint are switched off (AGENT_ALLOW_LLM)."))


def _pick(found: "Found | None", base_url: str) -> str:
    """The model to use when none is named."""
    if found is None:
        raise LLMUnavailable(
            _("The endpoint %(where)s does not list its models.") % {"where": urlsplit(base_url).netloc},
            _("Check that it is running, that OPENAI_BASE_URL is right (it usually ends in /v1), or set AGENT_MODEL."),
        )
    models = [model for model in found.models if not any(word in model.lower() for word in _NO_CHAT)]
    if len(models) == 1 or (models and is_private(base_url)):
        return models[0]
    raise LLMUnavailable(
        _("The endpoint %(where)s has %(count)d models and none is chosen.")
        % {"where": urlsplit(base_url).netloc, "count": len(models)},
        _("Set AGENT_MODEL to one of: %(models)s") % {"models": ", ".join(models[:20]) or "-"},
    )


async def _local() -> Found | None:
    """The first local server that lists models; with AGENT_MODEL, the one that has it comes first."""
    key = ("local", settings.AGENT_MODEL)
    if (kept := _kept(key)) is not None:
        return kept[0]
    looks = await asyncio.gather(*(_models(url, LOOK_SECONDS) for url in LOCAL_URLS))
    servers = [look for look in looks if look is not None]
    servers.sort(key=lambda server: settings.AGENT_MODEL not in server.models)
    return _keep(key, servers[0] if servers else None)


async def _listed(base_url: str, seconds: float) -> Found | None:
    key = (base_url, settings.OPENAI_API_KEY)
    if (kept := _kept(key)) is not None and kept[0] is not None:
        return kept[0]
    return _keep(key, await _models(base_url, seconds))


async def _models(base_url: str, seconds: float) -> Found | None:
    """The models an endpoint lists; None when nothing there answers like one."""
    import httpx2

    key = settings.OPENAI_API_KEY
    headers = {"authorization": f"Bearer {key}"} if key and base_url not in LOCAL_URLS else {}
    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(trust_env=not is_private(base_url), timeout=seconds) as client,
        ):
            response = await client.get(f"{base_url.rstrip('/')}/models", headers=headers)
            listed: Any = response.json()
    except (TimeoutError, httpx2.HTTPError, OSError, ValueError):
        return None
    data = listed.get("data") if isinstance(listed, dict) else None
    if response.status_code != 200 or not isinstance(data, list):
        return None
    models = tuple(item["id"] for item in data if isinstance(item, dict) and isinstance(item.get("id"), str))
    return Found(base_url=base_url, models=models) if models else None


def _kept(key: tuple[str, ...]) -> "tuple[Found | None] | None":
    at, found = _seen.get(key, (float("-inf"), None))
    return (found,) if time.monotonic() - at < KEPT_SECONDS else None


def _keep(key: tuple[str, ...], found: Found | None) -> Found | None:
    _seen[key] = (time.monotonic(), found)
    return found
