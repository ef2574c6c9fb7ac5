"""Sweeps: what they measure agrees with what is known, and nothing is lost or mixed up."""

import json
import subprocess
import sys
import textwrap
import types

import h5py
import numpy as np
import pytest
import xarray as xr

import jaxsel
from jaxsel import repetitions, sweeps
from jaxsel.host import records
from jaxsel.host.errors import InputError
from jaxsel.kernel import engine
from jaxsel.sweeps import files, tallying
from jaxsel.sweeps.cells import make_cell, own_item
from jaxsel.sweeps.swept_subject import find_subject
from tests.conftest import ALPHA

GRID = {"repetitions": ["geometric", "poisson"], "mean": [2, 5], "epsilon": [0.5, 1]}


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    """Intervals that all hold together, but for one in a million."""
    cells, intervals = 8, 5
    return jaxsel.sweep(
        "private_tuning",
        GRID,
        trials=40_000,
        confidence=1 - ALPHA / (cells * intervals),
        measures=[
            "success",
            "quantile",
            "released",
            "frequency",
            "epsilon_bound",
            "epsilon_bounds",
            "audited",
            "exact_epsilon",
            "counts",
            "mean_runs",
        ],
    )


def test_names_units_and_provenance(found):
    assert found["success"].dims == ("repetitions", "mean", "epsilon")
    assert found["frequency"].dims == (*found["success"].dims, "outcome")
    assert found["mean"].values.tolist() == [2, 5]
    assert found["outcome"].values.tolist() == ["0", "1", "none"]
    assert found["success"].attrs["units"] == "1"
    assert found["success"].attrs["long_name"] == "probability of success"
    assert "best candidate" in found["success"].attrs["comment"]
    assert found.attrs["trials"] == 40_000
    assert json.loads(found.attrs["versions"])["jax"]


@pytest.mark.parametrize("progress", [True, False])
def test_a_sweep_shows_one_bar_of_all_cells_or_none(monkeypatch, progress):
    wanted, real = [], engine.progress_bar

    def recorded(total, done, shown, **settings):
        wanted.append(shown)
        return real(total, done, shown, **settings)

    monkeypatch.setattr(engine, "progress_bar", recorded)
    monkeypatch.setattr(tallying, "progress_bar", recorded)
    grid = {"epsilon": [0.5, 1.0]}
    jaxsel.sweep("noisy_max", grid, trials=100, measures=["counts"], progress=progress)
    assert len(wanted) > 1
    assert sum(wanted) == progress


@pytest.mark.parametrize("measure", ["success", "quantile", "released", "frequency"])
def test_intervals_hold_the_exact_value(found, measure):
    low, high = found[f"{measure}_low"], found[f"{measure}_high"]
    exact = found[f"{measure}_exact"]
    assert ((low <= exact + 1e-12) & (exact <= high + 1e-12)).all()
    # They have power: the value of the other law of K is told apart somewhere.
    other = exact.isel(repetitions=slice(None, None, -1)).values
    assert ((other < low) | (other > high)).any()


def test_success_is_that_of_the_tuned_law(found):
    for law in GRID["repetitions"]:
        for mean in GRID["mean"]:
            for epsilon in GRID["epsilon"]:
                base = 1.0 / (1.0 + np.exp(-epsilon))
                wanted = repetitions.success_probability(repetitions.from_mean(law, mean), base)
                cell = found.sel(repetitions=law, mean=mean, epsilon=epsilon)
                assert float(cell["success_exact"]) == pytest.approx(float(wanted))
                assert float(cell["mean_runs"]) == pytest.approx(mean)


def test_audited_below_exact_below_proven(found):
    audited, exact = found["audited"], found["exact_epsilon"]
    assert (audited <= exact + 1e-9).all()
    assert (exact <= found["epsilon_bound"] + 1e-9).all()
    assert (audited > 0.5 * exact).all()


def test_the_best_bound_is_the_least_by_theorem(found):
    least = found["epsilon_bounds"].min("theorem")
    assert (found["epsilon_bound"] == least).all()
    for cell in found.stack(cell=found["success"].dims)["cell"]:
        one = found.sel(dict(zip(found["success"].dims, cell.item(), strict=True)))
        theorem = str(one["epsilon_bound_theorem"].item())
        assert float(one["epsilon_bounds"].sel(theorem=theorem)) == float(one["epsilon_bound"])


def test_counts_add_up(found):
    assert found["counts"].dtype == np.int64
    assert (found["counts"].sum("outcome") == 40_000).all()


def _counts(settings, **options):
    found = jaxsel.sweep("noisy_max", settings, measures=["counts"], **options)
    return found["counts"]


def test_a_cell_counts_the_same_in_every_grid():
    options = {"trials": 5_000, "seed": 3}
    whole = _counts({"epsilon": [0.5, 1, 2], "noise": ["gumbel", "laplace"]}, **options)
    alone = _counts({"epsilon": 1, "noise": "laplace"}, **options)
    turned = _counts({"noise": "laplace,gumbel", "epsilon": "1:2:2"}, **options)
    one = whole.sel(epsilon=1, noise="laplace").values
    assert (one == alone.values).all()
    assert (one == turned.sel(epsilon=1, noise="laplace").values).all()
    # What is spelt out is what is the default.
    spelt = _counts({"epsilon": 1, "noise": "laplace", "scores": "2,1,0"}, **options)
    assert (spelt.values == one).all()


def test_cells_and_seeds_are_independent():
    """Different cells draw from different addresses; the same law at four seeds."""
    found = _counts({"seed": [0, 1, 2, 3]}, trials=5_000)
    assert len({tuple(row) for row in found.values.tolist()}) == 4
    subject = find_subject("noisy_max")
    cells = [make_cell(subject, {"epsilon": e}, 0) for e in np.linspace(0.1, 9, 500)]
    assert len({own_item(cell, 10).number for cell in cells}) >= 499


def test_a_record_goes_on_grows_and_opens_in_plain_xarray(tmp_path, monkeypatch):
    path = tmp_path / "sweep.nc"
    small, large = ({"epsilon": [0.5, 1]}, {"epsilon": [0.5, 1, 2], "noise": "gumbel,laplace"})
    measures = ["counts", "success", "audited", "epsilon_bound"]

    def sweep(settings, trials, record=path):
        return jaxsel.sweep("noisy_max", settings, measures=measures, trials=trials, record=record)

    first = sweep(small, 3_000)
    simulated = []
    real = tallying.engine.simulate_grid

    def counted(mechanism, cells, **options):
        simulated.append(len(cells) * options["trials"])
        return real(mechanism, cells, **options)

    monkeypatch.setattr(tallying.engine, "simulate_grid", counted)
    again = sweep(small, 3_000)
    assert not simulated
    xr.testing.assert_identical(first, again)
    more = sweep(large, 3_000)
    # Four new cells, each with its own input and both sides of three pairs; no old one.
    assert sum(simulated) == 4 * 7 * 3_000
    xr.testing.assert_identical(more, sweep(large, 3_000, None))
    longer = sweep(large, 5_000)
    xr.testing.assert_identical(longer, sweep(large, 5_000, None))
    with xr.open_dataset(path) as read:
        assert read["success"].dims == ("epsilon", "noise")
        assert read["success"].attrs["units"] == "1"
        assert read.sel(noise="laplace", epsilon=2)["counts"].sum() == 5_000
        np.testing.assert_array_equal(read["success"], longer["success"])


class _Killed(BaseException):
    pass


def test_a_killed_sweep_loses_no_cell(tmp_path, monkeypatch):
    """Killed after each call in turn: what was saved is not simulated again."""
    path = tmp_path / "sweep.nc"
    settings, trials = {"epsilon": [0.5, 1, 2], "noise": ["gumbel", "laplace"]}, 4_000
    undisturbed = _counts(settings, trials=trials)
    monkeypatch.setattr(files, "_SAVE_SECONDS", 0.0)
    monkeypatch.setattr(tallying, "_CELLS_PER_CALL", 2)
    real, done = tallying.engine.simulate_grid, []

    def dying(mechanism, cells, **options):
        if len(done) % 2 == 1:
            done.append(0)
            raise _Killed
        done.append(len(cells))
        return real(mechanism, cells, **options)

    monkeypatch.setattr(tallying.engine, "simulate_grid", dying)
    kills = 0
    while True:
        try:
            found = _counts(settings, trials=trials, record=path)
            break
        except _Killed:
            kills += 1
    assert kills >= 2
    assert sum(done) == 6
    xr.testing.assert_identical(found, undisturbed)


LONG = {"epsilon": [0.5, 1, 1.5, 2, 3]}
RATES = {"quick": 1e-9, "slow": 1e9, "by turns": None}


def _split(monkeypatch, rate: str) -> list[tuple[int, int, int]]:
    """Sizes at which cells of 10,000 trials are split, and a clock; the calls made."""
    for name, value in {
        "_FIRST_CALL_TRIALS": 1 << 9,
        "_WHOLE_BLOCKS": 1 << 10,
        "_CALL_SECONDS": 1.0,
    }.items():
        monkeypatch.setattr(tallying, name, value)
    real, calls, now = tallying.engine.simulate_grid, [], [0.0]

    def counted(mechanism, cells, **options):
        calls.append((len(cells), options["first_trial"], options["trials"]))
        seconds = RATES[rate]
        now[0] += (1e-9, 1e9)[len(calls) % 3 == 0] if seconds is None else seconds
        return real(mechanism, cells, **options)

    monkeypatch.setattr(tallying.engine, "simulate_grid", counted)
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(tallying, "time", clock)
    return calls


@pytest.mark.parametrize("rate", list(RATES))
def test_long_cells_are_done_in_parts(monkeypatch, rate):
    """The first cell is begun alone; those after it still begin at their first trial."""
    measures = ["counts", "audited", "success"]
    options = {"trials": 10_000, "measures": measures, "seed": 5}
    whole = jaxsel.sweep("noisy_max", LONG, **options)
    calls = _split(monkeypatch, rate)
    parts = jaxsel.sweep("noisy_max", LONG, **options)
    assert {first for _, first, _ in calls} > {0, 5_000}
    assert (parts["counts"].sum("outcome") == 10_000).all()
    xr.testing.assert_identical(whole, parts)


def test_long_cells_killed_after_every_call_lose_no_trial(tmp_path, monkeypatch):
    path, options = tmp_path / "sweep.nc", {"trials": 10_000, "measures": ["counts"]}
    whole = jaxsel.sweep("noisy_max", LONG, **options)
    calls = _split(monkeypatch, "by turns")
    real, kills = tallying._keep, []

    def dying(*given):
        real(*given)
        if len(calls) % 2:
            raise _Killed

    monkeypatch.setattr(tallying, "_keep", dying)
    while True:
        try:
            found = jaxsel.sweep("noisy_max", LONG, record=path, **options)
            break
        except _Killed:
            kills.append(1)
    assert len(kills) >= 3
    xr.testing.assert_identical(found, whole)


def test_a_sweep_that_lost_trials_is_refused_and_stays(tmp_path, monkeypatch):
    """What was written by code that lost trials; its digest is right."""
    path, options = tmp_path / "sweep.nc", {"trials": 1_000, "record": None}
    options["record"] = path
    _counts({"epsilon": [1, 2]}, **options)
    state = files.read(path)
    for place, kept in state.store.items():
        state.store[place] = kept._replace(counts=kept.counts - np.eye(3, dtype=int)[0])
        break
    with records.writer(path) as save:
        files.write(save, state)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"sweep\.nc counts 999 trials where"):
        _counts({"epsilon": [1, 2]}, **options)
    assert path.read_bytes() == before


FULL_DISK = """
    import resource, signal, sys, jaxsel, xarray, h5netcdf
    from jaxsel.host.errors import InputError
    options = {"trials": 200, "measures": ["counts"], "progress": False}
    jaxsel.sweep("noisy_max", {"epsilon": [1]}, record=sys.argv[1], **options)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    try:
        jaxsel.sweep("noisy_max", {"epsilon": [1, 2]}, record=sys.argv[1], **options)
    except InputError as error:
        sentence = str(error)
        assert sentence.startswith("cannot write the record") and "\\n" not in sentence
        print("refused")
"""


@pytest.mark.parametrize("room", [0, 9_000])
def test_a_full_disk_is_one_sentence_and_the_process_ends_as_it_should(tmp_path, room):
    path = tmp_path / "sweep.nc"
    arguments = [sys.executable, "-c", textwrap.dedent(FULL_DISK), path, str(room)]
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, "refused\n"), ended.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["sweep.nc"]
    assert len(files.read(path).store) == 1


def test_a_sweep_of_an_earlier_version_is_refused_and_says_what_to_do(tmp_path):
    path = tmp_path / "sweep.nc"
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "jaxsel-sweep-1"
        file.create_group("tallies").attrs["digest"] = "0"
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"sweep-1, .* name another file or remove"):
        _counts({"epsilon": [1, 2]}, trials=10, record=path)
    with pytest.raises(InputError, match=r"sweep-1, .* name another file or remove"):
        sweeps.merge([path])
    assert path.read_bytes() == before


def test_tallies_that_do_not_go_on_where_the_cell_is_are_refused():
    subject = find_subject("noisy_max")
    item = own_item(make_cell(subject, {}, 0), 10)
    store = {(item.key, 0): tallying.Kept(4, "code", np.array([4, 0]))}
    for first in (0, 3, 5):
        with pytest.raises(InputError, match="do not go on from trial 4"):
            tallying._keep(store, item, first, tallying.Kept(10, "code", np.array([6, 0])))
    with pytest.raises(InputError, match="counts 9 trials where there are 10"):
        tallying._keep(store, item, 4, tallying.Kept(10, "code", np.array([5, 0])))
    with pytest.raises(InputError, match="not \\[0, 10\\)"):
        tallying.kept_of(item, store)
    assert store[item.key, 0].last == 4


def test_a_side_of_an_audit_is_not_of_more_trials_than_asked_for(tmp_path):
    """The half that bounds begins at another trial than 0."""
    path = tmp_path / "sweep.nc"
    options = {"measures": ["audited"], "record": path}
    jaxsel.sweep("noisy_max", {}, trials=3_001, **options)
    with pytest.raises(InputError, match="already holds 1501 trials of a cell"):
        jaxsel.sweep("noisy_max", {}, trials=3_000, **options)


@pytest.mark.parametrize(
    ("subject", "settings", "options", "words"),
    [
        ("noisy_max", {"epsilno": 1}, {}, "did you mean epsilon"),
        ("noisy_mux", {}, {}, "noisy_max"),
        ("noisy_max", {}, {"measures": ["sucess"]}, "did you mean success"),
        ("noisy_max", {}, {"measures": ["recall"]}, "no measure 'recall'"),
        ("account", {}, {"measures": ["audited"]}, "no measure 'audited'"),
        ("noisy_max", {"epsilon": -1}, {}, "epsilon is -1"),
        ("account", {"repetitions": "poisson", "eta": 1}, {}, "eta"),
        ("account", {"seed": 1}, {}, "no setting 'seed'"),
        ("account", {}, {"delta": 1e-5}, "give delta=1e-05 among them"),
        ("noisy_max", {}, {"trials": 0.5}, "trials"),
        ("noisy_max", {}, {"confidence": 1.0}, "confidence"),
    ],
)
def test_what_does_not_fit_is_refused(subject, settings, options, words):
    with pytest.raises(InputError) as refusal:
        jaxsel.sweep(subject, settings, **{"trials": 100} | options)
    assert words in str(refusal.value)


def test_records_of_something_else_are_refused_and_stay(tmp_path):
    path = tmp_path / "sweep.nc"
    _counts({"epsilon": [1, 2]}, trials=1_000, record=path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="it differs in sweep"):
        jaxsel.sweep("choosing_mechanism", {}, trials=100, record=path)
    with pytest.raises(InputError, match="already holds 1000 trials"):
        _counts({"epsilon": [1, 2]}, trials=500, record=path)
    assert path.read_bytes() == before
    other = tmp_path / "other.nc"
    other.write_bytes(b"no such thing")
    with pytest.raises(InputError, match="damaged"):
        _counts({"epsilon": [1, 2]}, trials=500, record=other)
    assert other.read_bytes() == b"no such thing"


def test_numbers_edited_by_hand_are_refused(tmp_path):
    path = tmp_path / "sweep.nc"
    _counts({"epsilon": [1, 2]}, trials=1_000, record=path)
    with h5py.File(path, "r+") as file:
        counts = file["record/counts"]
        assert isinstance(counts, h5py.Dataset)
        counts[0] = counts[0] + 1
    with pytest.raises(InputError, match="digest"):
        _counts({"epsilon": [1, 2]}, trials=1_000, record=path)


def test_other_code_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "sweep.nc"
    _counts({"epsilon": [1, 2]}, trials=1_000, record=path)
    monkeypatch.setattr(tallying, "_code", lambda mechanism: "other")
    with pytest.raises(InputError, match="other code"):
        _counts({"epsilon": [1, 2]}, trials=1_000, record=path)


def test_accounts_take_parameters_of_base_and_law():
    found = jaxsel.sweep(
        "account",
        {
            "base": "gaussian",
            "noise_multiplier": [2, 4],
            "repetitions": "tnb",
            "eta": 0.5,
            "mean": [3, 30],
            "delta": 1e-5,
        },
        measures=["epsilon_bound", "attained", "epsilon_single", "no_release"],
    )
    assert found["epsilon_bound"].dims == ("noise_multiplier", "mean")
    cost = jaxsel.account("gaussian:noise_multiplier=4", "tnb:eta=0.5,mean=30", 1e-5)
    cell = found.sel(noise_multiplier=4, mean=30)
    assert float(cell["epsilon_bound"]) == cost.best.epsilon
    assert str(cell["epsilon_bound_theorem"].item()) == cost.best.theorem
    assert float(cell["attained"]) == cost.attained
    assert float(cell["epsilon_single"]) == cost.single
    assert (found["attained"] <= found["epsilon_bound"] + 1e-9).all()


def test_a_name_that_two_have_is_the_subjects_own():
    found = jaxsel.sweep(
        "account",
        {
            "base": "approximate:epsilon=1",
            "base.delta": [1e-9, 1e-8],
            "delta": 1e-5,
            "repetitions": "geometric:mean=3",
        },
    )
    cost = jaxsel.account("approximate:epsilon=1,delta=1e-8", "geometric:mean=3", 1e-5)
    assert float(found["epsilon_bound"].sel({"base.delta": 1e-8})) == cost.best.epsilon


def test_a_bound_for_monotone_neighbours_is_no_bound_for_all():
    """The guarantee shown covers every constructed pair: 2/b, not 1/b."""
    for relation, name in (("general", 1.0), ("monotone", 1.0)):
        found = jaxsel.sweep(
            "noisy_max",
            {"epsilon": 1.0, "relation": relation},
            measures=["epsilon_bound", "exact_epsilon"],
        )
        assert float(found["epsilon_bound"]) == pytest.approx(name)
        assert 0.9 < float(found["exact_epsilon"]) <= 1.0


def test_a_claim_that_is_false_is_no_bound():
    found = jaxsel.sweep("fixed_repetitions", {"count": 5}, measures=["epsilon_bounds"])
    assert "FIXED-K-folklore" not in found["theorem"].values
    assert "composition-renyi" in found["theorem"].values
