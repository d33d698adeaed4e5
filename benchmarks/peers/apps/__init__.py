"""One program per peer, run with the peers' own Python: it knows nothing of ours.

``prepare URL`` makes its tables, ``work URL N`` is one of N worker processes, ``feed URL`` starts
instances. Workers and feeders say ``ready``; a feeder reads how many to start, one number a line.
"""
