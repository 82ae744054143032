"""An endpoint on a port, for processes of their own: it plays a policy, and can hold a reply back until it is let go.

policy (request body -> reply, as in chat.llm.wire) -> a base URL.  Touches: one port of the loopback, threads.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from chat.llm.wire import DONE, chunks, completion, sse

Policy = Callable[[dict[str, Any]], dict[str, Any]]


class Endpoint(ThreadingHTTPServer):
    """`asked` holds what every request was answered with, in the order they came."""

    daemon_threads = True

    def __init__(self, policy: Policy) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.policy = policy
        self.asked: list[dict[str, Any]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": [{"id": "played", "object": "model"}]}).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.server.policy(body)
        self.server.asked.append(reply)
        with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked was killed meanwhile
            if body.get("stream"):
                sent = [sse(piece) for piece in chunks(body, reply, "played")]
                self._send(b"".join([*sent, DONE]), "text/event-stream")
            else:
                self._send(json.dumps(completion(body, reply, "played")).encode())

    def _send(self, content: bytes, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def playing(policy: Policy) -> Iterator[Endpoint]:
    endpoint = Endpoint(policy)
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    try:
        yield endpoint
    finally:
        endpoint.shutdown()
        endpoint.server_close()
