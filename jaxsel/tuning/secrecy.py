"""Shared texts about what the guarantee of a search does not cover."""

from collections.abc import Iterable

from jaxsel.repetitions import Repetitions

SCORE = (
    "The score that ranks the runs must be covered by a run's guarantee or come from "
    "public data: a private validation set is not covered, unless its scores have noise."
)
"""Printed for every search: its epsilon is for the data that the runs are trained on."""


def is_fixed(law: Repetitions) -> bool:
    """Whether K is constant, and so not secret."""
    return law.maximum is not None and law.minimum == law.maximum


def kept_secret(laws: Iterable[Repetitions | None]) -> str:
    """Names what must stay secret besides the winner's data: K, if it is random, and other runs."""
    fixed = all(law is None or is_fixed(law) for law in laws)
    return "the other runs and their scores" if fixed else ("K, the other runs and their scores")


def keep(laws: Iterable[Repetitions | None]) -> str:
    """``kept_secret`` as the beginning of an instruction."""
    return f"Keep {kept_secret(laws)} secret"
