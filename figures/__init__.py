"""One file per figure. It reads records and claims and draws them; drawing never simulates.

Run with ``python -m figures``. A file of this folder that defines ``TITLE`` is a figure.
Figures are found by listing the folder, and are imported only when they are drawn.
"""

from pathlib import Path

from figures.common.figure import Figure
from sims import listing
from sims.experiment import Piece

__all__ = ["FIGURES", "Figure"]

_FILES = listing.files(Path(__file__).parent, "TITLE")
_PIECES = {
    name: tuple(
        Piece(module, function)
        for module, function in listing.read_by_draw(
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
        tuple(dict.fromkeys(piece.experiment for piece in _PIECES[name])),
        constants.get("SECONDS", 5.0),
        _PIECES[name],
    )
    for name, constants in _FILES.items()
}
