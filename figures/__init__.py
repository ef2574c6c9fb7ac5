"""One file per figure: the functions that simulate what it shows, and ``draw``.

``python -m figures`` has ``sims`` run the functions where their records are not up to date; then
``draw`` reads the records and the claims, and never simulates. A file of this folder that
defines ``TITLE`` is a figure. Figures are found by listing the folder and reading the files, and
are imported only when they are drawn.
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
