"""Private top-k sets of a histogram (Zhu & Wang 2022).

``curves`` (Renyi curves of each step), ``calibration``, ``gaps`` (the test that
releases a set), ``laws`` (exact laws of the sets), ``recall``; ``baselines`` and
``baseline_laws`` for what they are compared with.
"""
