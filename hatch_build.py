"""Puts sql/ and migrations/ into the wheel; an editable install reads them from the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SqlHook(BuildHookInterface):  # type: ignore[type-arg]
    """Build hook named in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the SQL to an ordinary wheel; the test kit (rooms from 95 on) stays at home."""
        if version != "standard":
            return
        root = Path(self.root)
        rooms = [room for room in (root / "sql").iterdir() if room.name[:2] < "95"]
        for folder in [root / "migrations", *rooms]:
            target = f"pgbpm/_data/{folder.relative_to(root)}"
            build_data["force_include"][str(folder)] = target
