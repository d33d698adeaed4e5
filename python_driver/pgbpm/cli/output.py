"""What commands print: tables for people, JSON for programs, errors on standard error."""

from __future__ import annotations

import datetime
import decimal
import json
import shutil
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import click

from pgbpm.encryption import Envelope

Row = Mapping[str, Any]


def emit(data: Row | Sequence[Row], as_json: bool, *, empty: str = "nothing there") -> None:
    """Print one row (as ``name  value`` lines) or many (as a table), or either as JSON."""
    if as_json:
        emit_json(data)
    elif isinstance(data, Mapping):
        width = max((_width(name) for name in data), default=0)
        for name, value in data.items():
            click.echo(f"{_pad(name, width)}  {_text(value)}")
    elif data:
        click.echo(table(data))
    else:
        click.echo(empty)


def emit_json(data: Any) -> None:
    """Print any value as JSON, two-space indent, non-ASCII kept."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, default=_plain))


def table(rows: Sequence[Row]) -> str:
    """Rows under aligned headings, cut to the width of the terminal when it is one."""
    names = list(rows[0])
    cells = [[_text(row[name]) for name in names] for row in rows]
    widths = [
        max(_width(name), *(_width(line[i]) for line in cells)) for i, name in enumerate(names)
    ]
    limit = shutil.get_terminal_size((0, 0)).columns if sys.stdout.isatty() else 0
    lines = [
        "  ".join(_pad(word, width) for word, width in zip(line, widths, strict=True)).rstrip()
        for line in [names, ["─" * width for width in widths], *cells]
    ]
    return "\n".join(_cut(line, limit) if limit else line for line in lines)


def show_error(
    code: str | None, message: str, hint: str | None = None, detail: str | None = None
) -> None:
    """Print an error the same way wherever it came from."""
    click.secho(f"error {code}: {message}" if code else f"error: {message}", fg="red", err=True)
    if detail:
        click.echo(f"  detail: {detail}", err=True)
    if hint:
        click.echo(f"  hint: {hint}", err=True)


def masked(value: Any) -> Any:
    """JSON data with ``(encrypted, key K)`` in place of each envelope."""
    if isinstance(value, str):
        envelope = Envelope.of(value)
        return value if envelope is None else f"(encrypted, key {envelope.key_id})"
    if isinstance(value, Mapping):
        return {name: masked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [masked(item) for item in value]
    return value


def json_text(value: Any) -> str:
    """A variable as JSON in one line: a text has its quotes, so that "3" is not taken for 3."""
    if isinstance(value, str) and masked(value) != value:
        return str(masked(value))
    return json.dumps(masked(value), ensure_ascii=False)


def _text(value: Any) -> str:
    value = masked(value)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime.datetime):
        return value.astimezone().isoformat(sep=" ", timespec="seconds")
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(item.replace("\n", " ") for item in value) or "–"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value).replace("\n", " ")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _cut(line: str, limit: int) -> str:
    if _width(line) <= limit:
        return line
    while _width(line) >= limit:
        line = line[:-1]
    return line + "…"
