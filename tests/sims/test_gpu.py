"""What ``make gpu`` runs, with small numbers, on whatever is here."""

import json

import pytest

from sims import gpu
from sims.data import digits_accuracies


@pytest.mark.rare
def test_small_run_stops_goes_on_and_gives_what_figures_read(tmp_path, capsys):
    arguments = ["--small", "--out", str(tmp_path)]
    assert gpu.main([*arguments, "--minutes", "0"]) == gpu.UNFINISHED
    kept = json.loads((tmp_path / "record.json").read_text())
    assert kept["pieces"]["compare"] == {
        "noisy_max": {"trials": gpu.SMALL.compared, "different": 0}
    }
    assert not kept["pieces"]["networks"]

    # What is done is not done again.
    kept["pieces"]["compare"]["noisy_max"]["different"] = -1
    (tmp_path / "record.json").write_text(json.dumps(kept))
    assert gpu.main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    pieces = document["pieces"]
    assert pieces["compare"]["noisy_max"]["different"] == -1
    assert pieces["rates"]["noisy_max"]["trials_a_second"] > 0.0
    assert pieces["billion"]["noisy_max"]["trials"] == gpu.SMALL.trials
    assert pieces["billion"]["noisy_max"]["p_value"] > 1e-6
    assert "jax" in document["measured_on"]["versions"]

    path = tmp_path / "table.json"
    path.write_text(json.dumps(pieces["networks"]["table"]))
    table = digits_accuracies.load("digits", path)
    setting = gpu.SMALL.networks
    assert table.correct.shape == (setting.rates, setting.seeds)
    assert table.steps == 6

    # A folder of another scale is refused.
    with pytest.raises(gpu.InputError, match="another scale or machine"):
        gpu.run(gpu.FULL, tmp_path)
