"""The same work by other engines on PostgreSQL, beside ours: ``make bench-peers``.

Start → three steps → end, on the same kind of server and the same machine, in turn. The peers are
installed by name into a virtual environment of their own; ``docs/performance.md`` says what is
unfair about the comparison.
"""
