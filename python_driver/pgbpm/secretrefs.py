"""Secrets by reference: the database names them (``env:NAME``, ``file:PATH``), we look them up."""

from __future__ import annotations

import os
from pathlib import Path


class SecretMissing(Exception):
    """A reference leads nowhere. The message names the reference, never a value."""


def resolve_secret(reference: str) -> str:
    """The secret behind ``env:NAME`` or ``file:PATH`` (first line, without the line end)."""
    kind, _, name = reference.partition(":")
    if kind == "env" and name:
        value = os.environ.get(name, "")
    elif kind == "file" and name:
        try:
            value = (Path(name).read_text(encoding="utf-8").splitlines() or [""])[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SecretMissing(f"cannot read {reference}: {type(error).__name__}") from None
    else:
        # what stands there may be the secret itself, written where its name belongs
        raise SecretMissing("the reference is neither env:NAME nor file:PATH")
    if not value:
        raise SecretMissing(f"{reference} is empty or not set")
    return value
