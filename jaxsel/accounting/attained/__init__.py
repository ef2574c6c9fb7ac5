"""What tuning attains: exact laws, and the worst rankings of given pairs.

``exact_laws`` and ``exact_profile`` for a given ranking; ``finite_adversary``, ``merging``
and ``adversarial_orders`` search for the worst one; ``epsilon`` says how far any bound for
every ranking could still be improved.
"""
