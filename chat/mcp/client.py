"""Sessions with MCP servers: opened when first needed, closed when idle, each in one task of its own.

Spec, tool, arguments -> Answer.  Touches: the server's process or address.

Whatever a server does (die, hang, flood, never start), a caller gets an answer or `Trouble` in words; nothing of the
SDK runs in the caller's task, so that no cancel scope is left in a task that did not enter it.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from chat.mcp import answers, clean, elicit
from chat.mcp.types import Answer, Flow, Listed, Spec, Trouble

if TYPE_CHECKING:
    from mcp import Client

START = 60.0  # seconds a server may take to start, whether or not a caller still waits
IDLE = 300.0  # seconds without a call until a session is closed
PAGES, TOOLS = 20, 300  # of a server's list
PROGRESS = 0.5  # seconds between two words of it on the page

type Ask[T] = Callable[[Client], Awaitable[T]]
type Note = Callable[[Sequence[Listed]], Awaitable[None]]
type Told = Callable[[str], Awaitable[None]]

log = logging.getLogger(__name__)
_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, "Session"]] = WeakKeyDictionary()
_tasks: WeakKeyDictionary[asyncio.AbstractEventLoop, set[asyncio.Task[None]]] = WeakKeyDictionary()  # until they end


class Session:
    """One open connection. Its task opens it, hands out the requests, and closes it."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self.flow = spec, Flow()
        self.listed: tuple[Listed, ...] = ()
        self.changed = True  # the list is to be noted
        self.stale = False  # the server says that it has another one
        self.calls: list[elicit.Asking] = []  # those that run, with what the server asks in them
        self.noting = asyncio.Lock()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._requests: asyncio.Queue[tuple[Ask[Any], asyncio.Future[Any]] | None] = asyncio.Queue()
        self._running: set[asyncio.Task[None]] = set()
        self.task = asyncio.create_task(self._live(), name=f"mcp {spec.name}")
        tasks = _tasks.setdefault(asyncio.get_running_loop(), set())
        tasks.add(self.task)
        self.task.add_done_callback(tasks.discard)

    @property
    def alive(self) -> bool:
        return not self.task.done() and not self.flow.over

    async def ready(self) -> None:
        await asyncio.shield(self._ready)

    async def ask[T](self, request: Ask[T]) -> T:
        """Run one request in the session's own tasks; a caller that is cancelled cancels it."""
        reply: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if not self.alive:
            raise Trouble(self.flow.over or "It was closed.", sent=False)
        self.flow.bytes = 0
        self._requests.put_nowait((request, reply))
        return await reply

    def retire(self, why: str) -> None:
        """No more requests; closes as soon as those that run have ended."""
        self.flow.over = self.flow.over or why
        self._requests.put_nowait(None)

    async def _live(self) -> None:
        why: BaseException | None = None
        try:
            async with _connected(self) as client:
                self._ready.set_result(None)
                await self._serve(client)
        except asyncio.CancelledError as gone:
            why = gone
            raise
        except Exception as fault:  # of any kind: a server's end is told to those who wait for it, not to the loop
            why = fault
        finally:
            self._finish(why)

    async def _serve(self, client: "Client") -> None:
        while True:
            try:
                async with asyncio.timeout(IDLE):
                    item = await self._requests.get()
            except TimeoutError:
                if self._running:
                    continue
                self.flow.over = self.flow.over or "It was idle."
                return
            if item is None:
                await asyncio.gather(*self._running, return_exceptions=True)
                return
            task = asyncio.create_task(self._answer(client, *item))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _answer(self, client: "Client", request: Ask[Any], reply: asyncio.Future[Any]) -> None:
        me = asyncio.current_task()
        assert me is not None
        reply.add_done_callback(lambda done: me.cancel() if done.cancelled() else None)
        try:
            answer = await request(client)
            if not reply.done():
                reply.set_result(answer)
        except asyncio.CancelledError:
            if not reply.done():
                reply.set_exception(Trouble(self._why(None)))
        except Exception as fault:
            if not reply.done():
                reply.set_exception(self._trouble(fault))
            if self.flow.over:
                self._requests.put_nowait(None)

    def _trouble(self, fault: BaseException) -> Exception:
        """What is said of a fault: the server's own refusal as it is, everything else as trouble with the server."""
        from mcp.shared.exceptions import MCPError
        from mcp.types import CONNECTION_CLOSED

        leaf = _leaf(fault)
        if isinstance(leaf, Trouble):
            return leaf
        if isinstance(leaf, MCPError) and leaf.code != CONNECTION_CLOSED:
            return Trouble(f"It answered: {clean.seen(leaf.message, 500)}", refused=True)
        self.flow.over = self.flow.over or self._why(leaf)
        return Trouble(self.flow.over)

    def _why(self, fault: BaseException | None) -> str:
        if self.flow.over:
            return self.flow.over
        if isinstance(fault, FileNotFoundError | PermissionError) and self.spec.command:
            return f"The program {self.spec.command[0]!r} cannot be started."
        if isinstance(fault, TimeoutError):
            return f"It did not start within {START:g} seconds."
        if fault is None or isinstance(fault, asyncio.CancelledError) or type(fault).__name__ == "MCPError":
            return "The connection ended."
        return f"It cannot be reached ({type(fault).__name__})."

    def _said(self) -> str:
        """The end of its error output, where the reason stands; without the secrets that it was given."""
        words = self.flow.said
        for secret in filter(None, self.spec.secrets.values()):
            words = words.replace(secret, "•••")
        return clean.seen(words[-240:], 240)

    def _finish(self, why: BaseException | None) -> None:
        """Everybody who waits is told; nothing of this session is left running."""
        trouble = self._trouble(why) if why else Trouble("It was closed.")
        self.flow.over = self.flow.over or str(trouble)
        if not self._ready.done():
            self._ready.set_exception(Trouble(str(trouble), sent=False, said=self._said()))
        for task in self._running:
            task.cancel()
        while not self._requests.empty():
            item = self._requests.get_nowait()
            if item is not None and not item[1].done():
                item[1].set_exception(Trouble(self.flow.over, sent=False))
        if why is not None:
            log.info("MCP server %s: %s", self.spec.name, self.flow.over)


@contextlib.asynccontextmanager
async def _connected(session: Session) -> AsyncGenerator["Client"]:
    """Open, greet, list; left by the task that entered it."""
    from mcp import Client

    async with contextlib.AsyncExitStack() as stack:
        transport = await _transport(session, stack)
        client = Client(
            transport,
            cache=None,
            message_handler=_noticing(session),
            elicitation_callback=_asking(session),
            input_required_max_rounds=3,
        )
        async with asyncio.timeout(START):
            await stack.enter_async_context(client)
            # Results are checked by nobody but the plan's own checks: a server's schema of them may hold patterns
            # that never come to an end.
            setattr(client.session, "validate_tool_result", _unchecked)  # noqa: B010
            session.listed = await _list(client)
        yield client


async def _transport(session: Session, stack: contextlib.AsyncExitStack) -> Any:
    spec = session.spec
    if spec.command:
        from chat.mcp.stdio import stdio

        return stdio(spec.command, spec.secrets, session.flow)
    from mcp.client.streamable_http import streamable_http_client

    from chat.mcp.http import client_for

    http = await stack.enter_async_context(client_for(spec, session.flow))
    return streamable_http_client(spec.url, http_client=http, max_sse_event_size=32_000_000)


async def _unchecked(name: str, result: object) -> None:
    return None


def _noticing(session: Session) -> Any:
    """Of all that a server says unasked, one thing matters: that its list has changed. Logs are dropped."""
    from mcp.types import ToolListChangedNotification

    async def notice(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            session.changed = session.stale = True

    return notice


def _asking(session: Session) -> Any:
    """A server asks the person: answered from what they have said, else left to the agent to ask with ask_user."""
    from mcp.types import ElicitResult

    async def ask(context: object, params: object) -> ElicitResult:
        # Over the open connection nothing says in which call it is asked: of several, nobody's words are given away.
        alone = session.calls[0] if len(session.calls) == 1 else None
        asking = elicit.current.get() or alone
        schema = getattr(params, "requested_schema", None)
        if asking is None or schema is None:  # or by a page of its own, which nobody is sent to
            return ElicitResult(action="decline")
        content = asking.content(getattr(params, "message", ""), schema)
        return ElicitResult(action="cancel") if content is None else ElicitResult(action="accept", content=content)

    return ask


async def _list(client: "Client") -> tuple[Listed, ...]:
    found: list[Listed] = []
    cursor: str | None = None
    for _page in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            hints = tool.annotations
            found.append(
                Listed(
                    name=tool.name,
                    description=tool.description or tool.title or "",
                    schema=tool.input_schema,
                    read_only=bool(hints and hints.read_only_hint),
                    repeatable=bool(hints and (hints.read_only_hint or hints.idempotent_hint)),
                )
            )
        cursor = page.next_cursor
        if not cursor or len(found) >= TOOLS:
            break
    return tuple(found[:TOOLS])


async def opened(spec: Spec, note: Note) -> Session:
    """The session with this server, a living one; `note` gets its list whenever that may be new. Raises Trouble."""
    sessions = _sessions.setdefault(asyncio.get_running_loop(), {})
    session = sessions.get(spec.id)
    if session is None or not session.alive or session.spec != spec:
        if session is not None:
            session.retire("Its registration has changed.")
        session = sessions[spec.id] = Session(spec)
    await session.ready()
    async with session.noting:
        if session.changed:
            if session.stale:
                session.stale = False
                session.listed = await session.ask(_list)
            session.changed = False
            await note(session.listed)
    return session


async def call(
    session: Session, tool: str, args: Mapping[str, Any], key: str, asking: elicit.Asking, told: Told | None = None
) -> Answer:
    """One call. Raises Trouble; a caller that gives up has the call cancelled and the session retired."""
    meta: Any = {"agentweb/idempotencyKey": key}

    async def request(client: "Client") -> Any:
        elicit.current.set(asking)
        session.calls.append(asking)
        try:
            return await client.call_tool(tool, dict(args), meta=meta, progress_callback=_telling(told))
        finally:
            session.calls.remove(asking)

    try:
        result = await session.ask(request)
    except asyncio.CancelledError:
        session.retire("A call did not come back.")  # it may hang for good; the next call opens another
        raise
    answer = answers.read(result.content, result.structured_content, error=result.is_error)
    return replace(answer, asked=tuple(asking.left))


def _telling(told: Told | None) -> Any:
    """Progress in words, seldom enough for a page."""
    if told is None:
        return None
    last = 0.0

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < PROGRESS:
            return
        last = now
        share = f"{100 * progress / total:.0f} %" if total and 0 <= progress <= total else ""
        await told(" ".join(part for part in (clean.seen(message or "", 120), share) if part))

    return tell


async def listed(spec: Spec) -> tuple[Listed, ...]:
    """What the server offers now, over a connection of its own. Raises Trouble."""
    session = Session(spec)
    try:
        async with asyncio.timeout(min(spec.timeout, 20.0)):
            await session.ready()
        return session.listed
    except TimeoutError:
        raise Trouble("It did not start in time.", sent=False) from None
    finally:
        session.task.cancel()
        await asyncio.gather(session.task, return_exceptions=True)


async def close() -> None:
    """Close every session of this event loop."""
    loop = asyncio.get_running_loop()
    _sessions.pop(loop, None)
    tasks = list(_tasks.get(loop, ()))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _leaf(fault: BaseException) -> BaseException:
    """The first real fault of a group."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault
