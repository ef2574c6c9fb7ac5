"""Private regression on the line, its coefficient told apart by bins: what is audited."""

import jax.numpy as jnp
import numpy as np

from jaxsel.base import FiniteLaw, Mechanism, factory, outcome_itself
from jaxsel.errors import check_choice
from jaxsel.families.ridge_regression import laws
from jaxsel.families.ridge_regression.baselines import (
    balanced_posterior_sampling,
    output_perturbation,
)
from jaxsel.families.ridge_regression.linear_regression import Ridge, ridge_of
from jaxsel.families.ridge_regression.posterior import (
    posterior_sampling_ptr,
    tuned_posterior_sampling,
)
from jaxsel.families.ridge_regression.settings import calibrate_run

_RELEASES = {
    "output_perturbation": output_perturbation,
    "balanced_posterior_sampling": balanced_posterior_sampling,
    "posterior_sampling_ptr": posterior_sampling_ptr,
    "tuned_posterior_sampling": tuned_posterior_sampling,
}


def _line(problem: Ridge) -> laws.Line:
    square, cross = float(problem.eigenvalues[0]), float(problem.moment[0])
    # The one eigenvector of the line is 1 or -1.
    return laws.Line(square, cross * float(problem.basis[0, 0]), problem.records)


@factory
def binned_coefficient(release: str, edges: tuple[float, ...]) -> Mechanism:
    """A private regression in one dimension; its event is the bin of the coefficient.

    Args:
      release: name of the mechanism: "output_perturbation",
        "balanced_posterior_sampling", "posterior_sampling_ptr" or
        "tuned_posterior_sampling".
      edges: of the bins, increasing; bin i holds edges[i-1] <= coefficient < edges[i].

    Data, params, outcome: those of the mechanism; one feature.
    Event: the bin, "nothing" last.
    """
    check_choice("release", release, tuple(_RELEASES))
    inner = _RELEASES[release]()
    cuts = np.asarray(edges, dtype=np.float64)
    bounds = ["-inf", *(f"{edge:g}" for edge in edges), "inf"]
    names = tuple(
        f"[{low}, {high})" for low, high in zip(bounds[:-1], bounds[1:], strict=True)
    )

    def sample(key, data, params):
        outcome = inner.sample(key, data, params)
        grid = data["grid"].shape[-1] if "grid" in data else 1
        found = jnp.searchsorted(
            jnp.asarray(cuts), outcome.coefficients[0], side="right"
        )
        found = jnp.where(outcome.label == grid, len(names), found)
        return found.astype(jnp.int32)

    def labels(data, params):
        del data, params
        return (*names, "nothing")

    def law(data, params) -> FiniteLaw:
        problem = ridge_of(data, params)
        if release == "posterior_sampling_ptr":
            run = calibrate_run(params["epsilon"], params["delta"])
            found = laws.run_law(run, _line(problem), params["regularisation"], cuts)
        elif release == "tuned_posterior_sampling":
            found = _tuned_law(problem, inner.prepare(data, params)[0], params, cuts)
        else:
            prepared, _ = inner.prepare(data, params)
            mean = prepared["basis"][0, 0] * prepared["solution"][0]
            found = laws.gaussian_bins(cuts, mean, prepared["deviation"][0])
            found = np.append(found, 0.0)
        return FiniteLaw(found, labels(data, params))

    return Mechanism(
        inner.prepare, sample, outcome_itself, labels, law, inner.resolution
    )


def _tuned_law(problem: Ridge, prepared, params, cuts: np.ndarray) -> np.ndarray:
    tuned, validation = params["calibration"], prepared["validation"]
    sums = laws.Line(
        float(validation["square"][0, 0]),
        float(problem.basis[0, 0] * validation["cross"][0]),
        0,
    )
    scores = (sums, float(validation["deviation"]))
    return laws.tuned_run_law(
        tuned.run, _line(problem), prepared["grid"], tuned.repetitions, scores, cuts
    )
