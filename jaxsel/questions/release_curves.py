"""What is known of one release of a mechanism besides a pure epsilon: Renyi curves."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from jaxsel.accounting.single_run.closed_forms import gaussian_epsilon
from jaxsel.families.noisy_max.bounds import all_scores_multiplier, noisy_max_guarantee
from jaxsel.families.noisy_max.composition_bounds import MOST_ROUNDS, dominated_composition_epsilon
from jaxsel.families.noisy_max.laws import noisy_max_scale
from jaxsel.families.top_k.baselines import labels_renyi
from jaxsel.families.top_k.curves import (
    ApproximateRenyiCurve,
    fixed_top_k_curve,
    gap_test_curve,
    peeled_curve,
    stable_top_k_curve,
    stable_top_k_variant_curve,
)
from jaxsel.families.top_k.scales import (
    fixed_peel_scale,
    fixed_top_k_scale,
    largest_gap_scale,
    peel_scale,
    stable_top_k_scales,
)
from jaxsel.host.errors import InputError
from jaxsel.language.base import Relation
from jaxsel.language.entry import Values

_LEAST_DELTA = 1e-11  # the least delta at which composed profiles are exact enough


class KnownCurve(NamedTuple):
    """The Renyi curve of one release.

    Attributes:
      curve: the curve, which may fail with a small probability.
      theorem: the claims and papers that prove it.
      relation: the neighbours it holds for; None for those of the mechanism's pairs.
      scales: the scales of the noise that is drawn, by name.
      profile: (releases, delta) -> epsilon of that many, without Renyi divergences.
      profile_theorem: the theorem that proves the profile.
    """

    curve: ApproximateRenyiCurve
    theorem: str
    relation: Relation | None = None
    scales: Mapping[str, float] = MappingProxyType({})
    profile: Callable[[int, float], float] | None = None
    profile_theorem: str = ""


def _noise_params(values: Values, *names: str) -> dict[str, Any]:
    """The settings that determine the noise: those of the given names that have values.

    Raises:
      KeyError: if none is.
    """
    found = {name: values[name] for name in names if name in values}
    if not found:
        raise KeyError(names[0])
    return found


def _noisy_max(values: Values) -> KnownCurve | None:
    if values["noise"] == "gaussian" and "noise_scale" not in values:
        return None  # an epsilon does not determine the scale of this noise
    relation = Relation(values["relation"])
    params = _noise_params(values, "epsilon", "noise_scale")
    scale = noisy_max_scale(params, relation)
    shown = {"noise_scale": scale}
    if values["noise"] == "gumbel":
        kind = "" if relation is Relation.GENERAL else "-monotone"
        theorem = f"NM-gumbel{kind}-zCDP, sharpened as ZW-Prop7-sharp"
        # With this noise the winner is drawn by the exponential mechanism.
        return KnownCurve(peeled_curve(scale, 1, relation), theorem, None, shown)
    if values["noise"] == "gaussian":
        return _gaussian_maximum(scale, values["scores"].size, relation, shown)
    return None


def _gaussian_maximum(
    scale: float, candidates: int, relation: Relation, shown: Mapping[str, float]
) -> KnownCurve:
    """Noisy max with Gaussian noise; its profile is also bounded as that of one Gaussian."""
    m = max(candidates, 2)
    one = noisy_max_guarantee("gaussian", scale, m, relation)
    whole = all_scores_multiplier(scale, m, relation)

    def profile(releases: int, delta: float) -> float:
        if delta == 0.0:
            return math.inf
        found = gaussian_epsilon(delta, whole / math.sqrt(releases))
        if delta < _LEAST_DELTA or releases > MOST_ROUNDS:
            return found
        with np.errstate(over="ignore"):
            return min(found, dominated_composition_epsilon(delta, one, releases))

    curve = ApproximateRenyiCurve(one.renyi)
    theorems = "KRW-Thm3.1", "KRW-Thm3.3-dominated and KRW-Thm3.2-sharp"
    return KnownCurve(curve, theorems[0], None, shown, profile, theorems[1])


def _largest_gap(values: Values) -> KnownCurve | None:
    if values["noise"] == "gaussian" and "noise_scale" not in values:
        return None
    params = _noise_params(values, "epsilon", "noise_scale")
    scale = largest_gap_scale(params, values["noise"])
    shown = {"noise_scale": scale}
    if values["noise"] == "gumbel":
        # Gaps move in any direction.
        curve = peeled_curve(scale, 1, Relation.GENERAL)
        return KnownCurve(curve, "ZW-Prop7-sharp", None, shown)
    if values["noise"] != "gaussian":
        return None
    # Every gap moves by at most 1, in its own direction.
    return _gaussian_maximum(scale, _sizes(values), Relation.GENERAL, shown)


def _sizes(values: Values) -> int:
    """How many sizes compete: one for each gap, or ``max_size`` if that is less."""
    gaps = values["histogram"].size - 1
    return min(values.get("max_size", gaps), gaps)


def _stable_top_k(values: Values) -> KnownCurve | None:
    selection, test = values["selection"], values["test"]
    if "rho" in values:
        if (selection, test) != ("gumbel", "gaussian"):
            return None  # rho sets the scales of these two noises alone
        curve = stable_top_k_curve(values["rho"], values["delta_t"], as_zcdp=False)
        scales = stable_top_k_scales({"rho": values["rho"]})
        theorem = "ZW-Thm11-zCDP, sharpened as ZW-Prop7-sharp"
    else:
        scales = values["selection_scale"], values["test_scale"]
        curve = stable_top_k_variant_curve(
            *scales,
            values["delta_t"],
            _sizes(values) + 1,
            selection=selection,
            test=test,
            sharp=True,
        )
        theorem = f"ZW-Thm8 and ZW-Cor19-{test.capitalize()}, composed"
    shown = {"selection_scale": scales[0], "test_scale": scales[1]}
    return KnownCurve(curve, theorem, None, shown)


def _fixed_top_k(values: Values) -> KnownCurve:
    rho = values["rho"]
    scale = fixed_top_k_scale(rho)
    shown = {
        "selection_scale": scale,
        "test_scale": scale,
        "peeling_scale": fixed_peel_scale(rho, values["k"]),
    }
    curve = fixed_top_k_curve(rho, values["delta_t"])
    return KnownCurve(curve, "ZW-Thm12-zCDP", None, shown)


def _test_release(values: Values) -> KnownCurve:
    scale, test = values["noise_scale"], values["test"]
    curve = gap_test_curve(scale, values["delta_t"], noise=test)
    theorem = f"ZW-Cor19-{test.capitalize()}"
    return KnownCurve(curve, theorem, None, {"noise_scale": scale})


def _exponential_top_k(values: Values) -> KnownCurve | None:
    relation = Relation(values["relation"])
    if "noise_scale" not in values:
        return None  # rho sets the scale by zCDP alone; the sharper curve is for a given scale
    params = {"noise_scale": values["noise_scale"]}
    scale = peel_scale(params, values["k"], relation)
    curve = peeled_curve(scale, values["k"], relation)
    kind = "-general" if relation is Relation.GENERAL else ""
    return KnownCurve(curve, f"BASE-EM-sharp{kind}", relation, {"noise_scale": scale})


def _noisy_labels(values: Values) -> KnownCurve:
    """One more teacher moves the votes of each of m labels by at most 1: sqrt(m) in l2."""
    scale, labels = values["noise_scale"], values["votes"].size

    def renyi(order: np.ndarray) -> np.ndarray:
        return labels_renyi(order, scale, labels)

    def profile(releases: int, delta: float) -> float:
        if delta == 0.0:
            return math.inf
        # One Gaussian mechanism: the Renyi divergence of order 1 of a release is mu^2/2.
        mu = math.sqrt(2.0 * releases * float(renyi(np.asarray(1.0))))
        return gaussian_epsilon(delta, 1.0 / mu)

    return KnownCurve(
        ApproximateRenyiCurve(renyi),
        "BASE-PATE",
        None,
        {"noise_scale": scale},
        profile,
        "BASE-PATE, as one Gaussian mechanism",
    )


_CURVES: Mapping[str, Callable[[Values], KnownCurve | None]] = {
    "noisy_max": _noisy_max,
    "largest_gap": _largest_gap,
    "stable_top_k": _stable_top_k,
    "fixed_top_k": _fixed_top_k,
    "propose_test_release": _test_release,
    "exponential_top_k": _exponential_top_k,
    "noisy_labels": _noisy_labels,
}
# Mechanisms whose pure guarantee is for other neighbours than their setting "relation" says.
BY_CURVE_ALONE = frozenset({"exponential_top_k"})


def has_curve(name: str) -> bool:
    """Whether a Renyi curve of the mechanism of that name is known at some settings."""
    return name in _CURVES


def known_curve(name: str, values: Values) -> KnownCurve | None:
    """The Renyi curve of one release of the mechanism of that name, if one is known."""
    try:
        make = _CURVES.get(name)
        return None if make is None else make(values)
    except KeyError as missing:
        raise InputError(f"{name} needs a value of {missing}") from None
