"""Planted faults: what a careless change would do, and whether any check notices it.

``make faults`` (``python -m tests.faults``) plants each fault of ``<room>.toml`` alone in a
copy of the tree. There it validates the claims that should notice the fault, and then runs
its tests.
"""
