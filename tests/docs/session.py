"""What a reader does: types commands in one shell, and in psql."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

_PATIENCE_S = 120


class Shell:
    """One bash that keeps its folder and variables from command to command."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._notes = folder / ".typed"
        self._notes.mkdir()
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, command: str) -> tuple[int, str]:
        """Exit code, and output with errors in between, of one command."""
        script, output = self._notes / "command", self._notes / uuid.uuid4().hex
        script.write_text(command + "\n", encoding="utf-8")
        code = self._ask(f'source "{script}" > "{output}" 2>&1 < /dev/null; echo $?')
        return int(code), output.read_text(encoding="utf-8")

    def environ(self) -> tuple[dict[str, str], str]:
        """The variables exported by now, and the folder."""
        file = self._notes / "environ"
        folder = self._ask(f'env -0 > "{file}"; pwd')
        pairs = (pair.partition("=") for pair in file.read_text("utf-8").split("\0") if pair)
        return {name: value for name, _, value in pairs}, folder

    def _ask(self, line: str) -> str:
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.write(line + "\n")
        self._bash.stdin.flush()
        answer = self._bash.stdout.readline()
        if not answer:
            raise RuntimeError("the shell has ended")
        return answer.strip()

    def close(self) -> None:
        """End the shell and what it left running in the background."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGTERM)
        self._bash.wait(_PATIENCE_S)


class Psql:
    """One psql, started by the command a page shows."""

    def __init__(self, command: str, shell: Shell) -> None:
        environ, folder = shell.environ()
        self._psql = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=folder,
            env={**environ, "PSQLRC": os.devnull, "PSQL_PAGER": "cat"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, text: str) -> str:
        """What psql says to one line, or several that make one statement."""
        assert self._psql.stdin is not None
        assert self._psql.stdout is not None
        end = f"end-{uuid.uuid4().hex}"
        self._psql.stdin.write(f"{text}\n\\echo {end}\n")
        self._psql.stdin.flush()
        said: list[str] = []
        while True:
            line = self._psql.stdout.readline()
            if not line:
                raise RuntimeError("psql has ended: " + "".join(said))
            if line.strip() == end:
                return "".join(said)
            said.append(line)

    def close(self) -> None:
        """Leave it."""
        assert self._psql.stdin is not None
        self._psql.stdin.close()
        self._psql.wait(_PATIENCE_S)


# -- what was said, and what should have been -----------------------------------------------------

_SAME = [
    (r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", "<id>"),
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d(?::?\d\d)?|Z)?", "<time>"),
    (r"^\d\d:\d\d:\d\d (?=DEBUG|INFO|WARNING|ERROR)", "<time> "),
    (r"\b[\w.-]+-\d+-[0-9a-f]{6}\b", "<runner>"),
    (r"PostgreSQL \d+(?:\.\d+)?", "PostgreSQL <version>"),
    (r"─+", "─"),
    (r"-{3,}", "---"),
    (r"[ \t]+", " "),
]


def normal(text: str) -> list[str]:
    """Lines with ids, times and widths taken out, without empty lines at the end."""
    for pattern, instead in _SAME:
        text = re.sub(pattern, instead, text, flags=re.M)
    lines = [line.strip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def fits(expected: str, said: str) -> bool:
    """Whether the output is the one shown; ``…`` stands for anything, alone for any lines."""
    parts = []
    for line in normal(expected):
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(map(re.escape, line.split("…"))) + r"\n")
    actual = "".join(f"{line}\n" for line in normal(said))
    return re.fullmatch("".join(parts), actual) is not None
