"""One run: what it keeps, in every notion of differential privacy.

``curves`` makes base guarantees; ``closed_forms``, ``conversions``, ``divergences``,
``dominating`` and ``tradeoff`` are the notions and the ways between them; ``events`` wraps
dp-accounting; ``base_text`` reads them from the command line. ``pairs`` and
``score_pairs`` construct neighbouring laws, ``score_orders`` ranks their outcomes.
"""
