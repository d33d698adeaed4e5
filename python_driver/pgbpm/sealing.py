"""Which variables are encrypted: seals what leaves this process, opens what handlers get.

A *place* is a path of names, ``card.number``; the elements of a list stand at the place of the
list. What is declared (``encryption.variables``), what a handler wraps in :class:`Encrypted`, and
what stood there encrypted before is sealed; everything else is left as it is.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import httpx

from pgbpm.config import EncryptionConfig
from pgbpm.encryption import Envelope, KeyRing, SealedError, check_key_id, read_key
from pgbpm.errors import ConfigError
from pgbpm.jsontext import NotJson
from pgbpm.redaction import Redactor
from pgbpm.secretrefs import SecretMissing, resolve_secret

Parse = Callable[[str], Any]
Pattern = tuple[str, ...]


class Encrypted:
    """A value that must not be stored in clear: ``return {"card": Encrypted(number)}``."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "Encrypted(…)"


class Variables(dict[str, Any]):
    """Variables in clear. What could not be opened is not among them, and says why when read."""

    __slots__ = ("faults",)

    def __init__(self, values: Mapping[str, Any], faults: Mapping[str, SealedError]) -> None:
        super().__init__(values)
        self.faults = dict(faults)

    def __missing__(self, name: str) -> Any:
        if name in self.faults:
            raise self.faults[name]
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        """As of a dict; raises :class:`SealedError` for what is there and cannot be opened."""
        if name in self.faults and name not in self:
            raise self.faults[name]
        return super().get(name, default)


@dataclass(frozen=True, slots=True)
class Opened:
    """What was opened: the variables, the places that were sealed, and what to keep silent."""

    variables: dict[str, Any]
    places: frozenset[str] = frozenset()
    redactor: Redactor = field(default_factory=Redactor)

    @property
    def faults(self) -> list[SealedError]:
        """Why variables could not be opened."""
        if isinstance(self.variables, Variables):
            return list(self.variables.faults.values())
        return []


class Vault:
    """Seals and opens variables by one configuration. Keys are looked up when first needed."""

    def __init__(self, config: EncryptionConfig) -> None:
        self._references = dict(_reference(entry) for entry in config.keys)
        if len(self._references) != len(config.keys):
            raise ConfigError("encryption.keys: a key id is there twice")
        self._patterns = [tuple(name.split(".")) for name in config.variables]
        self._renamed = [_renaming(entry) for entry in config.renamed]
        self._clear_to = [_address(entry) for entry in config.clear_to]
        self.active = config.active_key or next(iter(self._references), "")
        if config.active_key is None and len(self._references) > 1:
            raise ConfigError("encryption.active_key must say which of the keys encrypts")
        if self.active and self.active not in self._references:
            raise ConfigError(
                f"encryption.active_key: {self.active!r} is not among encryption.keys"
            )
        if self._patterns and not self._references:
            raise ConfigError(
                "encryption.variables are declared, but there is no key to encrypt them",
                hint='pgbpm keys new writes one; then encryption.keys = ["k1=env:NAME"]',
            )

    @property
    def references(self) -> dict[str, str]:
        """Where each key is, by its id, as configured."""
        return dict(self._references)

    @cached_property
    def ring(self) -> KeyRing:
        """All keys. Raises :class:`ConfigError` naming the first that is not there."""
        return KeyRing({key_id: self.key(key_id) for key_id in self._references}, self.active)

    def key(self, key_id: str) -> bytes:
        """A key of the configuration. Raises :class:`ConfigError`."""
        where = f"encryption.keys: key {key_id}"
        try:
            return read_key(resolve_secret(self._references[key_id]), where)
        except SecretMissing as error:
            raise ConfigError(f"{where}: {error}") from None

    def check(self) -> None:
        """Raises :class:`ConfigError` if a key is not there."""
        if self._references:
            _ = self.ring

    def declared(self, place: str) -> bool:
        """Whether the configuration says that what stands there is encrypted."""
        return any(_fits(place, pattern) for pattern in self._patterns)

    def clear_for(self, url: httpx.URL) -> list[Pattern]:
        """The places that a receiver at this address gets in clear."""
        return [place for address, place in self._clear_to if _begins(url, address)]

    # -- on the way out --------------------------------------------------------------------------

    def seal(
        self,
        tenant: str,
        variables: Any,
        *,
        before: Opened | None = None,
        once: str | None = None,
    ) -> tuple[Any, list[Any]]:
        """A copy of variables in which all that is to be encrypted is, and the values that were.

        ``before``: what the task was given; what was sealed there is sealed again. ``once``: the
        idempotency key of the call. Anything but a dict is given back as it is.

        Raises :class:`NotJson`, and :class:`SealedError` if there is no key.
        """
        if not isinstance(variables, dict):
            return variables, []
        walk = _Sealing(self, tenant, before.places if before else frozenset(), once)
        try:
            return {name: walk.at(str(name), value) for name, value in variables.items()}, walk.seen
        except RecursionError:
            raise NotJson("nested too deeply, or around in a circle") from None

    # -- on the way in ---------------------------------------------------------------------------

    def open(
        self,
        tenant: str,
        variables: Mapping[str, Any],
        *,
        parse: Parse = json.loads,
        only: Sequence[Pattern] | None = None,
    ) -> Opened:
        """Variables as handlers get them. Nothing is raised for what cannot be opened, until it
        is read: other handlers may never look at it. ``only``: the rest stays as it is.
        """
        opening = _Opening(self, tenant, parse, only)
        clear: dict[str, Any] = {}
        faults: dict[str, SealedError] = {}
        for name, value in variables.items():
            try:
                clear[name] = opening.at(name, value)
            except SealedError as error:
                faults[name] = error
        if not opening.places and not faults:
            return Opened(clear)
        shown = Variables(clear, faults) if faults else clear
        return Opened(shown, frozenset(opening.places), Redactor(opening.seen))

    def value_of(self, tenant: str, place: str, text: str, parse: Parse = json.loads) -> Any:
        """What an envelope found at a place holds. Raises :class:`SealedError`, and ``KeyError``
        if the text is no envelope."""
        envelope = Envelope.of(text)
        if envelope is None:
            raise KeyError(place)
        try:
            if not self._references:
                raise SealedError(
                    f"no keys are configured here, it needs key {envelope.key_id}",
                    hint="encryption.keys names them",
                )
            first, value = self.ring.open(tenant, envelope, parse)
            if not self._may_stand(place, first):
                raise SealedError(
                    f"it was encrypted for {first}",
                    hint=f'if a mapping carries it here: encryption.renamed = ["{place}={first}"]',
                )
        except SealedError as error:
            raise SealedError(
                f"variable {place} cannot be decrypted: {error.message}",
                hint=error.hint,
                why=error.message,
            ) from None
        return value

    def renew(self, tenant: str, value: Any) -> Any:
        """The same JSON, each envelope of another key replaced by one of the active key, for the
        place it was made for. Raises :class:`SealedError`."""
        if isinstance(value, dict):
            return {name: self.renew(tenant, item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.renew(tenant, item) for item in value]
        envelope = Envelope.of(value) if isinstance(value, str) else None
        if envelope is None or envelope.key_id == self.active:
            return value
        return self.ring.seal(tenant, *self.ring.open(tenant, envelope))

    def _may_stand(self, place: str, first: str) -> bool:
        if place == first:
            return True
        return any(
            _below(place, new) is not None and _below(place, new) == _below(first, old)
            for new, old in self._renamed
        )


@dataclass(slots=True)
class _Sealing:
    vault: Vault
    tenant: str
    again: frozenset[str]
    once: str | None
    seen: list[Any] = field(default_factory=list)

    def at(self, place: str, value: Any) -> Any:
        if isinstance(value, Encrypted):
            return self._sealed(place, _plain(value))
        if isinstance(value, str | int | float) or value is None:
            if value is None or not self._meant(place):
                return value
            return self._sealed(place, value)
        if isinstance(value, dict | list | tuple):
            if self._meant(place):
                return self._sealed(place, _plain(value))
            if isinstance(value, dict):
                return {k: self.at(f"{place}.{k}", item) for k, item in value.items()}
            return [self.at(place, item) for item in value]
        return value

    def _meant(self, place: str) -> bool:
        return place in self.again or self.vault.declared(place)

    def _sealed(self, place: str, value: Any) -> str:
        if isinstance(value, str) and self._is_sealed(place, value):
            return value
        if not self.vault.references:
            raise SealedError(
                f"variable {place} is to be encrypted, and no key is configured here",
                hint="encryption.keys names them",
            )
        self.seen.append(value)
        return self.vault.ring.seal(self.tenant, place, value, once=self.once)

    def _is_sealed(self, place: str, text: str) -> bool:
        """Whether it is an envelope that will open there; a forged one is a text like others."""
        try:
            self.vault.value_of(self.tenant, place, text)
        except (SealedError, KeyError):
            return False
        return True


@dataclass(slots=True)
class _Opening:
    vault: Vault
    tenant: str
    parse: Parse
    only: Sequence[Pattern] | None = None
    places: set[str] = field(default_factory=set)
    seen: list[Any] = field(default_factory=list)

    def at(self, place: str, value: Any) -> Any:
        if isinstance(value, str):
            if Envelope.of(value) is None or not self._wanted(place):
                return value
            clear = self.vault.value_of(self.tenant, place, value, self.parse)
            self.places.add(place)
            self.seen.append(clear)
            return clear
        if isinstance(value, dict):
            return {name: self.at(f"{place}.{name}", item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.at(place, item) for item in value]
        return value

    def _wanted(self, place: str) -> bool:
        return self.only is None or any(_fits(place, pattern) for pattern in self.only)


def _plain(value: Any) -> Any:
    """The value without wrappers inside: it is encrypted as a whole."""
    if isinstance(value, Encrypted):
        return _plain(value.value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _reference(entry: str) -> tuple[str, str]:
    key_id, equals, reference = entry.partition("=")
    if not equals or reference.partition(":")[0] not in {"env", "file"}:
        # what stands there may be the key itself
        raise ConfigError(
            "encryption.keys: an entry is not ID=env:NAME or ID=file:PATH",
            hint='keys are named, not written down: keys = ["k1=env:PGBPM_KEY_1"]',
        )
    return check_key_id(key_id.strip(), "encryption.keys"), reference.strip()


def _renaming(entry: str) -> tuple[str, str]:
    new, equals, old = (part.strip() for part in entry.partition("="))
    if not equals or not new or not old:
        raise ConfigError(f"encryption.renamed: {entry!r} is not NEW=OLD")
    return new, old


def _address(entry: str) -> tuple[httpx.URL, Pattern]:
    address, equals, place = (part.strip() for part in entry.rpartition("="))
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if not equals or not place or url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(
            f"encryption.clear_to: {entry!r} is not ADDRESS=PLACE",
            hint='for instance "https://pay.example.com/charges=card.*"',
        )
    return url, tuple(place.split("."))


def _begins(url: httpx.URL, address: httpx.URL) -> bool:
    if (url.scheme, url.host, url.port) != (address.scheme, address.host, address.port):
        return False
    path = address.path.rstrip("/")
    return url.path == address.path or url.path == path or url.path.startswith(f"{path}/")


def _fits(place: str, pattern: Pattern) -> bool:
    names = place.split(".")
    return len(pattern) == len(names) and all(map(fnmatch.fnmatchcase, names, pattern))


def _below(place: str, root: str) -> str | None:
    """What is left of a place below another: empty for the same, None if it is not below."""
    if place == root:
        return ""
    return place[len(root) :] if place.startswith(f"{root}.") else None
