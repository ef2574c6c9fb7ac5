"""What the bench of scaling measures, and that a killed run is equal, are what they say."""

import numpy as np
import pytest

from jaxsel.bench import killed, scaling


def test_every_way_counts_and_is_set_against_two_apart():
    results = scaling.measure(repeats=1, trials=2**14)
    assert [result.goal for result in results] == [13, 13, 13]
    for result in results:
        assert result.name.endswith("/ two processes apart")
        assert result.measured > 0
        assert result.met == (result.measured >= 0.95)


def test_a_run_killed_twice_is_equal_and_a_wrong_one_is_told(capsys, monkeypatch):
    """Of three families; the last third of the trials comes from the third process."""
    small = ["--trials", "2e6", "--save-seconds", "0", "--blocks-per-call", "8"]
    monkeypatch.setattr(killed, "MECHANISMS", ("noisy_max", "threshold_selection"))
    assert killed.main(small) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.endswith(": equal") for line in lines)
    monkeypatch.setattr(killed, "MECHANISMS", ("private_tuning",))
    right = killed.killed_and_resumed

    def wrong(mechanism, trials, pace):
        found, kills = right(mechanism, trials, pace)
        assert 0 < kills[0] < kills[1] < trials
        return found + np.eye(*found.shape, dtype=np.int64), kills

    monkeypatch.setattr(killed, "killed_and_resumed", wrong)
    assert killed.main(small) == 1
    assert capsys.readouterr().out.endswith(": DIFFERENT\n")


def test_a_run_too_short_to_be_killed_is_told():
    with pytest.raises(RuntimeError, match="noisy_max ended before it was killed"):
        killed.killed_and_resumed("noisy_max", 10, killed.Pace(1.0, 0))
