"""The stage: server, database, world and runner, each started here and ended here."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pgbpm import migrations
from pgbpm.config import ServerConfig
from pgbpm.server import EmbeddedServer, ephemeral_server

CHECKOUT = Path(__file__).resolve().parents[2]
LEASE_S = 3


class Database:
    """One connection, made again when it breaks. Every call made here is safe to repeat."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._conn: psycopg.Connection[dict[str, Any]] | None = None

    def rows(self, query: str, *parameters: Any) -> list[dict[str, Any]]:
        """All rows of a statement, repeated while the server is away."""
        while True:
            try:
                if self._conn is None:
                    self._conn = psycopg.connect(
                        self._url, autocommit=True, row_factory=dict_row, connect_timeout=5
                    )
                return self._conn.execute(query, parameters).fetchall()
            except psycopg.OperationalError as error:
                lost = error.sqlstate is None or error.sqlstate[:2] in {"57", "08"}
                if not lost and error.sqlstate not in {"40P01", "55P03"}:
                    raise
                if lost:
                    self.close()
                time.sleep(0.05)

    def value(self, query: str, *parameters: Any) -> Any:
        """The first column of the first row."""
        return next(iter(self.rows(query, *parameters)[0].values()))

    def close(self) -> None:
        """Close the connection."""
        if self._conn is not None:
            with contextlib.suppress(psycopg.Error):
                self._conn.close()
            self._conn = None


def say(began: float, text: str) -> None:
    """One line of the story, with the time since the beginning."""
    print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)


@dataclass(slots=True)
class Stage:
    """Everything that runs. ``tell`` prints a line with the time since the beginning."""

    folder: Path
    server: EmbeddedServer
    url: str
    world_url: str
    began: float
    runner: subprocess.Popen[bytes] | None = None
    runner_kills: int = 0
    server_kills: int = 0

    @property
    def world_file(self) -> Path:
        """What the world recorded."""
        return self.folder / "world.sqlite"

    def tell(self, text: str) -> None:
        """One line of the story."""
        say(self.began, text)

    def start_runner(self) -> None:
        """``pgbpm run`` as anybody would start it."""
        environment = {
            **os.environ,
            "BPM__DATABASE__URL": self.url,
            "BPM__DATABASE__MIGRATE_ON_START": "false",
            "BPM__DELIVERY__ALLOW_PRIVATE_ADDRESSES": "true",
            "BPM__DELIVERY__TIMEOUT_S": "2",
            "BPM__RUNNER__LEASE_S": str(LEASE_S),
            "DEMO_WORLD_URL": self.world_url,
        }
        with (self.folder / "runner.log").open("ab") as log:
            self.runner = subprocess.Popen(
                [sys.executable, "-m", "pgbpm", "run", "--app", "tests.demo.handlers"],
                cwd=CHECKOUT, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def kill_runner(self) -> None:
        """SIGKILL: no word of farewell."""
        assert self.runner is not None
        self.runner.kill()
        self.runner.wait()
        self.runner_kills += 1

    def kill_server(self) -> None:
        """SIGKILL to the postmaster; its children end by themselves."""
        pid = self.server.status().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        self.server_kills += 1

    def stop_runner(self) -> int:
        """SIGTERM, as a service manager would; its exit code."""
        assert self.runner is not None
        self.runner.send_signal(signal.SIGTERM)
        return self.runner.wait(60)


@contextlib.contextmanager
def set_up(folder: Path, began: float) -> Iterator[Stage]:
    """The stage with a migrated database and no runner yet. Must be the main thread."""
    assert threading.current_thread() is threading.main_thread()
    for name in ("world.sqlite", "world.sqlite-wal", "world.sqlite-shm", "runner.log"):
        (folder / name).unlink(missing_ok=True)
    config = ServerConfig(port=_free_port(), durable=True)
    say(began, "making a PostgreSQL of its own …")
    with ephemeral_server(config) as server, _world(folder) as world_url:
        say(began, "installing the engine in it …")
        with psycopg.connect(server.url, autocommit=True, row_factory=dict_row) as conn:
            migrations.run(conn)
        stage = Stage(folder, server, server.url, world_url, began)
        try:
            yield stage
        finally:
            if stage.runner is not None and stage.runner.poll() is None:
                stage.runner.kill()
                stage.runner.wait()


def _free_port() -> int:
    """A port that stays the same when the server is started again."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.contextmanager
def _world(folder: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.demo.world", str(folder / "world.sqlite")],
        cwd=CHECKOUT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError("the world did not begin")
        yield url
    finally:
        process.kill()
        process.communicate()
