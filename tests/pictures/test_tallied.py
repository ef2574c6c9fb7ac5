"""Pictures of results: what is drawn are the result's numbers."""

import math

import numpy as np
import pytest

import jaxsel


def _points(axes) -> list[tuple[float, float]]:
    """The markers of all error bars and lines that have some, as (x, y)."""
    return [
        (float(x), float(y))
        for line in axes.lines
        if line.get_marker() not in ("None", "", None, "_", "|")
        for x, y in line.get_xydata()
    ]


def test_tallies_show_the_share_of_each_outcome():
    built = jaxsel.mechanism("noisy_max", scores=[3, 2, 1])
    tallies = jaxsel.simulate(built, trials=2000)
    (axes,) = tallies.plot().axes
    drawn = sorted(_points(axes))
    np.testing.assert_allclose([y for _, y in drawn], tallies.frequencies().value[0])
    assert [label.get_text() for label in axes.get_xticklabels()] == list(tallies.labels)


def _event(figure, counts, allowed):
    (axes,) = figure.axes
    k, n, other, m = counts
    np.testing.assert_allclose(sorted(_points(axes)), [(0, k / n), (1, other / m)])
    (line,) = [line for line in axes.lines if line.get_label() == "claimed, at most"]
    np.testing.assert_allclose(line.get_ydata(), allowed)
    return [label.get_text() for label in axes.get_xticklabels()]


def test_an_audit_shows_both_sides_and_what_its_claim_allows():
    found = jaxsel.audit("noisy_max", trials=20_000)
    k, n, other, m = found.bound.counts
    if found.bound.direction == "neighbour/data":
        k, n, other, m = other, m, k, n
    sides = _event(found.plot(), (k, n, other, m), math.exp(found.guarantee.epsilon) * other / m)
    assert sides == [f"on the {side}" for side in found.bound.direction.split("/")]


def test_an_audit_of_a_function_does_too():
    found = jaxsel.audit_function(
        lambda rng, data, n: sum(data) + rng.laplace(scale=0.5, size=n),
        [0.0],
        [1.0],
        relation="replace_one",
        claim=0.5,
        delta=0.01,
        trials=4000,
    )
    allowed = math.exp(0.5) * found.counts[2] / found.counts[3] + 0.01
    sides = _event(found.plot(), found.counts, allowed)
    assert sides[0] == f"on the {found.likelier}"


@pytest.mark.parametrize(
    ("base", "asked", "quantity"),
    [
        ("gaussian", {"epsilon": 3.0, "runs": 20}, "noise"),
        ("gaussian:noise_multiplier=4", {"runs": 20}, "epsilon"),
    ],
)
def test_a_plan_shows_its_choices_against_their_runs(base, asked, quantity):
    plan = jaxsel.plan(base, **asked)
    (axes,) = plan.plot().axes
    every = [*plan.choices, *plan.alternatives]
    expected = [(each.law.mean, getattr(each, quantity)) for each in every]
    drawn = _points(axes)
    np.testing.assert_allclose(drawn[: len(every)], expected)
    assert drawn[-1] == pytest.approx((plan.chosen.law.mean, getattr(plan.chosen, quantity)))
    assert quantity in axes.get_ylabel()


def test_a_law_of_k_shows_how_probable_so_many_runs_are():
    found = jaxsel.optimal("gaussian:noise_multiplier=4", runs=10)
    (axes,) = found.plot().axes
    for line, law in zip(
        axes.lines,
        (found.law, jaxsel.repetitions.from_mean("geometric", found.law.mean)),
        strict=True,
    ):
        counts, above = np.asarray(line.get_xdata()), line.get_ydata()
        np.testing.assert_allclose(above, law.survival(counts - 1.0))
        assert counts[0] == 1
        assert law.survival(counts[-1]) <= 1e-4


def test_a_notebook_shows_a_picture():
    """Without pyplot a figure of Matplotlib is a line of text there."""
    shown = jaxsel.search_cost("pure:epsilon=1", "geometric:mean=3").plot()
    png = shown._repr_png_()
    assert png.startswith(b"\x89PNG")
    assert png == shown._repr_png_()
