"""Bounds on the best of K runs, for every law of K.

Renyi: ``generic``, ``negative_binomial``, ``poisson``, ``approximate``, together in
``renyi``; ``conditional``, ``released_search_budget``. Profiles: ``profiles`` with
``profile_ratios`` and ``tradeoff_ratio``, ``general_profile``, ``heterogeneous``, and the
sharpest, ``envelope``, with ``slope_cover``. Pure: ``liu_talwar``, ``hard_stop`` and
``fixed_runs``.
"""
