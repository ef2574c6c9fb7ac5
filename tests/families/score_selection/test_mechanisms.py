"""Random stopping over noisy candidates: every form against the exact law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.catalogue import find_mechanism
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.families.score_selection.candidate_laws import noisy_candidates
from jaxsel.families.score_selection.candidates import noised_candidates
from jaxsel.families.score_selection.classical import (
    generalised_exponential_mechanism,
    margin_mechanism,
)
from jaxsel.families.score_selection.parameters import METHODS
from jaxsel.families.score_selection.selections import (
    selection_exponential,
    selection_generalised_exponential,
    selection_margin,
    selection_smooth_sensitivity,
    validation_selection,
)
from jaxsel.families.score_selection.settings import ScoreSelection
from jaxsel.families.score_selection.stopping import candidate_stopping
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel import noise, stream
from jaxsel.kernel.engine import simulate, simulate_grid
from jaxsel.kernel.statistics import histogram
from jaxsel.repetitions import beta_binomial, geometric
from tests.conftest import ALPHA
from tests.families.entry_checks import entries_of

BOTH = {"epsilon": 1.5, "beta": 0.4}
TABLE = [[0, 4, 5, 5, 6, 9, 9] * 9, [1, 2, 4, 4, 4, 6, 8] * 9]
MODELS = {"model_laws": [[0.2, 0.8], [0.7, 0.3]], "scores": [3.0, 1.0]}
CASES = {
    "exponential": (selection_exponential, [2.0, 1.0, 0.0], BOTH),
    "generalised": (
        selection_generalised_exponential,
        [2.0, 1.0, 30.0],
        BOTH | {"sensitivities": [1.0, 0.3, 6.0]},
    ),
    "margin": (selection_margin, [4.0, 1.0, 0.0], BOTH | {"delta": 0.2}),
    "smooth": (selection_smooth_sensitivity, TABLE, BOTH | {"delta": 0.2, "high": 10}),
    "validation": (validation_selection, MODELS, {"epsilon": 0.8, "gamma": 0.1}),
}
# Three candidates of very different noise, truncated.
MIXED = noisy_candidates(
    [0.0, 3.0, -2.0], [1.0, 0.2, 6.0], weights=[0.5, 0.2, 0.3], noise_bound=2.5
)


def mixed(method: str, gamma: float = 0.05):
    return candidate_stopping(
        lambda data, params: ScoreSelection(data, params["gamma"]),
        lambda data, params: ("a", "b", "c"),
        method,
    ), {"gamma": gamma}


@pytest.mark.parametrize("name", CASES)
def test_every_selection_has_its_exact_law(name, seed):
    factory, data, params = CASES[name]
    mechanism = factory()
    tallies = simulate(mechanism, data, params, trials=100_000, seed=seed)
    law = mechanism.law(data, params).probabilities
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert goodness_of_fit(tallies.values[0], law) > ALPHA


def test_a_slightly_wrong_law_is_noticed(seed):
    factory, data, params = CASES["generalised"]
    mechanism = factory()
    # 65,000 trials notice it but for one case in a million; as many as above are one run's.
    tallies = simulate(mechanism, data, params, trials=100_000, seed=seed)
    wrong = mechanism.law(data, params | {"epsilon": 1.45}).probabilities
    assert goodness_of_fit(tallies.values[0], wrong) < ALPHA


@pytest.mark.parametrize("method", METHODS)
def test_every_form_has_the_law_of_truncated_noise(method, seed):
    mechanism, params = mixed(method)
    grid = [(MIXED, params)]
    if method in ("jump", "rank"):  # a table of K must have one length
        grid += [(MIXED, {"gamma": gamma}) for gamma in (0.9, 1.0 - 1e-9, 1e-5)]
    trials = 24_576 if method == "literal" else 60_000  # K runs each
    tallies = simulate_grid(mechanism, grid, trials=trials, seed=seed)
    for counts, (data, settings) in zip(tallies.values, grid, strict=True):
        law = mechanism.law(data, settings).probabilities
        assert goodness_of_fit(counts[:3], law) > ALPHA


@pytest.mark.parametrize("method", ["literal", "rank", "jump"])
def test_the_released_score_has_its_law(method, seed):
    """P[score > y] = 1 - f(1 - S(y))."""
    mechanism, params = mixed(method)
    edges = np.array([-4.0, -1.0, 0.5, 2.0, 3.2, 6.0, 10.0])
    statistic = histogram(lambda outcome: outcome.score, edges)
    # 6,600 trials notice what is wrong below but for one case in a million.
    tallies = simulate(mechanism, MIXED, params, trials=16_384, seed=seed, statistic=statistic)
    base = noised_candidates()
    above = np.array([base.law_above(MIXED, {}, y).sum() for y in edges])
    beyond = geometric(0.05).pgf_gap(np.concatenate([[1.0], above, [0.0]]))
    assert goodness_of_fit(tallies.values[0], -np.diff(beyond)) > ALPHA
    # Power: scores that are 3 % off are noticed.
    shifted = np.array([base.law_above(MIXED, {}, 1.03 * y).sum() for y in edges])
    wrong = geometric(0.05).pgf_gap(np.concatenate([[1.0], shifted, [0.0]]))
    assert goodness_of_fit(tallies.values[0], -np.diff(wrong)) < ALPHA


def test_candidates_feed_the_other_selections(seed):
    for mechanism, params in (
        (
            private_tuning(noised_candidates(), "beta_binomial"),
            {"repetitions": beta_binomial(20, 1.0)},
        ),
        (threshold_selection(noised_candidates()), {"threshold": 2.0, "stop_probability": 0.1}),
    ):
        tallies = simulate(mechanism, MIXED, params, trials=60_000, seed=seed)
        law = mechanism.law(MIXED, params).probabilities
        assert law.sum() == pytest.approx(1.0, abs=1e-10)
        assert goodness_of_fit(tallies.values[0], law) > ALPHA


def test_a_rank_is_a_tail_probability():
    base = noised_candidates()
    with jax.enable_x64(True):
        data, params = base.prepare(MIXED, {})
        for rank in (1e-12, 1e-3, 0.4, 0.9):
            found = base.at_rank(stream.make_key(1), np.float64(rank), data, params)
            above = base.law_above(MIXED, {}, float(found.score)).sum()
            assert above == pytest.approx(rank, rel=1e-6)


@pytest.mark.parametrize("method", ["literal", "race"])
def test_the_classical_generalised_mechanism(method, seed):
    mechanism = generalised_exponential_mechanism(method=method)
    params = BOTH | {"sensitivities": [1.0, 0.3, 6.0]}
    tallies = simulate(mechanism, [2.0, 1.0, 30.0], params, trials=200_000, seed=seed)
    law = mechanism.law([2.0, 1.0, 30.0], params).probabilities
    assert goodness_of_fit(tallies.values[0], law) > ALPHA
    wrong = mechanism.law([2.0, 1.0, 30.0], params | {"epsilon": 1.4}).probabilities
    assert goodness_of_fit(tallies.values[0], wrong) < ALPHA


def test_the_classical_margin_mechanism(seed):
    mechanism = margin_mechanism()
    params = {"epsilon": 1.0, "delta": 1e-2, "sensitivity": 0.5}
    scores = [1.0, 5.5, 0.0]
    tallies = simulate(mechanism, scores, params, trials=200_000, seed=seed)
    law = mechanism.law(scores, params).probabilities
    assert goodness_of_fit(tallies.values[0], law) > ALPHA
    wrong = mechanism.law(scores, params | {"delta": 9.5e-3}).probabilities
    assert goodness_of_fit(tallies.values[0], wrong) < ALPHA


# --- catalogue ------------------------------------------------------------------------


@pytest.mark.parametrize("entry", entries_of("score_selection"), ids=lambda entry: entry.name)
def test_entries_keep_their_promises(entry):
    mechanism = entry.build({}).mechanism
    for pair in entry.pairs({}):
        found = [mechanism.law(s, pair.params) for s in (pair.data, pair.neighbour)]
        for law in found:
            assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-10)
            assert len(law.labels) == law.probabilities.size
        proven = entry.guarantee({}, pair)
        if proven:
            exact = exact_epsilon(*(law.probabilities for law in found))
            assert 0.0 < exact <= proven[1] * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (selection_exponential(), [1.0], {"beta": 0.1}, "epsilon is missing"),
        (selection_exponential(), [[1.0]], BOTH, "one list"),
        (selection_margin(), [1.0], BOTH | {"delta": 2.0}, "delta is 2"),
        (
            selection_smooth_sensitivity(),
            [1.0],
            BOTH | {"delta": 0.1, "high": 3},
            "one row a candidate",
        ),
        (selection_smooth_sensitivity(), [[4.0]], BOTH | {"delta": 0.1, "high": 3}, "lie in"),
        (validation_selection(), [1.0], {"epsilon": 1.0, "gamma": 0.1}, "mapping"),
        (validation_selection(), MODELS, {"epsilon": 1.0, "gamma": 1.0}, "gamma is 1"),
        (generalised_exponential_mechanism(), [1.0], BOTH, "sensitivities is missing"),
        (margin_mechanism(), [1.0, 0.0], {"epsilon": 1.0, "delta": 0.7}, "is 0.7"),
        (
            margin_mechanism(),
            [1.0, 0.0],
            {"epsilon": 1.0, "delta": 0.1, "sensitivty": 2.0},
            "sensitivty is no parameter",
        ),
        (selection_exponential(), [1.0], BOTH | {"delta": 0.1}, "delta is no parameter"),
        (selection_margin(), [1.0], BOTH | {"epsilon": 1e18, "delta": 0.1}, "must be at most 2"),
        (
            private_tuning(noised_candidates()),
            MIXED,
            {"repetitions": geometric(0.5), "threshold": 1.0},
            "threshold is no parameter",
        ),
        (
            private_tuning(noised_candidates()),
            [1.0],
            {"repetitions": geometric(0.5)},
            "must be NoisyCandidates",
        ),
    ],
)
def test_bad_input(mechanism, data, params, message):
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, params)


def test_bad_method_and_ragged_lists():
    with pytest.raises(InputError, match="method is 'slow'"):
        selection_exponential(method="slow")
    smooth = find_mechanism("selection_smooth_sensitivity")
    with pytest.raises(InputError, match="equally long"):
        smooth.build({"lists": "1,2/3"})


def test_one_sensitivity_serves_all_and_others_must_be_as_many():
    for name in ("selection_generalised_exponential", "generalised_exponential_mechanism"):
        entry = find_mechanism(name)
        one, three = (entry.build({"sensitivities": text}) for text in ("2", "2,2,2"))
        laws = [
            built.mechanism.law(built.data, built.params).probabilities for built in (one, three)
        ]
        np.testing.assert_array_equal(*laws)
        for use in (entry.build, entry.pairs):
            with pytest.raises(InputError, match="2 positive numbers, or one for all"):
                use({"scores": "1,0"})


def test_tiny_settings_do_not_underflow():
    tiny = {"beta": 1e-200, "delta": 1e-200}
    for name in ("selection_margin", "selection_smooth_sensitivity"):
        built = find_mechanism(name).build(tiny)
        law = built.mechanism.law(built.data, built.params).probabilities
        assert law.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("lead", [1.0, 4.0, 60.0, 200.0])
@pytest.mark.parametrize("upper", [True, False])
def test_the_margin_is_that_of_laplace_noise(monkeypatch, lead, upper):
    """Against the noise itself, at numbers on both sides of the least that is enough."""
    made = margin_mechanism()
    params = {"epsilon": 0.5, "delta": 1e-3}
    # The noise that is needed: log(1/(2 delta)) - epsilon (lead/2 - 1), as A_dist says.
    need = np.log(500.0) - 0.5 * (lead / 2.0 - 1.0)
    least = 0.5 * np.exp(-abs(need))
    ends = np.array([1e-9, 1e-3, 0.1, 0.4999, 0.99 * least, 1.01 * least])
    with jax.enable_x64(True):
        data, _ = made.prepare([lead, 0.0], params)
        key = stream.make_key(0)
        for t in ends[ends < 0.5]:
            number = noise.Ends(jnp.asarray(upper), jnp.asarray(t, jnp.float64))
            monkeypatch.setattr(noise, "number", lambda *_, n=number: n)
            found = int(made.sample(key, data, ()))
            size = -np.log(2.0 * t)
            assert found == (0 if (size if upper else -size) > need else 2)
