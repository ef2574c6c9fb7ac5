"""Laws of DP-SGD and of a search, against integrals and numbers worked out otherwise."""

import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting import pld
from scipy import integrate, stats

import jaxsel
from jaxsel.accounting.single_run.divergences import profile_delta
from jaxsel.catalogue import find_mechanism
from jaxsel.families.private_training import laws
from jaxsel.families.private_training.dp_sgd import dp_sgd
from jaxsel.families.private_training.objective_laws import line
from jaxsel.families.private_training.objective_perturbation import objective_perturbation
from jaxsel.host.errors import InputError, NoLawError
from jaxsel.kernel.engine import simulate
from jaxsel.repetitions import geometric
from tests.conftest import ALPHA
from tests.families.entry_checks import check_methods_follow_law, entries_of


def test_ratio_of_full_batches_is_normal():
    """All examples in each step: the ratio is normal of variance T/sigma^2."""
    sigma, steps = 1.4, 5
    law = laws.ratio_law(sigma, 1.0, steps)
    spread = math.sqrt(steps) / sigma
    for side, mean in ((law.absent, -(spread**2) / 2), (law.present, spread**2 / 2)):
        below = np.cumsum(side)
        for place in range(law.values.size // 4, law.values.size, law.values.size // 9):
            edge = law.values[place] + (law.values[1] - law.values[0]) / 2.0
            exact = stats.norm.cdf(edge, mean, spread)
            assert below[place] == pytest.approx(exact, abs=1e-7)
    # power: a deviation wrong by a thousandth is seen
    middle = law.values.size // 2
    other = stats.norm.cdf(law.values[middle], -(spread**2) / 2, 1.001 * spread)
    assert abs(np.cumsum(law.absent)[middle] - other) > 1e-6


@pytest.mark.parametrize("present", [False, True])
def test_ratio_of_two_sampled_steps_is_a_convolution(present):
    """By quadrature over the first step's sum, for a rate that is no half."""
    sigma, rate = 0.9, 0.3
    law = laws.ratio_law(sigma, rate, 2)
    below = np.cumsum(law.present if present else law.absent)

    def density(x):
        moved = stats.norm.pdf(x, 1.0, sigma) if present else 0.0
        still = stats.norm.pdf(x, 0.0, sigma)
        return (rate * moved + (1.0 - rate) * still) if present else still

    def distribution(x):
        still = stats.norm.cdf(x, 0.0, sigma)
        if not present:
            return still
        return rate * stats.norm.cdf(x, 1.0, sigma) + (1.0 - rate) * still

    def ratio(x):
        return math.log(1.0 - rate + rate * math.exp((x - 0.5) / sigma**2))

    def second(loss):  # largest x with ratio(x) <= loss
        inside = (math.exp(loss) - 1.0 + rate) / rate
        return sigma**2 * math.log(inside) + 0.5 if inside > 0.0 else -math.inf

    for level in (0.05, 0.5, 0.97):
        place = int(np.searchsorted(below, level))
        edge = law.values[place] + (law.values[1] - law.values[0]) / 2.0
        exact, _ = integrate.quad(
            lambda x, edge=edge: density(x) * distribution(second(edge - ratio(x))),
            -8 * sigma,
            1.0 + 8 * sigma,
            limit=300,
            epsabs=1e-10,
        )
        assert below[place] == pytest.approx(exact, abs=1e-6)


def test_profile_is_dp_accountings():
    """delta(epsilon) of several subsampled steps, from its pessimistic distribution."""
    sigma, rate, steps = 1.1, 0.05, 30
    law = laws.ratio_law(sigma, rate, steps)
    accountant = pld.PLDAccountant(
        dp_accounting.NeighboringRelation.REMOVE_ONE
        if hasattr(dp_accounting.NeighboringRelation, "REMOVE_ONE")
        else dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        1e-4,
    )
    one = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    accountant.compose(dp_accounting.SelfComposedDpEvent(one, steps))
    for epsilon in (0.5, 1.5, 3.0):
        exact = float(profile_delta(law.present, law.absent, epsilon))
        accounted = accountant.get_delta(epsilon)
        assert exact <= accounted * (1.0 + 1e-9)
        assert exact == pytest.approx(accounted, rel=1e-3)


def test_sums_are_a_mixture():
    """By mpmath: two steps, rate 1/4, sigma 1.5: weights 9/16, 6/16, 1/16."""
    deviation = mpmath.mpf("1.5") * mpmath.sqrt(2)
    for x in (-2.0, 0.3, 1.0, 4.0):
        exact = sum(
            weight * mpmath.ncdf((x - batches) / deviation)
            for batches, weight in enumerate((9 / 16, 6 / 16, 1 / 16))
        )
        assert laws.sum_cdf(x, 1.5, 0.25, 2, True) == pytest.approx(float(exact))
        alone = float(mpmath.ncdf(x / deviation))
        assert laws.sum_cdf(x, 1.5, 0.25, 2, False) == pytest.approx(alone)


def test_cells_add_up_and_are_those_between_the_edges():
    for present in (False, True):
        cells = laws.ratio_cells(1.0, 1.0, 2, present)
        edges = laws.ratio_edges(1.0, 1.0, 2)
        mean = 1.0 if present else -1.0
        exact = np.diff(np.concatenate([[0.0], stats.norm.cdf(edges, mean, math.sqrt(2)), [1.0]]))
        np.testing.assert_allclose(cells, exact, atol=1e-6)
        assert cells.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"), [(1.0, 0.01, 9), (0.7, 0.02, 2), (0.3, 0.1 / 30, 9), (0.3, 0.5, 3)]
)
@pytest.mark.parametrize("present", [False, True])
def test_where_ratios_crowd_the_law_is_that_of_sums_or_unknown(sigma, rate, steps, present, seed):
    """Of a rare example with little noise most ratios lie within a cell of the usual grid."""
    generator, trials = np.random.default_rng(seed), 100_000
    sums = np.zeros(trials)
    for _ in range(steps):
        place = sigma * generator.normal(size=trials)
        place += (generator.random(trials) < rate) & present
        sums += np.log1p(rate * np.expm1((place - 0.5) / sigma**2))
    edges = laws.ratio_edges(sigma, rate, steps)
    counts = np.bincount(np.searchsorted(edges, sums), minlength=edges.size + 1)
    if sigma == 0.3:
        with pytest.raises(NoLawError, match="more noise or larger batches"):
            laws.ratio_cells(sigma, rate, steps, present)
        # The edges are still where one can tell the sides apart.
        assert np.count_nonzero(counts) > 5
    else:
        cells = laws.ratio_cells(sigma, rate, steps, present)
        below = zip(np.cumsum(counts)[:-1], np.cumsum(cells)[:-1], strict=True)
        tails = [stats.binomtest(int(k), trials, min(p, 1.0)).pvalue for k, p in below]
        assert min(tails) > ALPHA / edges.size


def test_an_unknown_law_is_left_out_and_the_trials_stay():
    settings = {"examples": 30, "batch_size": 0.1, "steps": 9, "noise_multiplier": 0.3}
    built = find_mechanism("dp_sgd").build(settings)
    assert built.mechanism.known_law(built.data, built.params) is None
    with pytest.raises(InputError, match="is known to"):
        jaxsel.law("dp_sgd", **settings)
    found = jaxsel.audit(built, trials=10_000)
    assert found.bound.lower >= 0.0
    assert found.exact is None


def test_released_score_is_the_generating_function_of_k():
    """Geometric K with mean 3 at F: F/3/(1 - 2F/3), by hand."""
    weights = {
        x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf("0.8") ** 2)) for x in range(-40, 41)
    }
    below = sum(weight for x, weight in weights.items() if x <= -1) / sum(weights.values())
    share = float(laws.score_cdf(2.5, 3, 0.8))
    assert share == pytest.approx(float(below), rel=1e-12)
    assert share == laws.score_cdf(2, 3, 0.8) < laws.score_cdf(3, 3, 0.8)
    by_hand = share / 3.0 / (1.0 - 2.0 * share / 3.0)
    assert geometric(1.0 / 3.0).pgf(np.asarray(share)) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"noise_multiplier": 0.0}, "noise_multiplier is 0"), ({"steps": 0}, "steps is 0")],
)
def test_steps_without_noise_and_no_steps_are_refused(changed, message):
    with pytest.raises(InputError, match=message):
        dp_sgd(**changed)


@pytest.mark.parametrize("changed", [{"noise_multiplier": -1.0}, {"regularisation": math.nan}])
def test_bad_objective_is_refused_by_sampler_and_law(changed):
    mechanism, data = objective_perturbation(), line((0.5, 1.0, 3))
    params = {"noise_multiplier": 1.0, "regularisation": 1.0, "edges": [0.0]} | changed
    for asked in (mechanism.prepare, mechanism.law):
        with pytest.raises(InputError, match=f"{next(iter(changed))} is"):
            asked(data, params)


SHORTCUTS = [
    ("objective_perturbation", "gradient", {}),
    (
        "objective_perturbation",
        "gradient",
        {"loss": "huber", "records": 30, "feature": -0.4, "target": 0.7, "edges": "-1,0"},
    ),
    ("dp_sgd", "sums", {}),
    ("dp_sgd", "sums", {"canary": "out", "examples": 7, "noise_multiplier": 0.7, "steps": 5}),
    ("dp_sgd", "sums", {"batch_size": 4.0, "clipping": "plain"}),
]


@pytest.mark.parametrize(("name", "method", "given"), SHORTCUTS)
def test_a_shortcut_draws_what_the_literal_method_draws(name, method, given, seed):
    (entry,) = (each for each in entries_of("private_training") if each.name == name)
    check_methods_follow_law(entry, [given], seed)
    # Of the same random numbers they make the same events, but where the literal one's float32
    # sums, which are rounded by less than 1e-5, decide.
    trials = 100_000
    first, second = (
        simulate(entry.build(given | {"method": each}), trials=trials, seed=seed).values[0]
        for each in (method, "literal")
    )
    assert np.abs(first - second).sum() <= 1e-5 * trials * first.size
