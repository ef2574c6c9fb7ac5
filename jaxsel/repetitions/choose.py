"""A law of K from its family and mean, or from a line of text."""

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from jaxsel.host.errors import InputError
from jaxsel.language.domains import Domain, nearest, number
from jaxsel.language.signature import parameters
from jaxsel.repetitions import files
from jaxsel.repetitions.counts import beta_binomial, binomial, point_mass, poisson
from jaxsel.repetitions.negative_binomial import (
    excess_mean,
    geometric,
    logarithmic,
    truncated_negative_binomial,
)
from jaxsel.repetitions.parameters import SMALLEST_GAMMA
from jaxsel.repetitions.record import Repetitions
from jaxsel.repetitions.restricted import CAPPED, CONDITIONED, capped, conditioned
from jaxsel.repetitions.table import pmf

# At gamma = 1 there is exactly one run; gammas above this bound are numerically the same.
_NEXT_TO_ONE = 1.0 - 2.0**-53


def _gamma_from_mean(eta: float, mean: float) -> float:
    """The gamma for which D(eta, gamma) has this mean; E[K] decreases in gamma."""
    if mean < 1.0:
        raise InputError(
            f"mean is {mean:g}; a truncated negative binomial law runs at least once, "
            "so its mean is >= 1"
        )
    if mean == 1.0:
        return _NEXT_TO_ONE
    if eta == 1.0 and 1.0 / mean >= SMALLEST_GAMMA:
        return 1.0 / mean
    excess = mean - 1.0

    def too_large(log_of_log: float) -> float:
        # as a function of log L, L = log(1/gamma)
        return math.log(excess_mean(eta, math.exp(log_of_log)) / excess)

    low, high = math.log(1e-16), math.log(-math.log(SMALLEST_GAMMA))
    if too_large(high) < 0:
        raise InputError(
            f"mean is {mean:g}; with eta={eta:g} the mean stays below "
            f"{1.0 + excess_mean(eta, math.exp(high)):.3g} for every gamma >= "
            f"{SMALLEST_GAMMA:g}, so lower the mean or raise eta"
        )
    if too_large(low) > 0:
        return _NEXT_TO_ONE
    from scipy import optimize  # imported where it is needed: it takes long, and few need it

    root = optimize.brentq(too_large, low, high, xtol=1e-15)
    return min(math.exp(-math.exp(root)), _NEXT_TO_ONE)  # type: ignore[arg-type]


def _negative_binomial_from_mean(mean: float, eta: float) -> Repetitions:
    law = truncated_negative_binomial(eta, _gamma_from_mean(eta, mean))
    if abs(law.mean / mean - 1.0) > 1e-9:
        raise InputError(
            f"mean is {mean:g}; with eta={eta:g} the nearest mean of a float64 gamma "
            f"is {law.mean:.12g}, so lower eta (its limit is the Poisson law)"
        )
    return law


def _binomial_from_mean(mean: float, count: int) -> Repetitions:
    largest = binomial(count, 1.0).mean  # checks count
    mean = number(above=0.0, at_most=largest).read("mean", mean)
    return binomial(count, mean / largest)


def _beta_binomial_from_mean(mean: float, count: int) -> Repetitions:
    largest = point_mass(count).mean  # checks count
    mean = number(above=0.0, below=largest).read("mean", mean)
    return beta_binomial(count, mean / (largest - mean))


class _Family(NamedTuple):
    """How to make a law of a family, from its parameters or from its mean.

    Attributes:
      factory: makes the law from the parameters that its signature declares.
      with_mean: makes it from E[K], and from the parameters in ``fixed``.
      fixed: names of the parameters that must be given beside the mean.
    """

    factory: Callable[..., Repetitions]
    with_mean: Callable[..., Repetitions]
    fixed: tuple[str, ...] = ()

    @property
    def parameters(self) -> Mapping[str, Domain]:
        return parameters(self.factory)


_FACTORIES: Mapping[str, _Family] = {
    "point_mass": _Family(point_mass, point_mass),
    "geometric": _Family(geometric, lambda m: _negative_binomial_from_mean(m, 1.0)),
    "logarithmic": _Family(logarithmic, lambda m: _negative_binomial_from_mean(m, 0.0)),
    "truncated_negative_binomial": _Family(
        truncated_negative_binomial, _negative_binomial_from_mean, ("eta",)
    ),
    "poisson": _Family(poisson, poisson),
    "binomial": _Family(binomial, _binomial_from_mean, ("count",)),
    "beta_binomial": _Family(beta_binomial, _beta_binomial_from_mean, ("count",)),
}
_ALIASES = {"tnb": "truncated_negative_binomial"}
_MEAN = parameters(poisson)["mean"]
_RESTRICTIONS = {"conditioned": conditioned, "capped": capped}
_LIMITS = {"conditioned": CONDITIONED, "capped": CAPPED}
_TABLE, _FILE = "pmf", "file"
FAMILIES = (*_FACTORIES, _TABLE, *_RESTRICTIONS)
_PROBABILITY = number("P[K = count], one for each count", at_least=0.0, at_most=1.0)
_CALL = re.compile(r"^\s*(\w+)\s*\((.*)\)\s*$", re.DOTALL)


def family_parameters(family: str) -> Mapping[str, Domain]:
    """The domains of all parameters of a family in the text of a law.

    Raises:
      InputError: for an unknown family.
    """
    if family == _TABLE:
        return {"COUNT": _PROBABILITY, **_LIMITS}
    return {**_family(family)[1].parameters, "mean": _MEAN, **_LIMITS}


def all_parameters() -> Mapping[str, Domain]:
    """The domains of the parameters of all families together."""
    found: dict[str, Domain] = {}
    for family in _FACTORIES:
        for name, domain in family_parameters(family).items():
            # If families differ, any value passes here and the factories check it.
            same = found.setdefault(name, domain).describe() == domain.describe()
            found[name] = domain if same else number(domain.help)
    return found


def _usage(name: str) -> str:
    family = _FACTORIES[name]
    direct = ", ".join(family.parameters)
    by_mean = ", ".join((*family.fixed, "mean"))
    return direct if direct == by_mean else f"{direct}; or {by_mean}"


def _family(name: str) -> tuple[str, _Family]:
    name = _ALIASES.get(name, name)
    if name not in _FACTORIES:
        raise InputError(
            f"the law of K is {name!r}"
            f"{_fixed_hint(name) or nearest(name, (*_FACTORIES, *_ALIASES))}; it must be "
            f"one of: {', '.join((*_FACTORIES, *_ALIASES))}, {_TABLE}, {_FILE}"
        )
    return name, _FACTORIES[name]


def from_mean(family: str, mean: float, **fixed: float) -> Repetitions:
    """The law of a family with E[K] = mean.

    Args:
      family: "point_mass", "geometric", "logarithmic", "truncated_negative_binomial",
        "poisson", "binomial" or "beta_binomial".
      mean: E[K], in base runs.
      **fixed: eta for "truncated_negative_binomial"; count for "binomial" and
        "beta_binomial"; nothing for the others.

    Raises:
      InputError: if the family is unknown, a parameter is missing or unknown, or no law
        of the family has this mean.
    """
    name, entry = _family(family)
    if set(fixed) != set(entry.fixed):
        needed = ", ".join(entry.fixed) or "nothing else"
        given = ", ".join(fixed) or "nothing"
        raise InputError(f"{name} by its mean needs {needed} beside the mean; {given} was given")
    mean = _MEAN.read("mean", mean)
    if name == "point_mass" and mean != math.floor(mean):
        raise InputError(f"mean is {mean}; a fixed number of runs is a whole number >= 1")
    given = {key: entry.parameters[key].read(key, value) for key, value in fixed.items()}
    return entry.with_mean(mean, **given)


def parse(text: str) -> Repetitions:
    """A law from text: "geometric:mean=10", "tnb(eta=0.5, gamma=0.01)", "pmf:1=0.2,3=0.8".

    After the family's own parameters, or the mean and the parameters that it leaves open,
    ``conditioned=M`` and ``capped=M`` restrict the law, in the order given. "file:PATH"
    reads it from a file (``jaxsel.repetitions.save``).

    Raises:
      InputError: if the text does not name one law; the message says what is allowed.
    """
    if call := _CALL.match(text):
        text = f"{call[1]}:{call[2]}"
    head, _, tail = text.strip().partition(":")
    name = head.strip()
    if name == _FILE:
        return files.read(tail.strip(), parse)
    if name == _TABLE:
        law, restrictions = _table(text, _items(text, tail, "COUNT=PROBABILITY, ..."))
    else:
        name, entry = _family(name)
        law, restrictions = _of_family(name, entry, text, _items(text, tail, _usage(name)))
    for key, value in restrictions.items():
        law = _RESTRICTIONS[key](law, value)  # type: ignore[arg-type]
    return law


def as_law(repetitions: Repetitions | str) -> Repetitions:
    """Returns a law unchanged, and parses a text."""
    if isinstance(repetitions, Repetitions):
        return repetitions
    if isinstance(repetitions, str):
        return parse(repetitions)
    raise InputError(
        f"the law of K is {repetitions!r}{_fixed_hint(str(repetitions))}; it must be a "
        "law of jaxsel.repetitions or its text, such as geometric:mean=10"
    )


def _fixed_hint(text: str) -> str:
    """A hint to use point_mass if a number was given in place of a law."""
    try:
        count = float(text)
    except ValueError:
        return ""
    if not (count >= 1.0 and count.is_integer()):
        return ""
    return f"; did you mean point_mass:count={count:.0f}?"


def _items(text: str, tail: str, usage: str) -> dict[str, str]:
    """The parameters after the colon, by name."""
    written: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in tail.split(","))):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or key in written:
            name = text.partition(":")[0].strip()
            raise InputError(
                f"{item!r} in {_shortened(text)!r} must be one name=number; {name} takes {usage}"
            )
        written[key] = value
    return written


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _restrictions(written: dict[str, str]) -> dict[str, float]:
    """Removes the restrictions from the parameters and returns them."""
    return {
        key: _LIMITS[key].read(key, written.pop(key)) for key in [*written] if key in _RESTRICTIONS
    }


def _table(text: str, written: dict[str, str]) -> tuple[Repetitions, dict[str, float]]:
    restrictions = _restrictions(written)
    table = {}
    for key, value in written.items():
        if not key.isdecimal():
            raise InputError(
                f"{key!r} in {_shortened(text)!r} is no count; write pmf:1=0.2,3=0.8 with "
                f"whole numbers, and optionally {' or '.join(_RESTRICTIONS)}"
            )
        table[int(key)] = _PROBABILITY.read(f"P[K = {key}]", value)
    if len(table) < len(written):
        raise InputError(f"{_shortened(text)!r} has a count twice")
    if not table:
        raise InputError("pmf has no probabilities; write pmf:1=0.2,3=0.8")
    return pmf(table), restrictions


def _of_family(
    name: str, entry: _Family, text: str, written: dict[str, str]
) -> tuple[Repetitions, dict[str, float]]:
    known = family_parameters(name)
    unknown = [key for key in written if key not in known]
    if unknown:
        raise InputError(
            f"{name} has no parameter {unknown[0]!r}{nearest(unknown[0], known)}; it "
            f"takes {_usage(name)}; and optionally {' or '.join(_RESTRICTIONS)}"
        )
    restrictions = _restrictions(written)
    values = {key: known[key].read(key, value) for key, value in written.items()}
    if set(values) == set(entry.parameters):
        return entry.factory(**values), restrictions
    if set(values) == {*entry.fixed, "mean"}:
        return from_mean(name, **values), restrictions
    given = ", ".join(values) or "no parameters"
    raise InputError(
        f"{text!r} gives {given}; {name} takes {_usage(name)}; and optionally "
        f"{' or '.join(_RESTRICTIONS)}"
    )
