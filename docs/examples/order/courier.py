"""A courier that honours idempotency keys, for docs/tour.md: python courier.py PORT

It drops every third answer after it has booked, as networks do.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

bookings: dict[str, str] = {}
asked = 0


class Courier(BaseHTTPRequestHandler):
    """POST /bookings with an Idempotency-Key books once per key."""

    def do_POST(self) -> None:
        """Book, or say again what was booked under this key."""
        global asked
        asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Idempotency-Key"]
        parcel = bookings.setdefault(key, f"parcel-{len(bookings) + 1}")
        if asked % 3 == 1:
            self.close_connection = True  # booked, and nobody hears of it
            return
        body = json.dumps({"parcel": parcel}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """How many requests came, and how many bookings there are."""
        body = f"{asked} requests, {len(bookings)} bookings\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Courier).serve_forever()
