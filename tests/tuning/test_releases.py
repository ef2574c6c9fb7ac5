"""What may be given as a release, and what is said of several: words by hand."""

import math

import dp_accounting
import pytest
from dp_accounting import dp_event

import jaxsel
from jaxsel.accounting.single_run import curves
from jaxsel.host.errors import InputError
from jaxsel.questions.cost import Cost
from jaxsel.questions.released import releases_from
from jaxsel.tuning.accountant import ProvenDelta, ProvenEpsilon
from jaxsel.tuning.base_forms import guarantee_of
from tests.releases import one_release

ADDED, REPLACED = "add_or_remove_one", "replace_one"
SAMPLED = "dp_sgd:sampling_probability=0.1,noise_multiplier=2,steps=1"


def test_a_guarantee_takes_the_relation_that_is_said():
    assert guarantee_of("gdp:mu=1").relation is None
    assert guarantee_of("gdp:mu=1", REPLACED).relation == REPLACED
    assert guarantee_of(SAMPLED).relation == ADDED
    assert guarantee_of(SAMPLED, ADDED).relation == ADDED
    with pytest.raises(InputError, match=r"neighbours by add.* relation is replace_one"):
        guarantee_of(SAMPLED, REPLACED)
    with pytest.raises(InputError, match="relation is 'another'"):
        guarantee_of("gdp:mu=1", "another")


def test_a_release_is_a_search_only_with_a_law_and_once_unless_said():
    one = one_release("gdp:mu=1")
    assert (one.repetitions, one.times) == (None, 1)
    search = one_release("gdp:mu=1", "geometric:mean=3", 5, relation=REPLACED)
    assert search.repetitions is not None
    assert search.repetitions.mean == pytest.approx(3.0)
    assert (search.times, search.base.relation) == (5, REPLACED)
    for times in (0, -1, 1.5):
        with pytest.raises(InputError, match="times"):
            one_release("gdp:mu=1", times=times)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="base is a float"):
        one_release(0.5)


def test_releases_come_alone_or_in_lists_of_any_kind():
    one = one_release("gdp:mu=1")
    best = dp_event.RepeatAndSelectDpEvent(dp_accounting.GaussianDpEvent(8.0), 9, 1)
    event = dp_accounting.SelfComposedDpEvent(best, 3)
    both = dp_accounting.ComposedDpEvent([event, dp_accounting.GaussianDpEvent(1.0)])
    mapping = {"base": "pure:epsilon=1", "times": 2}
    for items, times in (
        (one, [1]),
        (mapping, [2]),
        ("gdp:mu=2", [1]),
        (event, [3]),
        (both, [3, 1]),
        ([one, mapping, event], [1, 2, 3]),
        ((mapping, "gdp:mu=1"), [2, 1]),
        ([both, one], [3, 1, 1]),
        ([curves.gaussian(1.0)], [1]),
        ([], []),
    ):
        assert [each.times for each in releases_from(items)] == times
    with pytest.raises(InputError, match="a release has no 'time'; did you mean times"):
        releases_from([{"base": "gdp:mu=1", "time": 2}])
    with pytest.raises(InputError, match="needs a base"):
        releases_from({"times": 2})


LESS, MORE = ProvenEpsilon(1.0, "B", "bee"), ProvenEpsilon(2.0, "A", "ay")
FEWER, NONE = ProvenDelta(0.25, "B", "bee"), ProvenDelta(1.0, "A", "ay")


def test_the_best_of_several_bounds_is_the_first():
    ranked, of_delta = (LESS, MORE), (FEWER, NONE)
    assert Cost((), 1e-6, ranked, None).best == LESS
    assert Cost((), 1.0, of_delta, None).best == FEWER


def test_a_cost_says_of_what_and_at_what():
    release = one_release("pure:epsilon=0.5")
    cost = jaxsel.compose([release], 0.01)
    assert (cost.releases, cost.delta) == ((release,), 0.01)
    found = jaxsel.compose([release], epsilon=0.25)
    assert (found.releases, found.epsilon) == ((release,), 0.25)
    assert found.relation is None


def test_what_is_proved_is_the_first_sentence():
    release = one_release("gdp:mu=1")
    cost = Cost((release,), 1e-6, (LESS, MORE), None)
    first, second, last = cost.sentences()
    assert first == "All of it together is (1, 1e-06)-differentially private, by B: bee."
    assert second == f"Released: one run of {release.base.name}."
    assert last.startswith("Neighbours: those that every base")
    unknown = Cost((release,), 1e-6, (MORE._replace(epsilon=math.inf),), None)
    assert "together is (" not in unknown.sentences()[0]
    found = Cost((release,), 2.0, (FEWER, NONE), None).sentences()
    assert found[0] == ("All of it together is (2, 0.25)-differentially private, by B: bee.")
    found = Cost((release,), 2.0, (NONE,), ADDED).sentences()
    assert found[0] == "No known theorem bounds delta at epsilon = 2."
    assert found[-1] == "Neighbours: one record is added or removed."


def test_only_a_search_keeps_something_secret():
    search = one_release("gdp:mu=1", "geometric:mean=3")
    one = one_release("gdp:mu=1")
    for releases, secret in (((search, one), True), ((one, one), False)):
        said = " ".join(Cost(releases, 1e-6, (LESS,), None).sentences())
        assert ("secret" in said) == secret
        assert ("score" in said) == secret


def test_a_distribution_has_the_interval_that_is_asked():
    one = one_release("gdp:mu=1")
    found = jaxsel.privacy_loss_distribution([one], interval=1e-2)
    # pessimistic, and coarser
    exact = jaxsel.privacy_loss_distribution(one).get_delta_for_epsilon(1.0)
    assert found.get_delta_for_epsilon(1.0) >= exact * (1 - 1e-9)
    assert found._pmf_remove._discretization == 1e-2
    again = jaxsel.compose(one).privacy_loss_distribution(1e-2)
    assert again.get_delta_for_epsilon(1.0) == found.get_delta_for_epsilon(1.0)
