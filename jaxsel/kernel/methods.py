"""The setting "method" of a mechanism: how its trials are drawn. Imports no JAX."""

from jaxsel.language.base import Mechanism
from jaxsel.language.entry import Method


def methods(*options: str, help: str = "how trials are drawn; see the guide") -> Method:
    """Samplers of a mechanism's own, and "law", which samples from its exact law.

    Args:
      *options: what the factory takes as ``method``.
      help: what is chosen.
    """
    return Method(help, options=(*options, "law"), from_law=_from_law)


def _from_law(mechanism: Mechanism) -> Mechanism:
    from jaxsel.kernel.tables import from_law

    return from_law(mechanism)
