"""JSON as text: what handlers return, checked before it is sent, and what was stored, exactly.

PostgreSQL keeps numbers of a ``jsonb`` exactly and writes it in one canonical form. Payloads of
commands are read and written here without a detour through binary floats, so that the text (and
its hash) is the one the database has.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class NotJson(ValueError):
    """A value cannot be stored as ``jsonb``; the message says why, never what it holds."""


def write(value: Any) -> str:
    """``value`` as compact JSON that ``jsonb`` accepts. Raises :class:`NotJson`."""
    try:
        text = _encode(value)
        text.encode()
    except UnicodeEncodeError:
        raise NotJson("a text holds half a surrogate pair") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    if "\\u0000" in text and _has_nul(value):
        raise NotJson("a text holds the character U+0000, which jsonb cannot store")
    return text


def write_object(value: Any) -> str:
    """As :func:`write`, for a dict with string keys or None (an empty object)."""
    if value is None:
        return "{}"
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise NotJson(f"expected a dict with text keys, not {type(value).__name__}")
    return write(value)


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(key) or _has_nul(item) for key, item in value.items())
    return isinstance(value, list | tuple) and any(map(_has_nul, value))


def storable(value: Any) -> Any:
    """A copy of JSON data from outside in which nothing is left that ``jsonb`` refuses."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode(errors="replace").decode()
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item) for item in value]
    return value


def read_exact(text: str) -> Any:
    """Parse JSON with fractions as ``Decimal``."""
    return json.loads(text, parse_float=Decimal)


def jsonb_text(value: Any) -> str:
    """What ``value::jsonb::text`` gives, for a value that :func:`read_exact` read from a jsonb.

    The order of keys is the one the database wrote and is kept.
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(jsonb_text, value))}]"
    pairs = (f"{jsonb_text(key)}: {jsonb_text(item)}" for key, item in value.items())
    return f"{{{', '.join(pairs)}}}"
