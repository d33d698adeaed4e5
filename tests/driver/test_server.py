"""The embedded server: starts, repairs, stops, and never outlives whom it belongs to."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pgbpm.config import ServerConfig
from pgbpm.devtools import scratch
from pgbpm.errors import ServerError
from pgbpm.server import (
    EmbeddedServer,
    binaries,
    cluster,
    ephemeral_server,
    osuser,
    process,
    sockets,
)

CONFIG = ServerConfig(bin_dir=str(scratch.test_binaries().bin_dir), durable=False)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes to another user")

# Uses a server as `pgbpm` commands do, says so, and holds it until its input ends.
HOLDER = """
import sys
from pathlib import Path
from pgbpm.config import ServerConfig
from pgbpm.server import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), ServerConfig(bin_dir=sys.argv[2], durable=False))
print(server.acquire().pid, flush=True)
sys.stdin.read()
server.release()
"""

THROW_AWAY = """
import sys
from pgbpm.config import ServerConfig
from pgbpm.server import ephemeral_server
with ephemeral_server(ServerConfig(bin_dir=sys.argv[1], durable=False)) as server:
    status = server.status()
    print(status.pid, server.state_dir, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A project folder that the server's user can reach (pytest's own are private)."""
    path = Path(tempfile.mkdtemp(prefix="pgbpm-test-"))
    path.chmod(0o755)
    yield path
    server = EmbeddedServer(path / ".pgbpm")
    server.stop()
    server.forget_socket()
    shutil.rmtree(path)


@pytest.fixture
def server(folder: Path) -> EmbeddedServer:
    return EmbeddedServer(folder / ".pgbpm", CONFIG)


def one(url: str, query: str) -> object:
    with psycopg.connect(url, autocommit=True) as conn:
        row = conn.execute(query).fetchone()
    assert row is not None
    return row[0]


def wait_gone(pid: int) -> None:
    assert process.wait_gone(pid, 30), f"process {pid} is still there"


def spawn(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def cli(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BPM__SERVER__BIN_DIR": str(CONFIG.bin_dir)}
    return subprocess.run(
        [sys.executable, "-m", "pgbpm", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


# -- the command line ----------------------------------------------------------------------------


def test_start_outlives_its_command_and_again_is_a_no_op(folder: Path) -> None:
    started = cli(folder, "server", "start")
    assert started.returncode == 0, started.stderr
    url = started.stdout.strip()
    assert "data in" in started.stderr
    assert one(url, "select 1") == 1
    pid = json.loads(cli(folder, "server", "status", "--json").stdout)["pid"]

    again = cli(folder, "server", "start")
    assert again.stdout.strip() == url
    assert "runs already" in again.stderr
    status = json.loads(cli(folder, "server", "status", "--json").stdout)
    assert (status["state"], status["pid"], status["url"]) == ("running", pid, url)
    assert cli(folder, "server", "url").stdout.strip() == url

    assert cli(folder, "server", "stop").returncode == 0
    assert not process.alive(pid)
    stopped = cli(folder, "server", "status", "--json")
    assert stopped.returncode == 3
    assert json.loads(stopped.stdout)["state"] == "stopped"
    assert cli(folder, "server", "stop").returncode == 0
    assert cli(folder, "server", "url").returncode == 3


def test_a_command_without_url_starts_a_server_and_takes_it_along(folder: Path) -> None:
    done = cli(folder, "migrate")
    assert done.returncode == 0, done.stderr
    assert "applied 0001_tables" in done.stdout
    assert done.stderr == "new embedded database in ./.pgbpm (initdb, a moment …)\n"
    assert EmbeddedServer(folder / ".pgbpm").status().state == "stopped"
    again = cli(folder, "migrate")
    assert "current at" in again.stdout
    assert again.stderr == ""
    assert cli(folder, "migrate", "--check").returncode == 0


# -- the cluster ---------------------------------------------------------------------------------


def test_settings_are_durable_by_default(folder: Path) -> None:
    server = EmbeddedServer(folder / ".pgbpm", dataclasses.replace(CONFIG, durable=True))
    url = server.start().url
    assert url
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        assert one(url, f"show {name}") == "on"
    assert one(url, "show server_encoding") == "UTF8"
    assert one(url, "show timezone") == "UTC"
    assert one(url, "select xmlparse(document '<a/>')::text") == "<a/>"
    assert one(url, "show listen_addresses") == ""


def test_data_outlive_a_restart(server: EmbeddedServer) -> None:
    server.start()
    with psycopg.connect(server.url) as conn:
        conn.execute("create table kept as select 7 as n")
    assert server.stop() is True
    assert server.status().state == "stopped"
    assert server.stop() is False
    server.start()
    assert one(server.url, "select n from kept") == 7


def test_a_killed_postmaster_is_seen_and_repaired(server: EmbeddedServer) -> None:
    pid = server.start().pid
    assert pid
    with psycopg.connect(server.url) as conn:
        conn.execute("create table kept as select 7 as n")
    os.kill(pid, signal.SIGKILL)
    wait_gone(pid)
    assert server.status().state == "crashed"
    again = server.start()
    assert again.pid != pid
    assert one(server.url, "select n from kept") == 7


def test_a_stale_pid_file_that_names_a_stranger_is_no_obstacle(server: EmbeddedServer) -> None:
    pid = server.start().pid
    data_dir = server.status().data_dir
    assert pid
    assert data_dir
    os.kill(pid, signal.SIGKILL)
    wait_gone(pid)
    file = data_dir / "postmaster.pid"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    assert server.status().state == "crashed"
    assert server.start().state == "running"


def test_two_starts_at_once_make_one_server(folder: Path) -> None:
    script = HOLDER.replace("server.acquire()", "server.start()").replace("server.release()", "")
    children = [spawn(script, folder / ".pgbpm", CONFIG.bin_dir or "") for _ in range(3)]
    pids = {first_line(child) for child in children}
    for child in children:
        child.communicate()
    assert len(pids) == 1
    assert EmbeddedServer(folder / ".pgbpm").status().pid == int(pids.pop())


def test_a_second_start_of_a_child_server_changes_nothing(server: EmbeddedServer) -> None:
    child = spawn(HOLDER, server.state_dir, CONFIG.bin_dir or "")
    pid = int(first_line(child))
    status = server.start()
    assert (status.pid, status.mode, status.owner_pid) == (pid, "child", child.pid)
    child.communicate()
    wait_gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_a_killed_parent_takes_its_server_along(server: EmbeddedServer) -> None:
    child = spawn(HOLDER, server.state_dir, CONFIG.bin_dir or "")
    pid = int(first_line(child))
    with psycopg.connect(server.url) as conn:
        conn.execute("create table kept as select 7 as n")
    child.kill()
    child.communicate()
    wait_gone(pid)
    assert server.start().state == "running"
    assert one(server.url, "select n from kept") == 7


def test_the_last_user_of_a_self_started_server_stops_it(
    server: EmbeddedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    pid = server.acquire().pid
    assert pid
    other = spawn(HOLDER, server.state_dir, CONFIG.bin_dir or "")
    assert int(first_line(other)) == pid
    stopping = threading.Thread(target=server.release)
    stopping.start()
    said = ""
    while "waiting for other pgbpm commands" not in said:
        said += capfd.readouterr().err
        time.sleep(0.01)
    assert stopping.is_alive()
    assert one(server.url, "select 1") == 1
    other.communicate()
    stopping.join(30)
    assert not process.alive(pid)


def test_a_self_started_server_needs_the_main_thread(server: EmbeddedServer) -> None:
    faults: list[ServerError] = []

    def work() -> None:
        try:
            server.start("child")
        except ServerError as fault:
            faults.append(fault)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "main thread" in faults[0].message


def test_signals_of_the_terminal_do_not_reach_the_server(server: EmbeddedServer) -> None:
    pid = server.acquire().pid
    assert pid
    assert os.getsid(pid) != os.getsid(0)
    server.release()


def test_a_server_that_does_not_come_up_says_why(server: EmbeddedServer) -> None:
    server.start()
    server.stop()
    data_dir = server.status().data_dir
    assert data_dir
    (data_dir / "postgresql.conf").write_text("no_such_setting = 1\n")
    with pytest.raises(ServerError, match="no_such_setting"):
        server.start()


def test_a_killed_initdb_leaves_nothing_half(server: EmbeddedServer) -> None:
    server.state_dir.mkdir(parents=True)
    (server.state_dir / "data.new").mkdir()
    (server.state_dir / "data.new" / "PG_VERSION").write_text("15\n")
    assert server.start().state == "running"
    assert not (server.state_dir / "data.new").exists()


def test_tcp_needs_the_password(folder: Path) -> None:
    port = free_port()
    server = EmbeddedServer(folder / ".pgbpm", dataclasses.replace(CONFIG, port=port))
    url = server.start().url
    assert url
    assert f"@127.0.0.1:{port}/" in url
    assert one(url, "select 1") == 1
    secret = (server.state_dir / "password").read_text()
    assert (server.state_dir / "password").stat().st_mode & 0o077 == 0
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url.replace(secret, "wrong"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_socket_path_is_short_wherever_the_project_is(folder: Path) -> None:
    deep = folder / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    server = EmbeddedServer(deep / ".pgbpm", CONFIG)
    server.start()
    socket_dir = Path(psycopg.conninfo.conninfo_to_dict(server.url)["host"])  # type: ignore[arg-type]
    assert len(f"{socket_dir}/.s.PGSQL.5432") < 104
    assert socket_dir.stat().st_mode & 0o077 == 0
    server.stop()
    assert server.start().url == f"postgresql://postgres@/bpm?host={socket_dir}&port=5432"
    server.stop()
    server.forget_socket()
    assert not socket_dir.exists()


def test_the_socket_stays_where_it_is(server: EmbeddedServer) -> None:
    """Over a stop, a crash, and another folder for temporary files."""
    first = server.start()
    server.stop()
    assert server.start().url == first.url
    pid = server.status().pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    assert process.wait_gone(pid, 30)
    assert server.start().url == first.url


def test_the_socket_is_not_put_where_a_stranger_may_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = osuser.server_user()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    good = sockets.make_socket_dir(user, folder / "data")
    assert sockets.make_socket_dir(user, folder / "data") == good
    assert good.lstat().st_mode & 0o077 == 0
    good.rmdir()
    good.symlink_to(folder)
    other = sockets.make_socket_dir(user, folder / "data")
    assert other != good
    assert not other.is_symlink()
    if os.geteuid() == 0:
        good.unlink()
        good.mkdir()
        os.chown(good, user.uid + 1, -1)
        assert sockets.make_socket_dir(user, folder / "data") != good


# -- a runner that goes on -----------------------------------------------------------------------


def test_a_runner_survives_stop_and_start_and_a_crash(folder: Path) -> None:
    """It is connected to the server of the folder each time, and ends as it should."""
    cli(folder, "server", "start")
    with (folder / "runner.log").open("w") as log:
        runner = subprocess.Popen(
            [sys.executable, "-m", "pgbpm", "run"],
            cwd=folder,
            env={**os.environ, "BPM__SERVER__BIN_DIR": str(CONFIG.bin_dir)},
            stderr=log,
        )
    server = EmbeddedServer(folder / ".pgbpm", CONFIG)

    def connected() -> None:
        deadline = time.monotonic() + 60
        while not one(
            server.url,
            "select count(*) from pg_stat_activity where application_name = 'pgbpm/run'",
        ):
            assert time.monotonic() < deadline, (folder / "runner.log").read_text()
            time.sleep(0.05)

    try:
        connected()
        cli(folder, "server", "stop")
        assert "started" in cli(folder, "server", "start").stderr
        connected()
        pid = server.status().pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
        listed = cli(folder, "ps")  # not a word of waiting for the runner, and at once
        assert listed.returncode == 0, listed.stderr
        assert listed.stderr.splitlines() == ["the server had crashed; started again"]
        assert (server.status().state, server.status().mode) == ("running", "daemon")
        connected()
        cli(folder, "server", "stop")
        assert "count on it; started again" in cli(folder, "ps").stderr
        connected()
        runner.send_signal(signal.SIGTERM)
        assert runner.wait(60) == 0
    finally:
        runner.kill()
        runner.wait()
    assert server.status().state == "running"


def test_a_starter_leaves_the_server_of_others_alone(server: EmbeddedServer) -> None:
    """Ours was stopped and started for good by somebody else meanwhile."""
    server.acquire()
    other = EmbeddedServer(server.state_dir, CONFIG)
    other.stop()
    pid = other.start("daemon").pid
    server.release()
    assert other.status().pid == pid
    assert other.status().state == "running"


# -- throw-away servers --------------------------------------------------------------------------


def test_an_ephemeral_server_leaves_nothing() -> None:
    with ephemeral_server(CONFIG) as server:
        status = server.status()
        home = server.state_dir.parent
        assert home.exists()
        assert one(server.url, "select 1") == 1
    assert status.pid
    assert not process.alive(status.pid)
    assert not home.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_throw_away_server_of_the_command_line(folder: Path, number: int) -> None:
    environment = {**os.environ, "BPM__SERVER__BIN_DIR": str(CONFIG.bin_dir)}
    child = subprocess.Popen(
        [sys.executable, "-u", "-m", "pgbpm", "server", "start", "--ephemeral"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    url = first_line(child)
    data_dir = Path(str(one(url, "show data_directory")))
    child.send_signal(number)
    child.communicate()
    assert child.returncode == 0
    assert not data_dir.exists()
    assert not (folder / ".pgbpm").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_the_next_one_sweeps_what_a_killed_owner_left() -> None:
    child = spawn(THROW_AWAY, CONFIG.bin_dir or "")
    pid, state_dir = first_line(child).split()
    home = Path(state_dir).parent
    child.kill()
    child.communicate()
    wait_gone(int(pid))
    assert home.exists()
    with ephemeral_server(CONFIG):
        assert not home.exists()


@as_root
def test_a_strangers_folder_is_not_swept() -> None:
    home = Path(tempfile.mkdtemp(prefix=cluster._EPHEMERAL_PREFIX))
    (home / "owner.lock").touch()
    os.chown(home, osuser.server_user().uid, -1)
    try:
        with ephemeral_server(CONFIG):
            assert home.exists()
    finally:
        shutil.rmtree(home)


def test_a_living_ephemeral_server_is_not_swept() -> None:
    child = spawn(THROW_AWAY, CONFIG.bin_dir or "")
    pid, state_dir = first_line(child).split()
    with ephemeral_server(CONFIG):
        assert process.alive(int(pid))
        assert Path(state_dir).exists()
    child.communicate()
    assert not process.alive(int(pid))
    assert not Path(state_dir).exists()


# -- choosing the programs -----------------------------------------------------------------------


def test_a_configured_folder_without_a_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="no such server is there") as caught:
        binaries.find_binaries(str(tmp_path))
    assert "BPM__SERVER__BIN_DIR" in str(caught.value.hint)


def test_too_old_a_server_is_no_candidate(tmp_path: Path) -> None:
    for name in ("postgres", "initdb"):
        (tmp_path / name).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 14.9'\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(ServerError, match="no such server is there"):
        binaries.find_binaries(str(tmp_path))


def test_data_open_only_with_their_own_version(server: EmbeddedServer) -> None:
    server.start()
    server.stop()
    data_dir = server.status().data_dir
    assert data_dir
    (data_dir / "PG_VERSION").write_text("14\n")
    with pytest.raises(ServerError, match="was made by PostgreSQL 14"):
        server.start()


def test_a_server_without_xml_is_passed_over(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = scratch.test_binaries()
    poor = dataclasses.replace(good, origin="poor")
    monkeypatch.setattr(cluster, "find_binaries", lambda *_: [poor, good])
    real = cluster._prepare_database
    answers = iter([False])

    def prepare(url: str) -> bool:
        return False if next(answers, True) is False else real(url)

    monkeypatch.setattr(cluster, "_prepare_database", prepare)
    status = server.start()
    assert status.state == "running"
    assert status.origin == good.origin


def test_no_server_with_xml_at_all_is_said(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_prepare_database", lambda _: False)
    with pytest.raises(ServerError, match="XML support"):
        server.start()
    assert server.status().state != "running"


# -- root ----------------------------------------------------------------------------------------


@as_root
def test_root_drops_to_an_ordinary_user(server: EmbeddedServer) -> None:
    pid = server.start().pid
    user = osuser.server_user()
    assert user.dropped
    assert Path(f"/proc/{pid}").stat().st_uid == user.uid != 0


@as_root
def test_a_hidden_project_keeps_its_data_elsewhere_and_says_so(folder: Path) -> None:
    folder.chmod(0o700)
    started = cli(folder, "server", "start")
    assert started.returncode == 0, started.stderr
    data_dir = Path(json.loads(cli(folder, "server", "status", "--json").stdout)["data_dir"])
    assert not data_dir.is_relative_to(folder)
    assert str(data_dir) in started.stderr
    assert cli(folder, "server", "stop").returncode == 0
    assert cli(folder, "server", "start").returncode == 0
    assert cli(folder, "server", "stop").returncode == 0
    shutil.rmtree(data_dir.parent)


@as_root
def test_hidden_programs_are_copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "SHARED_HOME", folder / "shared")
    source = folder / "private" / "bin"
    source.mkdir(parents=True)
    for name in ("postgres", "initdb"):
        (source / name).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 17.3'\n")
        (source / name).chmod(0o700)
    (folder / "private").chmod(0o700)
    found = binaries.find_binaries(str(source))[0]
    user = osuser.server_user()
    assert not user.may("x", source / "postgres")
    copy = binaries.readable_for(found, user)
    assert copy.bin_dir != source
    assert user.may("x", copy.bin_dir / "postgres")
    assert binaries.readable_for(found, user) == copy


def test_zombies_do_not_count_as_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.005)
    assert not process.alive(child.pid)
    child.wait()
