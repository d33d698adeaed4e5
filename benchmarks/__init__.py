"""How fast the engine is, and whether it stays so: ``make bench``.

``python -m benchmarks --help`` lists the options, ``docs/performance.md`` explains the figures.
"""
