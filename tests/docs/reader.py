"""Reads a page as a person would: types what it says, compares what comes."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pgbpm.config import Config
from pgbpm.db import connect, open_database, project_server, reach_database
from pgbpm.devtools import scratch
from tests.docs.blocks import CHECKOUT, RUN, Block, blocks
from tests.docs.session import Psql, Shell, fits

_PROMPT = re.compile(r"^(?P<database>\w+)(?P<more>[=-])[#>] ?(?P<text>.*)$")
_SERVER = 'psql "${BPM__DATABASE__URL:-$(pgbpm server url)}"'


def to_do(page: Path) -> list[Block]:
    """The blocks of a page that are typed or saved."""
    return [
        block
        for block in blocks(page)
        if block.language == "run"
        or "file" in block.marks
        or (block.language in RUN and "skip" not in block.marks)
    ]


def has_commands(page: Path) -> bool:
    """Whether a page has anything to type."""
    return any(block.language in RUN | {"run"} for block in to_do(page))


@dataclass(slots=True)
class Desk:
    """A shell in an empty folder, as a reader has one who made and activated the environment."""

    shell: Shell
    config: Config

    def prepare(self) -> None:
        """What a page of plain SQL takes for granted: a server that runs, with the schema."""
        server = project_server(self.config)
        if server.status().state != "running":
            server.start("daemon")
            with open_database(self.config):
                pass

    def audit(self) -> list[dict[str, object]]:
        """What the engine's own audit finds in the databases of the folder's server."""
        if not (self.config.project_dir / self.config.server.dir).exists():
            return []
        found: list[dict[str, object]] = []
        with reach_database(self.config) as database:
            with database.connect() as conn:
                rows = conn.execute("select datname from pg_database where datallowconn").fetchall()
            for row in rows:
                url = scratch.with_database(database.url, row["datname"])
                with connect(url) as conn:
                    if conn.execute("select from pg_namespace where nspname = 'bpm'").fetchone():
                        found += conn.execute("select * from bpm.check_invariants()").fetchall()
        return found


@contextlib.contextmanager
def desk() -> Iterator[Desk]:
    """A desk; what runs in it in the background, and the server of the folder, end with it."""
    folder = Path(tempfile.mkdtemp(prefix="pgbpm-docs-"))
    folder.chmod(0o755)
    binaries = scratch.test_binaries()
    config = Config(project_dir=folder).with_values(
        "server", bin_dir=str(binaries.bin_dir), durable=False
    )
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("BPM_", "PG")) and name not in {"LC_ALL", "LC_MESSAGES"}
    } | {
        "PATH": f"{CHECKOUT / '.venv' / 'bin'}:{binaries.bin_dir}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "CHECKOUT": str(CHECKOUT),
        "BPM__SERVER__BIN_DIR": str(binaries.bin_dir),
        "BPM__SERVER__DURABLE": "false",
    }
    shell = Shell(folder, environ | binaries.env)
    try:
        yield Desk(shell, config)
    finally:
        shell.close()
        server = project_server(config)
        server.stop()
        server.forget_socket()
        shutil.rmtree(folder)


@dataclass(slots=True)
class Turn:
    """One command of a console block and what it is shown to say."""

    where: str
    command: str
    in_psql: bool
    output: str = ""


def judge(turn: Turn, said: str) -> None:
    """Fail unless the output is the one shown."""
    if turn.output.strip():
        assert fits(turn.output, said), (
            f"{turn.where}: {turn.command}\n--- shown:\n{turn.output}\n--- came:\n{said}"
        )
    if turn.in_psql and "ERROR" not in turn.output:
        assert "ERROR:" not in said, f"{turn.where}: {turn.command}\n{said}"


@dataclass(slots=True)
class Reader:
    """Types what a page says. ``heard`` gets each command of a console block and what came."""

    desk: Desk
    heard: Callable[[Turn, str], None] = judge
    psql: Psql | None = None
    scripts: Psql | None = None

    def read(self, todo: list[Block]) -> None:
        """Type and save all of it, in order."""
        try:
            for block in todo:
                self._block(block)
        finally:
            self._leave_psql()
            if self.scripts is not None:
                self.scripts.close()

    def _block(self, block: Block) -> None:
        if "file" in block.marks:
            _, folder = self.desk.shell.environ()
            (Path(folder) / block.marks["file"]).write_text(block.text + "\n", encoding="utf-8")
        elif block.language == "console":
            self._console(block)
        elif block.language == "sql":
            self._script(block)
        else:
            code, said = self.desk.shell.run(block.text)
            assert code == int(block.marks.get("exit", 0)), f"{block.where} ended {code}:\n{said}"

    def _script(self, block: Block) -> None:
        """A block of plain SQL goes to the server of the page, which is made if need be."""
        if self.scripts is None:
            self.desk.prepare()
            self.scripts = Psql(_SERVER, self.desk.shell)
        said = self.scripts.run(block.text)
        assert "ERROR:" not in said, f"{block.where}:\n{said}"

    # -- console ---------------------------------------------------------------------------------

    def _console(self, block: Block) -> None:
        turns = list(_turns(block))
        for at, turn in enumerate(turns):
            last = at == len(turns) - 1
            follows_psql = not last and turns[at + 1].in_psql
            if turn.in_psql:
                self._in_psql(turn)
            elif follows_psql:
                self._leave_psql()
                self.psql = Psql(turn.command, self.desk.shell)
            else:
                self._leave_psql()
                code, said = self.desk.shell.run(turn.command)
                wanted = int(block.marks.get("exit", 0)) if last else 0
                self.heard(turn, said)
                assert code == wanted, f"{turn.where}: {turn.command}\nended {code}:\n{said}"

    def _in_psql(self, turn: Turn) -> None:
        assert self.psql is not None, f"{turn.where}: psql was not started"
        if turn.command.strip() == r"\q":
            self._leave_psql()
            return
        self.heard(turn, self.psql.run(turn.command))

    def _leave_psql(self) -> None:
        if self.psql is not None:
            self.psql.close()
            self.psql = None


def _turns(block: Block) -> Iterator[Turn]:
    """The commands of a console block; ``>`` and psql's ``-#`` continue the line above."""
    turn: Turn | None = None
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        where = f"{block.page.name}:{number}"
        prompt = _PROMPT.match(line)
        if line.startswith("$ "):
            if turn:
                yield turn
            turn = Turn(where, line[2:], in_psql=False)
        elif line.startswith("> ") and turn and not turn.in_psql and not turn.output:
            turn.command += "\n" + line[2:]
        elif prompt and prompt["more"] == "-" and turn:
            turn.command += "\n" + prompt["text"]
        elif prompt:
            if turn:
                yield turn
            turn = Turn(where, prompt["text"], in_psql=True)
        else:
            assert turn, f"{where}: output of no command"
            turn.output += line + "\n"
    assert turn, f"{block.where}: an empty block"
    yield turn
