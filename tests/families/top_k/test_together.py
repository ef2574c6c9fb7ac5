"""Several top-k mechanisms in one trial: the law of each, in one compiled program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.families.top_k.stable import stable_top_k
from jaxsel.families.top_k.together import together
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel import engine, stream
from jaxsel.kernel.engine import Performance, simulate
from jaxsel.kernel.statistics import combine, counts, moments, read_moments
from tests.conftest import ALPHA

TRIALS = 40_000
# One device: many mechanisms take long enough to compile once.
PERFORMANCE = Performance(block_size=4096, devices=(jax.devices()[0],))
K = 3
HISTOGRAM = np.array([4.0, 9, 7, 7, 3, 5, 0, 3])  # unsorted, ties at the top and below
PARTS = (
    (stable_top_k(), {"rho": 0.5, "delta_t": 0.1, "k": K}),
    (exponential_top_k(), {"k": K, "rho": 0.5}),
    (top_stable_sets(), {"k": K, "epsilon": 2.0, "delta": 0.1}),
    (top_stable_sets(), {"k": K, "epsilon": 2.0, "delta": 0.1}),
)
MECHANISMS = tuple(mechanism for mechanism, _ in PARTS)
DATA = (HISTOGRAM,) * len(PARTS)
PARAMS = tuple(params for _, params in PARTS)


def law_of(place, changes=None):
    mechanism, params = PARTS[place]
    assert mechanism.law is not None
    return mechanism.law(HISTOGRAM, params | (changes or {})).probabilities


def statistic_of():
    """The hits of each, counted, and the recall of the first two, summed."""
    found = {}
    for place in range(len(PARTS)):

        def hits(outcome, place=place):
            return outcome[place].hits

        def recall(outcome, place=place):
            return outcome[place].hits.astype(jnp.float64) / K

        # Any size of set may be released, hence up to all K wanted are hits.
        found[f"hits {place}"] = counts(hits, K + 1)
        if place < 2:
            found[f"recall {place}"] = moments(recall, 0.0, 1.0)

    # The same mechanism twice: were their streams shared, both would always agree.
    def both(outcome):
        return outcome[-2].hits * (K + 1) + outcome[-1].hits

    return combine(found | {"both": counts(both, (K + 1) ** 2)})


def test_each_part_has_its_own_law_in_one_program(seed, monkeypatch):
    programs = []
    compiled = engine._compile

    def noted(*arguments):
        step = compiled(*arguments)
        programs.append(step)
        return step

    monkeypatch.setattr(engine, "_compile", noted)
    tallies = simulate(
        together(MECHANISMS),
        DATA,
        PARAMS,
        trials=TRIALS,
        seed=seed,
        statistic=statistic_of(),
        progress=False,
        performance=PERFORMANCE,
    )
    # One call, and it traced one program.
    assert [step._cache_size() for step in set(programs)] == [1]
    for place in range(len(PARTS)):
        hits = tallies.values[f"hits {place}"][0]
        law = law_of(place)
        law = np.append(law, np.zeros(K + 1 - law.size))
        assert hits.sum() == TRIALS
        assert goodness_of_fit(hits, law) > ALPHA
        if place >= 2:
            continue
        recall = read_moments(
            {k: v[0] for k, v in tallies.values[f"recall {place}"].items()}, 0.0, 1.0
        )
        # The same trials: equal up to the 2**-30 steps of the fixed point.
        assert recall.count == TRIALS
        mean = hits @ np.arange(K + 1) / (K * TRIALS)
        assert recall.mean == pytest.approx(mean, abs=2.0**-30)
    law = law_of(-1)
    both = tallies.values["both"][0]
    assert goodness_of_fit(both, np.outer(law, law).ravel()) > ALPHA
    assert goodness_of_fit(both, np.diag(law).ravel()) < ALPHA
    # Companion: a tenth less noise in one part is another law.
    stable = tallies.values["hits 0"][0]
    assert goodness_of_fit(stable, law_of(0, {"rho": 0.6})) < ALPHA
    peeled = tallies.values["hits 1"][0]
    assert goodness_of_fit(peeled, law_of(1, {"rho": 0.6})) < ALPHA


def test_a_trial_is_each_part_on_its_own_stream(seed):
    """Bit by bit what the parts give on folded keys, and the first one's event."""
    words = MECHANISMS[0]._replace(sample=lambda key, data, params: stream.words(key, 5))
    words = words._replace(event=lambda outcome: outcome[1])
    mechanism = together((words, words))
    data, params = DATA[:2], PARAMS[:1] * 2
    key = stream.make_key(seed, 7)
    found = mechanism.sample(key, *mechanism.prepare(data, params))
    own = [stream.words(stream.fold(key, place), 5) for place in range(2)]
    np.testing.assert_array_equal(found, own)
    assert len(np.unique(own)) == 4
    assert int(mechanism.event(found)) == int(own[0][1])
    assert mechanism.labels(data, params) == words.labels(HISTOGRAM, PARAMS[0])
    assert mechanism.law is not None
    law = mechanism.law(data, params)
    np.testing.assert_array_equal(law.probabilities, law_of(0))


def test_bad_input():
    with pytest.raises(InputError, match="at least one mechanism"):
        together(())
    mechanism = together(MECHANISMS[:2])
    with pytest.raises(InputError, match="data must be a tuple of 2 entries"):
        mechanism.prepare(HISTOGRAM, PARAMS[:2])
    with pytest.raises(InputError, match="params must be a tuple of 2 entries"):
        mechanism.labels(DATA[:2], PARAMS[:1])
    with pytest.raises(InputError, match="rho"):
        mechanism.prepare(DATA[:2], (PARAMS[0] | {"rho": -1.0}, PARAMS[1]))
