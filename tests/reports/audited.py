"""Functions that are audited, apart: every process that calls them imports their file."""


def half(rng, data, n, *, epsilon=1.0):
    """A count with half the noise."""
    return sum(data) + rng.laplace(scale=0.5 / epsilon, size=n)


def silent(data):
    raise KeyError("no such column")
