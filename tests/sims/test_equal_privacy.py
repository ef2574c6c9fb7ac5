"""Tuning at equal total privacy: what is trained, what it costs, and what searches release."""

import numpy as np
import pytest

import jaxsel
from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon
from jaxsel.host.intervals import binomial_p_value
from jaxsel.repetitions import as_law
from sims.data import equal_privacy as equal
from tests.conftest import ALPHA


def test_a_step_is_the_sum_of_clipped_gradients():
    """One step without noise, record by record."""
    data, candidate = equal.parts("breast_cancer"), equal.Candidate(3.0, 0.3, 1)
    x, labels = data.train
    weights = np.zeros((x.shape[1], 2))
    total = np.zeros_like(weights)
    for record, label in zip(x.astype(float), labels, strict=True):
        logits = record @ weights
        p = np.exp(logits) / np.exp(logits).sum()
        gradient = np.outer(record, p - np.eye(2)[label])
        total += gradient * min(1.0, candidate.clip / np.linalg.norm(gradient))
    assert np.linalg.norm(total) < candidate.clip * len(x)
    weights = -candidate.step_size / len(x) * total
    expected = [
        int(((held.astype(float) @ weights).argmax(axis=1) == truth).sum())
        for held, truth in (data.scored, data.test)
    ]
    found = equal.train(data, candidate, 0.0, 2, 0)
    assert found.tolist() == [expected, expected]


def test_records_have_norm_at_most_1_and_parts_are_disjoint():
    for name in equal.DATA:
        data = equal.parts(name)
        sides = [data.train, data.scored, data.test]
        assert all(np.linalg.norm(x, axis=1).max() <= 1.0 + 1e-6 for x, _ in sides)
        every = np.concatenate([x for x, _ in sides])
        assert len(np.unique(every, axis=0)) == len(every)


def test_noise_has_the_spread_of_its_guarantee(monkeypatch):
    """T steps, each with sigma sqrt(T) clips of noise, and nothing else that is random."""
    drawn = []
    data = equal.parts("breast_cancer")

    class Recorder:
        def standard_normal(self, shape, kind):
            drawn.append(shape)
            return np.ones(shape, kind)

    monkeypatch.setattr(np.random, "default_rng", lambda *_: Recorder())
    seen = []
    monkeypatch.setattr(
        equal,
        "_probabilities",
        lambda x, weights: seen.append(weights.copy()) or np.full((len(x), 3, 2), 0.5, np.float32),
    )
    candidate = equal.Candidate(1.0, 0.2, 4)
    equal.train(data, candidate, 5.0, 3, 0)
    assert drawn == [(data.train[0].shape[1], 3, 2)] * 4
    # Each step adds the same gradient and the same "noise" of ones.
    moved = seen[1] - seen[0]
    quiet = []
    monkeypatch.setattr(
        equal,
        "_probabilities",
        lambda x, weights: quiet.append(weights.copy()) or np.full((len(x), 3, 2), 0.5, np.float32),
    )
    equal.train(data, candidate, 0.0, 3, 0)
    noise = (quiet[1] - quiet[0] - moved) * len(data.train[0])
    assert noise == pytest.approx(np.full(noise.shape, 5.0 * 2.0 * 0.2), rel=1e-3)


@pytest.mark.parametrize("law", ["geometric:mean=3", "poisson:mean=2"])
def test_winners_have_the_law_of_the_best_of_k(law, seed):
    generator = np.random.default_rng(seed)
    table = np.stack([np.arange(12.0).reshape(4, 3)] * 2, axis=2)
    searches = 20_000
    counts = equal._counts(as_law(law), searches, generator)
    won = equal._winners(table, counts, 0.0, generator)
    for best in (-1, 3, 8, 10):
        below = (best + 1) / 12.0
        k = np.arange(400)
        expected = float(np.sum(as_law(law).pmf(k) * below**k))
        seen = int(np.sum(won <= best))
        assert binomial_p_value(seen, searches, expected, "two-sided") > ALPHA


def test_ways_that_look_release_one_of_what_they_planned():
    shape = (len(equal.candidates()) - 1, 2, 2)
    table = np.stack([np.arange(np.prod(shape[:2])).reshape(shape[:2])] * 2, axis=2)
    generator = np.random.default_rng(0)
    for way in (equal._grid, equal._adaptive):
        won = way(table, 0.0, 400, generator)
        # The best of twenty draws, and steps in the grid go upwards, too.
        assert np.median(won) > 0.85 * table.max()
        assert won.max() <= table.max()


def test_the_stored_table_keeps_its_totals():
    record = equal.load()
    assert len(record["rows"]) == len(equal.DATA) * len(equal.EPSILONS) * 6
    for row in record["rows"]:
        runs = {"rule": 1, "grid": equal.PLANNED, "adaptive": equal.PLANNED}.get(row["way"])
        low, middle, high = row["quantiles"]
        assert 0.0 <= low <= middle <= high <= 1.0
        if runs is not None:
            spent = gaussian_epsilon(record["delta"], row["sigma"] / np.sqrt(runs))
            assert spent == pytest.approx(row["epsilon"], rel=5e-3)
    for way in ("geometric", "poisson"):
        (row, _) = [one for one in record["rows"] if (one["way"], one["epsilon"]) == (way, 1.0)]
        base = f"gaussian:noise_multiplier={row['sigma']}"
        law = f"{way}:mean={record['mean']}"
        spent = jaxsel.account(base, law, record["delta"], attain=False).epsilon
        assert spent == pytest.approx(1.0, rel=5e-3)


def test_a_small_run_has_every_row(monkeypatch):
    monkeypatch.setattr(equal, "STEP_SIZES", (1.0, 10.0))
    monkeypatch.setattr(equal, "STEPS", (5,))
    found = equal.run(seeds=2, searches=400, data=["breast_cancer"], epsilons=[8.0], progress=False)
    rows = {row["way"]: row for row in found["rows"]}
    assert list(rows) == ["rule", "geometric", "poisson", "optimal", "grid", "adaptive"]
    assert rows["poisson"]["nothing"] < 0.02
    assert rows["geometric"]["nothing"] == 0.0
    assert rows["rule"]["sigma"] < rows["optimal"]["sigma"] < rows["poisson"]["sigma"]
