"""What people ask for by name: a mechanism, a claim."""

from typing import Any

from jaxsel import catalogue
from jaxsel.language.base import Claim
from jaxsel.language.entry import Built


def mechanism(name: str, /, **settings: Any) -> Built:
    """A mechanism of the catalogue with its input, ready to simulate and to audit.

    Args:
      name: a name or an id, in any case of letters: "noisy_max", "LT-Alg2".
      **settings: its settings, as values or as text; ``jaxsel show NAME`` lists them, and
        so does the result when printed.

    Raises:
      InputError: for an unknown name or setting, or a value outside its domain.

    Example:
        >>> import jaxsel
        >>> built = jaxsel.mechanism("noisy_max", scores=[3, 2, 1], epsilon=2)
        >>> jaxsel.simulate(built, trials=1000).trials
        1000
    """
    return catalogue.find_mechanism(name).build(settings)


def claim(identity: str) -> Claim:
    """A published statement: ``claim("PS-Cor3").evaluate(epsilon=1)`` is its number.

    Args:
      identity: id or alias, in any case of letters.

    Raises:
      InputError: if there is none.
    """
    return catalogue.find_claim(identity)
