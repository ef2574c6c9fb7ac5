"""Selection and Test at a secret chance p (Cohen et al. 2022, Algorithm 1).

``laws`` (exact transcripts), ``bounds``, ``coin_games`` (Algorithm 2).
"""
