"""The delta of an answer for which none was asked, known here alone."""

DELTA = 1e-6
"""Of a whole search or composition, where a caller names none."""

NOTE = (
    f"delta = {DELTA:g} is the default, as none was given (--delta); take one far below 1 "
    "over the number of records."
)
"""Said of an answer on the command line at the default delta."""
