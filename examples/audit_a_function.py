"""Audits a function of yours: replace `release` and the claim.

Exit status 1 if the claim is refuted. That nothing was found is no proof.
"""

import sys

import numpy as np

import jaxsel

EPSILON = 1.0


def release(rng, data, n):
    """A count of records with Laplace noise, and their mean, each at half of epsilon."""
    count = len(data) + rng.laplace(scale=2 / EPSILON, size=n)
    total = sum(data) + rng.laplace(scale=2 / EPSILON, size=n)
    # By the noisy count: to divide by len(data) would tell the number of records.
    return list(zip(count, total / np.maximum(count, 1.0), strict=True))


example = [0.0, 0.5, 1.0]
asked = {"relation": "add_or_remove_one", "claim": EPSILON}
found = jaxsel.audit_function(release, example, trials=100_000, **asked)
print(found)
print(jaxsel.replay(release, example, **asked))
sys.exit(found.verdict == "refuted")
