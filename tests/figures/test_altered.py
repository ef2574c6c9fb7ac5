"""Figures with other numbers: points and curves move together, and the picture says so."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from typer.testing import CliRunner

from figures import FIGURES
from figures.__main__ import app
from figures.common import altered, words
from figures.common.figure import records_in, render
from figures.common.making import Place, make, why_drawn
from figures.common.tuned_curves import NAMES
from jaxsel.host.intervals import goodness_of_fit
from jaxsel.pictures import style
from jaxsel.repetitions import success_probability
from sims import registry
from sims.common.tuned_laws import Price
from sims.experiment import read_settings
from tests.conftest import ALPHA, seed
from tests.figures.sharing import counts_of

TRIALS = 100_000
PRICE = Price(delta=1e-5)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("altered")
    known = FIGURES["ps22-6"].settable()
    given = {"base_success": "0.05", "delta": "1e-5"}
    chosen = read_settings("ps22-6", given, known)
    place = Place(folder, folder, TRIALS, seed(), chosen)
    make(FIGURES["ps22-6"], place, lambda text: None)
    return place


def _fits(found, base_success: float) -> list[float]:
    """p-values of the simulated successes against the theory at a success chance."""
    from figures import ps22_6

    fits = []
    for name in found["family"].values:
        for epsilon in found["epsilon"].values:
            law = ps22_6.tuned(name, epsilon, price=PRICE).params["repetitions"]
            chance = float(success_probability(law, base_success))
            count = counts_of(found.sel(family=name, epsilon=epsilon))[0]
            counts = np.array([count, TRIALS - count])
            fits.append(goodness_of_fit(counts, np.array([chance, 1.0 - chance])))
    return fits


def test_points_were_simulated_with_the_numbers_that_were_set(place):
    found = registry.load("ps22-6", place.records, place.settings)["tuned"]
    # Each of the 40 cells is tested at its share of ALPHA.
    p_values = _fits(found, 0.05)
    assert len(p_values) == 40
    assert min(p_values) > ALPHA / 40
    # The power companion: the paper's chance, and one a little off, do not fit. (Where
    # K is large, success is as good as certain with either.)
    assert sum(p < ALPHA / 40 for p in _fits(found, 0.01)) >= 30
    assert min(_fits(found, 0.052)) < ALPHA / 40


def test_curves_are_those_of_the_numbers_that_were_set(place):
    from figures import ps22_6

    with records_in(place.records, place.settings):
        (axes,) = render(FIGURES["ps22-6"]).axes
    curves = {line.get_label(): line for line in axes.get_lines()}
    found = registry.load("ps22-6", place.records, place.settings)["tuned"]
    for name in found["family"].values:
        row = found.sel(family=name)
        # Read by straight lines from the curve that is drawn.
        epsilon, curve = curves[NAMES[name]].get_data()
        inside = row.price.values >= epsilon[0]
        at = np.interp(row.price, epsilon, curve)
        np.testing.assert_allclose(at[inside], row.theory[inside], atol=3e-3, err_msg=name)
        # The same laws of K are dearer at the paper's smaller delta.
        laws = [ps22_6.tuned(name, e, price=PRICE) for e in row["epsilon"].values]
        dearer = [Price().epsilon(trial.params["repetitions"]) for trial in laws]
        assert np.all(dearer > row.price.values + 0.05)
        assert np.max(np.abs([t.beside["theory"] for t in laws] - row.theory)) > 0.02


def test_the_records_and_the_picture_have_names_and_notes_of_their_own(place):
    stem = "ps22-6+base_success=0.05,delta=1e-05"
    for end in (".png", ".pdf"):
        assert (place.pictures / f"{stem}{end}").exists()
    for experiment in FIGURES["ps22-6"].experiments:
        own = f"ps22-6.{experiment.name}+base_success=0.05,delta=1e-05.nc"
        assert experiment.path(place.records, place.settings).name == own
        assert (place.records / own).exists()
        stored = experiment.configuration(place.records, place.settings)
        assert stored is not None
        assert stored["settings"] == {"base_success": 0.05, "delta": 1e-5}
        assert not experiment.path(place.records, ()).exists()
    assert why_drawn(FIGURES["ps22-6"], place) == ""
    assert why_drawn(FIGURES["ps22-6"], place._replace(settings=())) == "not drawn yet"
    with pytest.raises(Exception, match="not simulated yet"):
        registry.load("ps22-6", place.records)


def test_a_red_note_says_what_is_not_the_papers(place):
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], label="a curve")
    figure.legend(loc="outside upper center")
    height = figure.get_figheight()
    altered.mark(figure, place.settings, FIGURES["ps22-6"].settable())
    (note,) = figure.texts
    assert "not the paper's: base_success = 0.05 (0.01), delta = 1e-05 (1e-06)" in (
        " ".join(note.get_text().split())
    )
    assert note.get_color() == style.RED
    # It stands above everything, and the panel keeps its size.
    assert figure.get_figheight() > height
    FigureCanvasAgg(figure).draw()
    box = note.get_window_extent()
    assert box.y1 <= figure.bbox.y1
    assert box.y0 >= figure.legends[0].get_window_extent().y1
    assert figure.legends[0].get_window_extent().y0 >= axes.get_tightbbox().y1
    plain = Figure()
    altered.mark(plain, (), {})
    assert not plain.texts


def test_limits_grow_until_every_point_is_shown():
    figure = Figure()
    linear, log = figure.subplots(1, 2)
    for axes in (linear, log):
        axes.plot([1, 2], [1000, 2000])  # a curve may leave the panel
        axes.plot([1, 5], [10, 200], linestyle="none", marker="o")
    log.set(xscale="log", yscale="log")
    for axes in (linear, log):
        axes.set(xlim=(1.5, 3), ylim=(1, 100))
    known = FIGURES["ps22-6"].settable()
    altered.mark(figure, read_settings("ps22-6", {"rho": "0.2"}, known), known)
    for axes in (linear, log):
        left, right = axes.get_xlim()
        low, high = axes.get_ylim()
        assert 0.5 < left < 1 < 5 < right < 6
        assert low == 1
        assert 200 < high < 300


def test_the_command_line_lists_and_refuses_settings(tmp_path):
    listed = CliRunner().invoke(app, ["ps22-6", "--settings"])
    assert listed.exit_code == 0
    assert "base_success" in listed.output
    assert "0.01" in listed.output
    refused = CliRunner().invoke(app, ["ps22-6", "--set", "base_sucess=0.5"])
    assert refused.exit_code == 2
    assert "did you mean base_success?" in refused.stderr
    # All chosen figures must have it.
    refused = CliRunner().invoke(app, ["ps22-6", "ps22-8", "--set", "low=1"])
    assert refused.exit_code == 2
    assert "ps22-8 has no setting 'low'" in refused.stderr


@pytest.mark.parametrize(
    ("number", "power", "scientific", "fraction"),
    [
        (1e-6, "10⁻⁶", "1e−06", "1/1000000"),
        (2e-5, "2·10⁻⁵", "2e−05", "1/50000"),
        (0.05, "0.05", "0.05", "1/20"),
        (0.3, "0.3", "0.3", "0.3"),
        (0.25, "0.25", "0.25", "1/4"),
    ],
)
def test_numbers_in_words(number, power, scientific, fraction):
    assert words.power(number) == power
    assert words.scientific(number) == scientific
    assert words.fraction(number) == fraction


def test_powers_of_two_in_words():
    assert words.power(2**20, 2) == "2²⁰"
    assert words.power(3 * 2**19, 2) == "1.5·2²⁰"
