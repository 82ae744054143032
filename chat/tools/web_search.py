"""Search the web through the provider that the operator chose.

query -> titles, addresses, snippets.  Touches: the network.

AGENT_SEARCH names it: searxng (AGENT_SEARCH_URL, no key), brave or tavily (AGENT_SEARCH_KEY).
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import httpx2 as httpx
from django.conf import settings
from pydantic import Field

from chat.errors import ToolFailed
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext

SECONDS = 15.0


class WebSearchArgs(Args):
    query: str = Field(description="a few words", min_length=1, max_length=400)
    limit: int = Field(5, ge=1, le=10)


async def run(args: WebSearchArgs, ctx: ToolContext) -> Done:
    provider = settings.AGENT_SEARCH
    if provider == "searxng" and settings.AGENT_SEARCH_URL:
        found = _results(await _searxng(args.query), "results", "content")
    elif provider == "brave" and settings.AGENT_SEARCH_KEY:
        found = _results((await _brave(args.query)).get("web", {}), "results", "description")
    elif provider == "tavily" and settings.AGENT_SEARCH_KEY:
        found = _results(await _tavily(args.query, args.limit), "results", "content")
    else:
        raise ToolFailed(
            "Web search is not set up.",
            "The operator must set AGENT_SEARCH to searxng (with AGENT_SEARCH_URL), brave or tavily (with AGENT_SEARCH_KEY).",
            "Go on without it, or tell the person.",
        )
    found = found[: args.limit]
    lines = [f"{hit['title']}\n{hit['url']}\n{hit['snippet']}" for hit in found]
    return Done(
        data={"results": found}, summary=f"{len(found)} results", text="\n\n".join(lines) or "Nothing was found."
    )


async def _searxng(query: str) -> Any:
    # The operator's own address may be local, so the guard for pages does not apply to it.
    return await _ask(
        "GET", f"{settings.AGENT_SEARCH_URL.rstrip('/')}/search?{urlencode({'q': query, 'format': 'json'})}"
    )


async def _brave(query: str) -> Any:
    url = f"https://api.search.brave.com/res/v1/web/search?{urlencode({'q': query})}"
    return await _ask(
        "GET", url, headers={"X-Subscription-Token": settings.AGENT_SEARCH_KEY, "Accept": "application/json"}
    )


async def _tavily(query: str, limit: int) -> Any:
    headers = {"Authorization": f"Bearer {settings.AGENT_SEARCH_KEY}"}
    return await _ask(
        "POST", "https://api.tavily.com/search", headers=headers, body={"query": query, "max_results": limit}
    )


async def _ask(method: str, url: str, *, headers: Mapping[str, str] | None = None, body: Any = None) -> Any:
    try:
        async with httpx.AsyncClient(timeout=SECONDS, trust_env=False) as client:
            response = await client.request(method, url, headers=dict(headers or {}), json=body)
            response.raise_for_status()
            return response.json()
    except httpx.HTTPStatusError as fault:
        status = fault.response.status_code
        raise ToolFailed(
            f"The search provider answered {status}.", "The key may be wrong or used up.", "Go on without it."
        ) from fault
    except (httpx.HTTPError, json.JSONDecodeError) as fault:
        raise ToolFailed(
            "The search provider cannot be reached.",
            "It is down, or its address is wrong.",
            "Go on without it.",
            retry=True,
        ) from fault


def _results(answer: Any, name: str, snippet: str) -> list[dict[str, str]]:
    """Only what is shaped like a result; a provider's answer is outside data too."""
    hits = answer.get(name) if isinstance(answer, Mapping) else None
    return [
        {
            "title": str(hit.get("title", ""))[:200],
            "url": str(hit["url"])[:500],
            "snippet": str(hit.get(snippet) or "")[:500],
        }
        for hit in hits or []
        if isinstance(hit, Mapping) and str(hit.get("url", "")).startswith(("http://", "https://"))
    ]


CONTRACT = Contract(
    name="web_search",
    purpose="Search the web; returns titles, addresses and snippets.",
    not_for="reading a page (fetch_page), what is known about the person (search_memory)",
    args=WebSearchArgs,
    run=run,
    tier=Tier.READ,
    returns={"type": "object", "required": ["results"]},
    returns_empty='{"results": []}: nothing was found',
    failures=(FailureMode(when="no provider is set up or it is down", advice="go on without it"),),
    cost="free or as the provider asks",
    latency="a few seconds",
    timeout=30,
    repeatable=True,
    pack="web",
    outside=True,
    available=lambda: bool(settings.AGENT_SEARCH),
)
