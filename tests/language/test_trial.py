"""One record of what is simulated, whether the catalogue or a person's function made it."""

import numpy as np
import pytest

import jaxsel
from jaxsel.host.errors import InputError
from jaxsel.language import entry
from jaxsel.language.base import Pair, Relation
from jaxsel.language.entry import guarantee
from jaxsel.language.signature import over
from jaxsel.language.trial import Trial

BUILT = jaxsel.mechanism("noisy_max", scores="3,2,1", epsilon=1)


def test_the_catalogue_makes_a_trial_of_its_own_settings():
    assert isinstance(BUILT, Trial)
    assert BUILT.name == "noisy_max"
    names = ["opposed", "one-alone", "others-together"]
    assert [pair.name for pair in BUILT.pairs()] == names
    assert BUILT.guarantee(BUILT.pair()).epsilon == 1.0
    assert len(BUILT.utility()) > 0
    mechanism, data, params = BUILT
    assert BUILT[:3] == (mechanism, data, params)
    assert params["epsilon"] == 1.0


def test_pairs_are_made_when_they_are_asked_for():
    asked = []

    def pairs():
        asked.append(1)
        return ()

    trial = Trial(BUILT.mechanism, *BUILT[1:], pairs=pairs)
    assert not asked
    assert trial.pairs() == ()
    assert asked == [1]
    with pytest.raises(InputError, match="has no pair 'other'; it has: none"):
        trial.pair("other")


def test_a_guarantee_is_of_all_pairs_or_a_function_of_one():
    pair = Pair("bit", 1, 0, Relation.BASE, {}, "the bit flips")
    given = guarantee("LBP-privacy", epsilon=0.5)
    assert Trial(BUILT.mechanism, guarantee=given).guarantee(pair) is given
    assert Trial(BUILT.mechanism).guarantee(pair) is None
    assert (
        Trial(BUILT.mechanism, guarantee=lambda one: given if one is pair else None).guarantee(pair)
        is given
    )


def test_utility_is_given_or_a_function_of_the_labels():
    worth = {"success": np.array([1.0, 0.0, 0.0])}
    assert BUILT._replace(utility=worth).utility()["success"].tolist() == [1.0, 0.0, 0.0]
    seen = BUILT._replace(utility=lambda labels: {"success": np.arange(len(labels))}).utility()
    assert seen["success"].tolist() == [0, 1, 2]


def test_a_copy_changes_what_is_named_and_nothing_else():
    copy = BUILT._replace(beside={"lead": 1.0})
    assert copy.beside == {"lead": 1.0}
    assert copy[:3] == BUILT[:3]
    assert (copy.entry, copy.values) == (BUILT.entry, BUILT.values)
    assert copy.pair().name == "opposed"


def lead(size: float = over(0.0, 2.0)) -> Trial:
    """Noisy max of two scores, by name."""
    return jaxsel.mechanism("noisy_max", scores=[size, 0.0], epsilon=1)


def test_a_function_may_return_what_the_catalogue_built():
    found = jaxsel.sweep(lead, trials=10_000)
    rates = found["quantile"].values
    assert rates[0] == 0.5  # equal scores: whichever wins, half are no better
    assert 0.6 < rates[1] <= 0.75
    bounded = jaxsel.sweep(lead, trials=10_000, measures=["epsilon_bound"])
    assert bounded.epsilon_bound.values.tolist() == [1.0, 1.0]


def test_ones_own_trial_is_simulated_and_audited_as_it_is():
    pair = BUILT.pair()
    own = Trial(BUILT.mechanism, BUILT.data, BUILT.params, pairs=(pair,))
    assert jaxsel.simulate(own, trials=1000).trials == 1000
    found = jaxsel.audit(own, trials=20_000)
    assert found.guarantee is None
    assert 0.0 < found.bound.lower <= 1.0


WHY = "one sentence"


@pytest.mark.parametrize(
    "pairs",
    [
        3.0,
        "opposed",
        ("opposed", 0.5, 0.6, Relation.GENERAL, WHY),
        [("opposed", 0.5, 0.6)],
        [("opposed", 0.5, 0.6, "general", WHY)],
        [(3, 0.5, 0.6, Relation.GENERAL, WHY)],
        [Pair("opposed", 0.5, 0.6, "general", {}, WHY)],
        lambda: None,
    ],
)
def test_pairs_of_another_shape_are_refused_in_one_sentence(pairs):
    trial = Trial(BUILT.mechanism, *BUILT[1:], pairs=pairs)
    with pytest.raises(InputError, match=r"each must be a jaxsel\.Pair, or \(name, data"):
        trial.pairs()


@pytest.mark.parametrize("given", [1.0, "1", lambda pair: 1.0, lambda pair: ("NM-gumbel", 1.0)])
def test_a_guarantee_that_is_none_is_refused_in_one_sentence(given):
    trial = BUILT._replace(guarantee=given)
    with pytest.raises(InputError, match="it must be a Guarantee"):
        trial.guarantee(BUILT.pair())


@pytest.mark.parametrize("given", [3.0, [1.0, 2.0, 3.0], lambda labels: 3.0])
def test_a_utility_without_a_name_is_refused_in_one_sentence(given):
    with pytest.raises(InputError, match="one for each event, by name"):
        BUILT._replace(utility=given).utility()


@pytest.mark.parametrize("given", [3, lambda: "noisy_max"])
def test_what_is_no_mechanism_is_refused_in_one_sentence(given):
    with pytest.raises(InputError, match=r"the mechanism of a trial is (int|str); give"):
        _ = Trial(given).mechanism


def test_the_former_name_of_the_record_warns():
    with pytest.warns(DeprecationWarning, match=r"entry\.Built is jaxsel\.language\.trial\.Trial"):
        assert entry.Built is Trial
