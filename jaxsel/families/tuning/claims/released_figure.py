"""The privacy axis of Figure 7, as the code released with the paper computes it."""

import functools
from collections.abc import Iterator

import numpy as np

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run import closed_forms
from jaxsel.accounting.single_run.conversions import RenyiCurve
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.score_orders import INDEPENDENT, NATURAL
from jaxsel.accounting.single_run.score_pairs import gaussian_pair, mirrored_pair
from jaxsel.base import Budget, Claim, Erratum, Relation
from jaxsel.checking import Case, at_most
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.tuning.attained.exact_profile import exact_tuned_epsilon
from jaxsel.families.tuning.bounds.released_search_budget import (
    RELEASED_ORDERS,
    released_budget,
    released_negative_binomial,
    training_renyi,
)
from jaxsel.families.tuning.bounds.renyi import tuned_epsilon
from jaxsel.families.tuning.claims.base_pairs import (
    base_pairs,
    tuned_pair,
    two_sided_renyi,
)

_PAPER = "Papernot & Steinke 2022"
_RATE, _NOISE, _STEPS = 256 / 60_000, 1.1, 14_063
_DELTA = 1e-5
# Its divergences are at most those of the figure's DP-SGD, at every order of the code.
_GAUSSIAN = 1.7484


# --- Theorem 2 with log(1/gamma - 1) --------------------------------------------------


def _number(order, second_order, rho, eta, gamma, corrected) -> float:
    order = check_interval("order", order, 1.0, np.inf)
    second = check_interval("second_order", second_order, 1.0, np.inf)
    rho = check_positive("rho", rho)
    bound = released_negative_binomial(
        order, rho * order, second, rho * second, eta, gamma, corrected=corrected
    )
    return float(bound)


def _formula_printed(
    *,
    order: float = 2.5,
    second_order: float = 1.25,
    rho: float = 0.1,
    eta: float = 0.0,
    gamma: float = 0.5,
) -> float:
    """The released code's number for a rho-zCDP base, at one pair of orders.

    Args:
      order: in (1, inf).
      second_order: of the other Renyi bound, in (1, inf); the code has 1.25 and more.
      rho: of the base, > 0.
      eta: shape of the law of K, > -1; the code has 0 and 0.5.
      gamma: of the law of K, in (0, 1).
    """
    return _number(order, second_order, rho, eta, gamma, False)


def _formula(
    *,
    order: float = 2.5,
    second_order: float = 1.25,
    rho: float = 0.1,
    eta: float = 0.0,
    gamma: float = 0.5,
) -> float:
    """A bound for a rho-zCDP base, at one pair of orders: the released one, corrected.

    Args:
      order, second_order: in (1, inf).
      rho: of the base, > 0.
      eta: shape of the law of K, > -1.
      gamma: of the law of K, in (0, 1).
    """
    return _number(order, second_order, rho, eta, gamma, True)


def _formula_cases(corrected: bool, shapes):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed + 1)
        for pair in base_pairs(budget):
            base = two_sided_renyi(pair.first, pair.second, RELEASED_ORDERS)
            for eta, gamma in shapes(generator):
                law = laws.truncated_negative_binomial(eta, gamma)
                claimed = released_negative_binomial(
                    RELEASED_ORDERS[:, None],
                    base[:, None],
                    RELEASED_ORDERS,
                    base,
                    eta,
                    gamma,
                    corrected=corrected,
                )
                best = np.argmin(claimed, axis=1)
                least = claimed.min(axis=1)
                seen = two_sided_renyi(*tuned_pair(pair, law), RELEASED_ORDERS)
                worst = int(np.argmin(least - seen))
                yield (
                    float(least[worst]),
                    float(seen[worst]),
                    f"order {RELEASED_ORDERS[worst]:g}, second order "
                    f"{RELEASED_ORDERS[best[worst]]:g}, eta={eta!r}, gamma={gamma!r}, "
                    f"{pair.where}",
                )

    return cases


def _plotted_shapes(generator: np.random.Generator):
    del generator
    return ((0.0, 0.5), (0.5, 0.5))


def _any_shapes(generator: np.random.Generator):
    eta = float(generator.choice([-0.7, 0.0, 0.5, 1.0, generator.uniform(-0.9, 4.0)]))
    yield eta, float(generator.uniform(0.2, 0.95))
    yield eta, float(10.0 ** generator.uniform(-7.0, -0.5))


# --- The axis -------------------------------------------------------------------------


def _axis_printed(
    *,
    repetitions: str = "logarithmic:gamma=0.5",
    sampling_probability: float = _RATE,
    noise_multiplier: float = _NOISE,
    steps: int = _STEPS,
) -> float:
    """The plotted budget of a search.

    Args:
      repetitions: law of K, negative binomial with eta >= 0 or Poisson.
      sampling_probability, noise_multiplier, steps: of one run of DP-SGD; by default
        the figure's.
    """
    renyi = training_renyi(sampling_probability, noise_multiplier, steps)
    return released_budget(renyi, laws.parse(repetitions)).budget


def _proven(renyi: RenyiCurve, law: laws.Repetitions, delta: float) -> float:
    name = "PS-Thm6" if law.family == "poisson" else "PS-Thm2"
    base = BaseGuarantee(name="a Renyi curve", renyi=renyi)
    return tuned_epsilon(base, law, delta, theorems=[name]).epsilon


def _axis(
    *,
    repetitions: str = "logarithmic:gamma=0.5",
    delta: float = _DELTA,
    sampling_probability: float = _RATE,
    noise_multiplier: float = _NOISE,
    steps: int = _STEPS,
) -> float:
    """Epsilon at delta that Theorem 2, or the corrected Theorem 6, proves of a search.

    Args:
      repetitions: law of K, negative binomial or Poisson.
      delta: in (0, 1).
      sampling_probability, noise_multiplier, steps: of one run of DP-SGD; by default
        the figure's.
    """
    renyi = training_renyi(sampling_probability, noise_multiplier, steps)
    delta = check_interval("delta", delta, 0.0, 1.0)
    return _proven(renyi, laws.parse(repetitions), delta)


_PLOTTED = (
    "logarithmic:gamma=0.5",
    "geometric:gamma=0.5",
    "poisson:mean=2.5",
    "poisson:mean=50",
    "logarithmic:gamma=0.0035",
)


def _gaussian_cases() -> Iterator[tuple[laws.Repetitions, float, RenyiCurve, str]]:
    for text in _PLOTTED:
        for noise in (_GAUSSIAN, 1.0):
            where = f"Gaussian base with noise multiplier {noise:g}, K ~ {text}"
            renyi = functools.partial(
                closed_forms.gaussian_renyi, noise_multiplier=noise
            )
            yield laws.parse(text), noise, renyi, where


def _axis_printed_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for law, noise, renyi, where in _gaussian_cases():
        seen = exact_tuned_epsilon(gaussian_pair(noise), law, _DELTA)
        plotted = released_budget(renyi, law).budget
        yield plotted, seen, f"at delta {_DELTA:g}, larger values better, {where}"


def _axis_cases(budget: Budget) -> Iterator[Case]:
    del budget
    for law, noise, renyi, where in _gaussian_cases():
        plotted = released_budget(renyi, law, corrected=True)
        claims = {_DELTA: _proven(renyi, law, _DELTA), plotted.delta: plotted.budget}
        pair = gaussian_pair(noise)
        for ranking, (side, order) in {
            "larger values better": (pair, NATURAL),
            "smaller values better": (mirrored_pair(pair), NATURAL),
            "score without information": (pair, INDEPENDENT),
        }.items():
            for delta, claimed in claims.items():
                seen = exact_tuned_epsilon(side, law, delta, order)
                yield claimed, seen, f"at delta {delta:.3g}, {ranking}, {where}"


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="PS-Fig7-formula-printed",
        source=f"code released with {_PAPER}, Figure 7",
        statement="In Theorem 2, log(1/gamma - 1) may stand for log(1/gamma): D_a <= e + "
        "(1+eta)((1 - 1/b) e' + log(1/gamma - 1)/b) + log(E[K])/(a-1).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_formula_printed,
        check=at_most(_formula_cases(False, _plotted_shapes)),
        holds=False,
        erratum="E-PS-5",
        correction="It fails at gamma = 0.5, which is plotted; it holds for gamma <= 0.277 "
        "with b >= 1.25, and with a floor under the bracket always: PS-Fig7-formula.",
    ),
    Claim(
        id="PS-Fig7-formula",
        source=f"code released with {_PAPER}, Figure 7, corrected",
        statement="D_a <= e + (1+eta) max((1 - 1/b) e' + log(1/gamma - 1)/b, "
        "-log(1 - (1/b)(1 - 1/b)^(b-1))) + log(E[K])/(a-1) for the best of K truncated "
        "negative binomial runs.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_formula,
        check=at_most(_formula_cases(True, _any_shapes)),
        erratum="E-PS-5",
    ),
    Claim(
        id="PS-Fig7-axis-printed",
        source=f"{_PAPER}, Figure 7, as its released code computes the axis",
        statement="The plotted privacy budget, the least tuned Renyi bound over orders, "
        "is an epsilon of the search at delta = 1e-5.",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_axis_printed,
        check=at_most(_axis_printed_cases),
        holds=False,
        erratum="E-PS-4",
        correction="It is an epsilon at delta = (1/a)(1 - 1/a)^(a-1) only, with a the best "
        "order: 0.04 to 0.3 for the plotted points; at delta = 1e-5 Theorems 2 and 6 "
        "prove more: PS-Fig7-axis.",
    ),
    Claim(
        id="PS-Fig7-axis",
        source=f"{_PAPER}, Figure 7, corrected",
        statement="The search has the epsilon of Theorem 2 (of the corrected Theorem 6) at "
        "delta = 1e-5, and its least Renyi bound, at order a, is an epsilon at delta = "
        "(1/a)(1 - 1/a)^(a-1).",
        kind="privacy",
        relation=Relation.BASE,
        evaluate=_axis,
        check=at_most(_axis_cases),
        erratum="E-PS-4",
    ),
)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="E-PS-4",
        source=f"{_PAPER}, Figure 7",
        kind="statement",
        printed="The horizontal axis is the total privacy budget of the search. The "
        "released code plots the least over orders of the tuned Renyi bound, with no "
        "conversion to (epsilon, delta).",
        correct="A Renyi bound b at order a is an epsilon of b at delta = "
        "(1/a)(1 - 1/a)^(a-1), by Lemma 14; the best orders are 1.75 to 10, so that delta "
        "is 0.04 to 0.3. At delta = 1e-5 the logarithmic law with gamma = 0.5, plotted at "
        "0.70, costs 3.16 by Theorem 2 and 2.56 by the envelope bound; a single run "
        "released without a search costs 2.38. For tuned Gaussians the exact epsilon "
        "exceeds the plotted number wherever gamma is large.",
        refuted=("PS-Fig7-axis-printed",),
        corrected=("PS-Fig7-axis",),
    ),
    Erratum(
        id="E-PS-5",
        source=f"code released with {_PAPER}, Figure 7, logarithmic law and eta = 0.5",
        kind="statement",
        printed="log(1/gamma - 1) in place of Theorem 2's log(1/gamma).",
        correct="The proof gives log(1 + (1/gamma - 1) e^((b-1) e'))/b, which is more than "
        "(1 - 1/b) e' + log(1/gamma - 1)/b. A sharper step of the same proof gives "
        "the latter, but never less than -log(1 - (1/b)(1 - 1/b)^(b-1)): on the "
        "code's orders the formula therefore holds for gamma <= 0.277, and all plotted "
        "points but gamma = 0.5 are right. There it fails, on three outcomes; the "
        "corrected numbers are 0.90 for 0.70 (logarithmic) and 1.43 for 1.14 (eta = 0.5). "
        "For Poisson with mean below 1 the code's numbers are negative: E-PS-1.",
        refuted=("PS-Fig7-formula-printed",),
        corrected=("PS-Fig7-formula",),
    ),
)
