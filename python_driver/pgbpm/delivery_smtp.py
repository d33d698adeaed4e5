"""Commands as mail.

=====================================================  ============================
what was seen                                           outcome
=====================================================  ============================
name, connect, TLS or login failure, no secret          ``NotSent``
4xx before the message                                  ``Throttled`` (profile's backoff)
5xx before the message                                  ``Refused``
the message begun, then timeout, reset, error           ``Unknown``
250 after the message                                   ``Sent`` (with receipt)
4xx after the message: not accepted                     ``Throttled``
5xx after the message                                   ``Refused``
=====================================================  ============================

The message goes to all recipients or to none. Its ``Message-ID`` is the command's id, at every
attempt; whether a mail server recognises it is not known, so ``resend_allowed`` is a choice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, getaddresses, parseaddr
from typing import Any

from pgbpm.config import DeliveryConfig
from pgbpm.jsontext import storable
from pgbpm.names import Names
from pgbpm.network import connect_checked
from pgbpm.secretrefs import resolve_secret
from pgbpm.sending import Command, Progress, Report, Unsendable, broken

_THREADS = 32
_PORTS = {"starttls": 587, "tls": 465, "none": 25}


class SmtpSender:
    """Sends mail, each over a connection of its own, in a thread."""

    def __init__(self, config: DeliveryConfig, names: Names) -> None:
        self._config = config
        self._names = names
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="pgbpm-smtp")

    async def close(self) -> None:
        """No mail is begun any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def send(self, command: Command, progress: Progress) -> Report:
        """Send it once."""
        sender, recipients, content = message(command)
        secret_ref = command.destination.get("secret_ref")
        password = resolve_secret(secret_ref) if secret_ref else None
        limit = command.seconds("timeout_seconds", self._config.timeout_s)
        line = _Line()
        server = _Server.of(command.config)
        try:
            async with asyncio.timeout(limit):
                addresses = await self._names.find(server.host, server.port)
                return await asyncio.get_running_loop().run_in_executor(
                    self._threads, self._talk,
                    command, server, addresses, sender, recipients, content, password, limit,
                    progress, line,
                )  # fmt: skip
        except TimeoutError:
            return broken(progress, "Timeout", f"no whole answer within {limit:.1f} s")
        except OSError as error:
            return broken(progress, type(error).__name__, str(error))
        finally:
            line.cut()

    def _talk(
        self, command: Command, server: _Server, addresses: list[str], sender: str,
        recipients: list[str], content: bytes, password: str | None, limit: float,
        progress: Progress, line: _Line,
    ) -> Report:  # fmt: skip
        try:
            with _Connection(server, addresses, command.config, self._config, limit, line) as smtp:
                if password is not None:
                    smtp.login(str(command.config.get("user") or sender), password)
                smtp.ehlo_or_helo_if_needed()
                for answer in _envelope(smtp, sender, recipients):
                    if not (200 <= answer[0] < 300 or answer[0] == 354):
                        return _refused(answer)
                progress.leaves()
                smtp.send(content)
                answer = smtp.getreply()
                if answer[0] != 250:
                    return _refused(answer)
                return Report("Sent", {"status": 250}, _receipt(answer))
        except Exception as error:  # whatever it was: it is reported, not left to the lease
            return broken(progress, type(error).__name__, str(error))


def _envelope(
    smtp: smtplib.SMTP, sender: str, recipients: list[str]
) -> Iterator[tuple[int, bytes]]:
    """The answers before the message, each asked for only when the one before was taken."""
    yield smtp.mail(sender)
    for recipient in recipients:
        yield smtp.rcpt(recipient)
    yield smtp.docmd("DATA")


class _Line:
    """The socket of a connection, so that nobody goes on listening to a server that drips."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False

    def hold(self, sock: socket.socket) -> None:
        """This is the socket now. Closed at once where the line was cut before."""
        with self._lock:
            self._socket = sock
            if self._is_cut:
                sock.close()

    def cut(self) -> None:
        """Whoever waits for the socket waits no longer; without an answer, or after it."""
        with self._lock:
            self._is_cut = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


@dataclass(frozen=True, slots=True)
class _Server:
    """Whom to talk to."""

    host: str
    port: int
    security: str

    @staticmethod
    def of(config: Mapping[str, Any]) -> _Server:
        """What the destination says. Raises :class:`Unsendable`."""
        host = str(config.get("host") or "")
        security = str(config.get("security") or "starttls")
        if not host or security not in _PORTS:
            raise Unsendable("the destination has no mail server")
        try:
            port = int(config.get("port") or _PORTS[security])
        except (TypeError, ValueError):
            raise Unsendable("the destination is malformed: port") from None
        return _Server(host, port, security)


class _Connection(smtplib.SMTP):
    """Connected to a checked address, with the security that was asked for or not at all."""

    def __init__(
        self, server: _Server, addresses: list[str], config: Mapping[str, Any],
        ours: DeliveryConfig, limit: float, line: _Line,
    ) -> None:  # fmt: skip
        self._line = line
        self._addresses = addresses
        self._security = server.security
        self._allow_private = ours.allow_private_addresses
        self._connect_s = min(
            float(config.get("connect_timeout_seconds") or ours.connect_timeout_s), limit
        )
        super().__init__(server.host, server.port, timeout=limit)
        self._host = server.host
        if server.security == "starttls":
            self.starttls(context=ssl.create_default_context())
            if self.sock is not None:
                self._line.hold(self.sock)
            self.ehlo()

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        sock = connect_checked(
            host, self._addresses, port, self._connect_s, allow_private=self._allow_private
        )
        sock.settimeout(timeout)
        self._line.hold(sock)
        if self._security == "tls":
            secure = ssl.create_default_context().wrap_socket(
                sock, server_hostname=host, do_handshake_on_connect=False
            )
            self._line.hold(secure)
            secure.do_handshake()
            return secure
        return sock

    def __exit__(self, *args: object) -> None:
        """The answer to QUIT is not waited for: it says nothing of the message."""
        with contextlib.suppress(OSError, smtplib.SMTPException):
            self.putcmd("QUIT")
        self.close()


def message(command: Command) -> tuple[str, list[str], bytes]:
    """Sender, recipients, and the message as it is sent after DATA, its end included.

    ``to``, ``cc``, ``subject``, ``text`` and ``html`` of the payload go before those of the
    destination; without a text the payload itself is sent.
    """
    payload = command.payload if isinstance(command.payload, dict) else {}
    said = {**command.config, **{k: v for k, v in payload.items() if v not in (None, "", [])}}
    made = EmailMessage(policy=SMTP)
    try:
        made["From"] = str(command.config.get("from") or "")
        made["To"] = _list(said.get("to"))
        if said.get("cc"):
            made["Cc"] = _list(said["cc"])
        made["Subject"] = _line(said.get("subject") or "")
        sender = parseaddr(str(made["From"]))[1]
        made["Message-ID"] = f"<{command.id}@{sender.rpartition('@')[2]}>"
        made["Date"] = formatdate(command.sent_at)
        made["Auto-Submitted"] = "auto-generated"
        text = said.get("text")
        if text is None and said.get("html") is None:
            text = json.dumps(payload, ensure_ascii=False, indent=2, default=str)
        made.set_content(str(text) if text is not None else "This message is in HTML.")
        if said.get("html") is not None:
            made.add_alternative(str(said["html"]), subtype="html")
        recipients = [a for _, a in getaddresses([str(made["To"]), str(made.get("Cc", ""))]) if a]
        content = made.as_bytes()
    except (ValueError, TypeError, UnicodeError, LookupError) as error:
        raise Unsendable(f"this is no message: {error}") from None
    if not recipients or not all(map(_is_address, [sender, *recipients])):
        raise Unsendable("a mail address of the message is missing or cannot be written to")
    return sender, recipients, re.sub(rb"(?m)^\.", b"..", content) + b".\r\n"


def _list(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join(_line(one) for one in values if one)


def _line(value: Any) -> str:
    text = str(value)
    if "\r" in text or "\n" in text:
        raise ValueError("a header has more than one line")
    return text


def _is_address(address: str) -> bool:
    name, at, host = address.rpartition("@")
    return bool(name and at and host) and address.isascii() and not re.search(r"[\s<>]", address)


def _refused(answer: tuple[int, bytes]) -> Report:
    return Report(
        "Throttled" if 400 <= answer[0] < 500 else "Refused",
        {"status": answer[0]},
        _receipt(answer),
    )


def _receipt(answer: tuple[int, bytes]) -> dict[str, Any]:
    text = storable(answer[1].decode(errors="replace"))[:1000]
    return {"status": answer[0], "message": text}
