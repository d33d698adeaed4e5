"""The envelope of an encrypted value, and the key ring that makes and opens it.

::

    __encrypted:1:KEY-ID:DATA

``DATA`` is base64url without padding of nonce (12 bytes), ciphertext and tag (16 bytes) of
AES-256-GCM. The associated data are ``pgbpm``, the version, the key id and the tenant, each with
its length before it. What is encrypted is a JSON array ``[PLACE, VALUE]``, filled up with blanks to
a multiple of 32 bytes, so that its length does not tell *yes* from *no*. ``PLACE`` is the path of
names the value was encrypted for. It is inside, and not in the associated data, because mappings of
the database carry an envelope to other names without being able to open it: whoever opens it
learns the first name and decides whether it may stand where it was found.

The nonce is random, but for calls that carry an idempotency key: repeated they must be the same
text. Then it is taken from a keyed hash (HMAC-SHA-256) of that key and of what is encrypted.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pgbpm.errors import ConfigError, PgbpmError
from pgbpm.jsontext import write

PREFIX = "__encrypted:"
KEY_BYTES = 32
_VERSION = "1"
_NONCE_BYTES = 12
_TAG_BYTES = 16
_BLOCK = 32
_KEY_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_OURS = re.compile(rf"{PREFIX}([0-9]+):([A-Za-z0-9._-]{{1,64}}):(.*)", re.S)
_DATA = re.compile(r"[A-Za-z0-9_-]+")


class SealedError(PgbpmError):
    """An encrypted value cannot be opened here. The message says which and why, never a value."""

    code = "BP422"

    def __init__(self, message: str, *, hint: str | None = None, why: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.why = why or message


@dataclass(frozen=True, slots=True)
class Envelope:
    """The parts of an envelope; ``data`` as text, not looked at yet."""

    version: str
    key_id: str
    data: str

    @staticmethod
    def of(text: str) -> Envelope | None:
        """The envelope a text is, or None: texts of any other form are data like all others."""
        if not text.startswith(PREFIX):
            return None
        found = _OURS.fullmatch(text)
        return None if found is None else Envelope(found[1], found[2], found[3])

    def payload(self) -> bytes:
        """Nonce, ciphertext and tag. Raises :class:`SealedError`."""
        if self.version != _VERSION:
            raise SealedError(f"envelopes of version {self.version} are not known here")
        if not _DATA.fullmatch(self.data) or len(self.data) % 4 == 1:
            raise SealedError("the envelope is damaged")
        try:
            payload = base64.b64decode(self.data + "=" * (-len(self.data) % 4), b"-_")
        except (binascii.Error, ValueError):
            raise SealedError("the envelope is damaged") from None
        if len(payload) < _NONCE_BYTES + _TAG_BYTES + _BLOCK:
            raise SealedError("the envelope is damaged: it is too short")
        return payload


@dataclass(frozen=True, slots=True)
class _Key:
    cipher: AESGCM
    nonce_key: bytes

    @staticmethod
    def of(raw: bytes) -> _Key:
        return _Key(AESGCM(raw), hmac.digest(raw, b"pgbpm nonce", "sha256"))

    def nonce(self, once: str | None, bound: bytes, text: bytes) -> bytes:
        if once is None:
            return os.urandom(_NONCE_BYTES)
        parts = _joined(once.encode(), bound, text)
        return hmac.digest(self.nonce_key, parts, "sha256")[:_NONCE_BYTES]


class KeyRing:
    """Raw keys of 32 bytes by id; the active one encrypts, all decrypt."""

    def __init__(self, keys: Mapping[str, bytes], active: str) -> None:
        self.active = active
        self._keys = {key_id: _Key.of(raw) for key_id, raw in keys.items()}

    def __repr__(self) -> str:
        return f"KeyRing(active={self.active!r}, ids={sorted(self._keys)})"

    def seal(self, tenant: str, place: str, value: Any, *, once: str | None = None) -> str:
        """The envelope of a JSON value, under the active key.

        ``once``: the idempotency key of the call it is part of; the same then gives the same text.
        Raises :class:`pgbpm.jsontext.NotJson` for what could not be stored in clear either.
        """
        text = f"[{write(place)},{write(value)}]".encode()
        text += b" " * (-len(text) % _BLOCK)
        key, bound = self._keys[self.active], _bound(self.active, tenant)
        nonce = key.nonce(once, bound, text)
        payload = nonce + key.cipher.encrypt(nonce, text, bound)
        data = base64.urlsafe_b64encode(payload).rstrip(b"=").decode()
        return f"{PREFIX}{_VERSION}:{self.active}:{data}"

    def open(
        self, tenant: str, envelope: Envelope, parse: Callable[[str], Any] = json.loads
    ) -> tuple[str, Any]:
        """The place a value was encrypted for, and the value. Raises :class:`SealedError`."""
        payload = envelope.payload()
        key = self._keys.get(envelope.key_id)
        if key is None:
            known = ", ".join(sorted(self._keys)) or "none"
            raise SealedError(
                f"key {envelope.key_id} is not in the key ring (there: {known})",
                hint="add it to encryption.keys; old keys stay there for as long as values need"
                " them",
            )
        nonce, sealed = payload[:_NONCE_BYTES], payload[_NONCE_BYTES:]
        try:
            text = key.cipher.decrypt(nonce, sealed, _bound(envelope.key_id, tenant))
        except InvalidTag:
            raise SealedError(
                f"it was not encrypted with key {envelope.key_id} for tenant {tenant!r}, or it was"
                " changed since"
            ) from None
        place, value = parse(text.decode())
        return str(place), value


def _bound(key_id: str, tenant: str) -> bytes:
    return _joined(*(part.encode() for part in ("pgbpm", _VERSION, key_id, tenant)))


def _joined(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def check_key_id(key_id: str, where: str) -> str:
    """The id, if it can stand in an envelope. Raises :class:`ConfigError`."""
    if not _KEY_ID.fullmatch(key_id):
        raise ConfigError(
            f"{where}: a key id has 1 to 64 letters, digits, dots, dashes and underscores"
        )
    return key_id


def read_key(text: str, where: str) -> bytes:
    """The raw key of a base64 text. Raises :class:`ConfigError`, without the text."""
    plain = text.strip().rstrip("=").replace("-", "+").replace("_", "/")
    try:
        key = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError(
            f"{where} is no key: 32 bytes in base64 are expected",
            hint="pgbpm keys new writes one",
        )
    return key


def new_key() -> str:
    """A fresh key as base64 text."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()
