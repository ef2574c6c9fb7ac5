"""The laws of the number of repetitions K, in float64 on the host.

A law is a :class:`Repetitions` record of numbers and pure functions, made by a factory
of its family, by :func:`from_mean`, or from text by :func:`parse`.

Example:
    >>> from jaxsel import repetitions
    >>> law = repetitions.geometric(gamma=0.1)
    >>> law.mean, repetitions.quantile(law, 0.05)  # runs on average, and at most of 95 in 100
    (10.0, 29)
    >>> repetitions.parse("poisson:mean=6").mean
    6.0
"""

import operator
from typing import Any

from jaxsel.host.former_names import warn
from jaxsel.repetitions.choose import FAMILIES, as_law, from_mean, parse
from jaxsel.repetitions.counts import beta_binomial, binomial, point_mass, poisson
from jaxsel.repetitions.files import save
from jaxsel.repetitions.negative_binomial import geometric, logarithmic, truncated_negative_binomial
from jaxsel.repetitions.record import Repetitions
from jaxsel.repetitions.restricted import capped, conditioned
from jaxsel.repetitions.summaries import (
    expected_quantile,
    quantile,
    quantile_table,
    success_probability,
)
from jaxsel.repetitions.table import pmf, table_law

__all__ = [
    "FAMILIES",
    "Repetitions",
    "as_law",
    "beta_binomial",
    "binomial",
    "capped",
    "conditioned",
    "expected_quantile",
    "from_mean",
    "geometric",
    "logarithmic",
    "parse",
    "pmf",
    "point_mass",
    "poisson",
    "quantile",
    "quantile_table",
    "save",
    "success_probability",
    "table_law",
    "truncated_negative_binomial",
]


def __getattr__(name: str) -> Any:
    if name != "describe":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn(f"{__name__}.describe(law)", "law.name")
    return operator.attrgetter("name")
