"""The postmaster as an operating system process: spawned, looked at, interrupted, waited for."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pgbpm.errors import ServerError
from pgbpm.server.osuser import OsUser

_PR_SET_PDEATHSIG = 1
_POLL_S = 0.02
_detached: list[subprocess.Popen[bytes]] = []  # kept, so that a dead one is not reported as leaked


def spawn(
    command: Sequence[str], user: OsUser, log: Path, env: dict[str, str], *, with_parent: bool
) -> subprocess.Popen[bytes]:
    """Start a postmaster in a session of its own, its output appended to ``log``.

    ``with_parent`` ties its life to ours: on Linux the kernel interrupts it (fast, clean stop)
    when we die, however we die. The signal hangs on the *thread* that starts the process, so this
    must be the main thread.
    """
    if with_parent and threading.current_thread() is not threading.main_thread():
        raise ServerError(
            "a self-started server must be started from the main thread",
            hint="start it before other threads, or use `pgbpm server start`",
        )
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=env,
            cwd="/",
            start_new_session=True,
            preexec_fn=_die_with_parent() if with_parent else None,
            **user.popen_options(),
        )
    if not with_parent:
        _detached.append(process)
    return process


def _die_with_parent() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def before_exec() -> None:  # runs after the change of user, which would clear the setting
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return before_exec


def server_environment(extra: dict[str, str]) -> dict[str, str]:
    """A small environment: nothing of ours (PGDATA, PGHOST, locale) reaches the server."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC", **extra}


def alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return not Path("/proc/self").exists()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] != "Z"


def works_in(pid: int, data_dir: Path) -> bool:
    """Whether a live process is the postmaster of a data folder (not a later owner of its pid).

    Its command line tells: it is readable for everybody, the working directory is not.
    """
    if not alive(pid):
        return False
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return not Path("/proc/self").exists()
    return os.fsencode(data_dir) in words


def wait_gone(pid: int, timeout_s: float) -> bool:
    """Wait until a process has ended; False if it is still there after the time."""
    deadline = time.monotonic() + timeout_s
    while alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def interrupt_and_wait(pid: int, timeout_s: float) -> None:
    """Fast stop (SIGINT), then immediate stop (SIGQUIT, recovery at the next start)."""
    for number, patience in ((signal.SIGINT, timeout_s), (signal.SIGQUIT, 10.0)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        if wait_gone(pid, patience):
            return
    raise ServerError(f"server process {pid} does not end", hint=f"look at it: ps -fp {pid}")
