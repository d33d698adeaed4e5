"""``python -m tests.docs PAGE …``: type the commands of pages and print what really comes."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.docs.reader import Reader, Turn, desk, to_do


def tell(turn: Turn, said: str) -> None:
    """Print one command and its output."""
    print(f"{turn.where}: {turn.command}\n{said}", flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with desk() as place:
            Reader(place, heard=tell).read(to_do(Path(name).resolve()))
