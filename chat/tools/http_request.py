"""Send an HTTP request that may change something to a public address; reading is fetch_page.

method, URL, body -> status, text.  Touches: the network, guarded.
"""

from typing import Literal

from pydantic import Field, field_validator

from chat.tools import guarded
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext

CHARS = 8_000
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
            if name.lower() in OURS or any(ord(char) < 32 for char in name + text):
                raise ValueError(f"the header {name!r} cannot be set")
        return value


async def run(args: HttpRequestArgs, ctx: ToolContext) -> Done:
    # The same key for every attempt at this call: a server that knows such keys runs it once.
    headers = {"Idempotency-Key": ctx.idempotency_key, **args.headers}
    page = await guarded.fetch(args.method, args.url, headers=headers, body=args.body or None)
    text = guarded.text_of(page)[:CHARS]
    return Done(
        data={"status": page.status, "url": page.url, "text": text}, summary=f"{args.method} answered {page.status}"
    )


def _effect(args: HttpRequestArgs) -> str:
    return f"Sends {args.method} to {args.url}"


CONTRACT = Contract(
    name="http_request",
    purpose="Send a POST, PUT, PATCH or DELETE request to a public address.",
    not_for="reading pages (fetch_page)",
    args=HttpRequestArgs,
    run=run,
    tier=Tier.WRITE,
    returns={"type": "object", "required": ["status"]},
    returns_empty='{"text": ""}: the server sent no body',
    failures=(FailureMode(when="the address cannot be reached", advice="check it"),),
    cost="as the service asks",
    latency="a few seconds",
    timeout=40,
    pack="web",
    effect=_effect,
    labels={"url": "Address", "body": "Body", "method": "Method", "headers": "Headers"},
)
