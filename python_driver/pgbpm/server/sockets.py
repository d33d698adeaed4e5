"""The folder of a server's socket: short, private, and the same at every start.

Connection strings name it, so it stays where it is for as long as the data do: a runner finds the
server again after a stop or a crash. It also stays while the server is down, so that nobody else
can put a server of his own in its place.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from pgbpm.server.osuser import OsUser

_PREFIX = "pgbpm-"
_LONGEST = 100


def make_socket_dir(user: OsUser, data_dir: Path, last: str | None = None) -> Path:
    """The folder for the socket of the server on ``data_dir``, emptied; only ``user`` gets in.

    It is ``last`` (where it was before) if that can be trusted, else one named after the data
    folder, else, if a stranger has taken that name, a new one. The server must be down.
    """
    named = _base() / f"{_PREFIX}{os.geteuid()}-{_digest(data_dir)}"
    for folder in ([Path(last)] if last else []) + [named]:
        if _take(folder, user):
            return folder
    fresh = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_base()))
    user.own(fresh)
    return fresh


def remove_socket_dir(folder: str | None) -> None:
    """Remove it with what is in it; for data that are gone for good."""
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def _take(folder: Path, user: OsUser) -> bool:
    """Make the folder ours, or see that it is; False if it is somebody else's or not a folder."""
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        seen = folder.lstat()
        if not stat.S_ISDIR(seen.st_mode) or seen.st_uid not in {os.geteuid(), user.uid}:
            return False
        user.own(folder)
        for leftover in folder.glob(".s.PGSQL.*"):  # of a killed server: would stop the next one
            leftover.unlink()
    except OSError:
        return False
    return True


def _base() -> Path:
    base = tempfile.gettempdir()
    return Path(base if len(base) + 60 <= _LONGEST else "/tmp")


def _digest(data_dir: Path) -> str:
    return hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
