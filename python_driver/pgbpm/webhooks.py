"""Signatures of webhooks, as https://www.standardwebhooks.com has them.

A receiver needs four lines (any of the libraries of that page will do as well)::

    from pgbpm.webhooks import verify, SignatureInvalid

    command_id = verify(request.headers, request.body, secret)

The signature covers the command's id, the time and the body. The id is the same at every attempt:
remember those you have handled.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping

ID, TIMESTAMP, SIGNATURE = "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"
TOLERANCE_S = 300.0


class SignatureInvalid(Exception):
    """The request is not from who knows the secret, or it is old. The message says which."""


def sign(command_id: str, sent_at: float, body: bytes, secret: str) -> dict[str, str]:
    """The three headers. ``sent_at``: seconds since 1970. ``secret``: a text, or ``whsec_`` and
    base64."""
    stamp = str(int(sent_at))
    return {
        ID: command_id,
        TIMESTAMP: stamp,
        SIGNATURE: f"v1,{_signature(command_id, stamp, body, secret)}",
    }


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secret: str,
    *,
    now: float | None = None,
    tolerance: float = TOLERANCE_S,
) -> str:
    """The command's id, if one of the signatures is right and the time is near ours.

    Raises :class:`SignatureInvalid`. ``now``: seconds since 1970; ``tolerance``: seconds.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        command_id, stamp, signatures = (given[name.lower()] for name in (ID, TIMESTAMP, SIGNATURE))
    except KeyError as missing:
        raise SignatureInvalid(f"there is no header {missing}") from None
    if not (stamp.isascii() and stamp.isdigit()):
        raise SignatureInvalid("the time is not a number")
    if abs((time.time() if now is None else now) - int(stamp)) > tolerance:
        raise SignatureInvalid("the request is too old, or from the future")
    right = f"v1,{_signature(command_id, stamp, body, secret)}".encode()
    if not any(hmac.compare_digest(right, one.encode()) for one in signatures.split()):
        raise SignatureInvalid("no signature is right")
    return command_id


def key_of(secret: str) -> bytes:
    """The key behind a secret. Raises ``ValueError`` if what follows ``whsec_`` is not base64."""
    if not secret.startswith("whsec_"):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise ValueError("what follows whsec_ is not base64") from None


def _signature(command_id: str, stamp: str, body: bytes, secret: str) -> str:
    signed = b".".join((command_id.encode(), stamp.encode(), body))
    return base64.b64encode(hmac.new(key_of(secret), signed, hashlib.sha256).digest()).decode()
