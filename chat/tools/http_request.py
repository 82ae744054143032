"""Send an HTTP request that may change something to a public address; reading is fetch_page.

method, URL, body -> status, text.  Touches: the network, guarded.
"""

import re
from typing import Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field, field_validator

from chat.errors import OutcomeUnknown, ToolFailed
from chat.tools import guarded
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext

CHARS = 8_000
NAME = re.compile(r"[A-Za-z0-9-]{1,60}")
OURS = {"host", "content-length", "transfer-encoding", "connection"}  # headers that the client sets


class HttpRequestArgs(Args):
    method: Literal["POST", "PUT", "PATCH", "DELETE"] = "POST"
    url: str = Field(description="a full https address", min_length=4, max_length=2_000)
    body: str = Field("", max_length=100_000)
    headers: dict[str, str] = Field(default_factory=dict)

    @field_validator("headers")
    @classmethod
    def _plain(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not NAME.fullmatch(name) or name.lower() in OURS or any(ord(char) < 32 for char in text):
                raise ValueError(f"the header {name!r} cannot be set")
        return value


async def run(args: HttpRequestArgs, ctx: ToolContext) -> Done:
    # The same key for every attempt at this call: a server that knows such keys runs it once.
    headers = {"Idempotency-Key": ctx.idempotency_key, **args.headers}
    page = await guarded.fetch(args.method, args.url, headers=headers, body=args.body or None)
    if page.status >= 500:
        raise OutcomeUnknown(f"The server answered {page.status}. Whether it did anything is not known.")
    if page.status >= 300:
        raise ToolFailed(
            f"The server answered {page.status} and did not do it.",
            _why(page.status),
            "Check address and body.",
            mend=True,
        )
    text = _text(page)
    return Done(
        data={"status": page.status, "url": page.url, "text": text}, summary=f"{args.method} answered {page.status}"
    )


def _text(page: guarded.Page) -> str:
    """It has been done: a reply that is no text does not undo it."""
    try:
        return guarded.text_of(page)[:CHARS]
    except ToolFailed:
        return f"({len(page.body):,} bytes of {page.kind[:60]})"


def _why(status: int) -> str:
    words = {401: "It wants a key or password.", 403: "It is not allowed.", 404: "There is nothing at this address."}
    return words.get(status, "It points elsewhere." if status < 400 else "It does not accept this request.")


def _effect(args: HttpRequestArgs) -> str:
    return _("Sends %(method)s to %(url)s") % {"method": args.method, "url": args.url}


CONTRACT = Contract(
    name="http_request",
    purpose="Send a POST, PUT, PATCH or DELETE request to a public address.",
    not_for="reading pages (fetch_page)",
    args=HttpRequestArgs,
    run=run,
    tier=Tier.WRITE,
    returns={"type": "object", "required": ["status"]},
    returns_empty='{"text": ""}: the server sent no body',
    failures=(
        FailureMode(when="the address cannot be reached or refuses", advice="check address and body"),
        FailureMode(when="no answer comes, or a fault of the server", advice="the person says whether it happened"),
    ),
    cost="as the service asks",
    latency="a few seconds",
    timeout=40,
    pack="web",
    outside=True,
    effect=_effect,
    labels={
        "url": gettext_noop("Address"),
        "body": gettext_noop("Body"),
        "method": gettext_noop("Method"),
        "headers": gettext_noop("Headers"),
    },
)
