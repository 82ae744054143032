"""Read a web page: its text without menus and scripts, with the address to cite.

URL -> title, text, url.  Touches: the network, guarded.
"""

import asyncio

from pydantic import Field

from chat.errors import ToolFailed
from chat.tools import guarded
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext

CHARS = 12_000


class FetchPageArgs(Args):
    url: str = Field(description="a full https address", min_length=4, max_length=2_000)


async def run(args: FetchPageArgs, ctx: ToolContext) -> Done:
    page = await guarded.fetch("GET", args.url)
    if page.status >= 400:
        raise ToolFailed(
            f"{page.url} answered {page.status}.", "The page is gone or closed.", "Use another address.", mend=True
        )
    html = guarded.text_of(page)
    title, text = await asyncio.to_thread(_readable, html, page.kind)
    if not text.strip():
        raise ToolFailed(
            f"{page.url} holds no readable text.", "It may be built by scripts.", "Use another page.", mend=True
        )
    data = {"url": page.url, "title": title, "text": text[:CHARS], "cut": page.cut or len(text) > CHARS}
    return Done(
        data=data, summary=f"{title or page.url}, {len(text):,} characters", text=f"{title}\n{page.url}\n{text[:CHARS]}"
    )


def _readable(html: str, kind: str) -> tuple[str, str]:
    """Title and main text; a plain text is its own."""
    if "html" not in kind and "<html" not in html[:2_000].lower():
        return "", html
    import trafilatura  # large: only when a page is read

    if "<html" not in html[:2_000].lower():
        html = f"<html><body>{html}</body></html>"  # a fragment, which the library would not take
    meta = trafilatura.extract_metadata(html)
    # A page that is no article has no main part: then all of its words.
    text = trafilatura.extract(html, include_comments=False, include_images=False) or trafilatura.html2txt(html)
    return (meta.title or "" if meta else ""), text


CONTRACT = Contract(
    name="fetch_page",
    purpose="Read the text of one web page.",
    not_for="finding pages (web_search), private or local addresses",
    args=FetchPageArgs,
    run=run,
    tier=Tier.READ,
    returns={"type": "object", "required": ["url", "text"]},
    returns_empty="never empty: a page without text is a failure",
    failures=(FailureMode(when="the page cannot be reached or read", advice="use another address"),),
    cost="free",
    latency="a few seconds",
    timeout=40,
    repeatable=True,
    pack="web",
    outside=True,
)
