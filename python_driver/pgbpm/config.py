"""Configuration: defaults < TOML file < environment (``BPM__SECTION__KEY``).

The file is ``--config PATH``, else ``BPM_CONFIG``, else ``pgbpm.toml`` in the working directory
if it is there. A section is a TOML table, a key one of the fields below. To add an option, add a
field to the dataclass of its section: type, default and checks are read from it.

Example::

    [database]
    url = "postgresql://bpm@db/bpm"
    max_connections = 20

    [engine]
    approval_required_task_types = ["release-order"]
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgbpm.errors import ConfigError

ENV_PREFIX = "BPM__"
DEFAULT_FILE = "pgbpm.toml"


def option(default: Any, help: str, *, minimum: float | None = None) -> Any:
    """A configuration field with its help text and, for numbers, its smallest value."""
    return field(default=default, metadata={"help": help, "minimum": minimum})


@dataclass(frozen=True, slots=True)
class DatabaseConfig:
    """Which database, and how it is used."""

    url: str | None = option(None, "connection string; without one an embedded server is used")
    tenant: str = option("", "the tenant commands work for; --tenant overrides it")
    max_connections: int = option(10, "largest size of a connection pool", minimum=1)
    migrate_on_start: bool = option(
        True,
        "apply pending migrations when opening; if false, refuse to start while any is pending",
    )
    connect_timeout_s: int = option(10, "seconds to wait for one connection", minimum=1)
    pooler: bool | None = option(
        None,
        "whether `url` leads through a pooler in transaction mode; the runner finds out itself",
    )
    listen_url: str | None = option(
        None, "direct connection string for wake-ups, where `url` leads through a pooler"
    )


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """The embedded server."""

    dir: str = option(".pgbpm", "folder of data, log and state, relative to the project folder")
    bin_dir: str | None = option(None, "folder with postgres and initdb; else wheel, else system")
    port: int = option(
        0, "TCP port on 127.0.0.1 (password needed); 0 = private socket only", minimum=0
    )
    ephemeral: bool = option(False, "throw the server away when the command ends")
    durable: bool = option(True, "fsync and full page writes on; off only for throw-away data")
    start_timeout_s: float = option(
        60.0, "seconds to wait for a start, recovery included", minimum=0
    )
    stop_timeout_s: float = option(30.0, "seconds for a fast stop, then immediate", minimum=0)


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Settings that live in the database; only those given here are written there."""

    timer_poll_interval_ms: int | None = option(
        None, "pause between two looks for due timers", minimum=1
    )
    timer_batch_size: int | None = option(None, "timers fired per call", minimum=1)
    approval_required_task_types: tuple[str, ...] | None = option(
        None, "task types that need an approval before a task exists"
    )

    def given(self) -> dict[str, Any]:
        """Setting name (``engine.…``) → JSON value of what was explicitly configured."""
        pairs = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        return {
            f"engine.{name}": list(value) if isinstance(value, tuple) else value
            for name, value in pairs
            if value is not None
        }


@dataclass(frozen=True, slots=True)
class RetentionConfig:
    """How long things are kept: settings that live in the database, only those given here are
    written there. By default everything is kept for ever."""

    instance_days: int | None = option(
        None, "days after their end for which process instances are kept", minimum=0
    )
    process_days: tuple[str, ...] | None = option(
        None, "`CODE=DAYS` where a process has its own; `CODE=` is for ever"
    )
    event_days: int | None = option(
        None, "days after their decision for which incoming events are kept", minimum=7
    )
    history_months: int | None = option(
        None, "months of history kept, besides the current one", minimum=1
    )

    def given(self) -> dict[str, Any]:
        """Setting name (``retention.…``) → JSON value of what was explicitly configured."""
        pairs = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        return {
            f"retention.{name}": dict(map(_own_days, value)) if isinstance(value, tuple) else value
            for name, value in pairs
            if value is not None
        }


def _own_days(text: str) -> tuple[str, int | str | None]:
    """``CODE=DAYS`` taken apart; what is no number is left for the database to refuse."""
    code, _, days = text.rpartition("=")
    return code, int(days) if days.isdecimal() else (days or None)


@dataclass(frozen=True, slots=True)
class RunnerConfig:
    """The runner (``pgbpm run``)."""

    concurrency: int = option(200, "coroutine handlers that run at the same time", minimum=1)
    threads: int = option(16, "plain function handlers that run at the same time", minimum=1)
    batch_size: int = option(100, "tasks per claim, results per call (at most 1000)", minimum=1)
    ahead_ms: int = option(
        50, "claim ahead what handlers, as fast as they were, get through in this time", minimum=0
    )
    flush_ms: int = option(3, "a result waits at most this long for others", minimum=0)
    writers: int = option(2, "calls that store results at the same time", minimum=1)
    lease_s: float | None = option(
        None, "length of a lease; without it what the task version says", minimum=1
    )
    poll_min_ms: int = option(10, "shortest pause between two looks for work", minimum=1)
    poll_max_ms: int = option(1000, "longest pause between two looks for work", minimum=1)
    wakeup: bool = option(True, "be woken, by LISTEN and NOTIFY, when there is work")
    drain_seconds: float = option(
        20.0, "time for running handlers to end when told to stop", minimum=0
    )
    idle_grace_s: float = option(
        5.0, "--until-idle waits for what falls due within this time", minimum=0
    )
    stats_s: float = option(10.0, "pause between two lines about what was done", minimum=1)


@dataclass(frozen=True, slots=True)
class DeliveryConfig:
    """Commands the runner sends out."""

    enabled: bool = option(True, "whether this runner sends commands at all")
    concurrency: int = option(20, "requests under way at the same time", minimum=1)
    timeout_s: float = option(
        10.0, "longest wait for an answer unless the destination says", minimum=0.1
    )
    connect_timeout_s: float = option(
        5.0, "longest wait for a connection unless the destination says", minimum=0.1
    )
    max_response_bytes: int = option(65536, "longest body kept as receipt", minimum=0)
    allow_private_addresses: bool = option(
        False, "send to loopback, private and link-local addresses too"
    )


@dataclass(frozen=True, slots=True)
class EncryptionConfig:
    """Variables that are encrypted before they leave the driver; see variables.md."""

    keys: tuple[str, ...] = option(
        (), "key ring: `ID=env:NAME` or `ID=file:PATH`, each 32 bytes in base64"
    )
    active_key: str | None = option(
        None, "id of the key that encrypts; may be left out if there is only one"
    )
    variables: tuple[str, ...] = option(
        (), "places that are encrypted: `ssn`, `card.number`, `card.*`"
    )
    renamed: tuple[str, ...] = option(
        (), "`NEW=OLD`: mappings carry what was encrypted for OLD to NEW, and it may stand there"
    )
    clear_to: tuple[str, ...] = option(
        (), "`ADDRESS=PLACE`: commands to addresses that begin so carry PLACE in clear"
    )


@dataclass(frozen=True, slots=True)
class ArtifactsConfig:
    """Stores of large values that variables only refer to; see variables.md."""

    stores: tuple[str, ...] = option(
        (), "`NAME=KIND:ADDRESS`, for instance `files=file:/var/lib/pgbpm`; the first is written to"
    )


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration; ``project_dir`` is where relative folders start."""

    database: DatabaseConfig = field(default_factory=DatabaseConfig)
    server: ServerConfig = field(default_factory=ServerConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    retention: RetentionConfig = field(default_factory=RetentionConfig)
    runner: RunnerConfig = field(default_factory=RunnerConfig)
    delivery: DeliveryConfig = field(default_factory=DeliveryConfig)
    encryption: EncryptionConfig = field(default_factory=EncryptionConfig)
    artifacts: ArtifactsConfig = field(default_factory=ArtifactsConfig)
    project_dir: Path = field(default_factory=Path.cwd)
    file: Path | None = None

    def with_values(self, section: str, **values: Any) -> Config:
        """A copy with some values of one section replaced (for command line options)."""
        changed = dataclasses.replace(getattr(self, section), **values)
        return dataclasses.replace(self, **{section: changed})


SECTIONS: dict[str, Any] = {
    "database": DatabaseConfig,
    "server": ServerConfig,
    "engine": EngineConfig,
    "retention": RetentionConfig,
    "runner": RunnerConfig,
    "delivery": DeliveryConfig,
    "encryption": EncryptionConfig,
    "artifacts": ArtifactsConfig,
}


def load(path: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Read the configuration.

    ``path`` names the TOML file (it must exist then); ``environ`` defaults to ``os.environ``.
    Raises :class:`ConfigError` for unknown sections and keys, wrong types and values out of range.
    """
    environ = os.environ if environ is None else environ
    file = _find_file(path, environ)
    values: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    if file is not None:
        _read_file(file, values)
    _read_environ(environ, values)
    sections = {name: SECTIONS[name](**given) for name, given in values.items()}
    project_dir = file.resolve().parent if file is not None else Path.cwd()
    return Config(**sections, project_dir=project_dir, file=file)


def _find_file(path: str | Path | None, environ: Mapping[str, str]) -> Path | None:
    named = path or environ.get("BPM_CONFIG")
    if named:
        file = Path(named)
        if not file.is_file():
            raise ConfigError(f"configuration file {file} does not exist")
        return file
    file = Path.cwd() / DEFAULT_FILE
    return file if file.is_file() else None


def _read_file(file: Path, values: dict[str, dict[str, Any]]) -> None:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from error
    for section, table in document.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{file}: {section!r} stands outside of a section")
        _known_section(section, str(file))
        for key, value in table.items():
            spec = _spec(section, key, str(file))
            values[section][key] = _coerce(value, spec, f"{file}: {section}.{key}")


def _read_environ(environ: Mapping[str, str], values: dict[str, dict[str, Any]]) -> None:
    for name in sorted(environ):
        if not name.startswith(ENV_PREFIX):
            continue
        section, _, key = name[len(ENV_PREFIX) :].lower().partition("__")
        spec = _spec(section, key, f"environment variable {name}")
        values[section][key] = _coerce(_parse(environ[name], spec, name), spec, name)


@dataclass(frozen=True, slots=True)
class _Spec:
    kind: Any
    optional: bool
    minimum: float | None


def _spec(section: str, key: str, where: str) -> _Spec:
    _known_section(section, where)
    hints = typing.get_type_hints(SECTIONS[section])
    if key not in hints:
        raise _unknown(f"{where}: unknown key {section}.{key}", key, list(hints))
    hint = hints[key]
    optional = isinstance(hint, types.UnionType) and type(None) in hint.__args__
    kind = next(a for a in hint.__args__ if a is not type(None)) if optional else hint
    spec_field = next(f for f in dataclasses.fields(SECTIONS[section]) if f.name == key)
    return _Spec(kind, optional, spec_field.metadata.get("minimum"))


def _known_section(section: str, where: str) -> None:
    if section not in SECTIONS:
        raise _unknown(f"{where}: unknown section {section!r}", section, list(SECTIONS))


def _unknown(message: str, word: str, known: list[str]) -> ConfigError:
    close = difflib.get_close_matches(word, known, n=1)
    hint = (
        f"did you mean {close[0]!r}?" if close else f"known: {', '.join(sorted(known)) or 'none'}"
    )
    return ConfigError(message, hint=hint)


def _parse(text: str, spec: _Spec, where: str) -> Any:
    """The value an environment variable's text stands for; an empty text means not given."""
    if spec.optional and text == "":
        return None
    if spec.kind is bool:
        word = text.strip().lower()
        if word in {"true", "1", "yes", "on"}:
            return True
        if word in {"false", "0", "no", "off"}:
            return False
        raise ConfigError(f"{where}: {text!r} is not a boolean (true or false)")
    if spec.kind in {int, float}:
        try:
            return spec.kind(text)
        except ValueError:
            raise ConfigError(f"{where}: {text!r} is not a number") from None
    if spec.kind is str:
        return text
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            raise ConfigError(f"{where}: {text!r} is not a JSON array") from None
    return [word.strip() for word in text.split(",") if word.strip()]


def _coerce(value: Any, spec: _Spec, where: str) -> Any:
    if value is None and spec.optional:
        return None
    if spec.kind == tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise ConfigError(f"{where}: expected a list of strings, not {value!r}")
        return tuple(value)
    if spec.kind is float and type(value) is int:
        value = float(value)
    if type(value) is not spec.kind:
        raise ConfigError(f"{where}: expected {spec.kind.__name__}, not {value!r}")
    if spec.minimum is not None and value < spec.minimum:
        raise ConfigError(f"{where}: must be at least {spec.minimum:g}, not {value!r}")
    return value
