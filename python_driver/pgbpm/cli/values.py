"""Options that carry variables, and files as people have them."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_DECLARED = re.compile(rb"^<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def variables_options(function: F) -> F:
    """Adds ``--var NAME=VALUE`` and ``--variables JSON``; see :func:`variables_of`."""
    function = click.option(
        "--variables", metavar="JSON", help="A JSON object, @FILE, or - for standard input."
    )(function)
    return click.option(
        "--var", "pairs", multiple=True, metavar="NAME=VALUE",
        help="One variable; VALUE is JSON if it can be read as such, else text (repeat).",
    )(function)  # fmt: skip


def variables_of(text: str | None, pairs: tuple[str, ...]) -> dict[str, Any]:
    """The variables given by both options, single ones last. Raises ``click.BadParameter``."""
    variables: dict[str, Any] = {}
    if text is not None:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            try:
                text = Path(text[1:]).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise click.BadParameter(f"{text}: {error}", param_hint="--variables") from None
        try:
            variables = json.loads(text)
        except ValueError as error:
            raise click.BadParameter(f"not JSON: {error}", param_hint="--variables") from None
        if not isinstance(variables, dict):
            raise click.BadParameter("must be a JSON object", param_hint="--variables")
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--var")
        try:
            variables[name] = json.loads(value)
        except ValueError:
            variables[name] = value
    return variables


class Unreadable(Exception):
    """The bytes of a file are not text that the database could take."""


def read_bpmn(file: Path) -> str:
    """The text of a BPMN file in whatever encoding it declares. Raises :class:`Unreadable`."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    declared = _DECLARED.match(data)
    encoding = declared.group(1).decode() if declared else "utf-8"
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            encoding = name
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise Unreadable(f"is not text in {encoding}: {error}") from None
    if "\0" in text:
        raise Unreadable("holds the character U+0000")
    return text
