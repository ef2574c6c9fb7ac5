"""Pairs of laws that are epsilon-close, purely or except with probability delta."""

import numpy as np

from jaxsel.accounting.single_run import pairs
from tests.accounting.worst_pair import approximate_pair

GENERATOR = np.random.default_rng(51)
PURE = [
    (epsilon, pairs.random_pure_pair(GENERATOR, int(GENERATOR.integers(2, 7)), epsilon))
    for epsilon in (0.05, 0.3, 1.0)
    for _ in range(12)
] + [
    (0.3, pairs.three_outcome(0.3, 0.064, 1e-3)),
    (1.0, pairs.three_outcome(1.0, 1e-3, 1e-6)),
    (1.0, pairs.randomised_response(1.0)),
]


def approximate_pairs(epsilon, delta, count, seed):
    """Pairs that are (epsilon, delta)-close, the worst ones first."""
    yield pairs.approximate_three_outcome(epsilon, 0.05, 1e-4, delta)
    yield approximate_pair(epsilon, delta)
    generator = np.random.default_rng(seed)
    for _ in range(count):
        core = pairs.random_pure_pair(generator, 5, epsilon)
        junk = pairs.random_pair(generator, 5, 0.1)
        mixed = zip(core, junk, strict=True)
        yield pairs.LawPair(*((1 - delta) * a + delta * b for a, b in mixed))
