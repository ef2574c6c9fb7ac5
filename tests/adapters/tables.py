"""The rows of one library in the table of libraries, where it is installed."""

from benchmarks.audit_tables import Row, libraries
from tests.conftest import seed


def rows_of(library: str) -> list[Row]:
    """All rows of a library, from few trials; whatever time they take."""
    kept = [one for one in libraries.SUBJECTS if one.library == library]
    version = libraries.installed(library)
    assert version is not None, f"{library} is not installed"
    effort = libraries.Effort(trials=10_000, seed=seed(), seconds=None, runs=1000)
    return [libraries.looked(subject, version, effort) for subject in kept]


def check(rows: list[Row]) -> None:
    """Every subject can be judged, and is as is known."""
    assert len(rows) >= 3
    for row in rows:
        assert row["verdict"] in (libraries.FOUND, libraries.CLEARED), row
        assert row["known"] in (None, row["verdict"]), row
