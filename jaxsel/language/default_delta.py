"""The delta of an answer for which none was asked, known here alone."""

DELTA = 1e-6
"""Of a whole search or composition, where a caller names none."""


def note(delta: float = DELTA) -> str:
    """What is said of an answer on the command line at the default delta."""
    return (
        f"delta = {delta:g} is the default, as none was given (--delta); take one far "
        "below 1 over the number of records."
    )
