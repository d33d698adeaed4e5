"""Where requests may go: names are resolved here, and only addresses that may be called are."""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import socket
import ssl
import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, cast

import httpcore
import httpx


class AddressRefused(httpcore.ConnectError):
    """A name leads to a private address and those are not allowed."""


# IPv6 addresses that end in an IPv4 address, which gateways and some kernels send on to it: NAT64
# (RFC 6052), translated (RFC 7915), compatible (RFC 4291).
_HOLD_IPV4 = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "::ffff:0:0:0/96", "::/96")))
# Not of the internet, whatever this Python says: NAT64 of one's own (RFC 8215), site-local
# (RFC 3879), segment routing (RFC 9602), protocol assignments (RFC 6890).
_CLOSED = tuple(
    map(ipaddress.ip_network, ("64:ff9b:1::/48", "fec0::/10", "5f00::/16", "192.0.0.0/24"))
)


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and any(ip in network for network in _HOLD_IPV4):
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not any(ip in net for net in _CLOSED)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves a name once, checks every address, and connects to a checked one.

    Checking the name before the request would leave a gap: it may resolve to something else when
    the connection is made.
    """

    def __init__(self, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  the interface of httpcore
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers. Raises ``httpcore.ConnectError``."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"cannot resolve {host}: {error}") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not self._allow_private and not all(map(is_public, addresses)):
            raise AddressRefused(
                f"{host} has a private address; delivery.allow_private_addresses is off"
            )
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                return await self._inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Part of the interface of httpcore."""
        await asyncio.sleep(seconds)


def connect_checked(host: str, port: int, timeout: float, *, allow_private: bool) -> socket.socket:
    """Like :class:`GuardedBackend`, for what blocks. Raises ``OSError``."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"cannot resolve {host}: {error}") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not allow_private and not all(map(is_public, addresses)):
        raise PermissionError(
            f"{host} has a private address; delivery.allow_private_addresses is off"
        )
    failure = OSError(f"{host} has no address")
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout)
        except OSError as error:
            failure = error
    raise failure


def guarded_transport(*, allow_private: bool, keep_s: float = 0.0) -> httpx.AsyncHTTPTransport:
    """A transport that connects through :class:`GuardedBackend`.

    ``keep_s``: how long an idle connection is kept to be used again; 0: none is used twice. How
    many are open is bounded by who sends. Proxies of the environment are not used.
    """
    transport = httpx.AsyncHTTPTransport(
        trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
    )
    plain = transport._pool
    if not isinstance(plain, httpcore.AsyncConnectionPool):
        raise TypeError("this version of httpx has another kind of connection pool")
    transport._pool = cast(
        "httpcore.AsyncConnectionPool",
        Connections(plain._ssl_context, GuardedBackend(allow_private), keep_s),
    )
    return transport


class Connections:
    """Connections by origin, the last one used taken first.

    The pool of httpcore walks all its connections and requests several times for each request;
    with a hundred at once that takes longer than everything else a runner does.
    """

    def __init__(
        self, ssl_context: ssl.SSLContext | None, backend: GuardedBackend, keep_s: float
    ) -> None:
        self._ssl_context = ssl_context
        self._backend = backend
        self._keep_s = keep_s
        self._idle: dict[tuple[bytes, bytes, int], list[httpcore.AsyncHTTPConnection]] = {}
        self._reaper: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request over a connection that nobody else uses meanwhile."""
        origin = request.url.origin
        key = (origin.scheme, origin.host, origin.port)
        connection = await self._take(key) or httpcore.AsyncHTTPConnection(
            origin=origin,
            ssl_context=self._ssl_context,
            keepalive_expiry=self._keep_s,
            network_backend=self._backend,
        )
        try:
            response = await connection.handle_async_request(request)
        except BaseException:
            await connection.aclose()
            raise
        assert isinstance(response.stream, AsyncIterable)

        async def give() -> None:
            if not self._keep_s or not connection.is_idle():
                await connection.aclose()
                return
            self._idle.setdefault(key, []).append(connection)
            if self._reaper is None:
                loop = asyncio.get_running_loop()
                self._reaper = loop.call_later(self._keep_s + 0.1, self._reap)

        return httpcore.Response(
            status=response.status,
            headers=response.headers,
            content=_Answer(response.stream, give),
            extensions=response.extensions,
        )

    async def _take(self, key: tuple[bytes, bytes, int]) -> httpcore.AsyncHTTPConnection | None:
        idle = self._idle.get(key, [])
        while idle:
            connection = idle.pop()
            if connection.is_available() and not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    def _reap(self) -> None:
        """Close what was not used for a while."""
        self._reaper = None
        for key, connections in list(self._idle.items()):
            old = [c for c in connections if c.has_expired()]
            self._idle[key] = [c for c in connections if c not in old]
            if not self._idle[key]:
                del self._idle[key]
            for connection in old:
                closing = asyncio.ensure_future(connection.aclose())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
        if self._idle:
            loop = asyncio.get_running_loop()
            self._reaper = loop.call_later(self._keep_s + 0.1, self._reap)

    async def aclose(self) -> None:
        """Close what is idle."""
        if self._reaper is not None:
            self._reaper.cancel()
            self._reaper = None
        for connections in self._idle.values():
            for connection in connections:
                await connection.aclose()
        self._idle.clear()

    async def __aenter__(self) -> Connections:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.aclose()


class _Answer:
    """The body of a response; closing it gives the connection back."""

    def __init__(self, stream: AsyncIterable[bytes], give: Callable[[], Awaitable[None]]) -> None:
        self._stream = stream
        self._give = give
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                await self._stream.aclose()  # type: ignore[attr-defined]
            finally:
                await self._give()


def _spare_imports() -> None:
    """httpcore tries to import sniffio with every request. Where it is not installed, that searches
    the whole path each time; this makes the same answer quick."""
    if importlib.util.find_spec("sniffio") is None:
        sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]


_spare_imports()
