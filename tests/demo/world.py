"""The world outside: a courier and a card company that honour idempotency keys.

``python -m tests.demo.world FILE`` serves on a free port of the loopback, prints its address, and
writes every effect to the SQLite database FILE, synced to disk before it answers. It is a process
of its own: nothing that is killed in the demo can take an effect back.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.demo.orders import Order

SCHEMA = """
create table request (kind text, key text, order_number int, answer text, at real);
create table effect (kind text, key text, order_number int, at real);
create index request_key on request (kind, key);
create index effect_key on effect (kind, key);
"""


class Book:
    """What happened, on disk."""

    def __init__(self, file: Path) -> None:
        self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")
        self._db.executescript(SCHEMA)
        self._lock = threading.Lock()

    def times_asked(self, kind: str, key: str) -> int:
        """How often this key was seen before."""
        with self._lock:
            query = "select count(*) from request where kind = ? and key = ?"
            return int(self._db.execute(query, (kind, key)).fetchone()[0])

    def note(self, kind: str, key: str, order: int, answer: str) -> None:
        """A request came in."""
        with self._lock:
            row = (kind, key, order, answer, time.time())
            self._db.execute("insert into request values (?, ?, ?, ?, ?)", row)

    def take_effect(self, kind: str, key: str, order: int) -> bool:
        """Book or charge, unless this key has done so before; whether it did now."""
        with self._lock:
            self._db.execute("begin immediate")
            known = self._db.execute(
                "select 1 from effect where kind = ? and key = ?", (kind, key)
            ).fetchone()
            if known is None:
                self._db.execute(
                    "insert into effect values (?, ?, ?, ?)", (kind, key, order, time.time())
                )
            self._db.execute("commit")
            return known is None


class World(BaseHTTPRequestHandler):
    """``POST /courier`` and ``POST /cards``, both with an ``Idempotency-Key``."""

    protocol_version = "HTTP/1.1"
    book: Book

    def do_POST(self) -> None:
        """Answer as the script says."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        order, key = Order(body["order"]), self.headers["Idempotency-Key"]
        if self.path == "/cards":
            self._charge(order, key)
        else:
            self._book(order, key)

    def _charge(self, order: Order, key: str) -> None:
        if order.card_declined:
            self.book.note("charge", key, order.number, "declined")
            self._answer(402, {"declined": True})
            return
        new = self.book.take_effect("charge", key, order.number)
        time.sleep(0.03)  # between the effect and its answer is where a kill hurts
        self.book.note("charge", key, order.number, "charged" if new else "known")
        self._answer(200, {"reference": f"charge-of-{order.key}"})

    def _book(self, order: Order, key: str) -> None:
        first = self.book.times_asked("booking", key) == 0
        if first and order.courier_is_busy:
            self.book.note("booking", key, order.number, "busy")
            self._answer(503, {"busy": True}, ("Retry-After", "1"))
            return
        new = self.book.take_effect("booking", key, order.number)
        if first and order.courier_drops_answer:
            self.book.note("booking", key, order.number, "dropped")
            self.close_connection = True
            return
        self.book.note("booking", key, order.number, "booked" if new else "known")
        self._answer(200, {"parcel": f"parcel-of-{order.key}"})

    def _answer(self, status: int, content: dict[str, object], *headers: tuple[str, str]) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        for name, value in (("Content-Type", "application/json"), *headers):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A killed runner leaves broken connections; they are nobody's fault."""


def main() -> None:
    """Serve until killed."""
    World.book = Book(Path(sys.argv[1]))
    server = _Server(("127.0.0.1", 0), World)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
