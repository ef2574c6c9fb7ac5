"""What ``import jaxsel`` gives: asked for by name, and printed for people."""

import inspect

import numpy as np
import pytest

import jaxsel
from jaxsel import repetitions
from jaxsel.accounting.single_run import curves
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.language.trial import Trial
from jaxsel.tuning.accountant import proven_epsilons

# At any resolution a price is a bound; the fine ones take most of the time.
pytestmark = pytest.mark.usefixtures("coarse_prices")


@pytest.fixture(name="tuned")
def _tuned() -> Trial:
    return jaxsel.mechanism("private_tuning", repetitions="poisson:mean=3")


def test_every_public_name_is_there():
    for name in jaxsel.__all__:
        assert getattr(jaxsel, name) is not None
    assert set(jaxsel.__all__) <= set(dir(jaxsel))
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        jaxsel.colour  # noqa: B018


@pytest.mark.parametrize("name", jaxsel.__all__)
def test_public_functions_show_their_arguments(name):
    function = getattr(jaxsel, name)
    if not inspect.isfunction(function):
        return
    kinds = [p.kind for p in inspect.signature(function).parameters.values()]
    # Settings differ from mechanism to mechanism.
    assert (inspect.Parameter.VAR_KEYWORD in kinds) == (name in ("law", "mechanism"))
    # Values; one input of a function, or two.
    several = ("over", "audit_function", "replay")
    assert (inspect.Parameter.VAR_POSITIONAL in kinds) == (name in several)
    assert inspect.getdoc(function)


def test_the_same_words_have_the_same_defaults_everywhere():
    """As docs/guide.md says them."""
    either = {"account", "compose"}  # at an epsilon, too: without both, at the same delta
    proved = {"account_grid", "optimal", "plan", "plan_releases"}
    audited = {"audit", "audit_delta", "audit_function", "check_law", "sweep"}
    required, named = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    for name in jaxsel.__all__:
        function = getattr(jaxsel, name)
        if not inspect.isfunction(function):
            continue
        given = inspect.signature(function).parameters
        if "delta" in given:
            default = 1e-6 if name in proved else 0.0 if name in audited else 1e-5
            assert given["delta"].default == (None if name in either else default), name
            assert name in either | proved | audited | {"tune"}
        if "trials" in given:
            assert given["trials"].kind is named
            assert given["trials"].default == (1_000_000 if name in audited else required), name
        if "seed" in given:
            assert given["seed"].default == (None if name == "tune" else 0), name
        for word in ("record", "progress"):
            assert word not in given or given[word].default is None, name


def test_a_mechanism_by_name_or_id_comes_with_its_input(tuned):
    by_id = jaxsel.mechanism("ps-ALG0", repetitions=repetitions.poisson(3.0))
    assert by_id.mechanism is tuned.mechanism
    apart = jaxsel.simulate(tuned.mechanism, tuned.data, tuned.params, trials=5000)
    for built in (tuned, by_id):
        tallies = jaxsel.simulate(built, trials=5000)
        np.testing.assert_array_equal(tallies.values, apart.values)
    with pytest.raises(InputError, match="comes with its input"):
        jaxsel.simulate(tuned, 1, trials=10)


def test_values_and_text_are_the_same_settings():
    texts = jaxsel.mechanism("noisy_max", scores="3,2,1", epsilon="2")
    values = jaxsel.mechanism("noisy_max", scores=[3, 2, 1.0], epsilon=2)
    assert texts.mechanism is values.mechanism
    np.testing.assert_array_equal(texts.data, values.data)
    assert texts.params == values.params


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilom": 1}, "did you mean epsilon"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"scores": [1.0, np.nan]}, "scores is nan"),
        ({"noise": "cauchy"}, "noise is 'cauchy'"),
    ],
)
def test_a_mechanism_refuses_what_it_does_not_know(settings, message):
    with pytest.raises(InputError, match=message):
        jaxsel.mechanism("noisy_max", **settings)


@pytest.mark.parametrize("thing", [None, 3, jaxsel.mechanism("noisy_max")])
def test_what_is_no_name_is_refused_in_a_sentence(thing):
    with pytest.raises(InputError, match="found by its name or id, a text, not by a"):
        jaxsel.mechanism(thing)
    with pytest.raises(InputError, match="found by its id, a text, not by a"):
        jaxsel.claim(thing)


def test_an_audit_by_name_knows_pairs_and_promise():
    built = jaxsel.mechanism("fixed_repetitions", count=5)
    found = jaxsel.audit(built, trials=100_000, progress=False)
    assert found.pair == "randomised-response"
    assert found.exact == pytest.approx(5.0)
    assert found.refuted
    assert "REFUTED: FIXED-K-folklore says 3" in str(found)
    apart = jaxsel.audit(built.mechanism, built.pair(), trials=100_000, progress=False)
    assert apart.bound == found.bound
    assert apart.guarantee is None
    assert not apart.refuted
    with pytest.raises(InputError, match="it has: randomised-response"):
        jaxsel.audit(built, "other", trials=1000)
    with pytest.raises(InputError, match="comes without"):
        jaxsel.audit(built.mechanism, trials=1000)


def test_an_audit_of_delta_by_name():
    built = jaxsel.mechanism("random_stopping")
    found = jaxsel.audit_delta(built, trials=20_000, epsilon=0.5, progress=False)
    assert 0.0 <= found.bound.lower <= found.exact
    assert "delta at epsilon = 0.5" in str(found)


def test_a_claim_by_any_case_of_letters():
    claim = jaxsel.claim("ps-cor3")
    assert claim.id == "PS-Cor3"
    assert claim.evaluate(base="pure:epsilon=0.5", law="geometric:mean=10") == 1.5
    with pytest.raises(InputError, match="did you mean PS-Cor3"):
        jaxsel.claim("PS-Cor33")


def test_an_account_of_text_is_that_of_records():
    text = jaxsel.account("gaussian:noise_multiplier=4", "geometric:mean=100", 1e-6)
    base, law = curves.gaussian(4.0), repetitions.from_mean("geometric", 100.0)
    records = jaxsel.account(base, law, 1e-6)
    assert text.bounds == records.bounds == proven_epsilons(base, law, 1e-6)
    assert text.best.theorem == "JX-Envelope"
    without = jaxsel.account(base, law, attain=False)
    assert without.best == text.best
    assert np.isnan(without.attained)
    assert "no bound from it that covers them all" not in str(without)


def test_validate_takes_ids_and_records():
    budget = Budget(trials=1000, cases=20)
    (one,) = jaxsel.validate("PS-Cor3", budget)
    assert one.as_expected
    seen: list = []
    two = jaxsel.validate([jaxsel.claim("PS-Cor3"), "PS-Thm6-printed"], budget, seen=seen.append)
    assert [result.verdict.outcome for result in two] == ["holds", "refuted"]
    assert seen == [*two]
    assert "2 of 2 as expected (1 refuted), 0 not." in str(two)


def test_results_print_as_a_sentence_and_a_table(tuned):
    tallies = jaxsel.simulate(tuned, trials=1000)
    results = {
        "private_tuning: Run a base K times": tuned,
        "1000 trials of private_tuning": tallies,
        "is at least": jaxsel.audit(tuned, trials=1000, progress=False),
        "PS-Cor3 (Papernot & Steinke 2022": jaxsel.claim("PS-Cor3"),
        "FALSE as printed": jaxsel.claim("PS-Thm6-printed"),
        "PS-Cor3: holds, as expected.": jaxsel.validate("PS-Cor3")[0],
        "1 of 1 as expected": jaxsel.validate("PS-Cor3"),
        "The best of K runs is (": jaxsel.account("pure:epsilon=1", "geometric:mean=9"),
    }
    for beginning, result in results.items():
        lines = str(result).splitlines()
        assert beginning in str(result)
        assert len(lines) > 2
        assert repr(result) == str(result)
        assert "<function" not in str(result)
        html = result._repr_html_()
        assert html.startswith("<p>")
        assert html.endswith("</table>")
        assert html.count("<tr>") >= 2
    assert repr(tuned.mechanism).startswith("Mechanism(private_tuning(")


def test_long_tables_are_cut():
    built = jaxsel.mechanism("noisy_max", scores=",".join(["0"] * 40))
    text = str(jaxsel.simulate(built, trials=10))
    assert "(15 more)" in text
    assert len(text.splitlines()) < 30


def test_tallies_of_other_statistics_and_of_grids_print(tuned):
    from jaxsel.kernel import statistics

    moments = statistics.moments(lambda outcome: outcome.score, 0.0, 3.0)
    assert "Sums of moments" in str(jaxsel.simulate(tuned, trials=10, statistic=moments))
    cells = [(tuned.data, tuned.params)] * 2
    text = str(jaxsel.simulate_grid(tuned.mechanism, cells, trials=10))
    assert "in each of 2 cells" in text
    assert len(text.splitlines()) == 4
