"""What a guarantee of a search does not cover, in words that all answers share."""

from collections.abc import Iterable

from jaxsel.repetitions import Repetitions

SCORE = (
    "The score that ranks the runs must be covered by a run's guarantee or come from "
    "public data: a private validation set is not covered, unless its scores have noise."
)
"""Said of every search: its epsilon is that of the data that the runs are trained on."""


def is_fixed(law: Repetitions) -> bool:
    """Whether K is always the same number, which is no secret."""
    return law.maximum is not None and law.minimum == law.maximum


def kept_secret(laws: Iterable[Repetitions | None]) -> str:
    """What stays secret beside the winner: K, where it is drawn, and the other runs."""
    fixed = all(law is None or is_fixed(law) for law in laws)
    return "the other runs and their scores" if fixed else ("K, the other runs and their scores")


def keep(laws: Iterable[Repetitions | None]) -> str:
    """The same, as the start of a request."""
    return f"Keep {kept_secret(laws)} secret"
