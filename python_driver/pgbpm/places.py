"""Where in the user's own files an error arose."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

_LIBRARIES = tuple(
    Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_OURS = Path(__file__).parent


def user_place(error: BaseException) -> str | None:
    """``file:line`` of the innermost frame outside of installed packages and of this one.

    The file is relative to the working directory if it is in it. A syntax error is where the text
    is wrong. None if no frame is the user's.
    """
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{_short(Path(error.filename))}:{error.lineno}"
    places = list(_places(error))
    return places[-1] if places else None


def _places(error: BaseException) -> Iterator[str]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        file = Path(name)
        if not name.startswith("<") and not any(
            file.is_relative_to(folder) for folder in (*_LIBRARIES, _OURS)
        ):
            yield f"{_short(file)}:{line}"


def _short(file: Path) -> str:
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)
