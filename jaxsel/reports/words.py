"""Describes numbers, bases, laws of K and theorems in the terms of a paper."""

import decimal
import re
from collections.abc import Sequence

from jaxsel.catalogue import find_claim
from jaxsel.host.errors import InputError
from jaxsel.language.relations import RELATIONS
from jaxsel.repetitions import Repetitions
from jaxsel.tuning.base_forms import read_joined
from jaxsel.tuning.composing_searches import Release

_REFERENCES = {
    "Papernot & Steinke 2022": "N. Papernot and T. Steinke. Hyperparameter Tuning with "
    "Rényi Differential Privacy. ICLR 2022.",
    "Koskela, Redberg & Wang 2024": "A. Koskela, R. Redberg and Y.-X. Wang. Privacy "
    "Profiles for Private Selection. ICML 2024.",
    "Cohen, Lyu, Nelson, Sarlos & Stemmer 2022": "E. Cohen, X. Lyu, J. Nelson, T. Sarlós "
    "and U. Stemmer. Generalized Private Selection and Testing with High Confidence. "
    "arXiv:2211.12063, 2022.",
    "Cohen et al. 2022": "E. Cohen, X. Lyu, J. Nelson, T. Sarlós and U. Stemmer. "
    "Generalized Private Selection and Testing with High Confidence. arXiv:2211.12063, "
    "2022.",
    "Mironov 2017": "I. Mironov. Rényi Differential Privacy. CSF 2017.",
    "Dwork & Roth 2014": "C. Dwork and A. Roth. The Algorithmic Foundations of "
    "Differential Privacy. 2014.",
    "jaxsel": "jaxsel: docs/envelope.md, docs/priced.md and docs/composition.md have the proofs.",
}
"""Full bibliographic references of the sources of theorems."""

_BASES = {
    "dp_sgd": "DP-SGD with Poisson subsampling",
    "gaussian": "the Gaussian mechanism",
    "laplace": "the Laplace mechanism",
    "gdp": "a Gaussian-differentially private algorithm",
    "zcdp": "a zero-concentrated differentially private algorithm",
    "pure": "a purely differentially private algorithm",
    "approximate": "an (ε, δ)-differentially private algorithm",
    "points": "an algorithm with these (ε, δ) guarantees",
    "opacus": "DP-SGD by the history of an Opacus accountant",
    "randomised_response": "randomised response",
}
_LONGEST = 160  # the largest number of letters of a base's parameters


def rounded_up(number: float, digits: int = 3) -> float:
    """The number, rounded up to so many significant digits."""
    nearest = float(f"{number:.{digits}g}")
    if nearest == number:  # a decimal such as 0.001 is not exact in binary, and is kept as written
        return nearest
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
    return float(context.create_decimal(decimal.Decimal(number)))


def percent(rate: float) -> str:
    """A rate in [0, 1] as a percentage, rounded up to three significant digits."""
    return f"{min(rounded_up(100.0 * rate), 100.0):g}\u00a0%"


def base_words(name: str) -> str:
    """Describes one run in words, given its base as text, as on the command line."""
    parts = read_joined(name)
    if parts != [(name.strip(), 1)]:
        return " and ".join(
            ("" if times == 1 else f"{times} times ") + base_words(part) for part, times in parts
        )
    family, _, rest = name.partition(":")
    if family not in _BASES or not rest:
        return name
    values = rest.replace(",", ", ")
    if family not in ("points", "opacus"):
        values = values.replace("_", " ").replace("=", " = ")
    values = re.sub(
        r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.])", lambda found: f"{float(found[0]):.6g}", values
    )
    if len(values) > _LONGEST:
        values = values[: _LONGEST - 1] + "…"
    return f"{_BASES[family]} ({values})"


def law_words(law: Repetitions) -> str:
    """Describes the law of K."""
    if law.inner is not None:
        return f"{law_words(law.inner)}, {law.family} = {law.parameters['maximum']:g}"
    mean, values = f"mean {law.mean:.6g}", law.parameters
    match law.family:
        case "truncated_negative_binomial":
            eta = values["eta"]
            name = {0.0: "logarithmic", 1.0: "geometric"}.get(
                eta, f"truncated negative binomial (η = {eta:g})"
            )
            return f"{name} with {mean}"
        case "point_mass":
            return f"always {law.mean:g}"
        case "poisson":
            return f"Poisson with {mean}"
        case "binomial":
            return f"binomial of {values['count']:g} with {mean}"
        case "beta_binomial":
            return f"beta-binomial (τ = {values['count']:g}, γ = {values['gamma']:g}) with {mean}"
        case "pmf":
            return f"a table of {len(values)} values with {mean}"
    return f"{law.family.replace('_', ' ')} with {mean}"


def release_words(release: Release) -> str:
    """Describes a release."""
    base, law, times = release
    one = base_words(base.name)
    found = f"one run of {one}"
    if law is not None:
        found = f"the best of K runs of {one}, K {law_words(law)}"
    return found if times == 1 else f"{times} times {found}"


def relation_words(relation: str | None) -> str:
    """Describes a neighbouring relation."""
    if relation is None:
        return "those that the sensitivity of the base is meant for"
    return RELATIONS[relation]


def theorem_words(theorem: str, statement: str) -> tuple[str, str]:
    """The citation and the statement of the theorem that proves a bound.

    Args:
      theorem: its id, as ``ProvenEpsilon.theorem``.
      statement: the citation of a theorem that is no claim of the catalogue; such a theorem has an
        empty statement.
    """
    name = theorem.removeprefix("PS-Lem20+")
    try:
        claim = find_claim(name)
        source, text = claim.source, claim.statement
    except InputError:
        source, text = statement, ""
    if name != theorem:
        source = f"Papernot & Steinke 2022, Lemma 20, and {source}"
    for ascii_sign, sign in (("<=", "≤"), (">=", "≥")):
        text = text.replace(ascii_sign, sign)
    return source.replace("this project", "jaxsel"), text


def references(source: str) -> tuple[str, ...]:
    """The full bibliographic references of the works that a citation names."""
    found = [text for name, text in _REFERENCES.items() if name in source]
    return tuple(dict.fromkeys(found))


def listed(parts: Sequence[str]) -> str:
    """Joins parts with semicolons, and "and" before the last one."""
    if len(parts) < 2:
        return "".join(parts)
    return "; ".join(parts[:-1]) + "; and " + parts[-1]
