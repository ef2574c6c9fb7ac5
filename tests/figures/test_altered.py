"""Figures with other numbers: points and curves move together, and the picture says so."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from typer.testing import CliRunner

from figures import FIGURES
from figures.__main__ import app
from figures.common import altered, words
from figures.common.figure import load, records_in
from figures.common.making import Place, make, why_drawn
from jaxsel.host.intervals import goodness_of_fit
from sims import registry, settings
from tests.conftest import ALPHA, seed

TRIALS = 100_000


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("altered")
    known = FIGURES["ps22-6"].settable()
    given = {"base_success": "0.05", "delta": "1e-5"}
    chosen = settings.read("ps22-6", given, known)
    place = Place(folder, folder, TRIALS, seed(), chosen)
    make(FIGURES["ps22-6"], place, lambda text: None)
    return place


def _fits(place, base_success: float) -> list[float]:
    """p-values of the simulated successes against the theory at a success chance."""
    from jaxsel.repetitions import success_probability
    from sims.common import tuned_laws

    record = registry.load("ps22-6", place.records, place.settings)
    found = []
    for name, row, parameters in zip(
        record.values["families"], record.arrays["successes"],
        record.values["parameters"], strict=True,
    ):  # fmt: skip
        for count, numbers in zip(row, parameters, strict=True):
            if name == "poisson":
                law = tuned_laws.laws.poisson(**numbers)
            else:
                law = tuned_laws.laws.truncated_negative_binomial(**numbers)
            chance = float(success_probability(law, base_success))
            counts = np.array([count, TRIALS - count])
            found.append(goodness_of_fit(counts, np.array([chance, 1.0 - chance])))
    return found


def test_points_were_simulated_with_the_numbers_that_were_set(place):
    # Each of the 40 cells is tested at its share of ALPHA.
    p_values = _fits(place, 0.05)
    assert len(p_values) == 40
    assert min(p_values) > ALPHA / 40
    # The power companion: the paper's chance, and one a little off, do not fit. (Where
    # K is large, success is as good as certain with either.)
    assert sum(p < ALPHA / 40 for p in _fits(place, 0.01)) >= 30
    assert min(_fits(place, 0.052)) < ALPHA / 40


def test_curves_are_those_of_the_numbers_that_were_set(place):
    chosen = place.settings
    with settings.applied(chosen), records_in(place.records, chosen):
        from figures import ps22_6

        found = ps22_6.simulated(load("ps22-6"))
        for each in found:
            epsilon, curve = ps22_6.theory(each["name"])
            inside = each["epsilon"] >= epsilon[0]
            # Read by straight lines from the curve that is drawn.
            at = np.interp(each["epsilon"], epsilon, curve)
            np.testing.assert_allclose(
                at[inside], each["theory"][inside], atol=3e-3, err_msg=each["name"]
            )
    from figures import ps22_6 as paper

    # The same laws of K are dearer at the paper's smaller delta.
    other = paper.simulated(registry.load("ps22-6", place.records, chosen))
    for mine, theirs in zip(found, other, strict=True):
        assert np.all(theirs["epsilon"] > mine["epsilon"] + 0.05)
        assert np.max(np.abs(theirs["theory"] - mine["theory"])) > 0.02


def test_the_record_and_the_picture_have_names_and_notes_of_their_own(place):
    stem = "ps22-6+base_success=0.05,delta=1e-05"
    for end in (".nc", ".png", ".pdf"):
        assert (place.pictures / f"{stem}{end}").exists()
    assert not (place.pictures / "ps22-6.nc").exists()
    record = registry.load("ps22-6", place.records, place.settings)
    stored = record.values["configuration"]["settings"]
    assert stored == {"base_success": 0.05, "delta": 1e-5}
    assert record.values["base_success"] == 0.05
    assert why_drawn(FIGURES["ps22-6"], place) == ""
    assert "not simulated yet" in why_drawn(
        FIGURES["ps22-6"], place._replace(settings=())
    )
    with pytest.raises(Exception, match="not simulated yet"):
        registry.load("ps22-6", place.records)


def test_a_red_note_says_what_is_not_the_papers(place):
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], label="a curve")
    figure.legend(loc="outside upper center")
    height = figure.get_figheight()
    altered.mark(figure, place.settings)
    (note,) = figure.texts
    assert "not the paper's: base_success = 0.05 (0.01), delta = 1e-05 (1e-06)" in (
        " ".join(note.get_text().split())
    )
    assert note.get_color() == altered.RED
    # It stands above everything, and the panel keeps its size.
    assert figure.get_figheight() > height
    FigureCanvasAgg(figure).draw()
    box = note.get_window_extent()
    assert box.y1 <= figure.bbox.y1
    assert box.y0 >= figure.legends[0].get_window_extent().y1
    assert figure.legends[0].get_window_extent().y0 >= axes.get_tightbbox().y1
    plain = Figure()
    altered.mark(plain, ())
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
    altered.mark(figure, settings.read("ps22-6", {"rho": "0.2"}, known))
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
    refused = CliRunner().invoke(app, ["ps22-6", "ps22-2", "--set", "delta=1e-5"])
    assert refused.exit_code == 2
    assert "ps22-2 has no setting 'delta'" in refused.stderr


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
