"""Plans and finished searches: what is read, what is proved again, what is refused."""

import json

import numpy as np
import pytest

import jaxsel
from jaxsel import account
from jaxsel.accounting.single_run import curves
from jaxsel.host.errors import InputError
from jaxsel.repetitions import parse
from jaxsel.reports import attacks, reading
from jaxsel.reports.proven_pairs import proven_pairs
from jaxsel.reports.reading import RELEASE
from jaxsel.search.storage import RECORD
from tests.releases import one_release

LAW = "truncated_negative_binomial:eta=1.0,gamma=0.25"


# Promised is a little more than is proved, of noise 4 and of noise 3.
PLANNED, SEARCHED = 1.25, 1.75


def plan_record(**changed):
    return {
        "base": "gaussian:noise_multiplier=4.0",
        "law": LAW,
        "delta": 1e-5,
        "epsilon": PLANNED,
        "theorem": "JX-Envelope",
        "score_noise": 4.0,
        "runs_95": 11,
        "expected_quantile": 0.7,
        "hit": 0.2,
        "wishes": {"good": 0.05},
    } | changed


def search_record(**changed):
    """Training as with noise 4, and validation with noise 3: the worse of the two."""
    return {
        "data": "digits",
        "base": "gaussian:noise_multiplier=4.0",
        "repetitions": LAW,
        "winner": {"learning_rate": 0.25, "steps": 4},
        "noisy_validation_accuracy": 0.75,
        "score_noise": 3.0,
        "test_accuracy": 0.5,
        "epsilon": SEARCHED,
        "delta": 1e-5,
        "theorem": "JX-Envelope",
        "statement": "envelope bound of this project, from the whole profile",
    } | changed


def test_a_plan_is_proved_again():
    found = jaxsel.report(plan_record())
    subject = found.statement.subject
    assert (subject.kind, subject.delta) == ("plan", 1e-5)
    best = account(curves.gaussian(4.0), parse(LAW), 1e-5, attain=False).best
    assert subject.proof == best
    assert 0.9 * PLANNED < best.epsilon < PLANNED
    facts = dict(subject.facts)
    assert facts["Chance to hit the best 0.05"] == "0.2"
    assert facts["Runs on average"] == "4"
    assert "standard deviation 4:" in found.markdown()
    # The account of the same search says the same.
    cost = jaxsel.account("gaussian:noise_multiplier=4", LAW, 1e-5, attain=False)
    assert jaxsel.report(cost).statement.mu == found.statement.mu


def test_a_plan_of_python_is_taken_as_it_is():
    planned = jaxsel.plan("gaussian:noise_multiplier=4", runs=5, delta=1e-5)
    found = jaxsel.report(planned)
    np.testing.assert_allclose(found.statement.subject.proof.epsilon, planned.epsilon)


def test_a_search_is_as_private_as_its_worse_part():
    report = jaxsel.report(search_record())
    found = report.statement
    assert 0.9 * SEARCHED < found.subject.proof.epsilon < SEARCHED
    worse = proven_pairs([one_release("gaussian:noise_multiplier=3", LAW)])
    np.testing.assert_allclose(found.mu, attacks.gaussian_mu(worse), rtol=1e-6)
    np.testing.assert_allclose(found.advantage, attacks.advantage(worse), rtol=1e-6)
    other = proven_pairs([one_release("gaussian:noise_multiplier=4", LAW)])
    assert attacks.gaussian_mu(other) < 0.9 * found.mu
    text = report.markdown()
    for words in ("training images", "validation images", "0.7500", "The seed"):
        assert words in text
    assert "learning rate 0.25, steps 4" in text


def test_candidates_of_different_privacy_have_one_point_and_the_noise_of_scores():
    record = search_record(base=None, theorem="KRW-Cor6.2", statement="Corollary 6.2", epsilon=2.5)
    found = jaxsel.report(record)
    statement = found.statement
    assert statement.subject.proof.epsilon == 2.5
    assert "Koskela, Redberg & Wang 2024, Corollary 6.2" in statement.source
    # (2.5, 1e-5) alone says no more than this.
    rate = 1e-5 + np.exp(2.5) * 1e-3
    np.testing.assert_allclose(statement.rates[0][1], rate, rtol=1e-6)
    assert "candidates that differ in privacy" in found.markdown()
    assert "nan" not in found.markdown()
    assert "inf" not in found.markdown().replace("information", "")


def test_nothing_was_run():
    record = search_record(winner=None, noisy_validation_accuracy=None)
    assert "none: K was 0" in jaxsel.report(record).markdown()


def test_a_folder_and_files(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan_record()))
    assert jaxsel.report(str(path)).statement.subject.kind == "plan"
    assert reading._UNFINISHED[0] == RECORD
    (tmp_path / RELEASE).write_text(json.dumps(search_record()))
    assert jaxsel.report(tmp_path).statement.subject.kind == "search"
    assert reading.read_search(tmp_path / RELEASE) == search_record()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (plan_record(epsilon=0.5), "promises epsilon = 0.5"),
        # a tenth too little
        (plan_record(epsilon=0.9 * PLANNED), "promises epsilon = 1.125"),
        (search_record(epsilon=0.9 * SEARCHED), "promises epsilon = 1.575"),
        (plan_record(delta=1.0), "delta is 1"),
        (plan_record(delta=True), "no 'delta'"),
        (plan_record(law="geometric"), "geometric"),
        (plan_record(base="gauss:noise=4"), "base is"),
        (plan_record(delta="small"), "no 'delta'"),
        (plan_record(delta=1.5), "delta is 1.5"),
        (plan_record(epsilon=None), "no 'epsilon'"),
        (search_record(epsilon=0.5), "promises epsilon = 0.5"),
        (search_record(score_noise=1.0), "of gaussian:noise_multiplier=1.0"),
        (search_record(score_noise=None), "no 'score_noise'"),
        (search_record(repetitions=3), "no 'repetitions'"),
        ({"epsilon": 1.0}, "neither a plan"),
        (3, "not of a int"),
    ],
)
def test_what_promises_too_much_or_is_incomplete_is_refused(record, message):
    with pytest.raises(InputError, match=message):
        jaxsel.report(record)


def test_files_that_are_none(tmp_path):
    def refused(path, message):
        with pytest.raises(InputError, match=message):
            jaxsel.report(path)

    refused(tmp_path / "nothing.json", "cannot read")
    refused(tmp_path, "is not the folder of a search")
    (tmp_path / RECORD).write_bytes(b"")
    refused(tmp_path, "is not finished")
    (tmp_path / "text").write_text("text")
    refused(tmp_path / "text", "is not JSON")
    (tmp_path / "list").write_text("[1]")
    refused(tmp_path / "list", "no object")


def test_nothing_proved_is_nothing_stated():
    cost = jaxsel.account(
        "approximate:epsilon=1,delta=1e-3", "geometric:mean=100", 1e-6, attain=False
    )
    with pytest.raises(InputError, match="no epsilon is proved at delta = 1e-06"):
        jaxsel.report(cost)
