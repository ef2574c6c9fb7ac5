"""Two-ended rankings: against every one of them written out, and for every epsilon."""

import itertools
import math

import numpy as np
import pytest

from jaxsel.accounting.single_run import curves
from jaxsel.repetitions import parse
from jaxsel.tuning.attained.all_rankings import worst_delta_of_all
from jaxsel.tuning.attained.attained_epsilon import attained_delta
from jaxsel.tuning.attained.exact_laws import tuned_law
from jaxsel.tuning.attained.two_ended import TwoEnded, family_delta

LAWS = ("poisson:mean=6", "geometric:mean=4", "point_mass:count=5")


def every_delta(first, second, law, epsilon):
    """Deltas of all two-ended rankings of a pair, by the literal law of the best of K."""
    rising = np.argsort(np.log(first) - np.log(second))
    for turns in itertools.product((False, True), repeat=first.size - 1):
        left = rising.tolist()
        order = [left.pop(-1 if last else 0) for last in turns] + left
        one, two = tuned_law(first[order], law), tuned_law(second[order], law)
        yield float(np.sum(np.maximum(one - math.exp(epsilon) * two, 0.0)))


@pytest.mark.parametrize("law", LAWS)
def test_the_best_of_all_two_ended_rankings_is_found(law):
    generator, law = np.random.default_rng(1), parse(law)
    for _ in range(4):
        first, second = generator.dirichlet(np.ones(7), 2)
        for epsilon in (0.0, 0.4, 1.1):
            exact = max(every_delta(first, second, law, epsilon))
            found = TwoEnded(first, second, law).delta(epsilon)
            assert found == pytest.approx(exact, rel=1e-3)
            assert found <= exact * (1.0 + 1e-9)
            assert found <= worst_delta_of_all(first, second, law, epsilon) + 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_the_family_is_attained_and_does_not_increase(law):
    generator, law = np.random.default_rng(2), parse(law)
    first, second = generator.dirichlet(np.ones(6), 2)
    epsilons = np.sort(generator.uniform(0.0, 2.5, 15))
    found = [family_delta(first, second, law, e) for e in epsilons.tolist()]
    assert all(a >= b for a, b in itertools.pairwise(found))
    for epsilon, delta in zip(epsilons.tolist(), found, strict=True):
        exact = max(
            *every_delta(first, second, law, epsilon), *every_delta(second, first, law, epsilon)
        )
        assert 0.9 * exact <= delta <= exact * (1.0 + 1e-9) + 1e-15


@pytest.mark.parametrize(
    ("noise", "law", "epsilon", "least"),
    [  # 4.28e-4, 5.9e-9 and nothing were found before
        (1.0, "poisson:mean=30", 12.2509, 2.55e-3),
        (1.0, "poisson:mean=100", 35.881, 9e-8),
        (8.0, "poisson:mean=100", 2.57, 2.4e-6),
        (4.0, "geometric:mean=30", 1.7885, 9.9e-7),
    ],
)
def test_what_a_gaussian_base_attains(noise, law, epsilon, least):
    """The cuts of the best two-ended rankings have 2.62e-3, 1.10e-7 and 2.5e-6."""
    found = attained_delta(curves.gaussian(noise), parse(law), epsilon)
    assert least <= found <= 1.1 * least


def test_what_is_attained_does_not_increase_in_epsilon():
    base, law = curves.laplace(1.0), parse("poisson:mean=30")
    generator = np.random.default_rng(3)
    epsilons = np.sort(generator.uniform(0.0, 3.0, 8)).tolist()
    found = [attained_delta(base, law, epsilon) for epsilon in epsilons]
    assert all(a >= b for a, b in itertools.pairwise(found))
    assert found[0] > 0.1


def test_a_bound_saves_rankings_that_cannot_be_worse():
    """Three laws of few outcomes, with the exact worst delta as the bound, which leaves few."""
    generator, law = np.random.default_rng(4), parse("geometric:mean=4")
    for _ in range(3):
        first, second = generator.dirichlet(np.ones(6), 2)

        def worst(epsilon, first=first, second=second):
            return max(
                worst_delta_of_all(first, second, law, epsilon),
                worst_delta_of_all(second, first, law, epsilon),
            )

        for epsilon in (0.0, 0.3, 0.9):
            every = family_delta(first, second, law, epsilon)
            assert family_delta(first, second, law, epsilon, bound=worst) == every
