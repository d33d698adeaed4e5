"""The demo: 200 orders run to their end while the runner and the server are killed.

``python -m tests.demo`` (or ``make demo``) plays it. The cast:

* ``orders``: what happens to which order, by its number alone.
* ``handlers``: the service tasks, run by ``pgbpm run`` in a process of its own.
* ``world``: courier and card company, a process that records every effect with an fsync.
* ``people``: who starts orders, approves them, picks parcels up.
* ``chaos``: who kills.
* ``verdict``: what became of it all.
"""
