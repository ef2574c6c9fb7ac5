"""One file per figure. It reads records and claims and draws them; drawing never simulates.

Run with ``python -m figures``. A file of this folder that defines ``TITLE`` is a figure.
Figures are found by listing the folder, and are imported only when they are drawn.
"""

from pathlib import Path

from figures.common.figure import Figure
from sims import listing, registry

__all__ = ["FIGURES", "Figure"]

_FILES = listing.files(Path(__file__).parent, "TITLE")
_KNOWN = {(each.module, each.name): each for file in registry.SIMS.values() for each in file}
_EXPERIMENTS = {
    name: tuple(
        _KNOWN[place]
        for place in listing.read_by_draw(
            Path(__file__).parent / f"{listing.module_name(name)}.py",
            f"figures.{listing.module_name(name)}",
        )
    )
    for name in _FILES
}
FIGURES: dict[str, Figure] = {
    name: Figure(
        name,
        constants["TITLE"],
        tuple(dict.fromkeys(each.file for each in _EXPERIMENTS[name])),
        constants.get("SECONDS", 5.0),
        _EXPERIMENTS[name],
    )
    for name, constants in _FILES.items()
}
