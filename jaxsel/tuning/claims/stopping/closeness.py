"""Liu & Talwar 2019, Lemmas E.2 and E.3: closeness of two laws outside an event."""

import itertools
import math
from typing import Annotated

import numpy as np
from scipy import optimize

from jaxsel.accounting.single_run import pairs
from jaxsel.accounting.single_run.divergences import exact_epsilon, privacy_loss, profile_delta
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.checking import Judged, listed
from jaxsel.language.domains import number, positive
from jaxsel.language.papers import LT

_DELTA = 1e-3
_WIDER = math.sqrt(2.0 * _DELTA)

Epsilon = Annotated[float, number("closeness of the two laws", at_least=0.0)]
Delta = Annotated[float, number("closeness of the two laws", at_least=0.0, below=1.0)]
Wider = Annotated[float, positive("epsilon' > epsilon, closeness outside the event")]


@LT.privacy("LT-LemE.2-printed", "Lemma E.2", Relation.BASE)
def one_tail(*, epsilon: Epsilon = 0.0, wider: Wider = _WIDER, delta: Delta = _DELTA):
    """If P and Q are (epsilon, delta)-close, there is an event B with P(B) <= delta/(1 - e^(epsilon
    - epsilon')) outside which they are epsilon'-close."""
    if wider <= epsilon:
        raise InputError(f"wider is {wider}; it must exceed epsilon = {epsilon}")
    return delta / -math.expm1(epsilon - wider)


@LT.privacy("LT-LemE.2", "Lemma E.2, corrected", Relation.BASE)
def both_tails(*, epsilon: Epsilon = 0.0, wider: Wider = _WIDER, delta: Delta = _DELTA):
    """If P and Q are (epsilon, delta)-close, the privacy loss leaves [-epsilon', epsilon'] with
    probability b <= (1 + e^(-epsilon')) delta/(1 - e^(epsilon - epsilon')) under either, and given
    that it does not they are (epsilon' - log(1 - b))-close.

    Bound on the probability b that the privacy loss leaves [-epsilon', epsilon'].
    """
    one_side = one_tail(epsilon=epsilon, wider=wider, delta=delta)
    return (1.0 + math.exp(-wider)) * one_side


def _opposed_atoms(delta: float, wider: float) -> tuple[np.ndarray, np.ndarray]:
    """Two atoms of privacy loss +-(wider + 0.005) and a common rest; delta at 0."""
    loss = wider + 0.005
    top = delta / -math.expm1(-loss)
    low = top * math.exp(-loss)
    rest = 1.0 - top - low
    return np.array([top, low, rest]), np.array([low, top, rest])


def _least_event(p: np.ndarray, q: np.ndarray, wider: float) -> float:
    """Least P(B) with P | not B and Q | not B epsilon'-close; B may split atoms.

    For each choice of the atoms of which something remains, the conditions are linear
    in the removed fractions.
    """
    best, growth = 1.0, math.exp(wider)
    for chosen in itertools.product((False, True), repeat=p.size):
        kept = [(i, a, b) for i in np.flatnonzero(chosen) for a, b in ((p, q), (q, p))]
        rows = [growth * b[i] * a - a[i] * b for i, a, b in kept]
        right = [growth * b[i] - a[i] for i, a, b in kept]
        bounds = [(0.0, 1.0) if each else (1.0, 1.0) for each in chosen]
        found = optimize.linprog(p, A_ub=rows or None, b_ub=right or None, bounds=bounds)
        if found.status == 0:
            best = min(best, float(found.fun))
    return best


@one_tail.bounds()
def opposed_atoms(budget):
    p, q = _opposed_atoms(_DELTA, _WIDER)
    least = _least_event(p, q, _WIDER)
    where = f"P={p.tolist()}, Q={q.tolist()}, epsilon'=sqrt(2 delta)"
    yield {"epsilon": 0.0, "wider": _WIDER, "delta": _DELTA}, least, where
    yield Judged(math.sqrt(_DELTA), least, f"second bound sqrt(delta), {where}")


@both_tails.bounds()
def events(budget):
    generator = np.random.default_rng(budget.seed)
    instances = [(*_opposed_atoms(_DELTA, _WIDER), 0.0, _WIDER)]
    for _ in range(budget.cases):
        p, q = pairs.random_pair(generator, int(generator.integers(2, 8)), 2.0)
        epsilon = generator.uniform(0.0, 2.0)
        instances.append((p, q, epsilon, epsilon + generator.exponential()))
    for p, q, epsilon, wider in instances:
        delta = min(float(profile_delta(p, q, epsilon)), 0.999)
        good = np.abs(privacy_loss(p, q)) <= wider
        bad = max(float(p[~good].sum()), float(q[~good].sum()))
        where = f"P={p.tolist()}, Q={q.tolist()}"
        yield {"epsilon": epsilon, "wider": wider, "delta": delta}, bad, where
        if np.any(good):
            inside = exact_epsilon(*(side[good] / side[good].sum() for side in (p, q)))
            where = f"closeness outside the event, {where}, {epsilon=}, {wider=}"
            yield Judged(wider - math.log1p(-bad), inside, where)


@LT.privacy("LT-LemE.3-printed", "Lemma E.3", Relation.BASE)
def one_sided(
    *,
    event: Annotated[
        float, number("P(B) (printed), or the larger of P(B), Q(B)", at_least=0.0, at_most=1.0)
    ] = 0.0,
):
    """If P and Q are epsilon-close given that B does not happen, and P(B) <= delta, they are
    (epsilon, delta)-close."""
    return event


two_sided = LT.privacy(
    "LT-LemE.3",
    "Lemma E.3, corrected",
    Relation.BASE,
    statement="If P and Q are epsilon-close given that B does not happen, and both P(B) and Q(B) "
    "are at most delta, they are (epsilon, delta)-close.",
)(one_sided.evaluate)


_ONE_SIDED = (np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5]))


@one_sided.bounds(listed("event", 0.0))
def one_sided_event():
    where = "P=(1/2, 1/2, 0), Q=(1/4, 1/4, 1/2), B = third outcome, epsilon=0"
    return profile_delta(*_ONE_SIDED, 0.0), where


@two_sided.bounds()
def two_sided_event(budget):
    generator = np.random.default_rng(budget.seed)
    instances = [(*_ONE_SIDED, np.array([False, False, True]))]
    for _ in range(budget.cases):
        first, second = pairs.random_pair(generator, int(generator.integers(2, 8)), 2.0)
        event = generator.uniform(size=first.size) < 0.3
        event[0], event[-1] = True, False
        instances.append((first, second, event))
    for p, q, event in instances:
        epsilon = exact_epsilon(*(side[~event] / side[~event].sum() for side in (p, q)))
        worst = max(float(p[event].sum()), float(q[event].sum()))
        where = f"P={p.tolist()}, Q={q.tolist()}, B={np.flatnonzero(event).tolist()}"
        yield {"event": worst}, profile_delta(p, q, epsilon), where


LT_E11 = LT.misprint(
    "LT-E11",
    "Lemma E.2",
    "statement",
    printed="(epsilon, delta)-close laws are epsilon'-close outside an event B with P(B) <= "
    "delta/(1 - e^(epsilon - epsilon')), at most sqrt(delta) for epsilon' = epsilon + sqrt(2 "
    "delta).",
    correct="The proof's B removes one tail of the privacy loss only, and conditioning "
    "renormalises. Three atoms, P = (u, u e^-c, rest) and Q with the first two swapped, need both "
    "of them removed. Removing both tails costs the factor 1 + e^(-epsilon') and -log(1 - b) in "
    "epsilon'; the decomposition of Kairouz, Oh & Viswanath (2015) loses nothing.",
    refuted=[one_tail],
    corrected=[both_tails],
)

LT_E12 = LT.misprint(
    "LT-E12",
    "Lemma E.3",
    "statement",
    printed="epsilon-closeness outside B and P(B) <= delta give (epsilon, delta)-closeness.",
    correct="Q(B) <= delta is needed too: P = (1/2, 1/2, 0), Q = (1/4, 1/4, 1/2), B the third "
    "outcome, P(B) = 0.",
    refuted=[one_sided],
    corrected=[two_sided],
)
