"""The tenant wall: every public function and view, called by tenant A against tenant B.

What there is comes from ``pg_catalog``, so that a new function, view or table cannot be forgotten.
``python -m tests.wall`` (``make wall``) builds a world, storms it, and writes
``build/wall/report.json``.
"""
