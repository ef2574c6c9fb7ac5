"""Which axis goes where, and what is refused in one sentence."""

import subprocess
import sys

import numpy as np
import pytest

from jaxsel.host.errors import InputError
from jaxsel.pictures.layout import MOST_HUES, plan
from jaxsel.pictures.scales import cell_edges, is_geometric, spans_decades
from tests.pictures import sweeps


def _names(chosen):
    axes = (chosen.x, chosen.y, chosen.hue, chosen.facet)
    return tuple(None if axis is None else axis.name for axis in axes)


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        ("one_axis", ("mean", None, None, None)),
        ("two_axes", ("mean", None, "repetitions", None)),
        ("three_axes", ("mean", None, "repetitions", "epsilon")),
        ("words", ("repetitions", None, "outcome", None)),
        ("zipped", ("mean", None, None, None)),
        ("heat_map", ("epsilon", "mean", None, None)),
        ("bounded_by_law", ("epsilon", None, "repetitions", None)),
    ],
)
def test_axes_are_chosen_by_their_points(sweep, expected):
    assert _names(plan(sweeps.ALL[sweep]())) == expected


def test_what_is_asked_for_goes_first():
    chosen = plan(sweeps.three_axes(), x="epsilon", facet="repetitions")
    assert _names(chosen) == ("epsilon", None, "mean", "repetitions")
    # A hue that is asked for makes curves of what would be a map.
    assert _names(plan(sweeps.heat_map(), hue="mean")) == ("epsilon", None, "mean", None)
    assert plan(sweeps.zipped(), x="epsilon").x.dimension == "mean"


def test_a_short_numeric_axis_makes_curves_and_a_long_one_a_map():
    short = sweeps.heat_map().isel(mean=slice(0, 5))
    assert _names(plan(short)) == ("epsilon", None, "mean", None)
    just = sweeps.heat_map().isel(mean=slice(0, 6))
    assert _names(plan(just)) == ("epsilon", "mean", None, None)


def test_an_axis_of_one_point_is_left_out():
    one_law = sweeps.two_axes().isel(repetitions=[1])
    assert _names(plan(one_law)) == ("mean", None, None, None)


def test_bounds_of_one_quantity_share_a_panel_and_estimates_do_not():
    assert plan(sweeps.bounded()).rows == (("audited", "theorem", "envelope"),)
    assert plan(sweeps.three_axes()).rows == (("success",), ("runs",))
    nameless = sweeps.bounded()
    for name in ("audited", "theorem", "envelope"):
        del nameless[name].attrs["quantity"]
    assert plan(nameless).rows == (("audited", "theorem", "envelope"),)
    nameless["theorem"].attrs["units"] = "bits"
    assert plan(nameless).rows == (("audited", "envelope"), ("theorem",))


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"measures": ["sucess"]}, "no measure 'sucess'; .*did you mean success?"),
        ({"x": "meen"}, "no axis 'meen'; it has: mean.*did you mean mean?"),
        ({"x": "mean", "hue": "mean"}, "the axis mean is asked for twice"),
        ({"hue": "success"}, "no axis 'success'"),
    ],
)
def test_unknown_names_are_refused(request_, sentence):
    with pytest.raises(InputError, match=sentence):
        plan(sweeps.three_axes(), **request_)


def test_axes_that_are_left_over_are_named():
    four = sweeps.three_axes().expand_dims(candidates=[1, 2])
    with pytest.raises(InputError) as refused:
        plan(four)
    assert str(refused.value) == (
        "the picture has no room for the axis epsilon; fix it: epsilon=VALUE, or use --axes facet="
    )


def test_hues_that_nobody_could_tell_apart_are_refused():
    def of_hues(count):
        coordinates = {"mean": sweeps.MEANS, "law": [f"law {n}" for n in range(count)]}
        success = np.full((sweeps.MEANS.size, count), 0.5)
        return sweeps.dataset(coordinates, sweeps.estimate(("mean", "law"), success))

    assert plan(of_hues(MOST_HUES)).hue is not None
    with pytest.raises(InputError, match="law has 11 points, of which at most 10"):
        plan(of_hues(MOST_HUES + 1))


def test_data_sets_without_measures_or_curves_are_refused():
    bare = sweeps.one_axis()
    del bare.attrs["measures"]
    with pytest.raises(InputError, match="does not say which measures"):
        plan(bare)
    with pytest.raises(InputError, match="every axis of the sweep has one point"):
        plan(sweeps.one_axis().isel(mean=[0]))
    odd = sweeps.one_axis()
    odd["success"].attrs["kind"] = "guess"
    with pytest.raises(InputError, match="kind of success is 'guess'"):
        plan(odd)


@pytest.mark.parametrize(
    ("points", "geometric"),
    [
        ([1, 2, 5, 10, 20, 50], True),
        ([0.1, 0.2, 0.3, 0.4], False),
        ([1, 2, 3, 5, 6], False),
        ([10, 100, 1000], True),
        ([1000, 10, 100], True),
        ([0, 1, 10, 100], False),
        ([1, 9], False),
        ([1, 10], True),
        ([5], False),
    ],
)
def test_scales_follow_the_spacing(points, geometric):
    assert is_geometric(points) is geometric


def test_values_over_three_decades_have_a_logarithmic_scale():
    assert spans_decades([1e-4, 0.1, np.inf, np.nan])
    assert not spans_decades([1.1e-3, 1.0])
    assert not spans_decades([0.0, 1e-6, 1.0])
    assert not spans_decades([np.nan])


def test_cells_end_half_way_between_points():
    np.testing.assert_allclose(cell_edges([1, 2, 4], False), [0.5, 1.5, 3, 5])
    np.testing.assert_allclose(cell_edges([1, 100, 10_000], True), [0.1, 10, 1000, 1e5], rtol=1e-12)


def test_planning_and_sketching_load_no_matplotlib():
    code = (
        "import sys, jaxsel.pictures.sweep, jaxsel.pictures.sketch; "
        "sys.exit('matplotlib' in sys.modules or 'jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
