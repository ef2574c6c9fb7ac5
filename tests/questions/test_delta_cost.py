"""Delta at an epsilon: every bound the other way round, by Python and by command."""

import json
import math

import numpy as np
import pytest
from scipy import special

import jaxsel
from jaxsel.cli import main
from jaxsel.language.printing import digits_down, digits_up
from jaxsel.tuning.bounds import priced_envelope
from jaxsel.tuning.proofs import proofs

GAUSSIAN = "gaussian:noise_multiplier=4"


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Any resolution is a bound; a coarse one is quick."""
    size = priced_envelope.Resolution(columns=8, rows=3, knots=14, parts=6, meshes=0)
    monkeypatch.setattr(priced_envelope, "FINE", size)


@pytest.mark.parametrize(
    ("base", "law"),
    [
        (GAUSSIAN, "geometric:mean=30"),
        (GAUSSIAN, "poisson:mean=5"),
        ("approximate:epsilon=0.5,delta=1e-6", "geometric:mean=20"),
        ("pure:epsilon=0.4", "beta_binomial:count=10,gamma=0.5"),
        ("gaussian:noise_multiplier=2", "point_mass:count=2"),
    ],
)
def test_each_bound_is_the_same_either_way_round(base, law):
    """At the epsilon that it proves for a delta, it proves no larger delta."""
    base, law = jaxsel.guarantee_of(base), jaxsel.repetitions.parse(law)
    seen = 0
    for name, proof in proofs(base, law).items():
        for delta in (1e-4, 3e-2):
            if delta < proof.least_delta:
                continue
            epsilon = proof.epsilon(delta)
            if not 0.0 < epsilon < math.inf:
                continue
            # A chord between two prices is below the price that is asked for anew.
            slack = 1.05 if name.endswith("JX-Priced") else 1.0 + 1e-6
            assert proof.delta(epsilon) <= delta * slack + 1e-12, name
            seen += 1
            if proof.delta(0.9 * epsilon) < 1.0 and "Cor5.3" not in name:
                assert proof.delta(0.9 * epsilon) > 0.999 * delta / slack, name
    assert seen >= 7


def test_one_run_is_its_own_profile():
    """K = 1: Balle & Wang (2018), Theorem 8, by another route."""
    found = jaxsel.account(GAUSSIAN, "point_mass:count=1", epsilon=0.3, attain=False)
    upper = special.ndtr(0.125 - 0.3 * 4.0)
    lower = math.exp(0.3) * special.ndtr(-0.125 - 0.3 * 4.0)
    assert found.best.delta == pytest.approx(upper - lower, rel=1e-4)
    assert found.best.delta >= upper - lower
    assert found.single == pytest.approx(found.best.delta, rel=1e-4)


def test_what_is_attained_is_below_every_bound_and_not_far():
    for base, law, epsilon in (
        (GAUSSIAN, "geometric:mean=3", 0.2),
        ("pure:epsilon=0.5", "logarithmic:mean=5", 0.6),
    ):
        found = jaxsel.account(base, law, epsilon=epsilon)
        values = [bound.delta for bound in found.bounds]
        assert values == sorted(values)
        assert 0.8 * found.best.delta < found.attained <= found.best.delta


def test_on_the_command_line(capsys):
    command = ["account", "--base", GAUSSIAN, "--repetitions", "geometric:mean=3"]
    code, out, _ = run(capsys, *command, "--epsilon", "0.2", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["theorem"] == "JX-Priced"
    assert 0.0765 < found["attained_delta"] + 1e-4 < found["delta"] < 0.09
    assert found["bounds"][0]["delta"] == found["delta"]
    code, out, _ = run(capsys, *command, "--epsilon", "0.2")
    assert code == 0
    assert "(0.2, 0.0" in out
    assert "JX-Envelope" in out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--epsilon", "-1"], "epsilon is -1"),
        (["--epsilon", "nan"], "epsilon is nan"),
        (["--epsilon", "1", "--delta", "0.1"], "not both"),
    ],
)
def test_bad_input(capsys, options, sentence):
    command = ["account", "--base", GAUSSIAN, "--repetitions", "geometric:mean=3"]
    code, _, error = run(capsys, *command, *options)
    assert code == 2
    assert sentence in error
    assert error.count("\n") == 1


def test_digits_are_rounded_to_the_safe_side():
    generator = np.random.default_rng(0)
    for number in np.exp(generator.uniform(-40, 5, 500)).tolist():
        assert digits_down(number) <= number <= digits_up(number)
        assert digits_up(number) - digits_down(number) <= 1.01e-3 * number
    assert digits_up(0.25) == digits_down(0.25) == 0.25


def test_a_search_fails_if_any_of_its_runs_does():
    """However large epsilon is: P[some of K runs fails] = 1 - E[(1 - failure)^K]."""
    law = jaxsel.repetitions.parse("geometric:mean=20")
    base = jaxsel.guarantee_of("approximate:epsilon=0.5,delta=1e-3")
    k = np.arange(1, 5000)
    failing = np.sum(0.05 * 0.95 ** (k - 1) * -np.expm1(k * np.log1p(-1e-3)))
    for name, proof in proofs(base, law).items():
        if name.startswith("PS-Lem20+"):
            assert proof.delta(50.0) == pytest.approx(failing, rel=1e-9), name
