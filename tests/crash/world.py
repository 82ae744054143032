"""What is outside the server: a model behind an OpenAI endpoint, and a service that takes orders and counts them.

HTTP -> replies by rules; orders by idempotency key.  Touches: a port on loopback.

It lives in the process that kills the server, so that nothing it knows is lost with the server. The model is
stateless: what it says follows from the tools that the request offers.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

from aiohttp import web

from chat.llm.wire import DONE, chunks, completion, sse

MODEL = "scripted"


class World:
    """delay: seconds between streamed pieces; slow: seconds the service takes for an order."""

    def __init__(self, *, delay: float = 0.004, slow: float = 0.05) -> None:
        self.delay, self.slow = delay, slow
        self.requests = 0  # to the model
        self.executions: Counter[str] = Counter()  # idempotency key -> how often the order came in
        self.orders: Counter[str] = Counter()  # "12/2": turn and step -> how often, whatever the key
        self.on_order: Callable[[], None] | None = None  # called once, when the next order has come in

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**25)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/prices/{order}", self._price)
        app.router.add_post("/orders/{order}/{step}", self._order)
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.place = f"127.0.0.1:{self.runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.runner.cleanup()

    def settings(self) -> dict[str, str]:
        """How the server finds it."""
        return {
            "OPENAI_BASE_URL": f"http://{self.place}/v1",
            "OPENAI_API_KEY": "none",
            "AGENT_MODEL": MODEL,
            "AGENT_FETCH_ALLOW": self.place,
            "AGENT_LEARN_BY_MODEL": "0",  # requests are counted; what is learnt after a turn is no part of it
        }

    # ---- the service ----

    async def _price(self, request: web.Request) -> web.Response:
        return web.json_response({"order": request.match_info["order"], "price": 12})

    async def _order(self, request: web.Request) -> web.Response:
        """Done on arrival: whatever happens to the answer, it has happened."""
        try:
            await request.read()
        except ConnectionError:  # its sender was killed half-way: no order
            return web.Response(status=400)
        self.executions[request.headers["Idempotency-Key"]] += 1
        self.orders["{order}/{step}".format_map(request.match_info)] += 1
        if self.on_order is not None:
            kill, self.on_order = self.on_order, None
            kill()
        await asyncio.sleep(self.slow)
        return web.json_response({"ordered": True})

    # ---- the model ----

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests += 1
        reply = answer(body, self.place)
        if not body.get("stream"):
            return web.json_response(completion(body, reply, MODEL))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        try:
            await response.prepare(request)
            for chunk in chunks(body, reply, MODEL):
                await response.write(sse(chunk))
                await asyncio.sleep(self.delay)
            await response.write(DONE)
            await response.write_eof()
        except ConnectionError:  # its reader was killed
            pass
        return response


def answer(body: dict[str, Any], place: str) -> dict[str, Any]:
    """Plan, read a price, place two orders, one in each step, and say so."""
    tools = {tool["function"]["name"] for tool in body.get("tools", ())}
    text = json.dumps(body["messages"], ensure_ascii=False)
    order = max(map(int, re.findall(r"order no\. (\d+)", text)), default=0)
    step = max(map(int, re.findall(r"Now do step (\d+)", text)), default=0)
    if "set_plan" in tools:
        steps = [
            {"title": "Read the price", "tool": "fetch_page"},
            {"title": "Place the first half", "tool": "http_request"},
            {"title": "Place the second half", "tool": "http_request"},
        ]
        return {"text": f"I plan order {order}.", "calls": [{"name": "set_plan", "args": {"steps": steps}}]}
    if "fetch_page" in tools:
        return {"calls": [{"name": "fetch_page", "args": {"url": f"http://{place}/prices/{order}"}}]}
    if "http_request" in tools:
        args = {"method": "POST", "url": f"http://{place}/orders/{order}/{step}", "body": f"half of {order}"}
        return {"calls": [{"name": "http_request", "args": args}]}
    if "finish" in tools:
        return {"calls": [{"name": "finish", "args": {"answer": f"Order no. {order} is placed, in two halves. " * 6}}]}
    return {"text": "{}"}
