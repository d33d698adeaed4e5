"""Where requests may go: of the addresses a name leads to, only those that may be called are."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence


class ConnectError(OSError):
    """There is no connection; nothing left."""


class AddressRefused(ConnectError, PermissionError):
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


def check_addresses(host: str, addresses: Sequence[str], *, allow_private: bool) -> None:
    """Raises :class:`AddressRefused` unless all of them may be called."""
    if not allow_private and not all(map(is_public, addresses)):
        raise AddressRefused(
            f"{host} has a private address; delivery.allow_private_addresses is off"
        )


def connect_checked(
    host: str, addresses: Sequence[str], port: int, timeout: float, *, allow_private: bool
) -> socket.socket:
    """Connect to the first address that answers, if all may be called. Blocks. Raises ``OSError``.

    ``addresses``: what the name was resolved to. To resolve it again would leave a gap: it may lead
    to something else then.
    """
    check_addresses(host, addresses, allow_private=allow_private)
    failure = OSError(f"{host} has no address")
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout)
        except OSError as error:
            failure = error
    raise failure
