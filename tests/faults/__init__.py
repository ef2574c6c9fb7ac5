"""Planted faults: what a careless change would do, and whether anything notices.

``make faults`` (``python -m tests.faults``) plants each fault of ``<room>.toml`` alone in a
copy of the tree, and puts the claims that should see it to the test, then its tests.
"""
