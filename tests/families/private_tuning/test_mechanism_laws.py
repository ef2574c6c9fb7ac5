"""Every sampler against its exact law, every shortcut against the literal algorithm."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.catalogue import mechanisms
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.private_tuning import bases, noised_bases
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel.engine import simulate, simulate_grid
from jaxsel.kernel.tables import from_law
from tests.conftest import ALPHA

TRIALS = 40_000

SCORES = np.array([0.0, 1.0, 2.0, 1.5, -0.5])
NOISY_MAX = [
    (noise, method, precision)
    for noise in ("gumbel", "laplace", "exponential", "gaussian")
    for method in ("literal", "race")
    for precision in ("fast", "tail", "float64")
    if method == "literal" or noise == "gumbel"
]

FINITE = (bases.finite(), np.array([0.1, 0.2, 0.3, 0.4]), {})
RESPONSE = (bases.randomised_response(), 1, {"epsilon": 1.0})
TABLE = (bases.score_table(), np.array([0.3, 0.1, 0.9, 0.5, 0.5]), {})
CANDIDATES = {
    noise: (noised_bases.random_candidate(noise), np.array([0.0, 1.0, 0.5]), {"noise_scale": 0.7})
    for noise in ("laplace", "gaussian")
}
EDGES = {"noise_scale": 1.0, "edges": [-1.0, 0.0, 0.5, 1.0, 2.0]}
ONE_SCORE = (noised_bases.noised_score("gaussian"), 0.3, EDGES)
LOW_IS_BETTER = (noised_bases.noised_score("laplace", sign=-1), 0.3, EDGES)
BASES = [FINITE, RESPONSE, TABLE, *CANDIDATES.values(), ONE_SCORE, LOW_IS_BETTER]
BASE_IDS = [base.name for base, _, _ in BASES]

# The tables of laws of one family are about equally long, and share a program.
REPETITIONS = {
    "geometric": laws.geometric(0.1),
    "logarithmic": laws.logarithmic(0.08),
    "eta=0.5": laws.truncated_negative_binomial(0.5, 0.1),
    "eta=-0.5": laws.truncated_negative_binomial(-0.5, 0.07),
    "poisson": laws.poisson(3.0),
    "binomial": laws.binomial(7, 0.3),
    "beta_binomial": laws.beta_binomial(9, 1.5),
    "point_mass": laws.point_mass(4),
    "capped": laws.capped(laws.geometric(0.1), 12),
    "conditioned": laws.conditioned(laws.poisson(3.0), 6),
}


def counts(mechanism, data, params, seed, trials=TRIALS):
    return simulate(mechanism, data, params, trials=trials, seed=seed).values[0]


def p_value(mechanism, data, params, seed, law=None, trials=TRIALS):
    law = mechanism.law(data, params).probabilities if law is None else law
    assert abs(law.sum() - 1.0) < 1e-10
    return goodness_of_fit(counts(mechanism, data, params, seed, trials), law)


@pytest.mark.parametrize(("noise", "method", "precision"), NOISY_MAX)
def test_noisy_max(noise, method, precision, seed):
    mechanism = noisy_max(noise, method=method, precision=precision)
    assert p_value(mechanism, SCORES, {"noise_scale": 1.0}, seed) > ALPHA


@pytest.mark.parametrize("noise", ["gumbel", "laplace", "exponential", "gaussian"])
def test_noisy_max_companion_rejects_five_percent_more_noise(noise, seed):
    mechanism = noisy_max(noise)
    wrong = mechanism.law(SCORES, {"noise_scale": 1.05}).probabilities
    params = {"noise_scale": 1.0}
    assert p_value(mechanism, SCORES, params, seed, wrong, 400_000) < ALPHA


@pytest.mark.parametrize("size", [1, 2, 3, 11, 64])
def test_noisy_max_of_any_size(size, seed):
    """Padding to whole hashes and the unrolled loop lose no candidate."""
    scores = np.linspace(0.0, 1.0, size)
    for precision in ("fast", "tail"):
        mechanism = noisy_max(precision=precision)
        assert p_value(mechanism, scores, {"noise_scale": 1.0}, seed) > ALPHA


def test_the_race_is_the_gumbel_maximum_trial_by_trial(seed):
    """Same exponential variates: equal outcomes but for rounding at near-ties."""
    params = {"noise_scale": 1.0}
    literal = counts(noisy_max(), SCORES, params, seed)
    race = counts(noisy_max(method="race"), SCORES, params, seed)
    assert np.abs(literal - race).sum() <= 2


def test_noisy_max_without_64_bits_and_with_them_agree(seed):
    """Indices and levels are float32 either way."""
    from jaxsel.kernel import stream

    mechanism = noisy_max()
    data, params = mechanism.prepare(SCORES, {"noise_scale": 1.0})

    def outcomes():
        first, second, _ = stream.make_key(seed)

        def one(lane):
            return mechanism.sample(stream.Key(first, second, lane), data, params)

        lanes = jnp.arange(1000, dtype=jnp.uint32)
        return np.asarray(jax.jit(jax.vmap(one))(lanes)).tolist()

    plain = outcomes()
    with jax.enable_x64(True):
        packed = outcomes()
    assert plain == packed
    assert len(set(plain)) > 1


@pytest.mark.parametrize("shift", [-7.0, 1e6])
def test_a_common_shift_changes_nothing(shift, seed):
    params = {"noise_scale": 1.0}
    moved = counts(noisy_max(), SCORES + shift, params, seed)
    np.testing.assert_array_equal(moved, counts(noisy_max(), SCORES, params, seed))


def test_no_noise_gives_the_best_candidate(seed):
    found = counts(noisy_max(), SCORES, {"noise_scale": 1e-9}, seed)
    assert found[2] == TRIALS


# K-th best scores are drawn from K and a base's law alone: every law of K by both
# shortcuts on one base, every base by both shortcuts with one law each.
SHORTCUTS = [
    (FINITE, law, method)
    for law, repetitions in REPETITIONS.items()
    for method in ("count", "rank")
    # else no closed-form rank: refused, see the test of bad input
    if method == "count" or repetitions.inner is None
]
SHORTCUTS += [
    (base, law, method)
    for base in BASES[1:]
    for law, method in (("poisson", "count"), ("eta=0.5", "rank"))
]


@pytest.mark.parametrize(
    ("case", "law", "method"),
    SHORTCUTS,
    ids=[f"{case[0].name}-{law}-{method}" for case, law, method in SHORTCUTS],
)
def test_count_and_rank_forms(case, law, method, seed):
    base, data, params = case
    repetitions = REPETITIONS[law]
    given = params | {"repetitions": repetitions}
    mechanism = private_tuning(base, repetitions.family, method=method)
    assert p_value(mechanism, data, given, seed) > ALPHA


def test_laws_of_about_equal_length_are_cells_of_one_grid(seed):
    """Their tables are filled up to one length."""
    base, data, _ = FINITE
    named = ("geometric", "logarithmic", "eta=0.5", "eta=-0.5")
    cells = [(data, {"repetitions": REPETITIONS[law]}) for law in named]
    mechanism = private_tuning(base, method="count")
    tallies = simulate_grid(mechanism, cells, trials=TRIALS, seed=seed)
    for found, cell in zip(tallies.values, cells, strict=True):
        assert goodness_of_fit(found, mechanism.law(*cell).probabilities) > ALPHA


@pytest.mark.parametrize("law", REPETITIONS)
def test_literal_form_on_a_finite_base(law, seed):
    base, data, params = FINITE
    repetitions = REPETITIONS[law]
    given = params | {"repetitions": repetitions}
    mechanism = private_tuning(base, repetitions.family, method="literal")
    assert p_value(mechanism, data, given, seed) > ALPHA


@pytest.mark.parametrize(("base", "data", "params"), BASES[1:], ids=BASE_IDS[1:])
def test_literal_form_on_every_base(base, data, params, seed):
    repetitions = REPETITIONS["poisson"]
    given = params | {"repetitions": repetitions}
    mechanism = private_tuning(base, "poisson", method="literal")
    assert p_value(mechanism, data, given, seed) > ALPHA


@pytest.mark.parametrize("law", ["geometric", "eta=0.5", "poisson", "binomial"])
def test_tuning_companion_rejects_a_wrong_law_of_k(law, seed):
    base, data, _ = FINITE
    wrong = {
        "geometric": laws.geometric(0.105),
        "eta=0.5": laws.truncated_negative_binomial(0.5, 0.105),
        "poisson": laws.poisson(3.15),
        "binomial": laws.binomial(7, 0.315),
    }[law]
    repetitions = REPETITIONS[law]
    mechanism = private_tuning(base, repetitions.family, method="rank")
    other = mechanism.law(data, {"repetitions": wrong}).probabilities
    given = {"repetitions": repetitions}
    assert p_value(mechanism, data, given, seed, other, 2_000_000) < ALPHA


def test_the_number_of_runs_has_the_law_of_k(seed):
    """Method "count" reports K; its law is the table's, far into the tail."""
    from jaxsel.kernel import statistics

    base, data, _ = FINITE
    for repetitions in (REPETITIONS[law] for law in ("geometric", "logarithmic", "poisson")):
        mechanism = private_tuning(base, repetitions.family, method="count")
        statistic = statistics.counts(_run_count, 40)
        found = simulate(
            mechanism,
            data,
            {"repetitions": repetitions},
            trials=TRIALS,
            seed=seed,
            statistic=statistic,
        ).values[0]
        k = np.arange(40)
        expected = repetitions.pmf(k)
        expected[-1] = repetitions.survival(38)
        assert goodness_of_fit(found, expected) > ALPHA


def _run_count(selection):
    return jnp.minimum(selection.count, 39).astype(jnp.int32)


THRESHOLDS = [
    {"threshold": 0.5, "stop_probability": 0.1, "max_draws": 8},
    {"threshold": 0.5, "stop_probability": 0.0, "max_draws": 3},
    {"threshold": 0.5},
    {"threshold": -100.0, "stop_probability": 1.0},
]


@pytest.mark.parametrize("settings", THRESHOLDS)
@pytest.mark.parametrize(("base", "data", "params"), BASES, ids=BASE_IDS)
def test_threshold_selection(base, data, params, settings, seed):
    for method in ("literal", "jump"):
        mechanism = threshold_selection(base, method=method)
        assert p_value(mechanism, data, params | settings, seed) > ALPHA, method


def test_threshold_selection_companion_rejects_another_stop(seed):
    base, data, _ = FINITE
    mechanism = threshold_selection(base)
    settings = {"threshold": 2.5, "stop_probability": 0.10, "max_draws": 50}
    wrong = mechanism.law(data, settings | {"stop_probability": 0.105}).probabilities
    assert p_value(mechanism, data, settings, seed, wrong, 2_000_000) < ALPHA


def test_both_forms_of_threshold_selection_draw_equally_often(seed):
    from jaxsel.kernel import statistics

    base, data, _ = FINITE
    settings = {"threshold": 2.5, "stop_probability": 0.1, "max_draws": 8}
    success, again = 0.1, 0.9 * 0.9
    k = np.arange(1, 9)
    expected = again ** (k - 1) * (1 - again)
    expected[-1] = again**7
    for method in ("literal", "jump"):
        found = simulate(
            threshold_selection(base, method=method),
            data,
            settings,
            trials=TRIALS,
            seed=seed,
            statistic=statistics.counts(_draws, 9),
        ).values[0]
        assert success > 0
        assert found[0] == 0
        assert goodness_of_fit(found[1:], expected) > ALPHA


def _draws(selection):
    return selection.count.astype(jnp.int32)


def mass_of(table) -> np.ndarray:
    """The law of an alias table, but for the rounding of cells."""
    cells = table.threshold.astype(np.float64) / 2.0**64 / table.low.size
    mass = cells.copy()
    np.add.at(mass, table.other, 1.0 / table.low.size - cells)
    return mass


@pytest.mark.parametrize(
    "entry",
    [entry for entry in mechanisms() if "method" in entry.settings],
    ids=lambda entry: entry.name,
)
def test_sampling_from_the_exact_law(entry):
    """The table, exactly; what is drawn from a table: ``test_tables``, and below."""
    built, ordinary = entry.build({"method": "law"}), entry.build({})
    assert built.mechanism.name.startswith("from_law(")
    table, _ = built.mechanism.prepare(built.data, built.params)
    law = ordinary.mechanism.law(ordinary.data, ordinary.params).probabilities
    np.testing.assert_allclose(mass_of(table), law, rtol=1e-6, atol=1e-9)


def test_alias_resolves_one_in_1e8(seed):
    """Rare outcomes keep their probability: thresholds are 64-bit numbers."""
    from jaxsel.kernel.tables import alias_table

    law = np.array([1e-8, 0.3, 0.7 - 1e-8 - 1e-12, 1e-12])
    np.testing.assert_allclose(mass_of(alias_table(law)), law, rtol=1e-6)
    base = bases.finite()
    mechanism = from_law(private_tuning(base, "point_mass", method="rank"))
    given = {"repetitions": laws.point_mass(1)}
    assert p_value(mechanism, law, given, seed, trials=2_000_000) > ALPHA


@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_bad_scale_is_refused(scale):
    base, scores, _ = CANDIDATES["gaussian"]
    with pytest.raises(InputError, match=f"noise_scale is {scale}"):
        base.prepare(scores, {"noise_scale": scale})
