"""One value for what is released, and one for what it costs."""

import json
import math

import numpy as np
import pytest

import jaxsel
from jaxsel.accounting.single_run import curves
from jaxsel.cli import main
from jaxsel.host.errors import InputError

# At any resolution a price is a bound; the fine ones take most of the time.
pytestmark = pytest.mark.usefixtures("coarse_prices_of_file")

BASE, LAW = "gaussian:noise_multiplier=8", "geometric:mean=3"


@pytest.fixture(scope="module")
def search():
    return jaxsel.search_cost(BASE, LAW)


def _printed(capsys, *command: str) -> dict:
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main([*command, "--json"])
    assert not stop.value.code
    return json.loads(capsys.readouterr().out)


def test_an_epsilon_and_a_delta_are_those_of_the_command_line(search, capsys):
    options = ("account", "--base", BASE, "--repetitions", LAW)
    record = _printed(capsys, *options, "--delta", "1e-6")
    assert search.epsilon(1e-6) == record["epsilon"]
    assert search.attained(1e-6) == record["attained_epsilon"]
    told = {name: value for name, value in record.items() if value is not None}
    found = search.cost(1e-6).as_record()
    assert {name: found[name] for name in told} == told
    record = _printed(capsys, *options, "--epsilon", "0.5")
    assert search.delta(0.5) == record["delta"]
    assert search.cost(epsilon=0.5).delta == search.delta(0.5)


def test_what_several_cost_is_what_the_command_line_adds_up(search, capsys):
    both = search * 4 + jaxsel.release("laplace:noise_scale=10")
    record = _printed(
        capsys,
        "account",
        "--base",
        BASE,
        "--repetitions",
        LAW,
        "--times",
        "4",
        "--beside",
        "laplace:noise_scale=10",
        "--delta",
        "1e-6",
    )
    assert both.epsilon(1e-6) == record["epsilon"]
    assert [each.times for each in both] == [4, 1]
    assert 2 * both == both * 2 != both
    assert (search + search).releases == 2 * search.releases


def test_it_prints_as_the_answer_at_the_default_delta_and_says_so(search):
    lines = str(search).split("\n")
    assert lines[0] == str(search.cost()).split("\n")[0]
    assert any(line.startswith("delta = 1e-06 is the default") for line in lines)
    assert "<table>" in search._repr_html_()


def test_costs_are_computed_once(search):
    assert search.cost(1e-5) is search.cost(1e-5)
    assert search.cost(1e-5).delta == 1e-5
    assert search.cost(1e-5).epsilon == search.cost(1e-5).best.epsilon


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_a_tests_power_is_bounded_by_every_proven_point(fine_prices, epsilon):
    search = jaxsel.search_cost(BASE, LAW)
    delta = search.delta(epsilon)
    for rate in (0.0, 0.01, 0.3):
        assert search.true_positive_rate(rate) <= math.exp(epsilon) * rate + delta + 1e-9
    assert search.advantage() <= search.delta(0.0) + 1e-12


def test_one_gaussian_run_has_the_power_of_a_z_test():
    """The most powerful test of N(0, 1) against N(1/2, 1), from the normal law."""
    one = jaxsel.release("gaussian:noise_multiplier=2")
    from scipy.stats import norm

    assert one.advantage() == pytest.approx(2 * norm.cdf(0.25) - 1, rel=1e-3)
    found = one.true_positive_rate([0.01, 0.1])
    np.testing.assert_allclose(found, norm.cdf(norm.ppf([0.01, 0.1]) + 0.5), rtol=2e-3)
    assert one.epsilon(1e-6) == pytest.approx(curves.gaussian(2.0).epsilon(1e-6), rel=1e-3)


def test_one_run_alone_is_said_beside_a_search():
    """Of N(0, 1) against N(1/4, 1), from the normal law, by either question."""
    from scipy.stats import norm

    search = jaxsel.search_cost("gaussian:noise_multiplier=4", "geometric:mean=10")
    one = norm.cdf(0.125 - 4.0) - math.e * norm.cdf(-0.125 - 4.0)
    assert search.cost(epsilon=1.0, attain=False).single == pytest.approx(one, rel=1e-6)
    assert search.cost(one, attain=False).single == pytest.approx(1.0, rel=1e-6)


def test_a_report_and_a_picture_are_made_of_it(search):
    statement = jaxsel.report(search).statement
    assert statement.subject.proof.epsilon == search.epsilon()
    (axes,) = search.plot().axes
    assert axes.get_title()


def test_score_noise_belongs_to_one_search():
    noisy = jaxsel.search_cost(BASE, LAW, score_noise=10.0)
    cost = noisy.cost(1e-6, attain=False)
    assert cost.scores is not None
    for wrong in (
        lambda: noisy * 2,
        lambda: noisy + noisy,
        lambda: noisy.delta(1.0),
        lambda: noisy.advantage(),
        lambda: noisy.true_positive_rate(0.01),
        lambda: noisy.pld(),
        lambda: cost.privacy_loss_distribution(),
        lambda: jaxsel.compose(noisy),
        lambda: jaxsel.compose([noisy]),
        lambda: jaxsel.compose([jaxsel.search_cost(BASE, LAW), noisy], epsilon=1.0),
        lambda: jaxsel.privacy_loss_distribution([noisy]),
    ):
        with pytest.raises(InputError, match="score noise is accounted for in one search alone"):
            wrong()


def test_delta_or_epsilon_is_asked_about_and_by_default_the_usual_delta(search):
    """One question each: at a delta, at an epsilon, at neither, never at both."""
    asking = (
        search.cost,
        (search * 2).cost,
        lambda *at, **named: jaxsel.account(BASE, LAW, *at, **named),
        lambda *at, **named: jaxsel.compose(search, *at, **named),
    )
    for ask in asking:
        with pytest.raises(InputError, match="give delta or epsilon, not both"):
            ask(1e-6, epsilon=1.0)
        usual, at_delta, at_epsilon = ask(), ask(1e-6), ask(epsilon=0.5)
        assert (usual.delta, usual.bounds) == (1e-6, at_delta.bounds)
        assert (at_epsilon.epsilon, at_epsilon.asks_for_delta) == (0.5, True)


def test_bad_questions_are_one_sentence(search):
    with pytest.raises(InputError, match="times is 0"):
        search * 0
    with pytest.raises(TypeError):
        search + 1
    with pytest.raises(InputError, match="a report states epsilon at a delta"):
        jaxsel.report(search.cost(epsilon=1.0))
