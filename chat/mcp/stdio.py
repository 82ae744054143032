"""A program on this machine as an MCP server: one JSON message per line, over its input and output.

command, environment -> streams for the session.  Touches: a process of its own group.

The SDK's transport has no limit on a line nor on what comes in all, and does not tell whether the program still lives;
a server here may flood, die or refuse to end, and the chat beside it must not notice.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from chat.mcp.types import Flow

type Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
type Outgoing = MemoryObjectSendStream[SessionMessage]

LINE = 32_000_000  # bytes of one message
SAID = 2_000  # characters kept of what it writes to its error output
PATIENCE = 2.0  # seconds to end by itself, and again after being asked


@asynccontextmanager
async def stdio(
    command: Sequence[str], env: Mapping[str, str], flow: Flow
) -> AsyncGenerator[tuple[Incoming, Outgoing]]:
    """`flow` counts what comes and says when it is over. Raises OSError when the program cannot be started."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**get_default_environment(), **env},  # nothing else of this process's environment: it holds secrets
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        limit=LINE,
    )
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read(process, incoming, flow)),
        asyncio.create_task(_write(process, to_send, flow)),
        asyncio.create_task(_listen(process, flow)),
    ]
    try:
        yield received, outgoing
    finally:
        flow.over = flow.over or "It was closed."
        ending = asyncio.ensure_future(_end(process, tasks))
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await ending  # a cancelled caller leaves no process behind; every wait inside has an end
            raise
        finally:
            for stream in (incoming, received, outgoing, to_send):
                stream.close()


async def _read(
    process: asyncio.subprocess.Process, incoming: MemoryObjectSendStream[SessionMessage | Exception], flow: Flow
) -> None:
    """Lines into messages until the program's output ends; then the session sees a closed stream, and waits for nothing."""
    assert process.stdout
    try:
        while line := await process.stdout.readline():
            flow.came(len(line))
            if flow.over:
                return
            if line.strip():
                await incoming.send(_message(line))
            await asyncio.sleep(0)  # a reader that is never blocked would leave no time for others
        flow.over = flow.over or "It ended."
    except ValueError:  # longer than LINE
        flow.over = flow.over or f"It sent a message of more than {LINE // 1_000_000} MB."
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the session is gone
    finally:
        incoming.close()


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as fault:  # a program that prints to its output; the session goes on
        return fault


async def _write(
    process: asyncio.subprocess.Process, to_send: MemoryObjectReceiveStream[SessionMessage], flow: Flow
) -> None:
    assert process.stdin
    try:
        async for sent in to_send:
            line = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()
    except (OSError, anyio.ClosedResourceError):
        flow.over = flow.over or "It takes nothing more."


async def _listen(process: asyncio.subprocess.Process, flow: Flow) -> None:
    """Keep the end of what it complains of: the reason why it does not start stands there."""
    assert process.stderr
    while chunk := await process.stderr.read(4_096):
        flow.came(len(chunk))
        flow.said = (flow.said + chunk.decode("utf-8", "replace"))[-SAID:]


async def _end(process: asyncio.subprocess.Process, tasks: Sequence[asyncio.Task[None]]) -> None:
    """Close its input, wait, ask it to end, kill it; the whole group, for a server may start others."""
    assert process.stdin
    with contextlib.suppress(OSError):
        process.stdin.close()
    tasks[0].cancel()  # what it still writes is read and dropped, so that a full pipe does not keep it
    drain = asyncio.create_task(_drop(process))
    if not await _gone(process):
        _signal(process, signal.SIGTERM)
        await _gone(process)
    _signal(process, signal.SIGKILL)
    await _gone(process)
    for task in (*tasks, drain):
        task.cancel()
    await asyncio.gather(*tasks, drain, return_exceptions=True)
    # A child that left the group may hold the pipes open; they are closed on our side.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _drop(process: asyncio.subprocess.Process) -> None:
    assert process.stdout
    with contextlib.suppress(Exception):
        while await process.stdout.read(65_536):
            pass


async def _gone(process: asyncio.subprocess.Process) -> bool:
    # Not process.wait(): that waits for the pipes as well, which a grandchild may hold.
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while process.returncode is None and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.01)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
