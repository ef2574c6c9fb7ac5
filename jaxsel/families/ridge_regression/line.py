"""Private regression on the line, with bins of the coefficient as events, for audits."""

import itertools
from typing import Annotated

import jax.numpy as jnp
import numpy as np

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
from jaxsel.host.errors import InputError, check_finite, check_params
from jaxsel.language.base import FiniteLaw, Mechanism, factory, outcome_itself
from jaxsel.language.domains import choice

_RELEASES = {
    "output_perturbation": output_perturbation,
    "balanced_posterior_sampling": balanced_posterior_sampling,
    "posterior_sampling_ptr": posterior_sampling_ptr,
    "tuned_posterior_sampling": tuned_posterior_sampling,
}


def _line(problem: Ridge) -> laws.Line:
    """The sums of squares and products of a problem with one feature."""
    square, cross = float(problem.eigenvalues[0]), float(problem.moment[0])
    # The single eigenvector is 1 or -1.
    return laws.Line(square, cross * float(problem.basis[0, 0]), problem.records)


@factory
def binned_coefficient(release: Annotated[str, choice(_RELEASES)]) -> Mechanism:
    """A private regression in one dimension; its event is the bin of the coefficient.

    Args:
      release: name of the mechanism.

    Data: that of the mechanism, with one feature.
    Params: those of the mechanism, and "edges" of the bins, increasing; bin i holds
      edges[i-1] <= coefficient < edges[i].
    Outcome, event: the number of the bin; last, that nothing is released.
    """
    inner = _RELEASES[release]()

    def split(params):
        check_params(params, ("edges",), tuple(params))
        edges = check_finite("edges", params["edges"])
        if edges.ndim != 1 or np.any(np.diff(edges) <= 0.0):
            raise InputError("edges must be a strictly increasing list of numbers")
        return edges, {name: params[name] for name in params if name != "edges"}

    def prepare(data, params):
        edges, rest = split(params)
        prepared, numbers = inner.prepare(data, rest)
        if prepared["solution" if "solution" in prepared else "moment"].size != 1:
            raise InputError("features has several columns; a line has one")
        return prepared, {"edges": edges, "inner": numbers}

    def sample(key, data, params):
        outcome = inner.sample(key, data, params["inner"])
        edges = jnp.asarray(params["edges"])
        found = jnp.searchsorted(edges, outcome.coefficients[0], side="right")
        regularisations = data["grid"].shape[-1] if "grid" in data else 1
        nothing = outcome.label == regularisations
        return jnp.where(nothing, edges.size + 1, found).astype(jnp.int32)

    def labels(data, params):
        del data
        bounds = ["-inf", *(f"{edge:g}" for edge in split(params)[0]), "inf"]
        names = (f"[{low}, {high})" for low, high in itertools.pairwise(bounds))
        return (*names, "nothing")

    def law(data, params) -> FiniteLaw:
        edges, rest = split(params)
        problem = ridge_of(data, rest)
        if release == "posterior_sampling_ptr":
            run = calibrate_run(rest["epsilon"], rest["delta"])
            found = laws.run_law(run, _line(problem), rest["regularisation"], edges)
        elif release == "tuned_posterior_sampling":
            found = _tuned_law(problem, inner.prepare(data, rest)[0], rest, edges)
        else:
            prepared, _ = inner.prepare(data, rest)
            mean = prepared["basis"][0, 0] * prepared["solution"][0]
            found = laws.gaussian_bins(edges, mean, prepared["deviation"][0])
            found = np.append(found, 0.0)
        return FiniteLaw(found, labels(data, params))

    return Mechanism(prepare, sample, outcome_itself, labels, law, inner.resolution)


def _tuned_law(problem: Ridge, prepared, params, edges: np.ndarray) -> np.ndarray:
    """``tuned_run_law`` of what the mechanism has prepared."""
    tuned, validation = params["calibration"], prepared["validation"]
    sums = laws.Line(
        float(validation["square"][0, 0]), float(problem.basis[0, 0] * validation["cross"][0]), 0
    )
    scores = (sums, float(validation["deviation"]))
    return laws.tuned_run_law(
        tuned.run, _line(problem), prepared["grid"], tuned.repetitions, scores, edges
    )
