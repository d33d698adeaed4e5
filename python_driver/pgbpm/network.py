"""Where requests may go: names are resolved here, and only addresses that may be called are."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx


class AddressRefused(httpcore.ConnectError):
    """A name leads to a private address and those are not allowed."""


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


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


def guarded_transport(
    *, allow_private: bool, connections: int, keep_s: float = 0.0
) -> httpx.AsyncHTTPTransport:
    """A transport that connects through :class:`GuardedBackend`.

    ``keep_s``: how long an idle connection is kept to be used again; 0: none is used twice.
    Proxies of the environment are not used.
    """
    transport = httpx.AsyncHTTPTransport(
        trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
    )
    plain = transport._pool
    if not isinstance(plain, httpcore.AsyncConnectionPool):
        raise TypeError("this version of httpx has another kind of connection pool")
    transport._pool = httpcore.AsyncConnectionPool(
        ssl_context=plain._ssl_context,
        max_connections=connections,
        max_keepalive_connections=connections if keep_s else 0,
        keepalive_expiry=keep_s,
        network_backend=GuardedBackend(allow_private),
    )
    return transport
