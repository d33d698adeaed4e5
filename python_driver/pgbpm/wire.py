"""HTTP/1.1: bytes by asyncio, their meaning by h11, and as little as possible between them.

Most of what a runner does for a command is this. A client library with its layers takes three times
as long for the same bytes.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import h11
import httpx

from pgbpm.names import Names
from pgbpm.network import AddressRefused, ConnectError, check_addresses

_LONGEST_HEAD = 100 * 1024
_MOST_AHEAD = 256 * 1024

Header = tuple[bytes, bytes]


class ReadError(OSError):
    """The connection broke while the answer was awaited."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a request goes. Equal origins share connections."""

    scheme: str
    host: str
    port: int
    host_header: bytes
    target: bytes

    @property
    def origin(self) -> tuple[str, str, int]:
        """What connections are kept under."""
        return self.scheme, self.host, self.port


@dataclass(slots=True)
class Answer:
    """What came back so far. ``whole``: that was all, and none of it was cut off."""

    cap: int
    status: int = 0
    headers: Sequence[Header] = ()
    body: bytearray = field(default_factory=bytearray)
    whole: bool = False


class Connections:
    """Connections by origin; one that was used is kept for ``keep_s`` seconds to be used again,
    the last one first. How many are open is bounded by who sends."""

    def __init__(self, names: Names, *, allow_private: bool, keep_s: float = 0.0) -> None:
        self._names = names
        self._allow_private = allow_private
        self._keep_s = keep_s
        self._ssl: ssl.SSLContext | None = None
        self._idle: dict[tuple[str, str, int], list[tuple[_Connection, float]]] = {}
        self._reaper: asyncio.TimerHandle | None = None

    async def exchange(
        self, method: str, address: Address, headers: Sequence[Header], body: bytes,
        connect_s: float | None, leaves: Callable[[], None], answer: Answer,
    ) -> None:  # fmt: skip
        """Send a request and read ``answer``. ``leaves()`` is called just before the first byte.

        What it raises before that: nothing left.
        """
        connection = self._take(address.origin)
        if connection is None:
            connection = await self._connect(address, connect_s)
        try:
            await connection.exchange(method, address.target, headers, body, leaves, answer)
        except BaseException:
            connection.close()
            raise
        if self._keep_s and connection.reusable:
            self._keep(address.origin, connection)
        elif answer.whole:
            connection.end()
        else:
            connection.close()

    async def _connect(self, address: Address, connect_s: float | None) -> _Connection:
        """Resolve the name once, check every address, and connect to a checked one.

        To check the name before would leave a gap: it may resolve to something else afterwards.
        """
        secure = address.scheme == "https"
        context = self._context() if secure else None
        try:
            async with asyncio.timeout(connect_s):
                found = await self._names.find(address.host, address.port)
        except TimeoutError:
            raise ConnectError(f"cannot resolve {address.host}: no answer in time") from None
        except OSError as error:
            raise ConnectError(f"cannot resolve {address.host}: {error}") from error
        check_addresses(address.host, found, allow_private=self._allow_private)
        failure: Exception = ConnectError(f"{address.host} has no address")
        loop = asyncio.get_running_loop()
        for one in found:
            try:
                async with asyncio.timeout(connect_s):
                    _, connection = await loop.create_connection(
                        _Connection, one, address.port,
                        ssl=context, server_hostname=address.host if secure else None,
                    )  # fmt: skip
                return connection
            except TimeoutError:
                failure = ConnectError(f"no connection to {one} in time")
            except (OSError, ssl.SSLError) as error:
                failure = ConnectError(str(error))
        raise failure

    def _context(self) -> ssl.SSLContext:
        if self._ssl is None:
            self._ssl = httpx.create_ssl_context(trust_env=False)
            self._ssl.set_alpn_protocols(["http/1.1"])
        return self._ssl

    def _take(self, origin: tuple[str, str, int]) -> _Connection | None:
        idle = self._idle.get(origin)
        now = asyncio.get_running_loop().time()
        while idle:
            connection, until = idle.pop()
            if until > now and connection.is_usable():
                return connection
            connection.close()
        return None

    def _keep(self, origin: tuple[str, str, int], connection: _Connection) -> None:
        loop = asyncio.get_running_loop()
        self._idle.setdefault(origin, []).append((connection, loop.time() + self._keep_s))
        if self._reaper is None:
            self._reaper = loop.call_later(self._keep_s + 0.1, self._reap)

    def _reap(self) -> None:
        """Close what was not used for a while."""
        loop = asyncio.get_running_loop()
        self._reaper = None
        for origin, idle in list(self._idle.items()):
            for connection, until in idle:
                if until <= loop.time():
                    connection.close()
            self._idle[origin] = [kept for kept in idle if kept[1] > loop.time()]
            if not self._idle[origin]:
                del self._idle[origin]
        if self._idle:
            self._reaper = loop.call_later(self._keep_s + 0.1, self._reap)

    def close(self) -> None:
        """Close what is idle."""
        if self._reaper is not None:
            self._reaper.cancel()
            self._reaper = None
        for idle in self._idle.values():
            for connection, _ in idle:
                connection.close()
        self._idle.clear()


class _Connection(asyncio.Protocol):
    """One connection: one request at a time."""

    def __init__(self) -> None:
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST_HEAD)
        self._transport: asyncio.Transport
        self._waiter: asyncio.Future[None] | None = None
        self._asked = False
        self._ended = False
        self._error: Exception | None = None
        self._ahead = 0
        self._poll = select.poll()
        self.reusable = False
        """Whether the last exchange left it fit for another."""

    # -- what asyncio calls ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        if not self._asked:  # nobody asked: what comes next would be taken for an answer
            self._ended = True
            self._transport.abort()
            return
        self._h11.receive_data(data)
        self._ahead += len(data)
        if self._ahead > _MOST_AHEAD:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._error = self._error or exc
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # -- what we call ----------------------------------------------------------------------------

    def is_usable(self) -> bool:
        """Whether, as far as can be seen from here, the other side still listens."""
        return not (self._ended or self._transport.is_closing() or self._poll.poll(0))

    def end(self) -> None:
        """Close it when all is sent."""
        self._ended = True
        self._transport.close()

    def close(self) -> None:
        """Close it now, whatever was not sent yet."""
        self._ended = True
        self._transport.abort()

    async def exchange(
        self, method: str, target: bytes, headers: Sequence[Header], body: bytes,
        leaves: Callable[[], None], answer: Answer,
    ) -> None:  # fmt: skip
        """Send a request, read its answer."""
        self.reusable = False
        wire = self._h11
        data = wire.send(h11.Request(method=method, target=target, headers=list(headers)))
        assert data is not None
        if body:
            data += wire.send(h11.Data(data=body)) or b""
        data += wire.send(h11.EndOfMessage()) or b""
        leaves()
        self._asked = True
        # Not waited for: a receiver may answer, and refuse, before it has read all.
        self._transport.write(data)
        await self._read(answer)
        self._asked = False
        if answer.whole and wire.our_state is h11.DONE and wire.their_state is h11.DONE:
            wire.start_next_cycle()
            sent = self._transport.get_write_buffer_size() == 0
            self.reusable = sent and not self._ended and not wire.trailing_data[0]

    async def _read(self, answer: Answer) -> None:
        wire = self._h11
        while True:
            event: Any = wire.next_event()
            if event is h11.NEED_DATA:
                await self._more()
            elif isinstance(event, h11.Data):
                answer.body += event.data
                if len(answer.body) > answer.cap:
                    del answer.body[answer.cap :]
                    return
            elif isinstance(event, h11.EndOfMessage):
                answer.whole = True
                return
            elif isinstance(event, h11.Response):
                answer.status, answer.headers = event.status_code, event.headers
            elif not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise h11.RemoteProtocolError("the receiver speaks another protocol")

    async def _more(self) -> None:
        """Wait for more bytes, or for their end."""
        if not self._ended:
            if self._ahead > _MOST_AHEAD:
                self._transport.resume_reading()
            self._ahead = 0
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        elif self._error is not None:
            raise ReadError(str(self._error) or type(self._error).__name__)
        elif self._h11.their_state is h11.SEND_RESPONSE:
            raise h11.RemoteProtocolError("the receiver hung up without an answer")
        else:
            self._h11.receive_data(b"")


__all__ = ["Address", "AddressRefused", "Answer", "ConnectError", "Connections", "ReadError"]
