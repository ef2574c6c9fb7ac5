"""Private searches from data to release, as functions that are audited from outside.

What a search proves takes a tenth of a second and is the same in every trial; it is found once.
"""

import functools
import math

import numpy as np

import jaxsel
from jaxsel.search.private_search import PrivateSearch
from tests.search.asked import asked

CANDIDATES = (0, 1, 2, 3)
LAW = "geometric:mean=5"
EPSILON, NOISE, COUNTED = 1.0, 2.0, "discrete_gaussian:sigma=2,sensitivity=1"


def _search(kind, rng, **options):
    return _priced(kind)(
        CANDIDATES,
        base=f"pure:epsilon={EPSILON}",
        repetitions=LAW,
        seed=int(rng.integers(2**63)),
        **asked(**options),
    )


@functools.cache
def _priced(kind):
    """A class of searches whose guarantee is that of its first."""
    known = []

    class Search(PrivateSearch):
        def _proved(self):
            if not known:
                known.append(super()._proved())
            return known[0]

    Search.__name__ = kind
    return Search


def trained(rng, data):
    """The best of K runs that release, with odds e to one, whether the first record is above 0."""
    search = _search("trained", rng, score=jaxsel.scores.public())
    for run in search:
        honest = np.random.default_rng(run.seed).random() < 1 / (1 + math.exp(-EPSILON))
        said = bool(data[0] > 0) == honest
        search.tell(run, float(said), outcome=said)
    return search.release(simulation=True).outcome


def scored(rng, data):
    """The best candidate by noisy counts of records that are right; no record trains."""
    score = jaxsel.scores.count(noise=NOISE)
    search = _search("scored", rng, score=score, scored="validation")
    for run in search:
        search.tell(run, int(data[run.candidate]))
    return search.release(simulation=True).candidate
