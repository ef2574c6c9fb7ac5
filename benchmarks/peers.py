"""Samplers of other libraries, called in a loop, since they have no batched form."""

import importlib
import importlib.metadata
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import Sampler

_BLOCK = 64


class Unavailable(Exception):
    """The library is not installed here, or cannot be imported."""


def _looped(once: Callable[[], int], law: np.ndarray) -> Sampler:
    def run(trials: int) -> np.ndarray:
        winners = [once() for _ in range(trials)]
        return np.bincount(winners, minlength=law.size)

    return Sampler(run, _BLOCK, law)


def imported(name: str) -> Any:
    """A module of another library.

    Raises:
      Unavailable: if it is not installed, or cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Unavailable(f"{name.split('.')[0]} is not installed ({error})") from None
    except ImportError as error:
        raise Unavailable(f"{name} cannot be imported ({error})") from None


def opendp_noisy_max(scores: np.ndarray, law: np.ndarray) -> tuple[Sampler, str]:
    """OpenDP's make_noisy_max with Gumbel noise at scale 1, and a remark on the version.

    Raises:
      Unavailable: if it is not installed.
    """
    dp = imported("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=scores.size)
    # Under zero-concentrated DP the noise of make_noisy_max is Gumbel.
    release = dp.m.make_noisy_max(
        domain, dp.linf_distance(T=float), dp.zero_concentrated_divergence(), scale=1.0
    )
    values = [float(score) for score in scores]
    version = importlib.metadata.version("opendp")
    return _looped(lambda: release(values), law), f"OpenDP {version}, secure noise"


def opendp_noisy_top_k(counts: np.ndarray, k: int) -> tuple[Callable[[], np.ndarray], str]:
    """OpenDP's make_noisy_top_k with Gumbel noise at scale 1, and a remark on the version.

    Returns:
      A function that makes one release, and the remark.

    Raises:
      Unavailable: if it is not installed, or too old to have it.
    """
    dp = imported("opendp.prelude")
    version = importlib.metadata.version("opendp")
    if not hasattr(dp.m, "make_noisy_top_k"):
        raise Unavailable(f"opendp {version} has no make_noisy_top_k")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=counts.size)
    release = dp.m.make_noisy_top_k(
        domain, dp.linf_distance(T=float), dp.zero_concentrated_divergence(), k=k, scale=1.0
    )
    values = [float(count) for count in counts]
    return lambda: np.asarray(release(values)), f"OpenDP {version}, secure noise"


def diffprivlib_exponential(scores: np.ndarray, law: np.ndarray) -> tuple[Sampler, str]:
    """diffprivlib's Exponential with the law of Gumbel noise at scale 1.

    Raises:
      Unavailable: if it is not installed, or cannot be imported beside scikit-learn.
    """
    mechanisms, note = diffprivlib_mechanisms()
    # Its law is exp(epsilon u / 2 sensitivity).
    mechanism = mechanisms.Exponential(
        epsilon=2.0, sensitivity=1.0, utility=[float(score) for score in scores]
    )
    version = importlib.metadata.version("diffprivlib")
    return _looped(mechanism.randomise, law), f"diffprivlib {version}{note}"


def diffprivlib_mechanisms() -> tuple[Any, str]:
    """The module diffprivlib.mechanisms, and a remark if its models had to be left out.

    Raises:
      Unavailable: if it is not installed, or cannot be imported.
    """
    try:
        return imported("diffprivlib.mechanisms"), ""
    except Unavailable:
        return _without_models(), ", imported without its diffprivlib.models"


def _without_models():
    """The mechanisms without the scikit-learn models that break the import.

    diffprivlib 0.6.6 imports names that scikit-learn has since removed; its mechanisms
    do not need them.
    """
    name = "diffprivlib.models"
    for loaded in [key for key in sys.modules if key.split(".")[0] == "diffprivlib"]:
        del sys.modules[loaded]
    sys.modules[name] = types.ModuleType(name)
    try:
        return imported("diffprivlib.mechanisms")
    finally:
        sys.modules.pop(name, None)
