"""Puts sql/ and migrations/ into the wheel; an editable install reads them from the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SqlHook(BuildHookInterface):  # type: ignore[type-arg]
    """Build hook named in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the SQL to an ordinary wheel."""
        if version == "standard":
            for name in ("sql", "migrations"):
                folder = Path(self.root) / name
                build_data["force_include"][str(folder)] = f"pgbpm/_data/{name}"
