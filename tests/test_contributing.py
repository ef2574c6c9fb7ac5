"""The skeletons of CONTRIBUTING.md run, and do what the page says."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import jaxsel
from jaxsel import account
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.catalogue import find_claim, mechanisms
from jaxsel.host.errors import InputError
from jaxsel.language.base import Budget
from jaxsel.repetitions import parse
from jaxsel.tuning.search_bounds import Search
from tests.faults import planting

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()


@pytest.fixture(scope="module")
def skeletons():
    found: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(compile(block, "CONTRIBUTING.md", "exec"), found)
    return found


def test_the_files_of_the_worked_example_are_four_and_short():
    named = re.findall(r"^\| `([\w/]+\.py)`", PAGE, re.M)
    assert len(named) == 4
    lines = sum(len((ROOT / name).read_text().splitlines()) for name in named)
    assert lines <= 190


def test_the_mechanism_has_its_law_its_pair_and_its_promise(skeletons):
    entry = skeletons["exponential_mechanism"]
    assert entry not in mechanisms()
    built = entry(scores="2,2", epsilon=1)
    assert jaxsel.law(built).probabilities.tolist() == [0.5, 0.5]
    (pair,) = built.pairs()
    laws = [built.mechanism.law(side, pair.params) for side in (pair.data, pair.neighbour)]
    exact = exact_epsilon(*(law.probabilities for law in laws))
    proven = entry.guarantee({"epsilon": 1}, pair)
    assert proven == ("NM-gumbel-monotone", 0.5)
    assert 0.2 < exact < proven.epsilon


def test_the_claim_holds_and_knows_its_domain(skeletons):
    claim = skeletons["exponential"]
    assert claim.statement == "The exponential mechanism is epsilon-DP."
    assert claim.check(Budget(cases=50)).outcome == "holds"
    assert claim.evaluate(epsilon="0.5") == 0.5
    with pytest.raises(InputError, match="epsilon is nan"):
        claim.evaluate(epsilon=np.nan)


def test_the_erratum_is_refuted_and_corrected(skeletons):
    erratum, printed, true = (skeletons[name] for name in ("ERRATUM", "runs_printed", "runs"))
    assert (erratum.refuted, erratum.corrected) == ((printed.id,), (true.id,))
    assert printed.check(Budget()).outcome == "refuted"
    assert not printed.holds
    assert erratum.correct in printed.correction
    assert true.check(Budget()).outcome == "holds"


def test_the_law_of_k_is_a_law(skeletons):
    law = skeletons["uniform"](4)
    k = np.arange(6)
    np.testing.assert_allclose(law.pmf(k), [0, 0.25, 0.25, 0.25, 0.25, 0])
    np.testing.assert_allclose(law.pgf(0.3), np.mean(0.3 ** np.arange(1, 5)))
    np.testing.assert_allclose(law.pgf_gap(0.2), 1 - law.pgf(0.8))
    np.testing.assert_allclose(law.mean, 2.5)
    base = curves.gaussian(4.0)
    tuned = account(base, law, 1e-6, attain=False)
    assert tuned.single < tuned.best.epsilon < 2 * tuned.single
    with pytest.raises(InputError, match="count is 0"):
        skeletons["uniform"](0)


def test_the_bound_applies_to_pure_bases_and_bounded_k_and_its_check_notices(skeletons):
    stated = skeletons["composed"]
    fixed, unbounded = parse("point_mass:count=3"), parse("poisson:mean=3")
    pure, gaussian = curves.pure(0.1), curves.gaussian(4.0)
    assert stated.lacks(Search(pure, fixed)) is None
    assert stated.lacks(Search(gaussian, fixed)) == "a base of pure epsilon"
    assert stated.lacks(Search(pure, unbounded)) == "a K that is bounded"
    assert stated.prove(Search(pure, fixed)).epsilon(0.0) == pytest.approx(0.3)
    verdict = stated.check(Budget(cases=20))
    assert verdict.outcome == "holds"
    assert verdict.notices


def test_the_planted_fault_can_be_planted():
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    (fault,) = tomllib.loads(block)["fault"]
    text = (ROOT / fault["file"]).read_text()
    assert len(planting.places(text, fault["old"])) == 1
    assert fault["new"] != fault["old"]
    assert find_claim(fault["claims"][0])
    assert all((ROOT / test).exists() for test in fault["tests"])
