"""Thresholds in percentile space (Liu & Talwar 2019, Section 4; Cohen et al., Theorem 4).

``tests`` (settings of Algorithms 4 and 5), ``laws``, ``pipeline`` (Theorem 4.7),
``score_percentile`` of a number of runs, ``better_than_median``.
"""
