"""Large values by reference: ``artifact://STORE/PATH#sha256=HEX``.

A reference is a text like any other for the database: stored, passed on, never followed. Whoever
follows it has the store, and checks the hash.

A kind of store is an entry point of the group ``pgbpm.artifact_stores``: a function that takes the
address behind ``NAME=KIND:`` in ``artifacts.stores`` and gives a :class:`Store`. ``file`` is built
in: a folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import quote

from pgbpm.config import ArtifactsConfig
from pgbpm.errors import ConfigError, PgbpmError

SCHEME = "artifact://"
GROUP = "pgbpm.artifact_stores"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_REFERENCE = re.compile(
    rf"{SCHEME}(?P<store>{_NAME.pattern})/(?P<path>[A-Za-z0-9._~%/-]{{1,900}})"
    r"#sha256=(?P<sha256>[0-9a-f]{64})"
)


class ArtifactError(PgbpmError):
    """A reference cannot be followed, or what it leads to is not what was put there."""

    code = "BP422"


class Store(Protocol):
    """Where bytes are kept. A path is relative, with slashes; the same path is the same bytes."""

    def put(self, path: str, data: bytes) -> None:
        """Keep the bytes, for good, before this returns. May be called again for the same."""

    def get(self, path: str) -> bytes:
        """The bytes. Raises ``FileNotFoundError``."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The parts of a reference."""

    store: str
    path: str
    sha256: str

    @staticmethod
    def of(text: str) -> Reference:
        """Raises :class:`ArtifactError` if the text is no reference."""
        found = _REFERENCE.fullmatch(text)
        if found is None or not _is_plain_path(found["path"]):
            raise ArtifactError(
                "that is no reference to an artifact",
                hint=f"it has the form {SCHEME}STORE/PATH#sha256=HEX",
            )
        return Reference(found["store"], found["path"], found["sha256"])

    def __str__(self) -> str:
        return f"{SCHEME}{self.store}/{self.path}#sha256={self.sha256}"


class FileStore:
    """A folder."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def put(self, path: str, data: bytes) -> None:
        """Written beside, then renamed: nobody ever sees half of it."""
        file = self._file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as beside:
            try:
                beside.write(data)
                beside.flush()
                os.fsync(beside.fileno())
                Path(beside.name).replace(file)
            except BaseException:
                with contextlib.suppress(OSError):
                    Path(beside.name).unlink()
                raise

    def get(self, path: str) -> bytes:
        return self._file(path).read_bytes()

    def _file(self, path: str) -> Path:
        if not _is_plain_path(path):
            raise ArtifactError(f"{path!r} is no path of an artifact")
        return self._folder / path


class Artifacts:
    """The stores of one configuration."""

    def __init__(self, config: ArtifactsConfig) -> None:
        self._addresses: dict[str, tuple[str, str]] = {}
        for entry in config.stores:
            name, equals, rest = entry.partition("=")
            kind, colon, address = rest.partition(":")
            if not equals or not colon or not address or not _NAME.fullmatch(name.strip()):
                raise ConfigError(
                    f"artifacts.stores: {entry!r} is not NAME=KIND:ADDRESS",
                    hint='for instance "files=file:/var/lib/pgbpm/artifacts"',
                )
            self._addresses[name.strip()] = kind.strip(), address.strip()

    @cached_property
    def _stores(self) -> dict[str, Store]:
        return {name: _open(kind, at) for name, (kind, at) in self._addresses.items()}

    def put(self, tenant: str, data: bytes, store: str | None = None) -> str:
        """Keep bytes in a store (the first one by default); the reference.

        The path is made of the tenant and the hash: the same bytes are kept once per tenant.
        """
        name = store or next(iter(self._addresses), "")
        sha256 = hashlib.sha256(data).hexdigest()
        path = f"{_folder(tenant)}/{sha256[:2]}/{sha256}"
        self._store(name).put(path, data)
        return str(Reference(name, path, sha256))

    def get(self, tenant: str, reference: str) -> bytes:
        """The bytes a reference leads to, compared with its hash. Raises :class:`ArtifactError`,
        also for what is another tenant's."""
        found = Reference.of(reference)
        if not found.path.startswith(f"{_folder(tenant)}/"):
            raise ArtifactError("the artifact is not one of this tenant")
        try:
            data = self._store(found.store).get(found.path)
        except FileNotFoundError:
            raise ArtifactError(f"there is no artifact {found}") from None
        if hashlib.sha256(data).hexdigest() != found.sha256:
            raise ArtifactError(f"what is stored as {found} is not what was put there")
        return data

    def _store(self, name: str) -> Store:
        if name not in self._addresses:
            known = ", ".join(self._addresses) or "none"
            raise ConfigError(
                f"there is no artifact store {name!r} (there: {known})" if name
                else "there is no artifact store",
                hint='artifacts.stores = ["files=file:/var/lib/pgbpm/artifacts"]',
            )  # fmt: skip
        return self._stores[name]


@dataclass(frozen=True, slots=True)
class TaskArtifacts:
    """What a handler has: the stores, for the tenant of its task."""

    stores: Artifacts
    tenant: str

    def put(self, data: bytes, store: str | None = None) -> str:
        """Keep bytes; the reference, to be returned as a variable."""
        return self.stores.put(self.tenant, data, store)

    def get(self, reference: str) -> bytes:
        """The bytes behind a variable. Raises :class:`ArtifactError`."""
        return self.stores.get(self.tenant, reference)


def _open(kind: str, address: str) -> Store:
    if kind == "file":
        return FileStore(address)
    for found in entry_points(group=GROUP, name=kind):
        factory: Callable[[str], Store] = found.load()
        return factory(address)
    raise ConfigError(
        f"artifacts.stores: there is no kind of store {kind!r}",
        hint=f"file is built in; others come with a package, as an entry point of {GROUP}",
    )


def _folder(tenant: str) -> str:
    return f"t-{quote(tenant, safe='')}"


def _is_plain_path(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return str(PurePosixPath(path)) == path and not path.startswith("/") and ".." not in parts
