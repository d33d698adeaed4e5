"""The operating system user a server runs as: PostgreSQL refuses to be root."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgbpm.errors import ServerError


@dataclass(frozen=True, slots=True)
class OsUser:
    """A user; ``dropped`` tells that we are root and change to it for the server's processes."""

    name: str
    uid: int
    gid: int
    dropped: bool

    def popen_options(self) -> dict[str, Any]:
        """Arguments of ``subprocess`` calls that make a process run as this user."""
        if not self.dropped:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": [self.gid]}

    def run(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command as this user and capture its output as text."""
        return subprocess.run(
            command, capture_output=True, text=True, cwd="/", **self.popen_options(), **options
        )

    def may(self, flag: str, path: Path) -> bool:
        """Whether this user may read (``r``), write (``w``) or enter and execute (``x``) a path."""
        if not self.dropped:
            mode = {"r": os.R_OK, "w": os.W_OK, "x": os.X_OK}[flag]
            return os.access(path, mode)
        return self.run(["/usr/bin/env", "test", f"-{flag}", str(path)]).returncode == 0

    def own(self, path: Path) -> None:
        """Give a path to this user alone."""
        path.chmod(0o700)
        if self.dropped:
            os.chown(path, self.uid, self.gid)


def server_user() -> OsUser:
    """The user the server runs as: we ourselves, or ``postgres`` or ``nobody`` when we are root."""
    if os.geteuid() != 0:
        try:
            name = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            raise ServerError(
                f"user id {os.geteuid()} has no entry in the password file, which initdb needs",
                hint="add one, or set BPM__DATABASE__URL to a running server",
            ) from None
        return OsUser(name, os.geteuid(), os.getegid(), dropped=False)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return OsUser(name, entry.pw_uid, entry.pw_gid, dropped=True)
    raise ServerError(
        "PostgreSQL does not run as root, and neither postgres nor nobody is a user here",
        hint="run pgbpm as an ordinary user, or set BPM__DATABASE__URL to a running server",
    )
