"""Pictures of sweeps: every mark is there, nothing is cut, grey is enough."""

import itertools

import numpy as np
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.colors import LogNorm, to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.contour import QuadContourSet
from matplotlib.lines import Line2D
from matplotlib.markers import TICKUP

from jaxsel.pictures import style
from jaxsel.pictures.panels import UPPER_DASHES
from jaxsel.pictures.sweep import picture
from tests.pictures import sweeps


def _lines(axes):
    """Lines with a pattern, hence no points, caps or arrows."""
    return [line for line in axes.lines if line.get_linestyle() != "None"]


def _bars(axes):
    return [c for c in axes.containers if isinstance(c, ErrorbarContainer)]


def _legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("name", sweeps.ALL)
def test_nothing_is_cut_and_no_texts_overlap(name, tmp_path):
    figure = picture(sweeps.ALL[name]())
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    texts = [figure._supxlabel, figure._suptitle]
    for axes in figure.axes:
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label]
        texts += axes.xaxis.get_ticklabels()
    texts += [text for each in figure.legends for text in each.get_texts()]
    boxes = [
        (text.get_text(), text.get_window_extent())
        for text in texts
        if text.get_text().strip() and text.get_visible()
    ]
    for text, box in boxes:
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= 0, text
    for (first, box), (second, other) in itertools.combinations(boxes, 2):
        assert not box.overlaps(other), (first, second)
    (written,) = style.save(figure, tmp_path / name, ("png",))
    assert written.stat().st_size > 10_000


def test_estimates_are_points_with_intervals_beside_the_exact_law():
    sweep = sweeps.one_axis()
    (axes,) = picture(sweep).axes
    (bars,) = _bars(axes)
    np.testing.assert_array_equal(bars.lines[0].get_ydata(), sweep["success"])
    (segments,) = bars.lines[2]
    ends = np.array(segments.get_segments())[:, :, 1]
    np.testing.assert_allclose(ends[:, 0], sweep["success_low"])
    np.testing.assert_allclose(ends[:, 1], sweep["success_high"])
    (line,) = _lines(axes)
    np.testing.assert_array_equal(line.get_ydata(), sweep["success_exact"])
    assert axes.get_xscale() == "log"
    assert axes.get_yscale() == "linear"


def test_hues_differ_without_colour():
    (axes,) = picture(sweeps.two_axes()).axes
    markers = {bars.lines[0].get_marker() for bars in _bars(axes)}
    patterns = {str(line._dash_pattern) for line in _lines(axes)}
    assert len(markers) == len(patterns) == 3
    assert len({(each["marker"]) for each in style.HUES}) == len(style.HUES)
    assert len({to_hex(each["color"]) for each in style.HUES[:7]}) == 7


def test_points_in_any_order_make_one_line():
    sweep = sweeps.one_axis().isel(mean=[3, 0, 6, 1, 5, 2, 4])
    (axes,) = picture(sweep).axes
    (line,) = _lines(axes)
    assert np.all(np.diff(line.get_xdata()) > 0)
    np.testing.assert_array_equal(line.get_ydata(), sweeps.one_axis()["success_exact"])


def test_facets_share_scales_and_say_their_point():
    figure = picture(sweeps.three_axes())
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["epsilon = 0.5", "epsilon = 1", "", ""]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert figure.axes[0].get_ylim() != figure.axes[2].get_ylim()
    assert figure.axes[2].get_ylabel() == "expected runs (runs)"
    # What does not vary along the hue is drawn once, and not in a hue's colour.
    (line,) = _lines(figure.axes[2])
    assert to_hex(line.get_color()) == "#444444"


def test_words_have_dots_and_no_lines():
    (axes,) = picture(sweeps.words()).axes
    assert not _lines(axes)
    assert len(_bars(axes)) == 2
    texts = [text.get_text() for text in axes.get_xticklabels()]
    assert texts == ["geometric", "poisson", "logarithmic"]
    places = [bars.lines[0].get_xdata() for bars in _bars(axes)]
    assert np.all(places[0] < places[1])  # side by side
    dashes = [line for line in axes.lines if line.get_marker() == "_"]
    assert len([d for d in dashes if d.get_markersize() > 10]) == 2


def test_bounds_at_words_are_triangles_that_the_legend_shows():
    figure = picture(sweeps.bounded_by_law().isel(epsilon=2))
    (axes,) = figure.axes
    assert not _lines(axes)
    triangles = [line for line in axes.lines if line.get_marker() == "v"]
    faces = {to_hex(line.get_markerfacecolor()) for line in triangles}
    assert len(triangles) == len(faces) == 2
    keys = [handle.get_marker() for handle in figure.legends[0].legend_handles]
    assert keys[1:] == ["_", "v", "v"]


def test_audits_point_up_and_theorems_have_dashes_of_their_own():
    sweep = sweeps.bounded()
    figure = picture(sweep)
    (axes,) = figure.axes
    solid, *dashed = _lines(axes)
    np.testing.assert_array_equal(solid.get_ydata(), sweep["audited_exact"])
    assert solid.get_linestyle() == "-"
    wanted = [Line2D([], [], linestyle=dash, linewidth=1.2) for dash in UPPER_DASHES]
    for line, reference, name in zip(dashed, wanted, ("theorem", "envelope"), strict=False):
        assert line._dash_pattern == reference._dash_pattern
        np.testing.assert_array_equal(line.get_ydata(), sweep[name])
    # The sticks of the arrows begin at the audited value.
    found = [
        child
        for child in axes.get_children()
        if isinstance(child, Line2D) and child.get_marker() == TICKUP
    ]
    (stick,) = found
    np.testing.assert_array_equal(stick.get_ydata(), sweep["audited"])
    assert _legend(figure) == [
        "audited ε, at least",
        "audited ε, exact",
        "Theorem 3, at most",
        "envelope, at most",
    ]
    assert axes.get_ylabel() == "privacy loss ε"


def test_two_long_axes_make_a_map_with_labelled_contours():
    sweep = sweeps.heat_map()
    figure = picture(sweep)
    axes, bar = figure.axes
    (mesh,) = [c for c in axes.collections if isinstance(c, QuadMesh)]
    assert mesh.get_cmap().name == "cividis"
    # Rows go up with the mean, columns with epsilon.
    np.testing.assert_array_equal(mesh.get_array(), sweep["success"].values)
    (contours,) = [c for c in axes.collections if isinstance(c, QuadContourSet)]
    assert len(contours.labelTexts) >= 3
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")
    assert bar.get_ylabel() == "success probability"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epsilon", "mean")
    assert "intervals at most 0.0063 wide" in " ".join(figure._supxlabel.get_text().split())


def test_maps_of_several_panels_share_their_colours():
    two = sweeps.heat_map().expand_dims(law=["a", "b"]).copy(deep=True)
    two["success"].loc[{"law": "b"}] *= 0.5
    figure = picture(two)
    limits = [
        c.get_clim()
        for axes in figure.axes[:2]
        for c in axes.collections
        if isinstance(c, QuadMesh)
    ]
    assert limits[0] == limits[1]


def test_a_map_of_missing_and_of_equal_values_can_be_drawn():
    sweep = sweeps.heat_map()
    sweep["success"][2, 3] = np.nan
    picture(sweep).canvas.draw()
    sweep["success"][:] = 0.25
    picture(sweep).canvas.draw()


def _along(name: str, values):
    """A sweep along one axis of these values."""
    values = np.asarray(values, dtype=float)
    return sweeps.dataset(
        {name: values}, sweeps.estimate((name,), np.linspace(0.2, 0.8, values.size))
    )


def test_an_axis_of_less_than_two_decades_is_named_by_its_points():
    (axes,) = picture(_along("eta", [0.4, 0.5, 0.7, 1, 1.25, 1.5, 2, 3, 4, 6, 8])).axes
    axes.figure.canvas.draw()
    shown = [text for text in axes.xaxis.get_ticklabels(which="both") if text.get_text()]
    assert next(text.get_text() for text in shown) == "0.4"
    assert 4 <= len(shown) <= 8
    boxes = [text.get_window_extent() for text in shown]
    for first, second in itertools.pairwise(boxes):
        assert first.x1 < second.x0
    (axes,) = picture(_along("mean", np.geomspace(2, 2000, 19))).axes
    axes.figure.canvas.draw()
    assert "10^{2}" in " ".join(t.get_text() for t in axes.xaxis.get_ticklabels())


def test_nearly_equal_values_are_written_out():
    sweep = _along("gamma", [0.1, 0.2, 0.4])
    for name in ("success", "success_low", "success_high", "success_exact"):
        sweep[name][:] = 0.5 + 1e-6 * sweep[name]
    (axes,) = picture(sweep).axes
    axes.figure.canvas.draw()
    assert axes.yaxis.get_offset_text().get_text() == ""


def test_a_map_over_a_decade_and_a_half_has_logarithmic_colours():
    sweep = sweeps.heat_map()
    values = np.geomspace(0.2, 9.0, sweep["success"].size)
    sweep["success"][:] = values.reshape(sweep["success"].shape)
    axes = picture(sweep).axes[0]
    (mesh,) = [c for c in axes.collections if isinstance(c, QuadMesh)]
    assert isinstance(mesh.norm, LogNorm)
    (contours,) = [c for c in axes.collections if isinstance(c, QuadContourSet)]
    assert {0.5, 1.0, 2.0, 5.0} <= set(contours.levels)
    sweep["success"][:] = np.linspace(1.0, 9.0, values.size).reshape(sweep["success"].shape)
    axes = picture(sweep).axes[0]
    (mesh,) = [c for c in axes.collections if isinstance(c, QuadMesh)]
    assert not isinstance(mesh.norm, LogNorm)


def test_small_probabilities_have_a_logarithmic_scale():
    sweep = sweeps.one_axis()
    for name in ("success", "success_low", "success_high", "success_exact"):
        sweep[name] = sweep[name] ** 4
    (axes,) = picture(sweep).axes
    assert axes.get_yscale() == "log"


def test_the_caption_says_what_was_fixed_and_what_goes_together():
    figure = picture(sweeps.zipped())
    text = " ".join(figure._supxlabel.get_text().split())
    assert text == (
        "Fixed: base = finite, candidates = 10. With mean goes epsilon = 0.1, 0.2, …, "
        "0.7. 100,000 trials a point, exact 95 % intervals."
    )
    one_law = sweeps.two_axes().isel(repetitions=[1])
    text = picture(one_law)._supxlabel.get_text()
    assert "repetitions = poisson" in text


@pytest.mark.parametrize("facets", [3, 5, 7])
def test_panels_of_one_measure_go_on_in_the_next_line(facets):
    success = np.linspace(0.1, 0.9, 7)[:, None] * np.ones(facets)
    names = [f"law {number}" for number in range(facets)]
    coordinates = {"mean": sweeps.MEANS, "law": names}
    sweep = sweeps.dataset(coordinates, sweeps.estimate(("mean", "law"), success))
    figure = picture(sweep, facet="law")
    shown = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in shown] == names
    assert len(figure.axes) - facets <= 1
    # The lowest panel of every column has numbers along x and the axis' name.
    columns = {axes.get_subplotspec().colspan.start for axes in shown}
    named = [axes for axes in shown if axes.get_xlabel() == "mean"]
    assert {axes.get_subplotspec().colspan.start for axes in named} == columns
    for axes in named:
        assert any(tick.label1.get_visible() for tick in axes.xaxis.get_major_ticks())
