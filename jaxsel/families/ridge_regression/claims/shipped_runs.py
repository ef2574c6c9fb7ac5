"""The privacy of private regression as it runs: with its own settings, noise and sampler.

Koskela, Redberg & Wang 2024, Section 6.1, and the two baselines of their Figure 5. The numbers that
are judged are taken from the mechanisms' own ``prepare`` and ``sample``.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy import special

from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.closed_forms import gaussian_delta
from jaxsel.families.ridge_regression import parameters
from jaxsel.families.ridge_regression import posterior_privacy as ridge
from jaxsel.families.ridge_regression.claims.ridge_cases import Line, run_delta_exact
from jaxsel.families.ridge_regression.settings import calibrate_run, run_epsilon, run_profile
from jaxsel.families.ridge_regression.tuned import calibrate_tuned, tuned_guarantee
from jaxsel.language.base import Budget, Relation
from jaxsel.language.checking import CONFIDENCE, Judged, in_units
from jaxsel.language.papers import CMS, KRW, WANG

_NODES = np.linspace(-12.0, 12.0, 60_001)
_SIMULATED = 50_000  # trials, at most


@CMS.privacy("OUT-PERT-run", "for ridge regression, as it runs", Relation.BASE)
def perturbed(*, epsilon: parameters.Epsilon = 1.0, delta: parameters.Delta = 1e-6) -> float:
    """Output perturbation at (epsilon, delta) is (epsilon, delta)-DP on sets of at most n records,
    n public.

    Returns delta. The check is in units of it.
    """
    del epsilon
    return delta


# --- Without a test -------------------------------------------------------------------


@WANG.privacy("OPS-Balanced-run", "OPS with a fixed lambda, as it runs", Relation.BASE)
def balanced(*, epsilon: parameters.Epsilon = 1.0, delta: parameters.TailDelta = 1e-6) -> float:
    """OPS-Balanced at (epsilon, delta) is (epsilon, delta)-DP on sets of at most n records, n
    public.

    Returns delta. The check is in units of it.
    """
    del epsilon
    return delta


class _Records(NamedTuple):
    """Equal records (feature, target) on the line, and the one that joins them."""

    count: int
    feature: float
    target: float
    joins: tuple[float, float]
    regularisation: float

    def data(self, more: bool) -> dict[str, np.ndarray]:
        """The data set without the record that joins, or with it (``more``)."""
        features = np.append(np.full(self.count, self.feature), [self.joins[0]])
        targets = np.append(np.full(self.count, self.target), [self.joins[1]])
        kept = self.count + more
        return {"features": features[:kept, None], "targets": targets[:kept]}


def _line_records(budget: Budget) -> Iterator[_Records]:
    """Data sets: nearly empty ones, those whose solution is longest, and random ones."""
    yield _Records(1, 0.0, 0.0, (1.0, 1.0), 1000.0)
    yield _Records(1, 0.0, 0.0, (1.0, 1.0), 50.0)
    for count in (10, 1000):
        yield _Records(count, math.sqrt(50.0 / max(50.0, count)), 1.0, (1.0, -1.0), 50.0)
    for generator in budget.draws(30):
        x, y = generator.uniform(-1.0, 1.0, 2).tolist()
        lam = 10.0 ** generator.uniform(1.5, 3.5)
        yield _Records(int(generator.integers(1, 200)), x, y, (1.0, -1.0), lam)


def _excess(first: tuple[float, float], second: tuple[float, float], epsilon: float):
    """The hockey-stick divergence of two Gaussians (mean, deviation) at epsilon, by quadrature."""
    z = (first[0] - second[0] + first[1] * _NODES) / second[1]
    loss = 0.5 * (z**2 - _NODES**2) + math.log(second[1] / first[1])
    density = np.exp(-0.5 * _NODES**2) / math.sqrt(2.0 * math.pi)
    kept = density * -np.expm1(np.minimum(epsilon - loss, 0.0))
    return float(np.trapezoid(kept, _NODES))


def _release(mechanism, data: Mapping[str, Any], params: Mapping[str, Any]):
    """The mean and the deviation of the released coefficient, from what the mechanism prepares."""
    prepared, _ = mechanism.prepare(data, params)
    mean = prepared["basis"][0, 0] * prepared["solution"][0]
    return float(mean), float(prepared["deviation"][0])


@perturbed.bounds(tolerance=1e-6, name="output_perturbation")
@balanced.bounds(tolerance=1e-6, name="balanced_posterior_sampling")
def untested_cases(budget, name):
    from jaxsel.families.ridge_regression import baselines

    mechanism = getattr(baselines, name)()
    # A lambda just above the least of OPS-Balanced: the samples differ by their spread.
    least = 0.525 * ridge.tail_of(0.1) ** 2 / 20.0
    tried = [(_Records(1, 0.0, 0.0, (1.0, 1.0), least), 20.0, 0.1)]
    tried += [
        (records, epsilon, delta)
        for records in _line_records(budget)
        for epsilon, delta in ((0.5, 1e-2), (4.0, 0.05), (8.0, 1e-6))
        if records.regularisation >= 20.0 / epsilon
    ]
    for records, epsilon, delta in tried:
        point = {"epsilon": epsilon, "delta": delta}
        public = {"regularisation": records.regularisation, "records": records.count + 1}
        first, second = (
            _release(mechanism, records.data(more), point | public) for more in (False, True)
        )
        seen = max(_excess(first, second, epsilon), _excess(second, first, epsilon))
        yield point, in_units(seen), str(records)


# --- What is drawn --------------------------------------------------------------------


def _frequencies(name: str, budget: Budget) -> Iterator[Judged]:
    """Compares simulated frequencies of the coefficient's bins with the exact law, on both sides.

    A probability of the law outside the exact binomial limits is a case that fails.
    """
    from jaxsel.families.ridge_regression import entries
    from jaxsel.host.intervals import clopper_pearson
    from jaxsel.kernel.engine import simulate_grid

    entry = getattr(entries, name)
    built = entry.build(entry.generic)
    pair, trials = built.pair(), max(1, min(budget.trials, _SIMULATED))
    cells = [(data, pair.params) for data in (pair.data, pair.neighbour)]
    found = simulate_grid(built.mechanism, cells, trials=trials, seed=budget.seed, progress=False)
    counts = np.asarray(found.values)
    limits = clopper_pearson(counts, trials, 1.0 - (1.0 - CONFIDENCE) / counts.size)
    assert built.mechanism.law is not None
    for side, cell in enumerate(cells):
        law = built.mechanism.law(*cell)
        for place, exact in enumerate(law.probabilities):
            low, high = (float(limit[side, place]) for limit in limits)
            where = f"{law.labels[place]}, side {side}, {trials} trials of {name}"
            yield Judged(high, float(exact), f"upper limit, {where}")
            yield Judged(float(exact), low, f"lower limit, {where}")


# --- One run behind a test ------------------------------------------------------------


@KRW.privacy("OPS-run", "Section 6.1: Theorem 6.1 for one run of OPS-PTR", Relation.BASE)
def one_run(*, epsilon: parameters.RunEpsilon = 1.0, delta: parameters.RunDelta = 1e-6) -> float:
    """A run of OPS-PTR at calibrate_run(epsilon, delta) is (epsilon, delta)-DP: its two bounds
    spend half of epsilon and a third of delta, its sample the same, and the failure of a bound the
    last third of delta; at a larger delta the epsilon of run_epsilon is reached by parts that sum
    to this delta; the exact profile lies below run_profile, and draws have the exact law.

    Returns delta. The check is in units of it, or of run_profile.
    """
    del epsilon
    return delta


def _lines(budget: Budget) -> Iterator[Line]:
    """Data sets on the line: an empty one, two of large residuals, and a random one."""
    yield Line(0.0, 0.0, 1.0, 1.0, 20.0)
    yield Line(50.0, 50.0, 1.0, -1.0, 20.0)
    yield Line(50.0, 5.0, 1.0, -1.0, 100.0)
    generator = np.random.default_rng(budget.seed)
    square = 10.0 ** generator.uniform(0.0, 3.0)
    cross = square * generator.uniform(-1.0, 1.0)
    yield Line(square, cross, 1.0, -1.0, 10.0 ** generator.uniform(0.0, 2.5))


def _share_cases(epsilon: float, delta: float) -> Iterator[Any]:
    """Cases that each step keeps its share, which is a third of delta and half of epsilon.

    One record moves each of the two bounds by one unit of its sensitivity.
    """
    run, point = calibrate_run(epsilon, delta), {"epsilon": epsilon, "delta": delta}
    moved = math.sqrt(2.0) / run.noise_multiplier
    tested = _excess((0.0, 1.0), (moved, 1.0), 0.5 * epsilon)
    yield point, in_units(3.0 * tested), "three times the two bounds'"
    failing = math.erfc(run.margin / math.sqrt(2.0))
    yield point, in_units(3.0 * failing), "three times the failure of a bound"
    sampled = math.erfc(run.tail / math.sqrt(2.0))
    yield point, in_units(3.0 * sampled), "three times the tail of the sample"
    shift = float(ridge.posterior_shift(run.sample_epsilon, run.tail, 0.0))
    spent = 0.5 * shift**2 + shift * run.tail
    where = f"calibrated to ({epsilon:g}, {delta:g})"
    yield Judged(0.5 * epsilon, spent, f"epsilon of the sample, {where}")


def _split_cases(epsilon: float, delta: float) -> Iterator[Any]:
    """Cases that some split of a larger delta in three reaches the epsilon of ``run_epsilon``.

    The parts are those of Theorem 6.1: the delta of the two bounds, which are one Gaussian release,
    at the epsilon that the sample leaves; the tail of the sample; and the failure of a bound.
    """
    run = calibrate_run(epsilon, delta)
    shift = float(ridge.posterior_shift(run.sample_epsilon, run.tail, 0.0))
    failing = math.erfc(run.margin / math.sqrt(2.0))
    tails = np.linspace(ridge.LEAST_TAIL, run.tail, 20_001)
    sampled = special.erfc(tails / math.sqrt(2.0))
    for larger in np.geomspace(1.5 * delta, 0.1, 4).tolist():
        stated = run_epsilon(run, larger)
        left = stated - (0.5 * shift**2 + shift * tails)
        tested = gaussian_delta(left, run.noise_multiplier / math.sqrt(2.0))
        least = float(np.min(sampled + tested)) + failing
        where = f"the parts of a larger delta, calibrated to ({epsilon:g}, {delta:g})"
        yield {"epsilon": stated, "delta": larger}, in_units(least), where


@one_run.bounds(tolerance=1e-6)
def run_cases(budget):
    for epsilon, delta in ((0.5, 1e-2), (2.0, 1e-2), (4.0, 1e-5)):
        yield from _share_cases(epsilon, delta)
        yield from _split_cases(epsilon, delta)
        run = calibrate_run(epsilon, delta)
        profile = run_profile(run)
        for line in _lines(budget):
            where = f"calibrated to ({epsilon:g}, {delta:g}), {line}"
            for level in (epsilon, 0.4 * epsilon):
                seen = run_delta_exact(run, line, level)
                bound = float(profile(np.asarray(level)))
                yield Judged(1.0, seen / bound, f"profile at {level:g}, {where}")
                if level == epsilon:
                    yield {"epsilon": epsilon, "delta": delta}, in_units(seen), str(line)
    yield from _frequencies("posterior_sampling_ptr", budget)


# --- Tuned ----------------------------------------------------------------------------


@KRW.privacy("OPS-PTR-tuned", "Section 6.1: tuned OPS-PTR", Relation.BASE)
def tuned(*, epsilon: parameters.TunedEpsilon = 1.0, delta: parameters.RunDelta = 1e-6) -> float:
    """The best of K runs at calibrate_tuned(epsilon, delta), chosen by one noisy release of
    validation moments, is (epsilon, delta)-DP for the training records and for the validation
    records.

    Returns delta. The check, in units of it, is of the noise on the moments, as prepared and as
    drawn, and of what the theorem gives for the calibrated runs.
    """
    del epsilon
    return delta


_THEOREM, _MEAN = "KRW-Cor6.2", 6.0


def _validated(mechanism, params, records: np.ndarray, targets: np.ndarray):
    """The second moments of validation records, as the mechanism prepares them."""
    training = {"features": np.eye(2), "targets": np.array([0.5, -0.5])}
    validation = {"validation_features": records, "validation_targets": targets}
    return mechanism.prepare(training | validation, params)[0]["validation"]


def _validation_cases(budget: Budget, epsilon: float, delta: float) -> Iterator[Any]:
    """Cases that the release of validation moments is private: its noise as prepared, and as drawn.

    Two validation records are compared with one of them.
    """
    import jax
    import jax.numpy as jnp

    from jaxsel.families.ridge_regression import posterior
    from jaxsel.kernel import stream

    law = laws.geometric(1.0 / _MEAN)
    params = {
        "calibration": calibrate_tuned(epsilon, delta, law, _THEOREM),
        "regularisation": [3.0, 30.0],
    }
    rows, targets = np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([-0.3, 1.0])
    with jax.enable_x64(True):
        mechanism = posterior.tuned_posterior_sampling()
        fewer = _validated(mechanism, params, rows[:1], targets[:1])
        more = _validated(mechanism, params, rows, targets)
        first, second, _ = stream.make_key(budget.seed)
        trials = max(2, min(budget.trials, 20_000))
        squares, crosses = jax.jit(
            jax.vmap(lambda lane: posterior._noisy_moments(stream.Key(first, second, lane), fewer))
        )(jnp.arange(trials, dtype=jnp.uint32))
    square, cross = more["square"] - fewer["square"], more["cross"] - fewer["cross"]
    distance = math.sqrt(float(np.sum(square**2) + 2.0 * np.sum(cross**2)))
    seen = float(gaussian_delta(epsilon, float(fewer["deviation"]) / distance))
    point, where = {"epsilon": epsilon, "delta": delta}, "validation moments, noise as"
    yield point, in_units(seen), f"{where} prepared"
    # Along the direction of the move the release is one Gaussian of that deviation.
    along = np.einsum("tij,ij->t", np.asarray(squares), square)
    along = (along + 2.0 * np.asarray(crosses) @ cross) / distance
    spread = float(np.sum((along - along.mean()) ** 2))
    most = math.sqrt(spread / float(scipy.stats.chi2.ppf(1.0 - CONFIDENCE, trials - 1)))
    drawn = float(gaussian_delta(epsilon, most / distance))
    yield point, in_units(drawn), f"{where} drawn, its largest likely deviation"


@tuned.bounds(tolerance=1e-6)
def tuned_cases(budget):
    for epsilon, delta in ((1.0, 1e-2), (4.0, 1e-5)):
        yield from _validation_cases(budget, epsilon, delta)
        for theorem in ("KRW-Cor6.2", "KRW-Cor5.4-sharp"):
            law = laws.geometric(1.0 / _MEAN)
            run = calibrate_tuned(epsilon, delta, law, theorem).run
            found = tuned_guarantee(run, theorem, law, delta)
            where = f"by {theorem}, K geometric, mean {_MEAN:g}"
            yield Judged(epsilon, found.epsilon, f"epsilon {where}, at ({epsilon:g}, {delta:g})")
            yield {"epsilon": epsilon, "delta": delta}, in_units(found.delta), where
