"""``python -m pgbpm`` is the same as the ``pgbpm`` command."""

from __future__ import annotations

from pgbpm.cli import main

if __name__ == "__main__":
    main()
