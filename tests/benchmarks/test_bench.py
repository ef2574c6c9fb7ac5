"""The bench measures what it says: no timing is asserted here, only laws and bits."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import benchmarks as bench
from benchmarks import (
    identity,
    jax_samplers,
    limits,
    numpy_samplers,
    numpy_tuning,
    peers,
    processes,
    selection,
    tails,
)
from benchmarks.__main__ import main, table
from benchmarks.checks import chi_square_p_value, maxima_p_value
from benchmarks.timing import Sampler, Settings, rates, ratio, time_all
from jaxsel import repetitions
from jaxsel.families.private_tuning.bases import finite
from jaxsel.host.errors import InputError
from jaxsel.kernel import noise
from tests.conftest import ALPHA

SCORES = np.linspace(0.0, 3.0, 10)
LAW = numpy_samplers.softmax(SCORES)
BASE = np.array([0.1, 0.2, 0.3, 0.4])
MEAN = 5.0
BEST = finite().best_law(BASE, {}, repetitions.geometric(1 / MEAN))
QUICK = Settings(repeats=2, seconds=0.002)

SAMPLERS = {
    "gumbel": lambda: numpy_samplers.gumbel_argmax(SCORES),
    "ziggurat": lambda: numpy_samplers.race_from_ziggurat(SCORES),
    "uniforms": lambda: numpy_samplers.race_from_uniforms(SCORES),
    "raw words": lambda: numpy_samplers.race_from_raw_words(SCORES),
    "searchsorted": lambda: numpy_samplers.inverse_cdf(LAW),
    "sorted": lambda: numpy_samplers.sorted_inverse_cdf(LAW),
    "jax": lambda: jax_samplers.argmax_of_gumbel(SCORES, LAW),
    "masked": lambda: jax_samplers.masked_loop(BASE, MEAN, BEST, search_once=False),
    "masked once": lambda: jax_samplers.masked_loop(BASE, MEAN, BEST, search_once=True),
    "ragged": lambda: numpy_tuning.ragged(BASE, MEAN, BEST, search_once=False),
    "ragged once": lambda: numpy_tuning.ragged(BASE, MEAN, BEST, search_once=True),
    "power": lambda: numpy_tuning.power(BASE, MEAN, BEST),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_competitors_sample_their_law(name):
    sampler = SAMPLERS[name]()
    tallies = sampler.run(-(-60_000 // sampler.block) * sampler.block)
    assert chi_square_p_value(tallies, sampler.law) > ALPHA
    # Five percent of the likeliest outcome moved to the next: this must be seen.
    wrong = sampler.law.copy()
    first, second = np.argsort(wrong)[-2:]
    moved = 0.05 * wrong[second]
    wrong[second] -= moved
    wrong[first] += moved
    assert chi_square_p_value(tallies, wrong) < ALPHA


def test_chi_square_merges_rare_events_and_refuses_impossible_ones():
    law = np.array([0.5, 0.5 - 2e-6, 1e-6, 1e-6, 0.0])
    assert chi_square_p_value([500, 500, 0, 0, 0], law) > 0.9
    assert chi_square_p_value([500, 500, 0, 0, 1], law) == 0.0
    assert chi_square_p_value([400, 600, 0, 0, 0], law) < ALPHA
    assert chi_square_p_value([7], np.array([1.0])) == 1.0


@pytest.mark.parametrize(
    ("law", "log_cdf"),
    [
        ("exponential", lambda x: x),
        ("gumbel", stats.gumbel_r.logcdf),
        ("laplace", stats.laplace.logcdf),
        ("gaussian", stats.norm.logcdf),
    ],
)
def test_limit_kernels_take_the_maximum_of_all(law, log_cdf):
    kernel = limits.limit_kernel(law, 20)
    maxima = np.concatenate([kernel.maxima(seed) for seed in range(4)])
    assert maxima_p_value(maxima, 20, log_cdf) > ALPHA
    assert maxima_p_value(maxima, 18, log_cdf) < ALPHA


def test_timing_interleaves_and_checks_the_law():
    calls = []

    def sampler(name, law):
        def run(trials):
            calls.append(name)
            return np.array([trials // 2, trials - trials // 2])

        return Sampler(run, 10_000_000, np.array(law))

    good = {"a": sampler("a", [0.5, 0.5]), "b": sampler("b", [0.5, 0.5])}
    times = time_all(good, Settings(repeats=3, seconds=1e-9))
    assert calls[-6:] == ["a", "b"] * 3
    assert times["a"].p_value > 0.9
    assert ratio(times, "a", "b") == times["a"].fastest / times["b"].fastest
    assert "a: " in rates(times, "a", "b")
    with pytest.raises(RuntimeError, match="c does not sample its law"):
        time_all({"c": sampler("c", [0.51, 0.49])}, Settings(2, 1e-9))


@pytest.mark.parametrize("law", ["gumbel", "laplace", "exponential", "gaussian"])
@pytest.mark.parametrize("upper", [True, False])
def test_tail_precision_has_no_bias_to_1e_8(law, upper):
    errors = tails.log_tail_errors(law, "tail", upper, 1e-8)
    assert errors.size == 29
    assert max(np.ptp(errors), np.abs(errors).max()) < 1e-3
    # Companion: one word a variate cannot go there, and the check sees it.
    with np.errstate(invalid="ignore"):
        assert not np.abs(tails.log_tail_errors(law, "fast", upper, 1e-8)).max() < 1e-3


def test_inverting_the_words_agrees_with_counting_them_all():
    words = jnp.arange(2**23, dtype=jnp.uint32) << 9
    values = np.asarray(jax.jit(noise.from_words("laplace", "fast"))(words, words)[0])
    wanted = 10.0 ** np.arange(-1.0, -6.001, -0.25)
    shares = [np.mean(values > point) for point in stats.laplace.isf(wanted)]
    found = tails.log_tail_errors("laplace", "fast", True, 1e-6)
    np.testing.assert_allclose(found, np.log(shares / wanted), rtol=0, atol=1e-12)


def test_identity_counts_every_trial_that_moved(monkeypatch):
    run = identity._tallies(0, 3000, ["8192x1", "512x1"])
    assert all(sum(tallies) == 3000 for runs in run.values() for tallies in runs.values())

    def fake(module, first, trials, *ways, extra=None):
        if len(ways) > 1:
            found = json.loads(json.dumps(run))
            found["alias"]["512x1"][0] += 1
            found["alias"]["512x1"][1] -= 1
            return json.dumps(found)
        half = {name: runs["8192x1"] for name, runs in run.items()}
        split = {
            name: {"8192x1": [v if first == "0" else 0 for v in tallies]}
            for name, tallies in half.items()
        }
        return json.dumps(split)

    monkeypatch.setattr(identity, "run_python", fake)
    (result,) = identity.measure()
    assert (result.measured, result.met) == (2, False)


def test_absent_peers_are_reported_not_met(monkeypatch):
    for name in ("opendp", "opendp.prelude", "diffprivlib", "diffprivlib.mechanisms"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(peers.Unavailable, match="opendp is not installed"):
        peers.opendp_noisy_max(SCORES, LAW)
    results = {r.name: r for r in selection.measure_gumbel(Settings(1, 0.001))}
    for name in ("race / OpenDP loop", "race / diffprivlib loop"):
        assert results[name].measured is None
        assert not results[name].met
        assert "not installed" in results[name].detail
    assert results["race / literal"].threshold is None


@pytest.fixture(name="results", scope="module")
def _results():
    return bench.run([1], repeats=2, seconds=0.002, progress=False)


def test_run_gives_rows_and_words_are_equal_bit_for_bit(results):
    rate, bits = results
    assert rate.goal == bits.goal == 1
    assert rate.measured > 0
    assert rate.met == (rate.measured >= rate.threshold)
    assert (bits.measured, bits.threshold, bits.met) == (0, 0, True)
    assert all(isinstance(row, bench.GoalResult) for row in results)
    assert table(results).row_count == 2


def test_command_prints_json(capsys, monkeypatch, results):
    """Of what the process that measures says, which is asked for what the command is."""

    def measured(*asked):
        assert asked == ("benchmarks.measure", *words)
        return json.dumps([row._asdict() for row in results])

    words = ("--goals", "1", "--repeats", "1", "--seconds", "0.001")
    monkeypatch.setattr(processes, "run_python", measured)
    status = main([*words, "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert status == 0
    assert [set(row) for row in rows] == [set(bench.GoalResult._fields)] * 2
    assert rows[1]["measured"] == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"goals": [10]}, "goal is 10"),
        ({"goals": []}, "no goal"),
        ({"repeats": 0}, "repeats is 0"),
        ({"seconds": 0.0}, "seconds is 0"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        bench.run(**settings)
    assert main(["--goals", "one"]) == 2
