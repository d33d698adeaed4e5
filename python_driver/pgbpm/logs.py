"""Logs of long-running commands: readable lines, or one JSON object per line.

What is written are ids, names, states and counts; never variables, payloads or secrets.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """``{"at", "level", "logger", "message", …}`` with the extra fields of the record."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class ConnectFailures(logging.Filter):
    """Of what a pool logs, lets through only why no connection can be had, and that not more than
    once in ``pause_s`` seconds; the rest the runner says itself."""

    def __init__(self, pause_s: float = 60.0) -> None:
        super().__init__()
        self._pause_s = pause_s
        self._last: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if not message.startswith("error connecting"):
            return False
        if record.created - self._last.get(message, float("-inf")) < self._pause_s:
            return False
        self._last = {k: at for k, at in self._last.items() if record.created - at < self._pause_s}
        self._last[message] = record.created
        return True


def configure_logs(*, as_json: bool = False, verbose: bool = False) -> None:
    """Send the logs of this package to standard error; ``verbose`` adds the debug level."""
    handler = logging.StreamHandler(sys.stderr)
    if as_json:
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(
            logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")
        )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("pgbpm").setLevel(logging.DEBUG if verbose else logging.INFO)
    logging.getLogger("psycopg.pool").addFilter(ConnectFailures())
