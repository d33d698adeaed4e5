"""One PostgreSQL cluster of our own, from an empty folder to a running server and back.

A project's server keeps everything in one state folder (``.pgbpm``)::

    data/         the data folder; elsewhere if the server's user cannot reach the project
    server.json   where the data is, which programs run it, where its socket is
    password      of the superuser, for connections over TCP
    server.log    what the server said
    server.lock   held while somebody starts, stops or repairs
    users.lock    shared by all commands that rely on a self-started server

The socket lies in a private folder of the temporary directory (:mod:`pgbpm.server.sockets`):
socket paths have to be short, and only our own user and root may connect through it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import psycopg

from pgbpm.config import ServerConfig
from pgbpm.errors import ServerError
from pgbpm.server import process
from pgbpm.server.binaries import SHARED_HOME, Binaries, find_binaries, readable_for
from pgbpm.server.osuser import OsUser, server_user
from pgbpm.server.sockets import make_socket_dir, remove_socket_dir

SUPERUSER = "postgres"
DATABASE = "bpm"
SOCKET_PORT = 5432
_EPHEMERAL_PREFIX = "pgbpm-run-"
_LOG_LIMIT = 20_000_000

State = Literal["absent", "stopped", "crashed", "starting", "running", "stopping"]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known of a server; ``url`` is set while it runs."""

    state: State
    data_dir: Path | None = None
    pid: int | None = None
    url: str | None = None
    version: str | None = None
    bin_dir: str | None = None
    origin: str | None = None
    mode: str | None = None
    owner_pid: int | None = None

    def as_json(self) -> dict[str, Any]:
        """All fields, paths as text."""
        return {
            name: str(value) if isinstance(value, Path) else value
            for name in self.__slots__
            for value in [getattr(self, name)]
        }


class EmbeddedServer:
    """The server of one state folder.

    ``start`` as a *daemon* outlives the caller; as a *child* it ends with the caller, however the
    caller ends. All methods may be called from several processes at once.
    """

    def __init__(self, state_dir: Path, config: ServerConfig | None = None) -> None:
        self.state_dir = state_dir.absolute()
        self.config = config or ServerConfig()
        self._child: subprocess.Popen[bytes] | None = None
        self._child_of = 0
        self._users: int | None = None
        self.announce = True
        """Whether a new database is told on standard error."""

    # -- looking ---------------------------------------------------------------------------------

    def status(self) -> ServerStatus:
        """What the server does now."""
        info = self._info()
        if not info:
            return ServerStatus("absent")
        data_dir = Path(info["data_dir"])
        known: dict[str, Any] = {
            "data_dir": data_dir,
            **{name: info.get(name) for name in ("version", "bin_dir", "origin")},
        }
        lines = _pid_file(data_dir)
        if not lines:
            return ServerStatus("stopped", **known)
        pid = int(lines[0])
        if not process.works_in(pid, data_dir):
            return ServerStatus("crashed", **known)
        word = lines[7].strip() if len(lines) > 7 else "starting"
        state: State = {"ready": "running", "stopping": "stopping"}.get(word, "starting")  # type: ignore[assignment]
        running = {"pid": pid, "mode": info["mode"], "owner_pid": info["owner_pid"]}
        url = self._url(info) if state == "running" else None
        return ServerStatus(state, url=url, **running, **known)

    @property
    def url(self) -> str:
        """Connection string of the running server."""
        status = self.status()
        if status.url is None:
            raise ServerError(
                f"the server in {self.state_dir} is {status.state}", hint="pgbpm server start"
            )
        return status.url

    # -- starting --------------------------------------------------------------------------------

    def start(self, mode: Literal["daemon", "child"] = "daemon") -> ServerStatus:
        """Start the server unless it runs already; returns once it takes connections.

        Repairs what a killed server left (stale pid file, recovery). Raises
        :class:`ServerError` with the end of the server's log if it does not come up.
        """
        self.state_dir.mkdir(parents=True, exist_ok=True)
        with _locked(self.state_dir / "server.lock"):
            status = self._settled()
            if status.state == "running":
                return status
            user = server_user()
            for binaries in self._choices(status):
                usable = readable_for(binaries, user)
                if self._bring_up(usable, user, mode):
                    return self.status()
            raise ServerError(
                "no PostgreSQL on this machine has XML support (libxml), which reading BPMN needs",
                hint="pip install 'pgbpm[server]', or set server.bin_dir to a server built with it",
            )

    def _settled(self) -> ServerStatus:
        """The status once nobody is on the way up or down."""
        deadline = time.monotonic() + self.config.start_timeout_s
        while (status := self.status()).state in {"starting", "stopping"}:
            if time.monotonic() > deadline:
                raise ServerError(
                    f"the server in {self.state_dir} has been {status.state} too long"
                )
            time.sleep(0.02)
        return status

    def _choices(self, status: ServerStatus) -> list[Binaries]:
        if status.data_dir is None or not (status.data_dir / "PG_VERSION").exists():
            return find_binaries(self.config.bin_dir)
        major = int((status.data_dir / "PG_VERSION").read_text())
        try:
            return find_binaries(self.config.bin_dir, major)[:1]
        except ServerError as error:
            raise ServerError(
                f"the data in {status.data_dir} was made by PostgreSQL {major}: {error.message}",
                hint=error.hint,
            ) from None

    def _bring_up(self, binaries: Binaries, user: OsUser, mode: str) -> bool:
        """Initialise if need be and start; False if these programs lack a capability we need."""
        info = self._info()
        data_dir = Path(info["data_dir"]) if info else self._place_for_data(user)
        fresh = not (data_dir / "PG_VERSION").exists()
        if fresh:
            self._initialise(binaries, user, data_dir)
        else:
            _clear_stale_pid_file(data_dir)
        info = {
            "data_dir": str(data_dir),
            "socket_dir": str(make_socket_dir(user, data_dir, info.get("socket_dir"))),
            "port": self.config.port,
            "bin_dir": str(binaries.bin_dir),
            "version": binaries.version,
            "origin": binaries.origin,
            "mode": mode,
            "owner_pid": os.getpid() if mode == "child" else None,
        }
        self._write("server.json", json.dumps(info, indent=2))
        self._launch(binaries, user, data_dir, info, mode)
        if _prepare_database(self._url(info)):
            return True
        self._stop_now()
        if not fresh:
            raise ServerError(f"{binaries.bin_dir} has no XML support, which reading BPMN needs")
        shutil.rmtree(data_dir)
        return False

    def _place_for_data(self, user: OsUser) -> Path:
        """Inside the state folder, or where the server's user gets to if it cannot get there."""
        self.state_dir.chmod(0o755)
        if user.may("x", self.state_dir):
            return self.state_dir / "data"
        digest = hashlib.sha256(str(self.state_dir).encode()).hexdigest()[:12]
        home = SHARED_HOME / "data" / digest
        home.mkdir(parents=True, exist_ok=True, mode=0o755)
        return home / "data"

    def _initialise(self, binaries: Binaries, user: OsUser, data_dir: Path) -> None:
        """``initdb`` beside the final place, then a rename: a killed one leaves nothing half."""
        if self.announce:
            here = Path.cwd()
            near = self.state_dir.is_relative_to(here)
            place = f"./{self.state_dir.relative_to(here)}" if near else str(self.state_dir)
            print(f"new embedded database in {place} (initdb, a moment …)", file=sys.stderr)
            self.announce = False
        scratch = data_dir.with_name("data.new")
        for leftover in (scratch, data_dir):
            shutil.rmtree(leftover, ignore_errors=True)
        scratch.mkdir()
        user.own(scratch)
        password = secrets.token_urlsafe(24)
        secret = scratch.with_name("password.new")
        secret.touch(mode=0o600)
        secret.write_text(password)
        user.own(secret)
        try:
            _initdb(binaries, user, scratch, secret, durable=self.config.durable)
        finally:
            secret.unlink()
        scratch.rename(data_dir)
        self._write("password", password)

    def _launch(
        self, binaries: Binaries, user: OsUser, data_dir: Path, info: dict[str, Any], mode: str
    ) -> None:
        log = self.state_dir / "server.log"
        if log.exists() and log.stat().st_size > _LOG_LIMIT:
            log.replace(self.state_dir / "server.log.1")
        command = [binaries.tool("postgres"), "-D", str(data_dir), *self._settings(info)]
        env = process.server_environment(binaries.env)
        deadline = time.monotonic() + self.config.start_timeout_s
        while True:
            begin = log.stat().st_size if log.exists() else 0
            child = process.spawn(command, user, log, env, with_parent=mode == "child")
            if mode == "child":
                self._child, self._child_of = child, os.getpid()
            while child.poll() is None:
                lines = _pid_file(data_dir)
                if len(lines) > 7 and int(lines[0]) == child.pid and lines[7].strip() == "ready":
                    return
                if time.monotonic() > deadline:
                    process.interrupt_and_wait(child.pid, self.config.stop_timeout_s)
                    break
                time.sleep(0.01)
            said = _read_from(log, begin)
            # The children of a killed postmaster hold its shared memory until they notice.
            if "shared memory block" not in said or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        raise ServerError(
            f"PostgreSQL {binaries.version} did not start:\n{said}", hint=f"see {log}"
        )

    def _settings(self, info: dict[str, Any]) -> list[str]:
        settings = {
            "unix_socket_directories": info["socket_dir"],
            "unix_socket_permissions": "0700",
            "listen_addresses": "127.0.0.1" if info["port"] else "",
            "port": str(info["port"] or SOCKET_PORT),
            "log_timezone": "UTC",
            "timezone": "UTC",
        }
        if not self.config.durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]

    # -- stopping --------------------------------------------------------------------------------

    def stop(self) -> bool:
        """Stop the server (fast, clean); False if it did not run."""
        if not self.state_dir.is_dir():
            return False
        with _locked(self.state_dir / "server.lock"):
            return self._stop_now()

    def _stop_now(self) -> bool:
        status = self.status()
        if status.pid is None:
            return False
        if self._child is not None and self._child.pid == status.pid:
            _stop_child(self._child, self.config.stop_timeout_s)
            self._child = None
        else:
            process.interrupt_and_wait(status.pid, self.config.stop_timeout_s)
        return True

    def forget_socket(self) -> None:
        """Remove the folder of the socket, when the data are about to be removed too."""
        remove_socket_dir(self._info().get("socket_dir"))

    # -- self-started: shared by the commands of one project -------------------------------------

    def acquire(self) -> ServerStatus:
        """Use the server: as it runs, or started. Pair with :meth:`release`.

        What we start is our child, with two exceptions: a server that was started for good and
        has crashed, and one that is missing while others (a runner) go on counting on it. Those
        are started as daemons: we would have to stay as long as the others.
        """
        self.state_dir.mkdir(parents=True, exist_ok=True)
        self._users = os.open(self.state_dir / "users.lock", os.O_RDWR | os.O_CREAT, 0o644)
        alone = self._only_user()
        if not alone:
            fcntl.flock(self._users, fcntl.LOCK_SH)  # waits for the first one, which starts it
            alone = self._only_user()
            if not alone:
                fcntl.flock(self._users, fcntl.LOCK_SH)
        status = self.status()
        if status.state != "running":
            crashed = status.state == "crashed" and self._info()["mode"] == "daemon"
            if crashed or not alone:
                why = "had crashed" if crashed else "was gone while other commands count on it"
                status = self.start("daemon")
                print(f"the server {why}; started again", file=sys.stderr)
            else:
                status = self.start("child")
        fcntl.flock(self._users, fcntl.LOCK_SH)
        return status

    def release(self) -> None:
        """Stop the server if it is our child, after the other commands that use it have ended."""
        if self._users is None:
            return
        try:
            child = self._child
            if child is not None and self._child_of == os.getpid() and child.poll() is None:
                self._wait_for_users()
                if child.poll() is None:
                    self.stop()
        finally:
            os.close(self._users)
            self._users = None

    def _only_user(self) -> bool:
        """Whether nobody else uses the server; if so, others wait until we let them in."""
        assert self._users is not None
        try:
            fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_for_users(self) -> None:
        assert self._users is not None
        if not self._only_user():
            print("waiting for other pgbpm commands that use this server …", file=sys.stderr)
            with contextlib.suppress(KeyboardInterrupt):
                fcntl.flock(self._users, fcntl.LOCK_EX)

    # -- files -----------------------------------------------------------------------------------

    def _info(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.state_dir / "server.json").read_text()))
        except FileNotFoundError:
            return {}

    def _write(self, name: str, text: str) -> None:
        scratch = self.state_dir / f"{name}.new"
        scratch.touch(mode=0o600)
        scratch.write_text(text)
        scratch.replace(self.state_dir / name)

    def _url(self, info: dict[str, Any]) -> str:
        if info["port"]:
            password = quote((self.state_dir / "password").read_text(), safe="")
            return f"postgresql://{SUPERUSER}:{password}@127.0.0.1:{info['port']}/{DATABASE}"
        host = quote(info["socket_dir"], safe="/")
        return f"postgresql://{SUPERUSER}@/{DATABASE}?host={host}&port={SOCKET_PORT}"


@contextlib.contextmanager
def ephemeral_server(config: ServerConfig | None = None) -> Iterator[EmbeddedServer]:
    """A throw-away server: our child, gone with its data when the block or the process ends.

    Folders of such servers whose owner was killed are swept by the next one.
    """
    base = Path(tempfile.gettempdir())
    _sweep(base)
    home = Path(tempfile.mkdtemp(prefix=_EPHEMERAL_PREFIX, dir=base))
    home.chmod(0o755)
    with _locked(home / "owner.lock"):
        server = EmbeddedServer(home / "state", config)
        server.announce = False
        try:
            server.start("child")
            yield server
        finally:
            server.stop()
            server.forget_socket()
            shutil.rmtree(home, ignore_errors=True)


def _sweep(base: Path) -> None:
    """Remove what killed owners left: folders of ours (nobody else's) that nobody holds."""
    for home in base.glob(f"{_EPHEMERAL_PREFIX}*"):
        with contextlib.suppress(OSError):
            if home.is_symlink() or home.stat().st_uid != os.geteuid():
                continue
            lock = os.open(home / "owner.lock", os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                server = EmbeddedServer(home / "state")
                server.stop()
                server.forget_socket()
                shutil.rmtree(home)
            finally:
                os.close(lock)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _initdb(
    binaries: Binaries, user: OsUser, data_dir: Path, secret: Path, *, durable: bool
) -> None:
    options = [
        *("-D", str(data_dir), "-U", SUPERUSER, "-E", "UTF8", "--pwfile", str(secret)),
        *("--auth-local", "trust", "--auth-host", "scram-sha-256"),
        *([] if durable else ["--no-sync"]),
    ]
    env = process.server_environment(binaries.env)
    said = ""
    for locale in ("C.UTF-8", "C"):
        done = user.run([binaries.tool("initdb"), *options, "--locale", locale], env=env)
        if done.returncode == 0:
            return
        said = (done.stdout + done.stderr).strip()
    raise ServerError(f"initdb of PostgreSQL {binaries.version} failed:\n{said}")


def _prepare_database(url: str) -> bool:
    """Make the database if it is missing; False if the server cannot read XML."""
    admin = url.replace(f"/{DATABASE}", "/postgres", 1)
    with psycopg.connect(admin, autocommit=True) as conn:
        try:
            conn.execute("select xmlparse(document '<a/>')")
        except psycopg.errors.FeatureNotSupported:
            return False
        known = conn.execute("select 1 from pg_database where datname = %s", [DATABASE]).fetchone()
        if known is None:
            conn.execute(f"create database {DATABASE}")
    return True


def _stop_child(child: subprocess.Popen[bytes], timeout_s: float) -> None:
    process.interrupt_and_wait(child.pid, timeout_s)
    child.wait()


def _pid_file(data_dir: Path) -> list[str]:
    try:
        lines = (data_dir / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []
    return lines if lines and lines[0].strip().isdigit() else []


def _clear_stale_pid_file(data_dir: Path) -> None:
    """Remove what a killed postmaster left, once its process is surely gone.

    The server would refuse to start while the old number belongs to a zombie or to a stranger.
    """
    lines = _pid_file(data_dir)
    if lines and not process.works_in(int(lines[0]), data_dir):
        (data_dir / "postmaster.pid").unlink(missing_ok=True)


def _read_from(log: Path, begin: int) -> str:
    with log.open("rb") as handle:
        handle.seek(begin)
        return handle.read()[-4000:].decode(errors="replace").strip()
