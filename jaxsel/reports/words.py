"""Numbers, bases, laws of K and theorems in the words of a paper."""

import decimal
import re
from collections.abc import Sequence

from jaxsel.accounting.single_run.relations import RELATIONS
from jaxsel.catalogue import find_claim
from jaxsel.families.tuning.composing_searches import Release
from jaxsel.host.errors import InputError
from jaxsel.repetitions import Repetitions

REFERENCES = {
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
"""What the sources of theorems cite, in full."""

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
_LONGEST = 160  # of the parameters of a base, before they are cut


def upwards(number: float, digits: int = 3) -> float:
    """A number with so many digits, never below it."""
    nearest = float(f"{number:.{digits}g}")
    if nearest == number:  # 0.001 has no end in binary, and stays as it was written
        return nearest
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
    return float(context.create_decimal(decimal.Decimal(number)))


def percent(rate: float) -> str:
    """A rate as a percentage of three digits, not rounded down."""
    return f"{min(upwards(100.0 * rate), 100.0):g}\u00a0%"


def base_words(name: str) -> str:
    """One run, from the text of its base."""
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
    """How K is drawn."""
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
    """What a release is, in words."""
    base, law, times = release
    one = base_words(base.name)
    found = f"one run of {one}"
    if law is not None:
        found = f"the best of K runs of {one}, K {law_words(law)}"
    return found if times == 1 else f"{times} times {found}"


def relation_words(relation: str | None) -> str:
    """Which data sets are neighbours."""
    if relation is None:
        return "those that the sensitivity of the base is meant for"
    return RELATIONS[relation]


def theorem_words(theorem: str, statement: str) -> tuple[str, str]:
    """The source of a theorem, and what it states.

    Args:
      theorem: id, as an account has it.
      statement: whose it is, for ids that are no claim of the catalogue.
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
    """The works that a source names, in full."""
    found = [text for name, text in REFERENCES.items() if name in source]
    return tuple(dict.fromkeys(found))


def listed(parts: Sequence[str]) -> str:
    """Parts with semicolons, and a word before the last of several."""
    if len(parts) < 2:
        return "".join(parts)
    return "; ".join(parts[:-1]) + "; and " + parts[-1]
