"""A high-precision oracle of the tuned densities, written independently of the library.

Everything is computed in mpmath from the definitions: densities, tails, the slope f'(1 - u)
of each law's generating function, and the mass of better outcomes.
"""

import itertools

import mpmath as mp


def normal(mean):
    return (lambda z: mp.npdf(z - mean), lambda z: mp.ncdf(z - mean), lambda z: mp.ncdf(mean - z))


def laplace(mean):
    def tail(x):
        return mp.exp(-x) / 2 if x > 0 else 1 - mp.exp(x) / 2

    return (
        lambda z: mp.exp(-abs(z - mean)) / 2,
        lambda z: tail(mean - z),
        lambda z: tail(z - mean),
    )


def mixture(q, first, second):
    return tuple(
        lambda z, a=a, b=b: (1 - q) * a(z) + q * b(z) for a, b in zip(first, second, strict=True)
    )


def negative_binomial(eta, gamma):
    eta, gamma = mp.mpf(eta), mp.mpf(gamma)
    if eta == 0:
        mean = (1 / gamma - 1) / mp.log(1 / gamma)
    else:
        mean = eta * (1 - gamma) / (gamma * (1 - gamma**eta))
    return lambda u: mean * (gamma / (gamma + (1 - gamma) * u)) ** (eta + 1)


def poisson(mean):
    return lambda u: mean * mp.exp(-mean * u)


def binomial(count, p):
    return lambda u: count * mp.mpf(p) * (1 - mp.mpf(p) * u) ** (count - 1)


def beta_binomial(count, gamma):
    g = mp.mpf(gamma)
    return lambda u: count * g / (g + 1) * mp.hyp2f1(1 - count, g + 1, g + 2, u)


def point_mass(count):
    return lambda u: count * (1 - u) ** (count - 1)


def excess(laws, slope, good, bad, epsilon):
    """z -> A(z) - e^epsilon A'(z) under the ranking of two blocks, followed by the rest."""
    factor = mp.exp(epsilon)

    def tuned(law, z):
        density, lower, upper = law
        if z > good:
            better = upper(z)
        elif z < bad:
            better = (upper(good) if good < mp.inf else 0) + lower(z)
        else:
            better = (lower(bad) if bad > -mp.inf else 0) + upper(z)
        return density(z) * slope(better)

    return lambda z: tuned(laws[0], z) - factor * tuned(laws[1], z)


def positive_part(curve, cuts, low, high, step=0.25):
    """Integral of max(curve, 0), between the roots found on a grid and by bisection."""
    cuts = sorted({low, high, *(c for c in cuts if low < c < high)})
    total = mp.mpf(0)
    for left, right in itertools.pairwise(cuts):
        inset = mp.mpf(10) ** -18
        count = max(2, int((right - left) / step) + 1)
        grid = [mp.mpf(left) + (right - left) * mp.mpf(i) / count for i in range(count)]
        grid = [grid[0] + inset, *grid[1:], mp.mpf(right) - inset]
        heights = [curve(z) for z in grid]
        edges, signs = [grid[0]], []
        for i in range(len(grid) - 1):
            if heights[i] * heights[i + 1] < 0:
                a, b = grid[i], grid[i + 1]
                for _ in range(70):
                    middle = (a + b) / 2
                    if curve(middle) * heights[i] > 0:
                        a = middle
                    else:
                        b = middle
                signs.append(heights[i] > 0)
                edges.append(a)
        signs.append(heights[-1] > 0)
        edges.append(grid[-1])
        for a, b, positive in zip(edges, edges[1:], signs, strict=False):
            if positive:
                parts = max(1, int(b - a) + 1)
                points = [a + (b - a) * mp.mpf(i) / parts for i in range(parts + 1)]
                total += mp.quad(curve, points, method="gauss-legendre", maxdegree=4)
    return total
