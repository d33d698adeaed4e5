"""The documentation, run: every command in it, in order, with the output it shows.

Fenced blocks of ``console``, ``bash`` and ``sql`` are run, page by page, each page in a folder
and on a server of its own. In ``console`` blocks a line after ``$`` or a psql prompt is typed, the
lines below it are the output expected (``…`` stands for anything, a line of it for any lines; ids,
times and runner names are compared as such only). ``python -m tests.docs PAGE`` shows what really
comes. Comments before a block say what else is to be done::

    <!-- docs: file order.bpmn -->      save the block under this name
    <!-- docs: exit 1 -->               its last command ends with this code
    <!-- docs: skip needs docker -->    not run, and why
    <!-- docs: run COMMAND -->          run this unseen: it stands for something the reader has
"""
