"""A PgBouncer of our own in transaction mode before a server, for benchmarks and tests.

Debian's package ``pgbouncer``; where the program is missing, ``missing()`` says so. It listens on
a socket in a folder of its own, so any number of them may run side by side.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg

from pgbpm.server.osuser import server_user
from pgbpm.server.process import server_environment, spawn

_PORT = 6432
_PATIENCE_S = 20.0


def program() -> str | None:
    """Where PgBouncer lies; it is not in the PATH of ordinary users."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")


def missing() -> str | None:
    """Why there can be no pooler here; None if there can."""
    return None if program() else "PgBouncer is not installed (Debian: apt-get install pgbouncer)"


class Pooler:
    """One PgBouncer. ``url_of`` gives the way to a database through it."""

    def __init__(
        self, server_url: str, *, pool_size: int, clients: int, logins: tuple[str, ...]
    ) -> None:
        self._user = server_user()
        self._home = Path(tempfile.mkdtemp(prefix="pgbpm-pooler-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._server = server_url
        info = psycopg.conninfo.conninfo_to_dict(server_url)
        self._superuser = str(info.get("user") or "postgres")
        self._write("users", _users((server_url, *logins)))
        self._write("pgbouncer.ini", f"""
[databases]
* = host={info.get("host") or "127.0.0.1"} port={info.get("port") or 5432}
[pgbouncer]
pool_mode = transaction
listen_addr =
listen_port = {_PORT}
unix_socket_dir = {self._home}
auth_type = trust
auth_file = {self._home}/users
admin_users = {self._superuser}
max_client_conn = {clients}
default_pool_size = {pool_size}
ignore_startup_parameters = extra_float_digits
server_login_retry = 0.2
""")  # fmt: skip
        self._user.own(self._home)

    def url_of(self, url: str) -> str:
        """The same database and login as ``url`` of the server, through the pooler."""
        parts = urlsplit(url)
        user = quote(parts.username or self._superuser, safe="")
        query = f"host={quote(str(self._home), safe='/')}&port={_PORT}"
        return urlunsplit((parts.scheme, f"{user}@", parts.path, query, ""))

    def start(self) -> None:
        """Start it, and wait until it answers. Called from the main thread."""
        found = program()
        assert found is not None, missing()
        self._process = spawn(
            [found, str(self._home / "pgbouncer.ini")],
            self._user, self._home / "log", server_environment({}), with_parent=True,
        )  # fmt: skip
        deadline = time.monotonic() + _PATIENCE_S
        admin = self.url_of(urlunsplit(urlsplit(self._server)._replace(path="/pgbouncer")))
        while True:
            try:
                psycopg.connect(admin, autocommit=True, connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                ended = self._process.poll() is not None
                if ended or time.monotonic() > deadline:
                    said = (self._home / "log").read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"PgBouncer does not answer:\n{said}") from None
            time.sleep(0.02)

    def kill(self) -> None:
        """End it at once, with every connection through it."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End it and remove what it left."""
        self._end(signal.SIGTERM)
        shutil.rmtree(self._home, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait()
        # The socket of a killed one would keep the next from starting.
        for left in self._home.glob(f".s.PGSQL.{_PORT}*"):
            left.unlink()

    def _write(self, name: str, text: str) -> None:
        path = self._home / name
        path.write_text(text)
        self._user.own(path)


@contextlib.contextmanager
def pooler(
    server_url: str, *, pool_size: int = 20, clients: int = 500, logins: tuple[str, ...] = ()
) -> Iterator[Pooler]:
    """A running pooler before the server, ended with the block.

    ``pool_size``: connections to the server per database and login. ``logins``: further
    connection strings whose users (and passwords) it lets through.
    """
    one = Pooler(server_url, pool_size=pool_size, clients=clients, logins=logins)
    try:
        one.start()
        yield one
    finally:
        one.close()


def _users(urls: tuple[str, ...]) -> str:
    lines = {}
    for url in urls:
        info = psycopg.conninfo.conninfo_to_dict(url)
        lines[str(info.get("user") or "postgres")] = str(info.get("password") or "")
    return "".join(f'"{name}" "{_doubled(word)}"\n' for name, word in lines.items())


def _doubled(text: str) -> str:
    return text.replace('"', '""')
