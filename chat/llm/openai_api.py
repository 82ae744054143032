"""Any endpoint that speaks the OpenAI chat completions API, with one retry layer of our own.

Request -> Reply.  Touches: the network (through the openai client).

The request is handed over in `extra_body` and the stream is read as bytes: the client's own type walk costs
100 ms for a long conversation and its objects 90 µs for each token, all of it on the event loop.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from django.conf import settings
from django.utils.translation import gettext as _

from chat.errors import LLMUnavailable
from chat.llm import faults, json_wire, price
from chat.llm.account import account, both
from chat.llm.assemble_reply import ReplyAssembler
from chat.llm.base import OnCall, OnNotice, OnText, Request
from chat.llm.circuit import Circuit
from chat.llm.endpoint import Endpoint, offered_names
from chat.llm.faults import Fault
from chat.llm.pace import paced
from chat.llm.prepare import call_ids
from chat.llm.relay import Relay, tell
from chat.types import Json, Reply, TokenUse

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

CONNECT_SECONDS = 5.0
AFTER_FINISH_SECONDS = 5.0  # how long the end of the stream may take once the reply is complete
CLOSE_SECONDS = 0.1  # the same once all is said: a connection whose body was read to its end serves the next request
MOST_BYTES = 32_000_000  # of one reply
CHARS_PER_TOKEN, LEAST_CHARS = 20, 100_000  # text beyond this shows that an endpoint ignores max_tokens
BACK_OFF = 0.4  # seconds; doubled with each failure
MOST_WAITS, MOST_WAITED = 30, 180.0  # times and seconds that an endpoint may ask to wait, for one reply
SPREAD = 1.0  # seconds over which those that waited begin again
LEARNINGS = 6  # refusals after which a request is changed and sent again

_endpoints: dict[tuple[str, str, str], Endpoint] = {}
_circuits: dict[str, Circuit] = {}
Clients = WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Any, "AsyncOpenAI"]]
_clients: Clients = WeakKeyDictionary()


class _Failed(Exception):
    """One try has failed."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(slots=True, kw_only=True)
class _Tries:
    """What has been tried for one reply."""

    failed: int = 0  # busy or down
    waits: int = 0  # the endpoint asked to wait
    waited: float = 0.0  # seconds
    broke: int = 0  # the stream broke off, or the reply was empty
    learnt: int = 0
    spent: TokenUse = field(default_factory=TokenUse)  # by replies that were thrown away


class OpenAILLM:
    """One model of one endpoint."""

    is_demo = False

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str = "",
        wire: str | None = None,
        is_free: bool = False,
        transport: "httpx2.AsyncBaseTransport | None" = None,
    ) -> None:
        self.base_url, self.model, self.api_key, self.is_free = base_url.rstrip("/"), model, api_key, is_free
        self.transport = transport
        self._own_clients: Clients = WeakKeyDictionary()  # those of a transport go with this object
        chosen: Any = wire or settings.AGENT_LLM_WIRE
        self.endpoint = self._endpoint(chosen)
        self.where = urlsplit(self.base_url).netloc.removeprefix("www.")
        circuit = Circuit(where=self.where)
        self.circuit = circuit if transport is not None else _circuits.setdefault(self.base_url, circuit)

    def _endpoint(self, wire: Literal["auto", "native", "json"]) -> Endpoint:
        made = Endpoint(base_url=self.base_url, model=self.model, wire=wire)
        if self.transport is not None:  # nothing outside this object
            return made
        return _endpoints.setdefault((self.base_url, self.model, wire), made)

    @property
    def name(self) -> str:
        host = urlsplit(self.base_url).hostname or self.base_url
        return f"{self.model} · {'localhost' if host in {'127.0.0.1', '::1'} else host}"

    async def reply(
        self,
        request: Request,
        *,
        on_text: OnText | None = None,
        on_call: OnCall | None = None,
        on_notice: OnNotice | None = None,
    ) -> Reply:
        if self.transport is None and not settings.AGENT_ALLOW_LLM:
            raise LLMUnavailable(_("Calls to a real endpoint are switched off (AGENT_ALLOW_LLM)."))
        async with Relay(on_text, on_call) as relay:
            return await self._reply(request, relay, on_notice)

    async def _reply(self, request: Request, relay: Relay, on_notice: OnNotice | None) -> Reply:
        tries, offered, taken = _Tries(), offered_names(request.tools), call_ids(request.messages)
        while True:
            body = self.endpoint.body(request)
            native = "tools" in body
            assembler = ReplyAssembler(offered if native else (), taken)
            await self._admitted(on_notice)
            try:
                await self._stream(body, assembler, relay, offered)
                self.circuit.answered()
            except _Failed as failed:
                self.circuit.failed(failed.fault)
                if failed.fault.kind == "refused" and await self._learnt(failed.fault, body, tries, on_notice):
                    continue
                complete = failed.fault.kind == "broken" and assembler.finish and not assembler.error
                if not complete:
                    if await self._try_again(failed.fault, tries, relay, on_notice):
                        continue
                    if failed.fault.kind != "broken" or assembler.is_empty:
                        raise failed.fault.as_error() from failed
                    assembler.broken = True  # what has come is kept, and marked as cut off
            reply = assembler.reply()
            reply = reply if native or not offered else json_wire.read(reply, offered)
            if self._wants_another(reply, tries):
                await tell_notice(on_notice, _("The reply was incomplete; asking again."))
                tries.broke += 1
                tries.spent = both(tries.spent, reply.usage)
                relay.begin_again()
                continue
            reply = self._noted(request, reply, native=native)
            return account(body, reply, self.endpoint, tries.spent, is_free=self.is_free)

    async def _admitted(self, on_notice: OnNotice | None) -> None:
        """Wait for as long as the endpoint wants. Raises LLMUnavailable while it is left alone."""
        while wait := self.circuit.admit():
            notice = _("The model's endpoint asks to wait %(seconds)d s.") % {"seconds": max(1, round(wait))}
            await tell_notice(on_notice, notice)
            await asyncio.sleep(wait + random.uniform(0, min(SPREAD, wait)))

    # ---- one try ----

    async def _stream(self, body: Json, assembler: ReplyAssembler, relay: Relay, offered: tuple[str, ...]) -> None:
        by_json = bool(offered) and "tools" not in body
        text: list[str] = []
        relay.call_so_far = (lambda number: json_wire.so_far("".join(text))) if by_json else assembler.call_so_far

        def show(pieces: list[tuple[str, str]]) -> None:
            for kind, piece in pieces:
                if by_json and kind == "answer":
                    text.append(piece)
                    relay.calls({0})
                elif piece:
                    relay.text(kind, piece)
            if assembler.grown:
                relay.calls(assembler.grown)
                assembler.grown = set()

        size, closing, most = 0, False, max(LEAST_CHARS, CHARS_PER_TOKEN * body.get(self.endpoint.token_field, 0))
        async with self._open(body) as chunks:
            try:
                async with asyncio.timeout(None) as limit:
                    async for chunk in chunks:
                        show(assembler.feed(chunk))
                        relay.check()
                        size += len(chunk)
                        if assembler.error:
                            break
                        if assembler.length > most or size > MOST_BYTES:
                            assembler.finish = assembler.finish or "length"  # it does not keep to its limit
                            break
                        if assembler.ended and not closing:
                            closing = True
                            limit.reschedule(asyncio.get_running_loop().time() + CLOSE_SECONDS)
                        elif assembler.finish and limit.when() is None:
                            limit.reschedule(asyncio.get_running_loop().time() + AFTER_FINISH_SECONDS)
            except TimeoutError:
                pass  # the reply is complete, only the end of the stream is missing
            finally:
                show(assembler.close())
        if assembler.error:
            raise _Failed(faults.of_report(assembler.error, where=self.where))
        if assembler.is_empty and not assembler.finish:
            raise _Failed(faults.of_nonsense(assembler.unread, where=self.where))

    @asynccontextmanager
    async def _open(self, body: Json) -> AsyncIterator[AsyncIterator[bytes]]:
        """The bytes of the answer. Leaving the block closes the connection if they have not all come."""
        import httpx2
        import openai

        client = self._client()
        try:
            async with client.chat.completions.with_streaming_response.create(
                model=self.model, messages=[], stream=True, extra_body=body
            ) as response:
                with paced(response.http_response):
                    yield response.iter_bytes()
        except openai.APIStatusError as fault:
            status, text = fault.status_code, fault.response.text
            raise _Failed(
                faults.of_status(status, fault.body, text, fault.response.headers, model=self.model, where=self.where)
            ) from fault
        except (openai.APIConnectionError, httpx2.HTTPError, httpx2.StreamError, OSError) as fault:
            timeout = settings.AGENT_LLM_TIMEOUT
            raise _Failed(faults.of_exception(fault, where=self.where, timeout=timeout)) from fault

    def _client(self) -> "AsyncOpenAI":
        """One client per address, key and event loop: its connections belong to the loop."""
        _whole_httpx()
        import httpx2
        from openai import AsyncOpenAI

        shared = _clients if self.transport is None else self._own_clients
        clients = shared.setdefault(asyncio.get_running_loop(), {})
        timeout = httpx2.Timeout(settings.AGENT_LLM_TIMEOUT, connect=CONNECT_SECONDS)
        key = (self.base_url, self.api_key, settings.AGENT_LLM_TIMEOUT)
        if key not in clients:
            http_client = httpx2.AsyncClient(
                transport=self.transport,
                timeout=timeout,
                limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=50),
                trust_env=not price.is_private(self.base_url),  # a proxy cannot reach this machine
                follow_redirects=True,
            )
            clients[key] = AsyncOpenAI(
                base_url=self.base_url,
                api_key=self.api_key or "none",
                max_retries=0,
                timeout=timeout,
                http_client=http_client,
            )
        return clients[key]

    # ---- the next try ----

    async def _learnt(self, fault: Fault, body: Json, tries: _Tries, on_notice: OnNotice | None) -> bool:
        tries.learnt += 1
        if tries.learnt > LEARNINGS or not (change := self.endpoint.learn(body, fault.said)):
            return False
        await tell_notice(
            on_notice, _("The endpoint refused part of the request; asking again, %(how)s.") % {"how": change}
        )
        return True

    async def _try_again(self, fault: Fault, tries: _Tries, relay: Relay, on_notice: OnNotice | None) -> bool:
        """Whether to ask once more; waits as long as the endpoint wants first."""
        if not fault.may_pass:
            return False
        if fault.kind == "busy" and fault.wait:  # an order, not a failure: what waits for it is the circuit
            tries.waits, tries.waited = tries.waits + 1, tries.waited + fault.wait
            relay.begin_again()
            return tries.waits <= MOST_WAITS and tries.waited <= MOST_WAITED and fault.wait <= faults.LONGEST_WAIT
        tries.failed += 1
        if fault.kind == "broken":
            tries.broke += 1
        if tries.failed > settings.AGENT_LLM_RETRIES or tries.broke > 1 or (fault.wait or 0) > faults.LONGEST_WAIT:
            return False
        pause = fault.wait if fault.wait is not None else BACK_OFF * 2**tries.failed * random.uniform(0.8, 1.2)
        said = _("The endpoint is busy") if fault.kind == "busy" else fault.message.rstrip(".")
        notice = _("%(what)s; trying again in %(seconds)s s.") % {"what": said, "seconds": max(1, round(pause))}
        await tell_notice(on_notice, notice)
        await asyncio.sleep(pause)
        relay.begin_again()
        return True

    def _wants_another(self, reply: Reply, tries: _Tries) -> bool:
        """A reply without words or calls, or one that breaks off, is asked for once more."""
        nothing = not reply.text and not reply.calls and reply.finish == "stop"
        return tries.broke == 0 and (nothing or reply.finish == "cut")

    def _noted(self, request: Request, reply: Reply, *, native: bool) -> Reply:
        notes = list(reply.notes)
        if not reply.text and not reply.calls and reply.finish == "stop":
            notes.append(_("The endpoint gave an empty reply twice."))
        if note := self.endpoint.saw(request, calls=bool(reply.calls), native=native):
            notes.append(note)
        return replace(reply, notes=tuple(notes))


def _whole_httpx() -> None:
    """The client looks whether the older httpx is loaded, and trips over one that another thread is still loading."""
    with suppress(ImportError):
        import httpx  # noqa: F401


def load_client() -> None:
    """Import the client: a second of work, better done before the first message and in a thread."""
    import openai

    openai.AsyncOpenAI(api_key="none")


async def tell_notice(on_notice: OnNotice | None, text: str) -> None:
    if on_notice is not None:
        await tell(on_notice(text))


async def close_clients() -> None:
    """Close the connections that belong to the running event loop."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.close()
