"""Serve the product: migrate, print a way in, answer pages and sockets, and work on turns in the same event loop.

address, port -> a running instance.  Touches: the database, the runner, the terminal.
"""

import asyncio
import logging
import socket
import sqlite3
import sys
import threading
from argparse import ArgumentParser
from typing import Any

from daphne.endpoints import build_endpoint_description_strings
from daphne.server import Server  # installs the asyncio reactor: before any other import of twisted
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from agentweb.asgi import application
from agentweb.prepare import migrate
from agentweb.sign_in_links import links
from chat import events
from chat.errors import LLMUnavailable
from chat.llm import choose
from chat.runner import embedded
from memory.embed import embedder

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Serve agentweb on one address, with the turns worked on in this process."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--share-port", action="store_true", help="one of several processes on one port; prints no sign-in links"
        )

    def handle(self, *args: Any, host: str, port: int, share_port: bool, **options: Any) -> None:
        # With AGENT_RUNNER=scaled `manage.py work` has the turns.
        turns_here = settings.AGENT_RUNNER == "embedded"
        _check_free(host, port, share_port=share_port)
        migrate()
        self._anchor = _anchor()
        if not share_port:
            self._greet(host, port)
        _serve(host, port, turns_here=turns_here, share_port=share_port)
        self.stdout.write(
            "Stopped. Turns under way were put back; they go on at the next start." if turns_here else "Stopped."
        )

    def _greet(self, host: str, port: int) -> None:
        shown = "127.0.0.1" if host in {"0.0.0.0", "::"} else f"[{host}]" if ":" in host else host
        base = f"http://{shown}:{port}"
        person, staff = links(base)
        self.stdout.write(f"\nagentweb is served on {base}\n")
        self.stdout.write(f"  Sign in as you:    {person}")
        self.stdout.write(f"  Sign in as admin:  {staff}")
        self.stdout.write("  Each link works once; `make link` prints new ones.")
        self.stdout.write(f"  Model:             {asyncio.run(_model())}")
        self.stdout.write(f"  Data:              {settings.AGENT_DATA_DIR}")
        self.stdout.write("  Ctrl-C ends it.\n")
        self.stdout.flush()


def _check_free(host: str, port: int, *, share_port: bool) -> None:
    if not 0 < port < 65_536:
        raise CommandError("A port is a number between 1 and 65535: make run PORT=8123")
    with _socket(host, share_port=share_port) as probe:
        try:
            probe.bind((host, port))
        except OSError as fault:
            raise CommandError(
                f"Port {port} on {host} cannot be used ({fault.strerror}). "
                f"End what is using it, or choose another: make run PORT={port + 1}"
            ) from fault


def _socket(host: str, *, share_port: bool) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT if share_port else socket.SO_REUSEADDR, 1)
    return made


def _shared(host: str, port: int) -> int:
    """The number of a listening socket on a port that other processes listen on too: the kernel deals connections out among them."""
    shared = _socket(host, share_port=True)
    shared.bind((host, port))
    shared.listen(128)
    return shared.detach()


def _anchor() -> sqlite3.Connection | None:
    """With SQLite, closing the last connection writes the whole log back: one that stays open makes requests cheap."""
    if connection.vendor != "sqlite":
        return None
    anchor = sqlite3.connect(str(settings.DATABASES["default"]["NAME"]), check_same_thread=False)
    anchor.execute("PRAGMA schema_version")
    return anchor


async def _model() -> str:
    try:
        llm = await choose.choose()
    except LLMUnavailable as fault:  # the page says the same when a turn needs the model
        return f"none yet: {fault} {fault.what_to_do}"
    if not llm.is_demo:
        return llm.name
    lines = (
        llm.name,
        "It follows simple rules only. For a real model start Ollama or llama.cpp on this machine,",
        "or set OPENAI_BASE_URL, OPENAI_API_KEY and AGENT_MODEL (README, docs/endpoints.md).",
    )
    return f"\n{'':21}".join(lines)


def _serve(host: str, port: int, *, turns_here: bool, share_port: bool) -> None:
    runner = embedded()
    loop = reactor._asyncioEventloop
    # Daphne copies the shared socket's number and closes the original.
    where: dict[str, Any] = {"file_descriptor": _shared(host, port)} if share_port else {"host": host, "port": port}

    def ready() -> None:
        if turns_here:
            loop.create_task(runner.start())
        threading.Thread(target=_warm_up, daemon=True, name="warm-up").start()

    async def stop() -> None:
        if turns_here:
            await runner.stop()
        await events.farewell()

    def stopped() -> Deferred[None]:
        return Deferred.fromFuture(asyncio.ensure_future(stop(), loop=loop))

    # The reactor module stands for its one instance, which the stubs do not know.
    reactor.addSystemEventTrigger("before", "shutdown", stopped)  # type: ignore[arg-type]
    logging.getLogger("daphne").setLevel(logging.WARNING)
    Server(
        application=application,
        endpoints=build_endpoint_description_strings(**where),
        signal_handlers=True,
        ready_callable=ready,
        application_close_timeout=2,
        websocket_max_message_size=4 * 1024 * 1024,
        websocket_max_frame_size=4 * 1024 * 1024,
        server_name="agentweb",
        verbosity=0,
    ).run()


def _warm_up() -> None:
    """The first turn should not pay for loading the embedder; the runner warms the model's client."""
    try:
        embedder().embed_queries(["warm up"])
    except Exception:
        log.warning("Warming up failed; the first turn will be slower.", exc_info=sys.exc_info())
