"""Sweeps as a picture receives them, made by hand with numbers from simple formulas."""

import json

import numpy as np
import xarray as xr


def dataset(coordinates, variables, **attributes) -> xr.Dataset:
    """The data set of a sweep.

    Args:
      coordinates: name -> points, or (dimension, points, attributes).
      variables: measure -> (dimensions, values, attributes); companions of measures likewise.
      **attributes: attributes of the data set, beside the usual ones.
    """
    data = {name: (dims, values) for name, (dims, values, _) in variables.items()}
    found = xr.Dataset(data, coords=coordinates)
    for name, (_, _, described) in variables.items():
        found[name].attrs |= described
    companions = ("_low", "_high", "_exact")
    measures = [name for name in variables if not name.endswith(companions)]
    return found.assign_attrs(
        {
            "measures": json.dumps(measures),
            "mechanism": "private_tuning",
            "trials": 100_000,
            "confidence": 0.95,
            "settings": json.dumps({"base": "finite", "candidates": 10}),
        }
        | attributes
    )


def estimate(dims, exact, name="success probability", trials=100_000, units="1"):
    """An estimate ``success`` that differs slightly from its exact law, with an interval."""
    exact = np.asarray(exact, dtype=float)
    error = np.sqrt(exact * (1.0 - exact) / trials) + 1e-6
    aside = np.random.default_rng(7).normal(size=exact.shape)
    value = np.clip(exact + error * aside, 0.0, 1.0)
    described = {"long_name": name, "units": units, "kind": "estimate"}
    return {
        "success": (dims, value, described),
        "success_low": (dims, np.clip(value - 2.0 * error, 0.0, 1.0), {}),
        "success_high": (dims, np.clip(value + 2.0 * error, 0.0, 1.0), {}),
        "success_exact": (dims, exact, {}),
    }


def bounds(dims, epsilon):
    """An audited lower bound with its exact loss, and two proven upper bounds."""
    epsilon = np.asarray(epsilon, dtype=float)
    kinds = {"units": "1", "quantity": "privacy loss ε"}
    audited = {"long_name": "audited ε", "kind": "lower bound"} | kinds
    return {
        "audited": (dims, 2.6 * epsilon, audited),
        "audited_exact": (dims, 2.8 * epsilon, {}),
        "theorem": (dims, 3.0 * epsilon, {"long_name": "Theorem 3", "kind": "upper bound"} | kinds),
        "envelope": (dims, 2.9 * epsilon, {"long_name": "envelope", "kind": "upper bound"} | kinds),
    }


MEANS = np.array([1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0])
LAWS = ("geometric", "poisson", "logarithmic")
EPSILONS = np.linspace(0.5, 4.0, 8)


def _success(mean, share):
    return 1.0 - np.exp(-np.asarray(mean) * np.asarray(share))


def one_axis() -> xr.Dataset:
    """Success probability by mean of K."""
    return dataset({"mean": MEANS}, estimate(("mean",), _success(MEANS, 0.03)))


def two_axes() -> xr.Dataset:
    """Success probability by mean of K and law of K, which is a word."""
    shares = np.array([0.01, 0.03, 0.06])
    success = _success(MEANS[:, None], shares)
    return dataset(
        {"mean": MEANS, "repetitions": list(LAWS)}, estimate(("mean", "repetitions"), success)
    )


def three_axes() -> xr.Dataset:
    """Success by mean, law of K and epsilon, and a mean number of runs as a second row."""
    shares = np.array([0.01, 0.03, 0.06])
    epsilon = np.array([0.5, 1.0])
    success = _success(MEANS[:, None, None], shares[:, None] * epsilon)
    variables = estimate(("mean", "repetitions", "epsilon"), success)
    runs = {"long_name": "expected runs", "units": "runs", "kind": "exact"}
    variables["runs"] = (("mean",), MEANS, runs)
    coordinates = {"mean": MEANS, "repetitions": list(LAWS), "epsilon": epsilon}
    return dataset(coordinates, variables)


def words() -> xr.Dataset:
    """Success probability by law of K, with two outcomes."""
    success = np.array([[0.1, 0.5], [0.3, 0.6], [0.35, 0.2]])
    return dataset(
        {"repetitions": list(LAWS), "outcome": ["good", "best"]},
        estimate(("repetitions", "outcome"), success),
    )


def zipped() -> xr.Dataset:
    """Mean and epsilon vary together: one dimension with two coordinates."""
    return dataset(
        {"mean": MEANS, "epsilon": ("mean", 0.1 * np.arange(1, 8))},
        estimate(("mean",), _success(MEANS, 0.03)),
    )


def heat_map() -> xr.Dataset:
    """Success probability by mean and epsilon, both with many points."""
    success = _success(MEANS[:, None], 0.02 * EPSILONS)
    coordinates = {"mean": MEANS, "epsilon": EPSILONS}
    return dataset(coordinates, estimate(("mean", "epsilon"), success))


def bounded() -> xr.Dataset:
    """An audited bound and proven bounds, by epsilon."""
    return dataset({"epsilon": EPSILONS}, bounds(("epsilon",), EPSILONS))


def bounded_by_law() -> xr.Dataset:
    """An audited bound and proven bounds, by epsilon and by three laws of K."""
    losses = EPSILONS[:, None] * np.array([1.0, 0.8, 0.5])
    coordinates = {"epsilon": EPSILONS, "repetitions": list(LAWS)}
    return dataset(coordinates, bounds(("epsilon", "repetitions"), losses))


ALL = {
    made.__name__: made
    for made in (one_axis, two_axes, three_axes, words, zipped, heat_map, bounded, bounded_by_law)
}
