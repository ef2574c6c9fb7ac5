"""One file a figure: reads records and claims, draws; never simulates.

Run with ``python -m figures``. A file here with a ``TITLE`` is a figure; it is found by
listing the folder, and read, not imported, until it is drawn.
"""

from pathlib import Path

from figures.common.figure import Figure
from sims import listing

__all__ = ["FIGURES", "Figure"]

FIGURES: dict[str, Figure] = {
    name: Figure(
        name,
        constants["TITLE"],
        constants.get("SIMS", (name,)),
        constants.get("SECONDS", 5.0),
        constants.get("NO_EFFECT", ()),
    )
    for name, constants in listing.files(Path(__file__).parent, "TITLE").items()
}
