"""Choosing one of several noisy scores, or answers that err little.

``noisy_candidates``, ``score_selection``, ``smooth_sensitivity`` and ``classical``
(Liu & Talwar 2019, Section 5); ``confident_top_k``, ``choosing``, ``query_release`` with
``repaired_answers`` (Cohen et al. 2022); ``truncated_laplace`` noise.
"""
