"""The priced envelope: its certificate, its bars, and how it is asked."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from jaxsel.accounting.numerics.interior_point import Bordered, _solver, nearly_solved
from jaxsel.accounting.single_run import curves
from jaxsel.accounting.single_run.dominating import pair_from_laws, pair_tradeoff, reversed_pair
from jaxsel.host.errors import InputError
from jaxsel.repetitions import parse
from jaxsel.tuning.attained.all_rankings import worst_delta_of_all
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.bounds import path_certificate, path_program
from jaxsel.tuning.bounds import priced_envelope as priced
from jaxsel.tuning.bounds.envelope import base_envelopes, envelope_epsilon, envelope_log_delta
from jaxsel.tuning.bounds.path_certificate import (
    _convex,
    _small_triangles,
    _supporting,
    certifier,
    cut,
)
from jaxsel.tuning.bounds.path_mesh import first_columns, gradients, path_mesh, split_columns
from jaxsel.tuning.bounds.path_program import (
    PathProgram,
    Price,
    _PathConstraints,
    price_weights,
    proposal,
    ratio_knots,
    slope_at,
)

COARSE = priced.Resolution(columns=8, rows=3, knots=14, parts=6, meshes=0)


def delta_of(noise: float, law: str, epsilon: float) -> float:
    directions = priced.priced_directions(curves.gaussian(noise), parse(law))
    return priced.priced_delta(directions, epsilon)


@pytest.mark.parametrize(
    ("noise", "law", "epsilon", "attained", "bar"),
    [
        (4.0, "geometric:mean=3", 0.1254, 0.1000, 0.104),
        (4.0, "geometric:mean=3", 0.2, 0.0765, 0.0805),
        (4.0, "geometric:mean=3", 0.3223, 0.0460, 0.0495),
        (8.0, "poisson:mean=30", 0.5, 0.0207, 0.0245),
        (8.0, "poisson:mean=30", 0.3, 0.0500, 0.054),
    ],
)
def test_bars(noise, law, epsilon, attained, bar):
    assert attained < delta_of(noise, law, epsilon) <= bar


# --- The program and its solver ----------------------------------------------------------


class DenseConstraints:
    """Constraints as a matrix, Float["constraints unknowns"]."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix

    def times(self, unknowns: np.ndarray) -> np.ndarray:
        """See Constraints."""
        return self.matrix @ unknowns

    def transposed(self, prices: np.ndarray) -> np.ndarray:
        """See Constraints."""
        return self.matrix.T @ prices

    def normal(self, weights: np.ndarray) -> np.ndarray:
        """See Constraints."""
        return self.matrix.T @ (weights[:, None] * self.matrix)


def test_the_solver_agrees_with_highs():
    generator = np.random.default_rng(0)
    for _ in range(5):
        matrix = generator.normal(size=(60, 7))
        limits = generator.uniform(0.5, 2.0, 60)
        cost = -matrix.T @ generator.uniform(0.0, 1.0, 60)  # so that it is bounded
        best = optimize.linprog(cost, matrix, limits, bounds=(None, None))
        # Inside, and far outside, where the first steps bear what is violated.
        for start in (np.zeros(7), 30.0 * generator.normal(size=7)):
            found, prices = nearly_solved(
                cost, DenseConstraints(matrix), limits, start, relative_gap=1e-9
            )
            assert np.all(matrix @ found <= limits + 1e-6)
            assert cost @ found == pytest.approx(best.fun, rel=1e-6)
            # The dual: what a limit that is raised is worth.
            assert np.all(prices >= 0.0)
            assert matrix.T @ prices == pytest.approx(-cost, abs=1e-6)
            assert -limits @ prices == pytest.approx(best.fun, rel=1e-6)
            assert -prices == pytest.approx(best.ineqlin.marginals, abs=1e-5)


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_a_matrix_that_is_banded_but_for_a_border_is_solved(scale):
    """Against NumPy on the whole matrix, rows of very different size among them."""
    generator = np.random.default_rng(5)
    size, width, more = 30, 4, 5
    factor = np.tril(generator.normal(0.0, 0.2, (size + more, size + more)))
    factor[:size, :size][np.tril_indices(size, -width)] = 0.0
    factor[np.diag_indices_from(factor)] = generator.uniform(1.0, 2.0, size + more)
    rows = np.where(np.arange(size + more) % 3 == 0, scale, 1.0)
    factor *= rows[:, None]
    whole = factor @ factor.T
    band = np.zeros((width, size))
    for below in range(width):
        band[below, : size - below] = np.diag(whole[:size, :size], -below)
    solve = _solver(Bordered(band, whole[:size, size:], whole[size:, size:]))
    assert solve is not None
    expected = generator.normal(size=size + more)
    assert rows * solve(whole @ (expected / rows)) == pytest.approx(expected, rel=1e-7)
    # Neither with a band nor with a corner that is not positive definite.
    worse = band * np.where(np.arange(width) == 1, 30.0, 1.0)[:, None]
    border, corner = whole[:size, size:], whole[size:, size:]
    assert _solver(Bordered(worse, border, corner)) is None
    assert _solver(Bordered(band, 30.0 * border, corner)) is None


def test_constraints_summed_by_triangle_are_those_of_the_inequality():
    """Against the matrix written out, row by row, from the inequality itself."""
    law, epsilon = parse("geometric:mean=5"), 0.4
    pair = curves.gaussian(1.0).pairs()[0]
    mesh = path_mesh(pair, first_columns(law, 3), rows=2)
    knots = ratio_knots(pair, 6)
    constraints = _PathConstraints(mesh, law, epsilon, knots)
    size = mesh.count + knots.size + 1
    generator = np.random.default_rng(1)
    unknowns = generator.normal(size=size)
    unknowns[mesh.end[0][0]] = 0.0
    matrix = np.stack([constraints.times(row) for row in np.eye(size)], axis=1)
    prices = generator.uniform(size=constraints.limits.size)
    assert constraints.times(unknowns) == pytest.approx(matrix @ unknowns)
    assert constraints.transposed(prices) == pytest.approx(matrix.T @ prices)
    normal = matrix.T @ (prices[:, None] * matrix)
    normal[mesh.end[0][0], mesh.end[0][0]] = 1.0
    found = constraints.normal(prices)
    whole = np.zeros((size, size))
    for below, entries in enumerate(found.band):
        place = np.arange(mesh.count - below)
        whole[place + below, place] = whole[place, place + below] = entries[: place.size]
    whole[: mesh.count, mesh.count :] = found.border
    whole[mesh.count :, : mesh.count] = found.border.T
    whole[mesh.count :, mesh.count :] = found.corner
    assert whole == pytest.approx(normal)
    # The inequality at the first corner of each triangle.
    values, price = unknowns[: mesh.count], unknowns[mesh.count : -1]
    basis = gradients(mesh, (1.0, 0.0, 0.0))
    steep = sum(values[mesh.nodes[:, q], None] * basis[q] for q in range(6))
    slopes = law.pgf_derivative_tail(np.clip(mesh.corners[:, 0], 0.0, 1.0))
    gain = slopes[:, :1] - math.exp(epsilon) * knots * slopes[:, 1:]
    over = steep[:, :1] + steep[:, 1:] * knots + np.maximum(gain, 0.0) - price
    shape = (mesh.nodes.shape[0], 6, knots.size)
    first = np.prod(shape)
    left = (constraints.times(unknowns) - constraints.limits)[:first].reshape(shape)
    assert left[:, 0] == pytest.approx(over / (1.0 + knots))


@pytest.mark.parametrize(
    ("law", "noise", "epsilon"),
    [("geometric:mean=5", 1.0, 0.4), ("point_mass:count=60", 2.0, 8.0), ("poisson:mean=3", 8.0, 0)],
)
def test_a_program_starts_inside_with_the_envelope_s_price(law, noise, epsilon):
    law, (pair,) = parse(law), curves.gaussian(noise).pairs()
    mesh, knots = path_mesh(pair, first_columns(law, 6), rows=3), ratio_knots(pair, 10)
    constraints = _PathConstraints(mesh, law, epsilon, knots)
    weights, _ = price_weights(pair, knots)
    start = constraints.enveloping(weights)
    room = constraints.limits - constraints.times(start)
    # What the mesh sees of the envelope's price: the least one with W = 0.
    rows = constraints.limits[: mesh.nodes.shape[0] * 6 * knots.size].reshape(-1, knots.size)
    least = weights @ np.max(-rows * (1.0 + knots), axis=0)
    assert least > 0.0
    assert np.min(room[: mesh.nodes.shape[0] * (6 * knots.size + 3)]) >= 0.99 * least
    assert weights @ start[mesh.count : -1] == pytest.approx(4.0 * least, rel=1e-2)
    assert np.all(start[: mesh.count] == 0.0)


def test_the_slope_of_a_program_is_that_of_its_value(monkeypatch):
    """From the prices of one solution, against the values of two programs near it."""
    monkeypatch.setattr(path_program, "_GAP", 1e-8)
    for law, noise, epsilon in (("geometric:mean=5", 1.0, 2.0), ("poisson:mean=30", 4.0, 1.5)):
        law, (pair,) = parse(law), curves.gaussian(noise).pairs()
        mesh, knots = path_mesh(pair, first_columns(law, 6), rows=3), ratio_knots(pair, 10)
        less, here, more = (
            proposal(pair, law, mesh, knots, epsilon + step) for step in (-0.01, 0.0, 0.01)
        )
        assert here.slope < 0.0
        assert here.slope == pytest.approx((more.delta - less.delta) / 0.02, rel=2e-2)


def test_basis_functions_are_quadratic_interpolation():
    law, pair = parse("poisson:mean=4"), curves.gaussian(2.0).pairs()[0]
    mesh = path_mesh(pair, first_columns(law, 4), rows=3)

    def value(points):
        u, v = points[..., 0], points[..., 1]
        return 1.0 + 2.0 * u - v + 0.5 * u * u - 3.0 * u * v + 0.25 * v * v

    middles = [0.5 * (mesh.corners[:, p] + mesh.corners[:, q]) for p, q in ((0, 1), (1, 2), (2, 0))]
    places = np.concatenate([mesh.corners, np.stack(middles, axis=1)], axis=1)
    nodal = np.zeros(mesh.count)
    nodal[mesh.nodes] = value(places)
    assert nodal[mesh.nodes] == pytest.approx(value(places))  # shared nodes agree
    place = (0.2, 0.5, 0.3)
    point = np.einsum("v,tvc->tc", np.array(place), mesh.corners)
    found = sum(
        nodal[mesh.nodes[:, q], None] * basis for q, basis in enumerate(gradients(mesh, place))
    )
    u, v = point[:, 0], point[:, 1]
    assert found[:, 0] == pytest.approx(2.0 + u - 3.0 * v)
    assert found[:, 1] == pytest.approx(-1.0 - 3.0 * u + 0.5 * v)
    for at, (nodes, weights) in ((0.0, mesh.start), (1.0, mesh.end)):
        assert nodal[nodes] @ weights == pytest.approx(value(np.array([at, at])))


@pytest.mark.parametrize("noise", [0.7, 4.0])
def test_the_mesh_covers_every_path(noise):
    pair, law = curves.gaussian(noise).pairs()[0], parse("geometric:mean=30")
    mesh = path_mesh(pair, first_columns(law, 10), rows=2)
    tradeoff, u = pair_tradeoff(pair), np.linspace(0.0, 1.0, 4001)
    high = [mesh.corners[mesh.column == c] for c in range(10)]
    for c, corners in enumerate(high):
        inside = u[(u >= mesh.edges[c]) & (u <= mesh.edges[c + 1])]
        points = corners.reshape(-1, 2)
        ends = [points[points[:, 0] == end] for end in mesh.edges[[c, c + 1]]]
        top = [points[:, 1].max() for points in ends]
        bottom = [points[:, 1].min() for points in ends]
        edges = mesh.edges[[c, c + 1]]
        assert np.all(np.interp(inside, edges, top) >= tradeoff(inside))
        assert np.all(np.interp(inside, edges, bottom) <= 1 - tradeoff(1 - inside))


def test_the_price_is_summed_exactly():
    generator = np.random.default_rng(2)
    first = np.append(generator.dirichlet(np.ones(6)) * 0.9, [0.1, 0.0])
    second = np.append(generator.dirichlet(np.ones(6)) * 0.8, [0.0, 0.2])
    pair = pair_from_laws(first, second)
    knots = np.array([0.0, 0.5, 1.0, 2.0])
    values, slope = np.array([0.3, -0.1, 0.0, 1.0]), 1.5
    weights, beyond = price_weights(pair, knots)
    with np.errstate(divide="ignore"):
        ratio = second[:-1] / first[:-1]
    price = np.interp(ratio, knots, values) + slope * np.maximum(ratio - 2.0, 0.0)
    expected = first[:-1] @ price + slope * 0.2
    lacking = pair_from_laws(first * (1.0 - 5e-10), second)
    more, _ = price_weights(lacking, knots)
    assert more.sum() == pytest.approx(1.0, abs=1e-15)
    assert more[0] > weights[0]
    assert weights @ values + beyond * slope == pytest.approx(expected)


# --- The certificate ---------------------------------------------------------------------


def _sampled_bound(pair, law, mesh, epsilon, price, values, parts):
    """(4) of docs/priced.md with each largest value over many points, from below."""
    triangles = np.arange(mesh.column.size)
    steepest = np.diff(price.values[-2:])[0] / np.diff(price.knots[-2:])[0]
    columns = mesh.edges.size - 1
    kappa = np.full((columns, parts), -np.inf)
    size = 3 * parts  # the corners of the pieces are among these points
    places = [
        np.array([size - i - j, i, j]) / size for i in range(size + 1) for j in range(size + 1 - i)
    ]
    steep = []
    for place in places:
        basis = np.array(gradients(mesh, tuple(place)))
        steep.append(np.einsum("tq,qtc->tc", values[mesh.nodes], basis))
        steepest = max(steepest, float(np.max(steep[-1][:, 1])))
    ratios = np.concatenate([price.knots, price.knots[-1] * np.array([1.5, 10.0])])
    cost = np.interp(ratios, price.knots, price.values)
    cost += steepest * np.maximum(ratios - price.knots[-1], 0.0)
    for place, slope in zip(places, steep, strict=True):
        point = np.einsum("v,tvc->tc", place, mesh.corners)
        inside = (point >= 0.0) & (point <= 1.0)
        a = law.pgf_derivative_tail(np.clip(point, 0.0, 1.0))
        gain = np.maximum(a[:, :1] - math.exp(epsilon) * ratios * a[:, 1:], 0.0)
        over = np.max(slope[:, :1] + slope[:, 1:] * ratios + gain - cost, axis=1)
        width = np.diff(mesh.edges)[mesh.column]
        part = (point[:, 0] - mesh.edges[mesh.column]) / width * parts
        part = np.clip(part.astype(int), 0, parts - 1)
        seen = triangles[np.all(inside, axis=1)]
        np.maximum.at(kappa, (mesh.column[seen], part[seen]), over[seen])
    weights, beyond = price_weights(pair, price.knots)
    first = weights @ price.values + beyond * steepest
    ends = values[mesh.start[0]] @ mesh.start[1] - values[mesh.end[0]] @ mesh.end[1]
    return first + ends + np.sum(kappa * np.diff(mesh.edges)[:, None] / parts)


def test_prices_have_a_knot_where_the_second_law_has_nothing():
    """At ratio 0: below the first knot nothing would be checked, and all may lie there."""
    lossy = pair_from_laws([0.5, 0.4, 0.1, 0.0], [0.5, 0.45, 0.0, 0.05])
    told = pair_from_laws([1.0, 0.0], [0.0, 1.0])
    (gaussian,) = curves.gaussian(2.0).pairs()
    for pair in (lossy, told, gaussian):
        knots = ratio_knots(pair, 8)
        assert knots[0] == 0.0
        assert np.all(np.diff(knots) > 0.0)


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_the_pieces_of_a_triangle_are_the_whole(parts):
    pieces = _small_triangles(parts)
    # Of corners in barycentric coordinates, the share of the triangle's area.
    areas = [abs(np.linalg.det(piece)) for piece in pieces]
    np.testing.assert_allclose(areas, np.full(parts**2, parts**-2.0), rtol=1e-9)
    for piece in pieces:
        np.testing.assert_allclose(piece.sum(axis=1), 1.0)
        assert piece.min() >= 0.0
    middles = {tuple(np.round(piece.mean(axis=0), 9)) for piece in pieces}
    assert len(middles) == parts**2


@pytest.mark.parametrize("scale", [0.0, 0.01, 0.3])
def test_the_certificate_is_not_below_what_many_points_say(scale):
    generator, parts = np.random.default_rng(4), 8
    for law in (parse("poisson:mean=3"), parse("geometric:mean=4")):
        first = np.append(generator.dirichlet(np.ones(4)) * 0.95, [0.05, 0.0])
        second = np.append(generator.dirichlet(np.ones(4)) * 0.8, [0.0, 0.2])
        pair, epsilon = pair_from_laws(first, second), 0.2
        mesh = path_mesh(pair, first_columns(law, 5), rows=2)
        price, values, *_ = proposal(pair, law, mesh, ratio_knots(pair, 8), epsilon)
        values = values + scale * generator.normal(size=values.size)
        bend = scale * (price.knots - 1.0) ** 2  # convex, as what it is added to
        price = _convex(price._replace(values=price.values + bend))
        found = certifier(pair, cut(law, mesh, parts), price, values)(epsilon).delta
        sampled = _sampled_bound(pair, law, mesh, epsilon, price, values, parts)
        assert sampled <= found + 1e-12
        assert sampled > 0.95 * found  # near, so that little may be missing


def _plane(mesh, slope_u, slope_v, constant=0.0):
    """W at the nodes: constant + slope_u u + slope_v v."""
    points = np.zeros((mesh.count, 2))
    points[mesh.nodes[:, :3]] = mesh.corners
    for q, (one, other) in zip((3, 4, 5), ((0, 1), (1, 2), (2, 0)), strict=True):
        points[mesh.nodes[:, q]] = 0.5 * (mesh.corners[:, one] + mesh.corners[:, other])
    return constant + points @ np.array([slope_u, slope_v])


@pytest.mark.parametrize("size", [0.0, -1.1e4, 1.7e6, -190379451.60685524, 1e10])
def test_a_constant_on_the_potential_proves_nothing(size):
    """Of equal laws, whose delta is 0: W_v beyond the last knot is rounded upwards, too."""
    pair, law = pair_from_laws([0.5, 0.5], [0.5, 0.5]), parse("point_mass:count=1")
    mesh = path_mesh(pair, np.array([0.0, 1.0]), rows=1)
    u, v = _plane(mesh, 1.0, 0.0), _plane(mesh, 0.0, 1.0)
    # What rounding makes of a sum of numbers of this size differs from one to the next.
    for constant in size * (1.0 + np.linspace(0.0, 0.5, 60)):
        # W = constant + slope v, in whole units in the last place, across cells of this height.
        unit, height = np.spacing(max(abs(constant), 1.0)), 1e-5 + 1e-12
        slope = 25 * unit / height
        values = constant + unit * (25 * np.rint((v - u) / height) + np.rint(slope * u / unit))
        price = Price(np.array([0.0, 1e-3]), np.array([1.0, slope * 1e-3]), 0.0)
        for parts in (1, 2, 16):
            found = certifier(pair, cut(law, mesh, parts), price, values)(math.log(1000.0))
            assert found.delta >= 0.0


def test_columns_as_thin_as_rounding_errors_lose_what_they_lose():
    generator, law = np.random.default_rng(9), parse("poisson:mean=3")
    first, second = generator.dirichlet(np.ones(3), 2)
    pair, a = pair_from_laws(first, second), 0.3
    exact = worst_delta_of_all(first, second, law, 0.2)
    for ulps in (1, 3, 8, 24, 1000):
        ends = np.array([0.0, a, a + ulps * np.spacing(a), 1.0])
        mesh = path_mesh(pair, ends, rows=2)
        price, values, *_ = proposal(pair, law, mesh, ratio_knots(pair, 8), 0.2)
        found = certifier(pair, cut(law, mesh, 16), price, values)(0.2)
        assert np.all(np.isfinite(found.lost))
        assert exact <= found.delta


@pytest.mark.parametrize("gain", [1.0, 1e4, 1e8])
def test_mass_that_a_pair_lacks_is_paid_for(gain):
    first, second = np.array([0.7, 0.3 - 9e-10]), np.array([0.3, 0.7])
    pair, law = pair_from_laws(first, second), parse("point_mass:count=1")
    mesh = path_mesh(pair, np.array([0.0, 1.0]), rows=1)
    knots = np.array([0.0, math.exp(-0.1), 4.0])
    price = Price(knots, np.maximum(1.0 - math.exp(0.1) * knots, 0.0) + gain, 0.0)
    found = certifier(pair, cut(law, mesh, 1), price, _plane(mesh, gain, 0.0))(0.1)
    assert found.delta >= worst_delta_of_all(first, second, law, 0.1)


def test_nothing_is_proved_where_numbers_overflow():
    (pair,) = curves.gaussian(1.0).pairs()
    law = parse("poisson:mean=3")
    mesh = path_mesh(pair, first_columns(law, 3), rows=2)
    price, values, *_ = proposal(pair, law, mesh, ratio_knots(pair, 6), 1.0)
    assert certifier(pair, cut(law, mesh), price, values)(710.0).delta == math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        assert certifier(pair, cut(law, mesh), price, values * 1e308)(1.0).delta == math.inf


def test_a_price_is_made_convex_from_below():
    generator = np.random.default_rng(5)
    knots = np.append(0.0, np.cumsum(generator.exponential(size=11)))
    for _ in range(20):
        price = Price(knots, generator.normal(size=12), 0.0)
        convex = _convex(price)
        slopes = np.diff(convex.values) / np.diff(convex.knots)
        assert np.all(np.diff(slopes) >= 0.0)
        assert np.all(np.interp(knots, convex.knots, convex.values) <= price.values + 1e-12)


def test_a_price_that_is_not_convex_proves_what_its_convex_part_proves():
    """Only a convex price may be charged to the dominating pair: ties average ratios."""
    generator, law = np.random.default_rng(6), parse("geometric:mean=4")
    pair = pair_from_laws(*generator.dirichlet(np.ones(5), 2))
    mesh = path_mesh(pair, first_columns(law, 5), rows=2)
    price, values, *_ = proposal(pair, law, mesh, ratio_knots(pair, 10), 0.2)
    raised = price.values + 0.2 * (np.arange(price.knots.size) % 2)
    bent = price._replace(values=raised)
    found = [
        certifier(pair, cut(law, mesh, 4), each, values)(0.2).delta
        for each in (bent, _convex(bent))
    ]
    assert found[0] == found[1]


def _paths(first, second, generator):
    """Every strict ranking of the outcomes, each cut into pieces at random."""
    for order in itertools.permutations(range(first.size)):
        yield first[list(order)], second[list(order)]
    parts = generator.dirichlet(np.ones(3), first.size)
    p, q = (first[:, None] * parts).ravel(), (second[:, None] * parts).ravel()
    for _ in range(200):
        order = generator.permutation(p.size)
        yield p[order], q[order]


@pytest.mark.parametrize("law", ["geometric:mean=4", "poisson:mean=6", "point_mass:count=2"])
def test_no_ranking_of_three_outcomes_costs_more_whatever_the_price(law):
    generator = np.random.default_rng(3)
    law, near = parse(law), 0.0
    for epsilon in (0.0, 0.3, 0.9):
        first, second = generator.dirichlet(np.ones(3), 2)
        pair = pair_from_laws(first, second)
        mesh = path_mesh(pair, first_columns(law, 8), rows=3)
        knots = ratio_knots(pair, 14)
        price, values, *_ = proposal(pair, law, mesh, knots, epsilon)
        bounds = [certifier(pair, cut(law, mesh, 6), price, values)(epsilon).delta]
        for scale in (0.01, 0.1):
            spoilt = Price(knots, price.values + scale * generator.normal(size=knots.size), -1.0)
            moved = values + 0.1 * scale * generator.normal(size=values.size)
            bounds.append(certifier(pair, cut(law, mesh, 6), spoilt, moved)(epsilon).delta)
        for p, q in _paths(first, second, generator):
            one, two = tuned_law(p, law), tuned_law(q, law)
            exact = float(np.sum(np.maximum(one - math.exp(epsilon) * two, 0.0)))
            assert min(bounds) >= exact
            near = max(near, exact / bounds[0])
    assert near > 0.8  # so that a bound a fifth smaller would fail


def test_any_resolution_is_a_bound_and_finer_is_smaller():
    base, law = curves.gaussian(4.0), parse("geometric:mean=3")
    found = [
        priced.priced_delta(priced.priced_directions(base, law, size), 0.3223)
        for size in (priced.Resolution(4, 2, 6, 3, 0), COARSE, priced.FINE)
    ]
    assert found == sorted(found, reverse=True)
    assert found[-1] > 0.0460  # attained


def test_laws_of_every_kind():
    """A table, a law that may be 0, one run: never above the envelope, never below 0."""
    base = curves.approximate(0.5, 1e-3)
    for law in (
        parse("pmf:0=0.3,2=0.5,7=0.2"),
        parse("poisson:mean=1"),
        parse("point_mass:count=1"),
    ):
        directions = priced.priced_directions(base, law, COARSE)
        envelope = np.exp(envelope_log_delta(base_envelopes(base, law), 0.3))
        found = priced.priced_delta(directions, 0.3)
        assert 0.0 < found <= envelope
    # One run is its own profile: nothing can be below that.
    assert found == pytest.approx(float(base.profile(np.asarray(0.3))), rel=0.05)


# --- Asked for ------------------------------------------------------------------------


def test_epsilon_and_delta_are_each_other_s_inverse():
    base, law = curves.gaussian(4.0), parse("geometric:mean=30")
    directions = priced.priced_directions(base, law)
    epsilon = priced.priced_epsilon(directions, 0.1)
    assert 0.495 < epsilon < 0.52  # a ranking attains the one; the envelope is 0.942
    assert priced.priced_delta(directions, epsilon) == pytest.approx(0.1, rel=2e-2)
    # Far down it is the envelope's, and nothing is solved.
    bounds = base_envelopes(base, law)
    assert priced.priced_epsilon(directions, 1e-6) == envelope_epsilon(bounds, 1e-6)


def test_profiles_are_chords_below_the_envelope():
    base, law = curves.gaussian(8.0), parse("geometric:mean=30")
    directions = priced.priced_directions(base, law, COARSE)
    (profile,) = priced.priced_profiles(directions, count=4)
    epsilons = np.linspace(0.0, 2.0, 101)
    found = profile(epsilons)
    envelope = np.exp(envelope_log_delta(base_envelopes(base, law), epsilons))
    assert np.all(found <= envelope + 1e-15)
    assert np.all(np.diff(found) <= 1e-15)
    assert np.min(found / envelope) < 0.3
    # Between two prices the chord is above the price that was not asked for.
    for epsilon in (0.11, 0.37):
        assert float(profile(np.asarray(epsilon))) >= 0.95 * directions[0].delta(epsilon)


def random_search(generator):
    noise = float(np.exp(generator.uniform(0.0, 2.3)))
    law = str(
        generator.choice(
            [
                "poisson:mean=30",
                "poisson:mean=100",
                "point_mass:count=20",
                "geometric:mean=10",
                "binomial:count=40,probability=0.5",
                "logarithmic:mean=20",
            ]
        )
    )
    return lambda: priced.priced_directions(curves.gaussian(noise), parse(law), COARSE)


def test_both_ways_round_agree_most_often():
    """delta of the epsilon of delta is about delta, and the other way round: other programs.

    Not always: what a proof loses, on one mesh above all, differs by tens of per cent.
    """
    near = {"delta": [], "epsilon": []}
    for seed in range(10):
        generator = np.random.default_rng(seed)
        fresh = random_search(generator)
        delta = float(10.0 ** generator.uniform(-6.0, -0.5))
        epsilon = priced.priced_epsilon(fresh(), delta)
        near["delta"].append(priced.priced_delta(fresh(), epsilon) / delta)
        at = float(epsilon * generator.uniform(0.6, 1.1))
        proved = priced.priced_delta(fresh(), at)
        if proved < 1.0:
            near["epsilon"].append(priced.priced_epsilon(fresh(), proved) / (at + 0.05))
    assert max(near["delta"]) < 1.5
    assert max(near["epsilon"]) < 1.1
    assert np.quantile(near["delta"], 0.8) < 1.1
    assert np.quantile(near["epsilon"], 0.8) < 1.02


def _solved(noise, law, epsilon, resolution=COARSE):
    (direction,) = priced.priced_directions(curves.gaussian(noise), parse(law), resolution)
    found = direction._solved(epsilon, direction._grid())
    assert found is not None
    return found


@pytest.mark.parametrize("share", [0.3, 0.9, 1.1, 3.0])
def test_a_crossing_is_where_the_solution_proves_delta(share):
    """Of a solution at one epsilon, below it and above, never where it proves less."""
    at = 0.5
    found = _solved(8.0, "poisson:mean=30", at)
    delta = share * found.proof.delta
    crossing = found.crossing(delta, 0.0, 2.0)
    assert (crossing < at) == (share > 1.0)
    if crossing < 2.0:
        assert found.proved(crossing).delta <= delta
    if share in (0.9, 1.1):
        near = found.proved(crossing).delta
        assert near > (0.99 if share > 1.0 else 0.7) * delta  # it proves little more above
    # Limits are kept.
    assert found.crossing(delta, at, at) == at


def test_what_a_solution_proves_at_another_epsilon_is_what_a_certificate_of_it_says():
    """What does not depend on epsilon is computed once."""
    law, (pair,) = parse("poisson:mean=30"), curves.gaussian(8.0).pairs()
    mesh, knots = path_mesh(pair, first_columns(law, 8), rows=3), ratio_knots(pair, 14)
    price, values, *_ = proposal(pair, law, mesh, knots, 0.5)
    once = certifier(pair, cut(law, mesh, 6), price, values)
    for epsilon in (0.5, 0.2, 0.9, 0.5):
        anew = certifier(pair, cut(law, mesh, 6), price, values)(epsilon)
        assert once(epsilon).delta == anew.delta
        np.testing.assert_array_equal(once(epsilon).lost, anew.lost)


def test_no_epsilon_is_taken_that_no_solution_proves(monkeypatch):
    """A certificate that proves nothing leaves the envelope's."""
    base, law = curves.gaussian(8.0), parse("poisson:mean=100")
    enveloped = envelope_epsilon(base_envelopes(base, law), 0.05)
    (direction,) = priced.priced_directions(base, law, COARSE)
    assert direction.least_epsilon(0.05)[0] < 0.9 * enveloped
    real = priced.certifier

    def none(*given):
        proved = real(*given)
        return lambda epsilon: proved(epsilon)._replace(delta=math.inf)

    monkeypatch.setattr(priced, "certifier", none)
    (direction,) = priced.priced_directions(curves.gaussian(8.0), law, COARSE)
    assert direction.least_epsilon(0.05)[0] == enveloped
    assert direction.delta(0.7) == direction.enveloped(0.7)


def test_the_second_direction_proves_what_the_first_needs(monkeypatch):
    """The epsilon of both is proved in each, whichever is asked first."""
    generator = np.random.default_rng(12)
    first, second = generator.dirichlet(np.ones(4), 2)
    pair = pair_from_laws(first, second)
    law, delta = parse("poisson:mean=20"), 0.05
    found = []
    for pairs in ((pair, reversed_pair(pair)), (reversed_pair(pair), pair)):
        base = curves.from_pairs("toy", lambda pairs=pairs: pairs)
        directions = priced.priced_directions(base, law, COARSE)
        found.append(priced.priced_epsilon(directions, delta))
        for each in directions:
            alone, _ = each.least_epsilon(delta)
            assert found[-1] >= alone * (1.0 - 0.02)
    assert found[0] == pytest.approx(found[1], rel=0.02)


def test_columns_are_split_where_most_was_lost():
    ends = np.array([0.0, 0.25, 0.5, 1.0])
    lost = np.array([1.0, -2.0, 0.07])
    # 1 in four parts is 1/16, below .07: the last split is of the last column.
    np.testing.assert_allclose(
        split_columns(ends, lost, 0.0, 4), [0.0, 0.0625, 0.125, 0.1875, 0.25, 0.5, 0.75, 1.0]
    )
    assert split_columns(ends, lost, 0.2, 4).size == 6  # 1/4 is split, 1/9 is little
    np.testing.assert_array_equal(split_columns(ends, -lost.clip(0.0), 0.0, 5), ends)
    even = split_columns(ends, np.ones(3), 0.5, 3)
    np.testing.assert_allclose(even, [0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0])


def test_small_deltas_are_priced_where_a_ranking_leaves_room():
    """The envelope is 2.5702; a ranking has 1.9173."""
    directions = priced.priced_directions(curves.gaussian(8.0), parse("poisson:mean=100"))
    assert 1.9173 < priced.priced_epsilon(directions, 1e-4) < 2.12


def test_nothing_is_solved_where_a_ranking_is_near_the_envelope(monkeypatch):
    def never(*_):
        raise AssertionError("a program was solved")

    monkeypatch.setattr(priced, "proposal", never)
    for noise, law in ((4.0, "geometric:mean=30"), (1.0, "poisson:mean=10")):
        directions = priced.priced_directions(curves.gaussian(noise), parse(law))
        bounds = tuple(each.envelope for each in directions)
        epsilon = envelope_epsilon(bounds, 1e-6)
        assert priced.priced_epsilon(directions, 1e-6) == epsilon
        assert priced.priced_delta(directions, epsilon) == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("noise", "law", "epsilon", "attained", "bar"),
    [  # on the first mesh 5.0e4, 7.59e-3 and 1.017e-3 were proved
        (1.0, "poisson:mean=100", 27.172, 2.9e-4, 1.38e-3),
        (1.0, "poisson:mean=30", 12.25, 2.6e-3, 6.7e-3),
        (2.0, "poisson:mean=30", 6.042, 2.2e-4, 6.8e-4),
    ],
)
def test_a_proof_that_fails_on_one_mesh_is_sought_on_a_finer_one(
    noise, law, epsilon, attained, bar
):
    assert attained < delta_of(noise, law, epsilon) <= bar


def test_chords_reach_from_the_first_point_to_the_last():
    (direction,) = priced.priced_directions(curves.gaussian(2.0), parse("geometric:mean=5"))
    bounds = (direction.envelope,)

    def tenth(epsilon):
        return 0.1 * np.exp(envelope_log_delta(bounds, epsilon))

    epsilons = np.array([0.0, 0.5, 1.5, 2.0])
    profile = priced._profile(direction, epsilons, tenth(epsilons))
    np.testing.assert_allclose(profile(epsilons), tenth(epsilons))
    # Linear in e^epsilon between two points, and what is proved last beyond.
    middle = math.log((math.exp(1.5) + math.exp(2.0)) / 2.0)
    assert profile(middle) == pytest.approx((tenth(1.5) + tenth(2.0)) / 2.0)
    assert profile(2.1) == pytest.approx(min(tenth(2.0), 10.0 * tenth(2.1)))


def test_what_is_refined_is_what_finer_meshes_certify():
    base, law, epsilon = curves.gaussian(2.0), parse("poisson:mean=30"), 5.0
    size = priced.Resolution(columns=8, rows=3, knots=14, parts=6, meshes=2)
    (pair,) = base.pairs()
    (direction,) = priced.priced_directions(base, law, size)
    ends, bounds = first_columns(law, 8), []
    for _ in range(3):
        mesh = path_mesh(pair, ends, rows=3)
        price, values, *_ = proposal(pair, law, mesh, ratio_knots(pair, 14), epsilon)
        found = certifier(pair, cut(law, mesh, 6), price, values)(epsilon)
        bounds.append(found.delta)
        ends = split_columns(ends, found.lost, 0.0, 4)
    assert bounds[2] < 0.8 * bounds[0]
    assert direction.delta(epsilon) == pytest.approx(min(bounds), rel=1e-3)
    assert direction.refined(epsilon).grid.ends.size == 17
    # A curve's points are on one mesh, which has half as many columns more than the first.
    mesh = path_mesh(pair, first_columns(law, 12), rows=3)
    price, values, *_ = proposal(pair, law, mesh, ratio_knots(pair, 14), epsilon)
    one = certifier(pair, cut(law, mesh, 6), price, values)(epsilon).delta
    found = direction.of_curve(epsilon)
    assert found is not None
    assert found.proof.delta == pytest.approx(one, rel=1e-2)


def test_lines_below_a_convex_function_are_not_below_0():
    """What e^epsilon multiplies: a line that fell below 0 proved nothing at large epsilons."""
    for law in (
        parse("poisson:mean=200"),
        parse("point_mass:count=200"),
        parse("geometric:mean=9"),
    ):
        low = np.linspace(0.0, 0.99, 100)
        high = np.minimum(low + np.geomspace(1e-4, 0.5, 100), 1.0)
        value, slope, place = _supporting(law, low, high)
        for part in np.linspace(0.0, 1.0, 23):
            at = low + part * (high - low)
            line = value + slope * (at - place)
            assert np.all(line >= -1e-300)
            assert np.all(line <= slope_at(law, at) * (1.0 + 1e-12))
        # The middle's line where that is above 0, so that it is close.
        near = np.flatnonzero(place < high)
        assert near.size > 10
        middle = slope_at(law, place[near])
        np.testing.assert_allclose(value[near], middle, rtol=1e-2)


def test_rounding_counts_where_it_arises(monkeypatch):
    """W may be huge where nothing forbids it, and its rounding errors there are of no use."""
    law, epsilon = parse("poisson:mean=6"), 0.4
    (pair,) = curves.gaussian(1.0).pairs()
    mesh = path_mesh(pair, first_columns(law, 5), rows=2)
    price, values, *_ = proposal(pair, law, mesh, ratio_knots(pair, 8), epsilon)
    exact = certifier(pair, cut(law, mesh, 4), price, values)(epsilon).delta
    # A constant on W changes nothing but rounding.
    for constant in (1.0, -1e6):
        moved = certifier(pair, cut(law, mesh, 4), price, values + constant)(epsilon).delta
        assert moved == pytest.approx(exact, abs=1e-8 * abs(constant))
    monkeypatch.setattr(path_certificate, "_UNIT", 0.0)
    less = certifier(pair, cut(law, mesh, 4), price, values)(epsilon).delta
    assert less < exact < less + 1e-9


def test_the_worse_direction_counts():
    generator = np.random.default_rng(8)
    first, second = generator.dirichlet(np.ones(4), 2)
    pair = pair_from_laws(first, second)
    base = curves.from_pairs("toy", lambda: (pair, reversed_pair(pair)))
    for law in (parse("poisson:mean=6"), parse("geometric:mean=3")):
        directions = priced.priced_directions(base, law, COARSE)
        for epsilon in (0.2, 0.7):
            worst = max(
                worst_delta_of_all(one, two, law, epsilon)
                for one, two in ((first, second), (second, first))
            )
            assert worst <= priced.priced_delta(directions, epsilon)


@pytest.mark.parametrize("epsilon", [-0.1, math.inf, math.nan])
def test_bad_epsilons(epsilon):
    directions = priced.priced_directions(curves.gaussian(4.0), parse("geometric:mean=3"), COARSE)
    with pytest.raises(InputError):
        priced.priced_delta(directions, epsilon)


def test_what_was_priced_is_kept_for_the_same_search_alone():
    base, law = curves.gaussian(2.0), parse("geometric:mean=5")
    kept = priced.priced_directions(base, law, COARSE)
    assert priced.priced_directions(base, law, COARSE) is kept
    assert priced.priced_directions(base, law, priced.FINE) is not kept
    # Nothing tells whether the functions of other objects are the same.
    assert priced.priced_directions(curves.gaussian(2.0), law, COARSE) is not kept
    again = parse("geometric:mean=5")
    assert priced.priced_directions(base, again, COARSE) is not kept


# --- Curves ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "law", "epsilons"),
    [(1.0, "geometric:mean=20", (0.5, 1.0, 1.5)), (4.0, "poisson:mean=8", (0.1, 0.3, 0.5))],
)
def test_a_program_between_two_solved_ones_takes_few_steps_and_proves_as_much(
    noise, law, epsilons, monkeypatch
):
    taken = [0]

    def solver(normal):
        taken[0] += 1
        return _solver(normal)

    monkeypatch.setattr("jaxsel.accounting.numerics.interior_point._solver", solver)
    law, (pair,) = parse(law), curves.gaussian(noise).pairs()
    pieces = cut(law, path_mesh(pair, first_columns(law, 12), rows=4))
    programs = PathProgram(pair, law, pieces.mesh, ratio_knots(pair, 20))

    def solved(epsilon, near=()):
        taken[0] = 0
        found = programs.proposal(epsilon, near)
        return found, taken[0], certifier(pair, pieces, found.price, found.values)(epsilon).delta

    low, middle, high = map(solved, epsilons)
    between = solved(epsilons[1], [low[0], high[0]])
    assert between[1] < 0.7 * middle[1]
    assert between[2] == pytest.approx(middle[2], rel=3e-3)
    above = solved(epsilons[1], [low[0]])
    assert above[1] < 0.9 * middle[1]
    assert above[2] == pytest.approx(middle[2], rel=3e-3)
    # Any two proofs are proofs of the same delta.
    assert low[2] > between[2] > high[2]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 12, 13])
def test_places_are_solved_once_and_between_others(count):
    places = [3 + 2 * each for each in range(count)]
    solved: list[int] = []
    for number, found in enumerate(priced._rounds(places)):
        if number > 1:
            assert all(min(solved) < each < max(solved) for each in found)
        solved += found
    assert sorted(solved) == places
    assert solved[:2] == [*places[:1], *places[-1:]][:count]


def test_one_program_at_0_serves_both_directions_and_whoever_asks():
    """The total variation has no direction."""
    first, second = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.5, 0.3])
    pair, law = pair_from_laws(first, second), parse("geometric:mean=4")
    base = curves.from_pairs("three outcomes", lambda: (pair, reversed_pair(pair)))
    directions = priced.priced_directions(base, law, COARSE)
    assert len(directions) == 2
    one, other = priced.priced_profiles(directions)
    assert float(one(0.0)) == float(other(0.0))
    assert priced.priced_delta(directions, 0.0) <= float(one(0.0))
    worst = worst_delta_of_all(first, second, law, 0.0)
    assert worst == pytest.approx(worst_delta_of_all(second, first, law, 0.0), rel=1e-12)
    assert worst <= priced.priced_delta(directions, 0.0) <= 1.2 * worst
    assert worst_delta_of_all(first, second, law, 0.7) <= float(one(0.7))
    assert worst_delta_of_all(second, first, law, 0.7) <= float(other(0.7))
