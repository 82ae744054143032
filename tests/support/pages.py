"""A web server on loopback that plays the outside: pages, redirects, search results.

path -> whatever the test put there.  Touches: a port on loopback.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(slots=True)
class Answer:
    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Pages:
    address: str  # host:port
    answers: dict[str, Answer] = field(default_factory=dict)
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)  # method, path, headers, body

    def put(self, path: str, body: str | bytes, *, kind: str = "text/html; charset=utf-8", **more: str | int) -> str:
        """Returns the address of the page. More: status, or headers with underscores."""
        status = int(more.pop("status", 200))
        headers = {name.replace("_", "-"): str(value) for name, value in more.items()}
        raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        self.answers[path] = Answer(raw, status, {"Content-Type": kind} | headers)
        return f"http://{self.address}{path}"


@contextmanager
def served() -> Iterator[Pages]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.split("?")[0]
            pages.seen.append((self.command, path, dict(self.headers), body))
            found = pages.answers.get(path, Answer(b"not here", 404))
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in found.headers:
                self.send_header("Content-Length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    pages = Pages(f"127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield pages
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
