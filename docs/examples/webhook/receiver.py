"""A webhook that loses nothing and believes nobody, for docs/intake.md: python receiver.py PORT

It needs nothing but Python and psycopg. What it takes from the environment:

    WEBHOOK_SECRET    shared with the provider; two of them, separated by a blank, while it changes
    WEBHOOK_DATABASE  where pgbpm is; its login needs bpm_worker
    WEBHOOK_TENANT    whose events these are (default: the tenant without a name)
    WEBHOOK_CHANNEL   how events of this provider are called (default: webhook)

A request is an event {"id", "type", "data": {…}, "occurred_at", "thread"} with the header
``Webhook-Signature: t=<unix time>,v1=<HMAC-SHA256 of "<t>.<body>", hexadecimal>``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

MOST_BYTES = 256 * 1024
TOLERANCE_S = 300
SIGNATURE = re.compile(r"t=(\d{1,12})((?:,v1=[0-9a-f]{64}){1,5})")


class Refused(Exception):
    """A request that gets an answer other than 2xx."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def check_signature(header: str | None, body: bytes, secrets: list[str], now: float) -> None:
    """Raise :class:`Refused` unless one of the secrets signed this body a moment ago.

    The time is part of what is signed, so an old request cannot be sent again with a new one. A
    request that is repeated within the tolerance is what ``accept_event`` is for: it is known.
    """
    found = SIGNATURE.fullmatch(header or "")
    if found is None:
        raise Refused(401, "no signature")
    signed = found[1].encode() + b"." + body
    given = [part.removeprefix("v1=") for part in found[2].split(",") if part]
    wanted = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    # Every pair is compared, in constant time: how long it takes tells nothing.
    matches = [hmac.compare_digest(one, other) for one in given for other in wanted]
    if not any(matches):
        raise Refused(401, "the signature does not fit")
    if abs(now - int(found[1])) > TOLERANCE_S:
        raise Refused(401, "the signature is too old, or of the future")


def read_event(body: bytes) -> dict[str, Any]:
    """The arguments of ``accept_event``. Raises :class:`Refused` if this is no event."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "not JSON") from None
    if not isinstance(event, dict) or not isinstance(event.get("data", {}), dict):
        raise Refused(400, "not an event")
    texts = {name: event.get(name) for name in ("id", "type", "occurred_at", "thread")}
    if any(not isinstance(text, (str, type(None))) for text in texts.values()):
        raise Refused(400, "not an event")
    return {
        "provider_event_id": texts["id"],
        "type": texts["type"],
        "occurred_at": texts["occurred_at"],
        "thread_id": texts["thread"],
        "payload": event.get("data", {}),
    }


def accept(database: str, tenant: str, event: dict[str, Any]) -> bool:
    """Accept the event and commit; whether it is new.

    Whoever answers 2xx before the commit has promised what may never be.
    """
    options = "-c statement_timeout=5s"
    with psycopg.connect(
        database, connect_timeout=3, options=options
    ) as conn:  # commits at the end
        row = conn.execute(
            """
            select a.is_new, a.outcome::text, a.message
              from bpm.accept_events(%s, p_tenant_id => %s) a
            """,
            [Jsonb([event]), tenant],
        ).fetchone()
    assert row is not None
    is_new, outcome, message = row
    if outcome == "Conflict":
        raise Refused(409, message)
    if outcome != "Done":
        raise Refused(422, message)
    return bool(is_new)


class Webhook(BaseHTTPRequestHandler):
    """POST anywhere: one event."""

    timeout = 10  # of a client that does not send what it promised
    server: Server

    def do_POST(self) -> None:
        """202 when it is new, 200 when it is known; never 2xx when it is not in the database."""
        try:
            body = self.body()
            check_signature(
                self.headers["Webhook-Signature"], body, self.server.secrets, time.time()
            )
            event = {"channel": self.server.channel, **read_event(body)}
            is_new = accept(self.server.database, self.server.tenant, event)
            self.answer(202 if is_new else 200, "accepted")
        except Refused as refused:
            self.answer(refused.status, str(refused))
        except psycopg.Error as error:
            known = (error.sqlstate or "").startswith("BP4")
            self.log_error("not accepted: %s", error)
            # BP400: no provider can mend it by sending again. Anything else: it should try later.
            self.answer(400 if known and error.sqlstate == "BP400" else 503, "try again later")

    def body(self) -> bytes:
        """What was sent. Raises :class:`Refused` if that is too much, or unknown how much."""
        length = self.headers["Content-Length"]
        if length is None or not length.isdigit():
            raise Refused(411, "how long is it?")
        if int(length) > MOST_BYTES:
            self.close_connection = True  # it is not read
            raise Refused(413, f"more than {MOST_BYTES} bytes")
        return self.rfile.read(int(length))

    def answer(self, status: int, text: str) -> None:
        """Answer, with what went wrong but never with what we know."""
        body = json.dumps({"said": text}).encode()
        self.send_response(status)
        if status == 503:
            self.send_header("Retry-After", "30")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """One line per request on standard error, without what was sent."""
        print(f"{self.address_string()} {format % args}", file=sys.stderr)


class Server(ThreadingHTTPServer):
    """The webhook on a port of this machine; TLS is the business of what stands before it."""

    daemon_threads = True

    def __init__(
        self, port: int, database: str, secrets: list[str], channel: str, tenant: str = ""
    ) -> None:
        if not secrets:
            raise SystemExit("WEBHOOK_SECRET is empty: everybody could sign")
        self.database, self.secrets, self.channel, self.tenant = database, secrets, channel, tenant
        super().__init__(("127.0.0.1", port), Webhook)


if __name__ == "__main__":
    Server(
        int(sys.argv[1]),
        os.environ["WEBHOOK_DATABASE"],
        os.environ["WEBHOOK_SECRET"].split(),
        os.environ.get("WEBHOOK_CHANNEL", "webhook"),
        os.environ.get("WEBHOOK_TENANT", ""),
    ).serve_forever()
