"""What the bench of scaling measures, and that a killed run is equal, are what they say."""

import numpy as np
import pytest

from benchmarks import killed, scaling


@pytest.mark.rare
def test_every_way_counts_and_is_set_against_two_apart():
    results = scaling.measure(repeats=1, trials=2**14)
    assert [result.goal for result in results] == [13, 13, 13]
    for result in results:
        assert result.name.endswith("/ two processes apart")
        assert result.measured > 0
        assert result.met == (result.measured >= 0.95)


@pytest.mark.rare
def test_a_run_killed_twice_is_equal_and_a_wrong_one_is_told(capsys, monkeypatch):
    small = ["--trials", "1e7", "--save-seconds", "0", "--blocks-per-call", "2"]
    monkeypatch.setattr(killed, "MECHANISMS", ("private_tuning",))
    found = []
    right = killed.killed_and_resumed

    def kept(*arguments):
        found.append(right(*arguments))
        return found[0]

    def wrong(*arguments):
        ((tallies, kills),) = found
        return tallies + np.eye(*tallies.shape, dtype=np.int64), kills

    monkeypatch.setattr(killed, "killed_and_resumed", kept)
    assert killed.main(small) == 0
    assert capsys.readouterr().out.endswith(": equal\n")
    ((_, kills),) = found
    assert 0 < kills[0] < kills[1] < 10_000_000
    monkeypatch.setattr(killed, "killed_and_resumed", wrong)
    assert killed.main(small) == 1
    assert capsys.readouterr().out.endswith(": DIFFERENT\n")


def test_a_run_too_short_to_be_killed_is_told():
    with pytest.raises(RuntimeError, match="noisy_max ended before it was killed"):
        killed.killed_and_resumed("noisy_max", 10, killed.Pace(1.0, 0))
