"""Liu & Talwar 2019, Section 5: claims hold, and wrong constants would be refuted."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from jaxsel.families.score_selection.candidate_laws import (
    index_law,
    largest_loss,
    noisy_candidates,
    released_delta,
)
from jaxsel.families.score_selection.claims import (
    exponential_mechanism,
    generalised_exponential,
    margin,
    smooth_sensitivity,
    validation,
)
from jaxsel.families.score_selection.claims.instances import chance_of_loss, selection_law
from jaxsel.families.score_selection.classical_laws import exponential_loss
from jaxsel.families.score_selection.settings import (
    ScoreSelection,
    margin_selection_needed,
    validation_runs,
)
from jaxsel.host.errors import InputError
from jaxsel.language.base import Claim
from jaxsel.repetitions import geometric
from tests.conftest import ALPHA

MODULES = (exponential_mechanism, generalised_exponential, margin, smooth_sensitivity, validation)
FOUND = [found for module in MODULES for found in vars(module).values() if isinstance(found, Claim)]
CLAIMS = {claim.id: claim for claim in FOUND}


def test_ids_are_unique():
    assert len(CLAIMS) == len(FOUND) == 32


@pytest.mark.parametrize("name", CLAIMS)
def test_bad_input_is_refused(name):
    claim = CLAIMS[name]
    assert claim.holds is not name.endswith("-printed")
    with pytest.raises(InputError):
        claim.evaluate(**{next(iter(claim.parameters)): -1.0})


def test_truncation_beyond_the_sensitivity_is_refused():
    with pytest.raises(InputError, match=r"must be at most e\^-epsilon"):
        CLAIMS["LT-Thm5.2-tlap"].evaluate(epsilon=1.0, delta=0.4)


OPPOSED = np.where(np.arange(1000) == 0, 1.0, 0.0)


def test_less_noise_than_three_is_refuted():
    """Random stopping needs all of Lap(3 s/epsilon) for the released pair."""
    runs = [noisy_candidates(q, 2.9) for q in (OPPOSED, 1.0 - OPPOSED)]
    assert largest_loss(*runs, geometric(1e-6)) > 1.0
    runs = [noisy_candidates(q, 3.0) for q in (OPPOSED, 1.0 - OPPOSED)]
    assert 0.99 < largest_loss(*runs, geometric(1e-6)) <= 1.0 + 1e-12


def test_a_shift_common_to_all_does_not_stop_a_decoy():
    """Read literally, q_i - 2 s_(i*) log(K/beta)/epsilon lets large noise win."""
    scores, scales = np.array([0.0, -90.0]), np.array([3.0, 300.0])
    gamma = 0.1 / 4.0
    common = index_law(noisy_candidates(scores, scales), geometric(gamma))
    own = scores - 2.0 * scales * math.log(2 / 0.1)
    shifted = index_law(noisy_candidates(own, scales), geometric(gamma))
    assert common[1] > 0.5
    assert shifted[1] < 0.1


def test_two_fifths_of_the_margin_are_not_enough():
    scores = np.zeros(1000)
    scores[0] = 0.4 * margin_selection_needed(1000, 1.0, 1.0, 1e-6, 0.1)
    law = selection_law(margin.margin_selection(scores, 1.0, 1.0, 1e-6, 0.1))
    assert math.fsum(law[1:]) > 0.1


def test_a_truncation_at_delta_alone_is_not_private():
    """The printed support, on half of the candidates up and half down."""
    half = np.where(np.arange(1000) % 2 == 0, 1.0, -1.0)
    runs = [noisy_candidates(q, 3.0, noise_bound=math.log(1e3)) for q in (half, np.zeros(1000))]
    assert released_delta(*runs, geometric(1e-4), 1.0) > 0.2


def test_half_of_the_loss_of_the_exponential_mechanism_is_exceeded():
    loss = 0.5 * exponential_loss(1000, 1.0, 1.0, 0.1)
    scores = np.full(1000, -1.001 * loss)
    scores[0] = 0.0
    law = exponential_mechanism.exponential_law(scores, 1.0, 1.0)
    assert chance_of_loss(scores, law, loss) > 0.1


def test_learners_that_are_not_private_are_seen():
    models = np.array([[0.2, 0.8]]), np.array([[0.2 * math.e, 1.0 - 0.2 * math.e]])
    runs = [validation_runs(law, [9.0, 0.0], 1.0) for law in models]
    assert largest_loss(*runs, geometric(0.999)) > 0.95


def test_smooth_noise_of_half_the_scale_is_refuted():
    first, second = (noisy_candidates([q], 0.5) for q in (0.0, 1.0))
    delta = released_delta(first, second, geometric(1.0 - 1e-12), 1.0)
    assert delta > CLAIMS["NRS-Cor2.4"].evaluate(delta=1e-3)


def test_selection_law_sums_to_one():
    selection = ScoreSelection(noisy_candidates([0.0, 1.0], [1.0, 9.0]), 0.01)
    assert selection_law(selection).sum() == pytest.approx(1.0, abs=1e-13)


# --- LT-E17 ---------------------------------------------------------------------------


@pytest.mark.parametrize(("candidates", "shown"), [(10**3, 0.1006), (10**5, 0.001424)])
def test_margin_mechanism_leaks_the_half(candidates, shown):
    gamma, rate, cut = 0.1 / candidates, mp.mpf(1) / 3, mp.mpf("0.001")
    end = -mp.log(cut) / rate
    scale = rate / (2 * (1 - cut))

    def density(x):
        return scale * mp.e ** (-rate * abs(x)) if abs(x) < end else mp.mpf(0)

    def above(x):
        x = min(max(x, -end), end)
        tail = (mp.e ** (-rate * abs(x)) - cut) / (2 * (1 - cut))
        return tail if x >= 0 else 1 - tail

    def chosen(x):
        better = (above(x - 1) + above(x + 1)) / 2
        return gamma * density(x + 1) / 2 / (gamma + (1 - gamma) * better) ** 2

    near = [end - 1 - mp.mpf(10) ** -k for k in range(8)]
    points = [-end - 1, -1 - end / 2, 1 - end, -1, 0, *near, end - 1]
    with mp.workdps(30):
        exact = mp.quad(chosen, points)
    down, up = margin._down_half(gamma, 1 / 3, 1e-3)
    assert down == pytest.approx(float(exact), rel=1e-9)
    assert down == pytest.approx(shown, rel=1e-3)
    assert down + up == pytest.approx(1.0, rel=1e-10)


def test_margin_mechanism_by_running_it():
    # Half of the candidates 1 higher, half 1 lower; gamma = 0.1/20, K = 20.
    generator = np.random.default_rng(5)
    gamma, trials, rate, cut = 0.005, 40_000, 1 / 3, 1e-3
    down, _ = margin._down_half(gamma, rate, cut)
    runs = generator.geometric(gamma, trials)
    owner = np.repeat(np.arange(trials), runs)
    size = owner.size
    magnitude = -np.log1p(-generator.random(size) * (1 - cut)) / rate
    sign = generator.choice([-1.0, 1.0], size)
    half = generator.choice([-1.0, 1.0], size)
    order = np.lexsort((sign * magnitude + half, owner))
    best = order[np.cumsum(runs) - 1]
    hits = int(np.sum(half[best] < 0))
    assert stats.binomtest(hits, trials, down).pvalue > ALPHA
    assert stats.binomtest(hits, trials, down * 1.1).pvalue < ALPHA
