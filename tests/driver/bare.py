"""``python -m tests.driver.bare …`` is ``pgbpm …`` that takes the schema as it is.

Databases of tests come from a template, which may have been built without a ledger of migrations.
"""

from __future__ import annotations

from pgbpm import migrations
from pgbpm.cli import main

if __name__ == "__main__":
    migrations.run = lambda conn, folder=None: []
    main()
