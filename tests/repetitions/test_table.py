"""Laws of K from a table of probabilities, and laws in files."""

import json
import math

import mpmath
import numpy as np
import pytest

import jaxsel
from jaxsel import account
from jaxsel import repetitions as laws
from jaxsel.accounting.single_run.curves import gaussian
from jaxsel.host.errors import InputError
from jaxsel.host.intervals import goodness_of_fit

TABLES = (
    {1: 0.2, 3: 0.5, 11: 0.3},
    {0: 0.1, 1: 0.2, 2: 0.3, 50: 0.4},
    {1: 0.5, 1_000_000: 0.5},
    {4: 1.0},
    {0: 1.0 - 1e-12, 7: 1e-12},
)
POINTS = (0.0, 1e-300, 1e-12, 1e-5, 0.1, 0.5, 0.9, 1.0 - 1e-9, 1.0)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("u", POINTS)
def test_every_function_is_its_sum(table, u):
    law = laws.pmf(table)
    with mpmath.workdps(330):
        x = 1 - mpmath.mpf(u)
        terms = {k: mpmath.mpf(p) for k, p in table.items()}
        gap = mpmath.fsum(p * (1 - x**k if k else 0) for k, p in terms.items())
        slope = mpmath.fsum(k * p * x ** (k - 1) for k, p in terms.items() if k)
        log_slope = -math.inf if slope == 0 else float(str(mpmath.log(slope)))
        values = float(str(1 - gap)), float(str(gap))
    assert float(law.pgf_gap(u)) == pytest.approx(values[1], rel=1e-12, abs=1e-300)
    # Near 1 the code has 1 - u to one rounding, which a million runs enlarge.
    near = max(1e-12, 2e-16 * law.mean)
    assert float(law.pgf_tail(u)) == pytest.approx(values[0], rel=1e-9, abs=near)
    assert float(law.log_pgf_derivative_tail(u)) == pytest.approx(log_slope, rel=1e-9)


@pytest.mark.parametrize("table", TABLES)
def test_probabilities_and_tails(table):
    law = laws.pmf(table)
    for count in (0, 1, 2, 3, 4, 7, 11, 49, 50, 51, 999_999, 1_000_000, 2_000_000):
        above = math.fsum(p for k, p in table.items() if k > count)
        assert float(law.pmf(count)) == table.get(count, 0.0)
        assert float(law.survival(count)) == pytest.approx(above, rel=1e-14)
        assert float(law.cdf(count)) == pytest.approx(1.0 - above, abs=1e-14)
    assert float(law.pmf(2.5)) == 0.0
    assert law.mean == pytest.approx(math.fsum(k * p for k, p in table.items()))
    assert law.variance == pytest.approx(
        math.fsum(p * (k - law.mean) ** 2 for k, p in table.items()), abs=1e-12
    )
    assert law.minimum == min(table)
    assert law.maximum == max(table)
    assert law.probability_zero == table.get(0, 0.0)


@pytest.mark.usefixtures("coarse_prices")
@pytest.mark.parametrize("text", ["geometric:mean=5", "poisson:mean=4", "tnb:eta=2,mean=6"])
def test_a_table_of_a_named_law_is_that_law(text):
    named = laws.parse(text)
    counts = np.arange(0, 400)
    masses = np.asarray(named.pmf(counts))
    law = laws.table_law(counts, masses / masses.sum())
    u = np.geomspace(1e-9, 1.0, 50)
    for name in ("pgf_tail", "pgf_gap", "log_pgf_derivative_tail"):
        assert getattr(law, name)(u) == pytest.approx(getattr(named, name)(u), rel=1e-9)
    assert laws.expected_quantile(law) == pytest.approx(laws.expected_quantile(named))
    base = gaussian(2.0)
    ours, theirs = (account(base, each, 1e-5, attain=False) for each in (law, named))
    envelope = [
        next(b.epsilon for b in found.bounds if b.theorem == "JX-Envelope")
        for found in (ours, theirs)
    ]
    assert envelope[0] == pytest.approx(envelope[1], rel=1e-6)


def test_what_a_table_attains_is_below_its_bound():
    found = account(gaussian(4.0), laws.pmf(TABLES[0]), 1e-5)
    assert 0.99 * found.best.epsilon < found.attained <= found.best.epsilon
    # All runs released, as K is bounded.
    assert any(bound.theorem == "composition" for bound in found.bounds)


@pytest.mark.parametrize("method", ["count", "literal"])
@pytest.mark.parametrize("table", [TABLES[0], TABLES[1]])
def test_drawn_as_it_says(table, method, seed):
    built = jaxsel.mechanism(
        "private_tuning", repetitions=laws.pmf(table), method=method, epsilon=0.7
    )
    tallies = jaxsel.simulate(built, trials=20_000, seed=seed, progress=False)
    assert built.mechanism.law is not None
    exact = built.mechanism.law(built.data, built.params).probabilities
    assert goodness_of_fit(tallies.values[0], exact) > 1e-6


@pytest.mark.parametrize("table", TABLES)
def test_text_and_files_give_the_same_law(table, tmp_path):
    law = laws.pmf(table)
    text = law.name
    again = laws.parse(text)
    assert again.parameters == law.parameters
    path = tmp_path / "law.json"
    laws.save(law, path)
    assert laws.parse(f"file:{path}").parameters == law.parameters


def test_thirds_are_read_as_they_were_written():
    law = laws.pmf({1: 1 / 3, 2: 1 / 3, 5: 1 / 3 + 1e-10})
    assert laws.parse(law.name).parameters == law.parameters


def test_named_laws_in_files(tmp_path):
    path = tmp_path / "law.json"
    laws.save(laws.parse("geometric:mean=20"), path)
    assert laws.parse(f"file:{path}").mean == pytest.approx(20.0)
    path.write_text('{"counts": [1, 4], "probabilities": [0.5, 0.5]}')
    assert laws.parse(f"file:{path}").mean == 2.5
    path.write_text('{"1": 0.25, "4": 0.75}')
    assert laws.parse(f"file({path})").mean == 3.25


def test_two_spellings_and_restrictions():
    assert laws.parse("geometric(mean=20)").parameters == (
        laws.parse("geometric:mean=20").parameters
    )
    assert laws.parse(" tnb( eta=0.5, mean=7 ) ").mean == pytest.approx(7.0)
    law = laws.parse("pmf:1=0.5,30=0.5,capped=10")
    assert law.maximum == 10
    assert law.mean == 5.5
    assert laws.parse(law.name).mean == 5.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pmf", "no probabilities"),
        ("pmf:1=0.2,3=0.5", "sum to 0.7; they must sum to 1"),
        ("pmf:1=1.2,3=-0.2", r"P\[K = 1\] is 1.2"),
        ("pmf:1.5=1", "'1.5' in .* is no count"),
        ("pmf:one=1", "'one' in .* is no count"),
        ("pmf:1=0.5,01=0.5", "a count twice"),
        ("pmf:1=0.5,1=0.5", "must be one name=number"),
        ("pmf:100000000=1", "counts are whole numbers from 0 to 10000000"),
        ("file:nowhere.json", "cannot read nowhere.json: No such file"),
        ("fil:x", "did you mean file|must be one of"),
    ],
)
def test_what_is_no_law_is_refused(text, message):
    with pytest.raises(InputError, match=message) as caught:
        laws.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not JSON", "is not JSON"),
        ("[1, 2]", "holds no law"),
        (json.dumps({"law": {"1.5": 1.0}}), "no whole number"),
        (json.dumps({"law": {"1": "a half", "2": 0.5}}), "must be numbers"),
        (json.dumps({"law": {"1": -0.5, "2": 1.5}}), "lie in"),
        (json.dumps({"law": "file:other.json"}), "names another file"),
        (json.dumps({"law": "geometrik:mean=3"}), "did you mean geometric"),
        (json.dumps({"law": {}}), "needs one probability"),
        ('{"law": {"1": 0.5, "1": 0.5}}', "stands twice"),
        ('{"1": 0.5, "01": 0.5}', "the count 1 twice"),
        ('{"1": NaN, "2": 1.0}', "no number of JSON"),
        ('{"1": true}', "must be numbers"),
        ('{"1_0": 1.0}', "no whole number"),
    ],
)
def test_what_is_no_file_of_a_law_is_refused(content, message, tmp_path):
    path = tmp_path / "law.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        laws.parse(f"file:{path}")


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot write"):
        laws.save(laws.pmf({1: 1.0}), tmp_path / "no" / "law.json")
