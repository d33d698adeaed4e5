"""Server add-ons for tests, fetched as packages and unpacked, never installed.

They are cached in ``build/packages/``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CACHE = CHECKOUT / "build" / "packages"


def debian(names: Sequence[str]) -> Path | None:
    """The unpacked contents of the first of these Debian packages that can be had."""
    for name in names:
        target = CACHE / name
        if target.is_dir():
            return target
        if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            if not runs(["apt-get", "download", name], folder):
                continue
            package = next(Path(folder).glob("*.deb"))
            if runs(["dpkg-deb", "-x", str(package), f"{folder}/unpacked"], folder):
                return keep(Path(folder) / "unpacked", target)
    return None


def npm(name: str) -> Path | None:
    """The unpacked contents of an npm package, archives inside of it included."""
    target = CACHE / name.replace("/", "+")
    if target.is_dir():
        return target
    if not shutil.which("npm"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        if not runs(["npm", "pack", "--silent", name], folder):
            return None
        unpacked = Path(folder) / "unpacked"
        unpacked.mkdir()
        for archive in Path(folder).glob("*.tgz"):
            unpack(archive, unpacked)
        for archive in list(unpacked.rglob("*.tar.gz")):
            unpack(archive, unpacked)
        return keep(unpacked, target)


def keep(unpacked: Path, target: Path) -> Path:
    """Put a folder into the cache whole; of several test processes that do so, one wins."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.move(unpacked, scratch)
    try:
        scratch.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(scratch)
    return target


def runs(command: list[str], folder: str) -> bool:
    """Whether a command succeeds."""
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=120
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def unpack(archive: Path, target: Path) -> None:
    """Unpack a tar archive of any compression."""
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")


def newest_script(files: Iterable[Path], extension: str) -> Path | None:
    """The full script (``name--1.2.sql``) of the highest version, not an upgrade (``a--b``)."""
    numbered = [
        (tuple(int(n) for n in match.group(1).split(".")), file)
        for file in files
        if (match := re.fullmatch(rf"{extension}--([\d.]+)\.sql", file.name))
    ]
    return max(numbered)[1] if numbered else None


def without_psql_commands(script: Path) -> str:
    r"""An extension's script without its ``\echo … \quit`` line, for a plain connection."""
    lines = script.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("\\"))
