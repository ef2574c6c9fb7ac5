"""The delta of every question that names none, written here alone."""

DELTA = 1e-6
"""The default delta, of a whole search or of a whole composition."""


def note(delta: float = DELTA) -> str:
    """The sentence that the command line adds to an answer at the default delta."""
    return (
        f"delta = {delta:g} is the default, as none was given (--delta); take one far "
        "below 1 over the number of records."
    )
