"""Samplers against their exact laws."""

from jaxsel.host.intervals import goodness_of_fit
from jaxsel.kernel.engine import simulate_grid
from tests.conftest import ALPHA


def check_fit(mechanism, cells, seed, trials=100_000) -> None:
    """Checks that the outcomes of a sampler follow the exact law, and that the check has power."""
    found = simulate_grid(mechanism, cells, trials=trials, seed=seed, progress=False)
    for tallies, cell in zip(found.values, cells, strict=True):
        exact = mechanism.law(*cell).probabilities
        assert goodness_of_fit(tallies, exact / exact.sum()) > ALPHA
        # Power: a law with 0.02 of the mass moved from the likeliest outcome is rejected.
        wrong = exact.copy()
        best = wrong[:-1].argmax()
        wrong[best] -= 0.02
        wrong[(best + 1) % (wrong.size - 1)] += 0.02
        assert goodness_of_fit(tallies, wrong / wrong.sum()) < ALPHA
