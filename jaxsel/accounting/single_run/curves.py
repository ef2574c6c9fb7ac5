"""``BaseGuarantee``, all that is known of one run's privacy, and the guarantees of simple bases."""

import functools
import math
from collections.abc import Callable, Iterable
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run import closed_forms
from jaxsel.accounting.single_run.attaining import gaussian_cells, laplace_cells
from jaxsel.accounting.single_run.composing import composed_pair
from jaxsel.accounting.single_run.conversions import (
    LEAST_DELTA,
    Profile,
    RenyiCurve,
    epsilon_at,
    renyi_to_delta,
    renyi_to_epsilon,
)
from jaxsel.accounting.single_run.dominating import (
    LARGEST_EPSILON,
    DominatingPair,
    pair_from_points,
    pair_from_profile,
    pair_profile,
    pair_renyi,
    pair_tradeoff,
    reversed_pair,
)
from jaxsel.accounting.single_run.parameters import Delta, Epsilon, GaussianNoise, Mu, Scale
from jaxsel.language.domains import number, positive, whole
from jaxsel.language.printing import Summary, printed
from jaxsel.language.signature import validated

__all__ = [
    "BaseGuarantee",
    "approximate",
    "discrete_gaussian",
    "from_pairs",
    "from_profile",
    "from_renyi",
    "gaussian",
    "gaussian_differential_privacy",
    "laplace",
    "points",
    "pure",
    "randomised_response",
    "zcdp",
]

# How far a discrete Gaussian law is looked at, in sigmas, and more than the mass beyond.
_DISCRETE_REACH, _LEFT_OUT = 14.0, 1e-40


def _known(pair: DominatingPair | None) -> tuple[DominatingPair, ...] | None:
    return None if pair is None else (pair,)


@printed
class BaseGuarantee(NamedTuple):
    """A two-sided privacy guarantee of one run of a base algorithm.

    Attributes:
      name: its text on the command line, with its parameters.
      renyi: order in [1, inf] -> bound on both Renyi divergences, element by element.
      pairs: builds the dominating pairs, one per direction (a single one if symmetric).
      profile: real epsilon -> bound on delta(epsilon) in both directions, element by
        element; None where nothing better than ``renyi`` is known.
      tradeoff: x -> bound on Q'(S) over events with Q(S) <= x, in both directions, a
        concave function; None where nothing better than ``renyi`` is known.
      attaining: builds pairs of laws that themselves satisfy this guarantee, one per
        direction; returns None where none are known.
      composed: count -> the guarantee of releasing that many runs; None to compose the
        pairs.
      more_than_pairs: whether ``renyi`` is tighter than what the pairs imply, so that the
        ``attaining`` pairs satisfy the profile but perhaps not the Renyi curve.
      core, failure: if core is given, both laws are mixtures of a pair that satisfies
        ``core``, with weight 1 - failure, and of arbitrary laws, with weight failure.
      relation: the neighbouring relation, one of ``relations.RELATIONS``; None where the
        guarantee holds for the relation that its sensitivity refers to.
    """

    name: str
    renyi: RenyiCurve
    pairs: Callable[[], tuple[DominatingPair, ...]]
    profile: Profile | None = None
    tradeoff: Profile | None = None
    core: "BaseGuarantee | None" = None
    failure: float = 0.0
    attaining: Callable[[], tuple[DominatingPair, ...] | None] = lambda: None
    composed: "Callable[[int], BaseGuarantee] | None" = None
    more_than_pairs: bool = False
    relation: str | None = None

    @property
    def good(self) -> "BaseGuarantee":
        """The guarantee that holds with probability 1 - failure."""
        return self if self.core is None else self.core

    def released(self, count: int) -> tuple[DominatingPair, ...]:
        """Dominating pairs for the release of ``count`` runs, 1 to ``composing.MOST``."""
        if count == 1:
            return self.pairs()
        if self.composed is not None:
            return self.composed(count).pairs()
        return tuple(composed_pair(pair, count) for pair in self.pairs())

    def epsilon(self, delta: float) -> float:
        """Smallest known epsilon of one run at delta, in [0, 1)."""
        found = renyi_to_epsilon(self.renyi, delta).epsilon
        if self.profile is not None and delta >= LEAST_DELTA:
            found = min(found, epsilon_at(self.profile, delta))
        return found

    def delta(self, epsilon: float) -> float:
        """Smallest known delta of one run at epsilon >= 0."""
        found = float(renyi_to_delta(self.renyi, epsilon))
        if self.profile is not None:
            found = min(found, float(self.profile(np.asarray(epsilon))))
        return found

    def summary(self) -> Summary:
        """The name of the base, and its Renyi bound at a few orders."""
        orders = (1.5, 2.0, 5.0, 20.0)
        rows = [[f"order {a:g}", float(self.renyi(np.asarray(a)))] for a in orders]
        known = [name for name in ("profile", "tradeoff", "pairs") if getattr(self, name)]
        sentence = f"One run of {self.name}; known besides: {', '.join(known)}."
        return Summary(sentence, ("Renyi bound", "value"), rows)


def _no_larger(
    pairs: Callable[[], tuple[DominatingPair, ...]], epsilon: float
) -> Callable[[], tuple[DominatingPair, ...] | None]:
    """The pairs made from points; None if points were left out, since the pairs are then larger."""
    return pairs if epsilon <= LARGEST_EPSILON else lambda: None


def _connected(profile: Profile):
    """The dominating pair of a two-sided profile, built on first use."""
    return functools.cache(lambda: (pair_from_profile(profile),))


@validated
def randomised_response(epsilon: Epsilon) -> BaseGuarantee:
    """The guarantee of binary randomised response that tells the truth with odds e^epsilon."""
    pairs = functools.cache(lambda: (pair_from_points([epsilon], [0.0]),))
    return BaseGuarantee(
        name=f"randomised_response:epsilon={epsilon!r}",
        renyi=lambda order: closed_forms.randomised_response_renyi(order, epsilon),
        profile=lambda level: closed_forms.randomised_response_delta(level, epsilon),
        tradeoff=lambda x: closed_forms.randomised_response_tradeoff(x, epsilon),
        pairs=pairs,
        attaining=_no_larger(pairs, epsilon),
    )


@validated
def pure(epsilon: Epsilon) -> BaseGuarantee:
    """The guarantee of pure epsilon-DP, with the curves of randomised response, the worst.

    Every f-divergence of an epsilon-DP pair is E_Q[f(P/Q)] with f convex, P/Q inside
    [e^-epsilon, e^epsilon] and E_Q[P/Q] = 1; f lies below its chord between the ends of
    that interval, and a law on the two ends has mean 1 only for randomised response.
    """
    return randomised_response(epsilon)._replace(name=f"pure:epsilon={epsilon!r}")


@validated
def zcdp(rho: Annotated[float, positive("of zero-concentrated privacy")]) -> BaseGuarantee:
    """rho-zCDP: Renyi divergence at most rho * order (Bun & Steinke 2016)."""

    def renyi(order: np.ndarray) -> np.ndarray:
        return np.asarray(order, dtype=np.float64) * rho

    return from_renyi(f"zcdp:rho={rho!r}", renyi)._replace(
        # N(0, 1) and its shift by sqrt(2 rho) have exactly this Renyi curve.
        attaining=functools.cache(lambda: _known(gaussian_cells(math.sqrt(2.0 * rho)))),
        composed=lambda count: zcdp(count * rho),
    )


def from_renyi(name: str, renyi: RenyiCurve) -> BaseGuarantee:
    """The guarantee of a base known only by a Renyi curve that holds in both directions.

    Args:
      name: for messages.
      renyi: order -> bound on both Renyi divergences, element by element.
    """
    return BaseGuarantee(
        name=name, renyi=renyi, pairs=_connected(lambda level: renyi_to_delta(renyi, level))
    )


@validated
def gaussian(noise_multiplier: GaussianNoise) -> BaseGuarantee:
    """The guarantee of Gaussian noise, by its standard deviation over the sensitivity."""
    return _gaussian(noise_multiplier)


def _gaussian(scale: float) -> BaseGuarantee:
    return BaseGuarantee(
        name=f"gaussian:noise_multiplier={scale!r}",
        renyi=lambda order: closed_forms.gaussian_renyi(order, scale),
        profile=lambda level: closed_forms.gaussian_delta(level, scale),
        tradeoff=lambda x: closed_forms.gaussian_tradeoff(x, scale),
        pairs=_connected(lambda level: closed_forms.gaussian_delta(level, scale)),
        attaining=functools.cache(lambda: _known(gaussian_cells(1.0 / scale))),
        # n runs are one with n times the squared shift.
        composed=lambda count: _gaussian(scale / math.sqrt(count)),
    )


@validated
def discrete_gaussian(
    sigma: Annotated[float, number("in whole units", at_least=0.05, at_most=1e5)],
    sensitivity: Annotated[int, whole("of a whole number", at_least=1, at_most=1e6)] = 1,
) -> BaseGuarantee:
    """The guarantee of discrete Gaussian noise on a whole number.

    Canonne, Kamath & Steinke 2020.

    The law of noise x has probability proportional to exp(-x^2 / (2 sigma^2)). It is
    log-concave, so its shifts have monotone likelihood ratios, and the largest shift dominates
    the smaller ones: events of threshold are the worst, and their probabilities grow with it.

    Args:
      sigma: in whole units.
      sensitivity: the most by which one record moves the number.
    """
    shift = sensitivity

    @functools.cache
    def build() -> tuple[DominatingPair, ...]:
        reach = math.ceil(_DISCRETE_REACH * sigma)
        x = np.arange(-reach, reach + shift + 1, dtype=np.float64)
        first = np.exp(-0.5 * (x / sigma) ** 2)
        second = np.exp(-0.5 * ((x - shift) / sigma) ** 2)
        total = float(np.sum(np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)))
        loss = shift * (shift - 2.0 * x) / (2.0 * sigma**2)
        # Losses ascend; the mass that is left out counts as an infinite loss.
        return (
            DominatingPair(
                np.concatenate([[-np.inf], loss[::-1], [np.inf]]),
                np.concatenate([[0.0], first[::-1] / total, [_LEFT_OUT]]),
                np.concatenate([[_LEFT_OUT], second[::-1] / total, [0.0]]),
            ),
        )

    return from_pairs(
        f"discrete_gaussian:sigma={sigma!r},sensitivity={shift}",
        build,
        # Proposition 5 there: at most that of the continuous law.
        renyi=lambda order: closed_forms.gaussian_renyi(order, sigma / shift),
    )


@validated
def gaussian_differential_privacy(mu: Mu) -> BaseGuarantee:
    """mu-GDP (Dong, Roth & Su 2022): as hard to tell apart as N(0, 1) and N(mu, 1)."""
    return gaussian(1.0 / mu)._replace(name=f"gdp:mu={mu!r}")


@validated
def laplace(noise_scale: Scale) -> BaseGuarantee:
    """The guarantee of Laplace noise, by its scale over the sensitivity."""
    scale = noise_scale
    return BaseGuarantee(
        name=f"laplace:noise_scale={scale!r}",
        renyi=lambda order: closed_forms.laplace_renyi(order, scale),
        profile=lambda level: closed_forms.laplace_delta(level, scale),
        tradeoff=lambda x: closed_forms.laplace_tradeoff(x, scale),
        pairs=_connected(lambda level: closed_forms.laplace_delta(level, scale)),
        attaining=functools.cache(lambda: _known(laplace_cells(1.0 / scale))),
    )


@validated
def approximate(epsilon: Epsilon, delta: Delta) -> BaseGuarantee:
    """(epsilon, delta)-DP, decomposed as by Kairouz, Oh & Viswanath (2015).

    No Renyi divergence is bounded, so ``renyi`` is inf; ``core`` is the pure part.
    """
    pairs = functools.cache(lambda: (pair_from_points([epsilon], [delta]),))
    return BaseGuarantee(
        name=f"approximate:epsilon={epsilon!r},delta={delta!r}",
        renyi=lambda order: np.full(np.shape(order), math.inf)[()],
        profile=lambda level: closed_forms.approximate_profile(level, epsilon, delta),
        tradeoff=lambda x: closed_forms.approximate_tradeoff(x, epsilon, delta),
        pairs=pairs,
        attaining=_no_larger(pairs, epsilon),
        core=pure(epsilon),
        failure=delta,
    )


def from_pairs(
    name: str, build: Callable[[], tuple[DominatingPair, ...]], *, renyi: RenyiCurve | None = None
) -> BaseGuarantee:
    """The guarantee implied by dominating pairs.

    Args:
      name: for messages.
      build: makes the pairs, one per direction (a single one if symmetric).
      renyi: bound on both Renyi divergences; by default that of the pairs.
    """

    @functools.cache
    def tradeoff() -> Profile:
        return pair_tradeoff(*build())

    @functools.cache
    def profiles() -> list[Profile]:
        return [pair_profile(pair) for pair in build()]

    def worst(values: Iterable[np.ndarray]) -> np.ndarray:
        return functools.reduce(np.maximum, values)

    return BaseGuarantee(
        name=name,
        renyi=renyi or (lambda order: worst(pair_renyi(p)(order) for p in build())),
        profile=lambda level: worst(profile(level) for profile in profiles()),
        tradeoff=lambda x: tradeoff()(x),
        pairs=build,
        attaining=build,
        more_than_pairs=renyi is not None,
    )


def points_text(epsilon: npt.ArrayLike, delta: npt.ArrayLike) -> str:
    """The name of ``points``, from which it is read again."""
    listed = zip(np.atleast_1d(epsilon).tolist(), np.atleast_1d(delta).tolist(), strict=True)
    return "points:" + ",".join(f"{float(e)!r}={float(d)!r}" for e, d in listed)


def points(epsilon: npt.ArrayLike, delta: npt.ArrayLike) -> BaseGuarantee:
    """The guarantee implied by a list of (epsilon, delta) guarantees.

    Each holds in both directions, as usual for differential privacy.

    Args:
      epsilon: Float["points"], >= 0, strictly increasing.
      delta: Float["points"], in [0, 1], not increasing.

    Raises:
      InputError: if they are not such a profile.
    """
    pair = pair_from_points(epsilon, delta)
    finite = np.isfinite(pair.loss)
    name, failure = points_text(epsilon, delta), float(np.sum(pair.first[~finite]))
    known = from_pairs(name, lambda: (pair,))
    known = known._replace(attaining=_no_larger(known.pairs, np.max(epsilon)))
    if failure in (0.0, 1.0):
        return known
    core = DominatingPair(
        pair.loss[finite],
        pair.first[finite] / (1.0 - failure),
        pair.second[finite] / (1.0 - failure),
    )
    return known._replace(
        core=from_pairs(f"{name} less its failures", lambda: (core,)), failure=failure
    )


def from_profile(
    name: str,
    profile: Profile,
    reversed_profile: Profile | None = None,
    *,
    renyi: RenyiCurve | None = None,
) -> BaseGuarantee:
    """The guarantee of a base known by its privacy profile, for both directions or for each.

    Args:
      name: for messages.
      profile: epsilon >= 0 -> bound on delta, not increasing; element by element.
      reversed_profile: the same with the neighbours exchanged; without it ``profile``
        holds for both directions.
      renyi: bound on both Renyi divergences; by default the one implied by the profile.

    Raises:
      InputError: when the pairs are first built, if a profile is not decreasing or
        leaves [0, 1].
    """

    @functools.cache
    def build() -> tuple[DominatingPair, ...]:
        pair = pair_from_profile(profile, reversed_profile)
        return (pair,) if reversed_profile is None else (pair, reversed_pair(pair))

    return from_pairs(name, build, renyi=renyi)
