"""Propose-test-release (Koskela, Redberg & Wang 2024, Section 6).

``settings`` of one run, ``tuned`` for the best of K, ``ridge_posterior`` that is released.
"""
