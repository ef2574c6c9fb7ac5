"""What the envelope and the priced envelope state of a search; docs/envelope.md, docs/priced.md.

Results of this project, novelty against later literature not established.
"""

import math

import numpy as np

from jaxsel.language.papers import JX
from jaxsel.tuning.bounds import priced_envelope
from jaxsel.tuning.bounds.envelope import Envelope, envelope_epsilon, envelope_log_delta
from jaxsel.tuning.search_bounds import ENVELOPE, Former, Needs, Proof, Search, bound

_UNKNOWN = "novelty against later literature not established"
_FORMER = Former(
    {"mean": "300", "eta": "1", "noise_scale": "4"},
    "gaussian:noise_multiplier={noise_scale}",
    "tnb:eta={eta},mean={mean}",
    {"epsilon": 2.0},
)


def _finite(search: Search) -> str | None:
    return None if math.isfinite(search.law.mean) else "a law of K of finite mean"


def _directions(search: Search) -> tuple[priced_envelope.PricedDirection, ...]:
    return priced_envelope.priced_directions(search.base, search.law)


@bound(
    JX,
    "JX-Envelope",
    f"{_UNKNOWN}; docs/envelope.md",
    ENVELOPE,
    needs=Needs(lacks=_finite),
    words="envelope bound of this project, from the whole profile",
    label="envelope",
    at=_FORMER,
)
def every_ranking(search: Search) -> Proof:
    """With T the trade-off curve of a pair that dominates the base and loss its privacy loss,
    delta(epsilon) <= E[sup_x (f'(1 - x) - e^(epsilon - loss) f'(1 - T(x)))_+] for epsilon >= 0,
    every ranking of the outputs and every K of finite mean."""

    def bounds() -> tuple[Envelope, ...]:
        # The priced envelope of the same search starts from these.
        return tuple(each.envelope for each in _directions(search))

    return Proof(
        lambda delta: envelope_epsilon(bounds(), delta),
        lambda epsilon: float(np.exp(envelope_log_delta(bounds(), epsilon))),
    )


@bound(
    JX,
    "JX-Priced",
    f"{_UNKNOWN}; docs/priced.md, Section 2",
    ENVELOPE,
    needs=Needs(lacks=_finite),
    words="priced envelope of this project, from the whole profile",
    label="priced envelope",
    at=_FORMER._replace(defaults={**_FORMER.defaults, "mean": "3"}, place={"epsilon": 0.3223}),
)
def priced(search: Search) -> Proof:
    """For a convex price lambda of the likelihood ratio and any continuous W with W_u + s W_v +
    [a(u) - e^epsilon s a(v)]_+ <= lambda(s) + kappa(u) between the trade-off curves, delta(epsilon)
    <= E_P[lambda(p'/p)] + W(0, 0) - W(1, 1) + integral of kappa, for every ranking of the outputs
    and every K of finite mean, a(u) being f'(1 - u)."""
    return Proof(
        lambda delta: priced_envelope.priced_epsilon(_directions(search), delta),
        lambda epsilon: priced_envelope.priced_delta(_directions(search), epsilon),
        lower_bound=lambda epsilon: max(each.attacked(epsilon) for each in _directions(search)),
    )


@every_ranking.bounds(tolerance=1e-12)
def exact_rankings(budget):
    from jaxsel.tuning.claims.envelope.rankings import ranked_pairs

    return ranked_pairs(budget)


@priced.bounds()
def finite_pairs_and_costly_rankings(budget):
    from jaxsel.tuning.claims.envelope.rankings import costly_rankings, priced_pairs

    yield from priced_pairs(budget)
    yield from costly_rankings()
