"""Where the servers and folders of the tests lie: in memory where there is enough of it.

A database is a thousand files. Some hundreds are made and dropped, which costs a disk's file
system several times what it costs PostgreSQL. A ``TMPDIR`` that is set is left alone.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

PLACE = Path("/dev/shm")
ENOUGH = 4 << 30
"""Bytes; a server keeps a gigabyte of its journal, its databases are small."""


def use_memory() -> None:
    """Let temporary files of this process and its children be made in memory."""
    if "TMPDIR" not in os.environ and is_fit(PLACE):
        os.environ["TMPDIR"] = tempfile.tempdir = str(PLACE)


def is_fit(place: Path) -> bool:
    """Whether a folder in memory is there, with room, and runs programs (tests put some there)."""
    try:
        about = os.statvfs(place)
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return False
    runs = not about.f_flag & os.ST_NOEXEC
    room = min(about.f_bavail * about.f_frsize, free)
    return runs and os.access(place, os.W_OK) and room >= ENOUGH
