"""What the auditor of functions finds of thirteen mechanisms, beside what was published.

The table is made by ``python -m benchmarks.audit_tables zoo`` (``zoo.py`` there has the mechanisms
and where the published bounds are from); this draws the one that is stored.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas

from jaxsel.pictures import style

TITLE = "Audits of thirteen mechanisms, beside the largest published lower bounds"
SIMS = ()
SECONDS = 2
STORED = Path(__file__).parent.parent / "sims" / "data" / "audit_zoo.json"
_NAMES = {
    "laplace": "Laplace",
    "noisy_max_1": "noisy max 1: place",
    "noisy_max_2": "noisy max 2: place",
    "noisy_max_3": "noisy max 3: value",
    "noisy_max_4": "noisy max 4: value",
    **{f"sparse_vector_{number}": f"sparse vector {number}" for number in range(1, 7)},
    "numerical_sparse_vector": "numerical sparse vector",
    "sparse_vectors_3_and_4": "sparse vectors 3 and 4",
}


def load(path: Path = STORED) -> Mapping[str, Any]:
    """The stored table: its rows by mechanism, trials, seed, date and versions."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return found | {"rows": {row["mechanism"]: row for row in found["rows"]}}


def draw() -> Canvas:
    """Draws bounds, published bounds and exact values of the pairs, on a logarithmic axis."""
    table = load()
    rows = [table["rows"][name] for name in _NAMES]
    places = np.arange(len(rows))[::-1]
    figure, (axes,) = style.panels(width=7.6, height=4.8)
    axes.axvline(0.1, color=style.BLACK, linewidth=1.0, linestyle=":", label="what all claim")
    for name, marker, colour, filled in (
        ("published", "o", style.ORANGE, False),
        ("bound", "D", style.BLUE, True),
        ("exact on the pair", "|", style.RED, True),
    ):
        values = [math.nan if row[name] is None else row[name] for row in rows]
        axes.plot(
            values,
            places,
            linestyle="none",
            marker=marker,
            markersize=11 if marker == "|" else 6,
            markeredgewidth=1.6,
            color=colour,
            markerfacecolor=colour if filled else "none",
            label={"published": "published", "bound": "found here"}.get(name, name),
        )
    axes.set_yticks(places, [_NAMES[row["mechanism"]] for row in rows])
    axes.set(xscale="log", xlabel="lower bound on ε, confidence 0.9")
    style.legend_above(figure, axes, 4)
    return style.captioned(
        figure,
        "Each mechanism is sampled literally, as anybody's function; pair and event are searched. "
        f"{table['trials']:,} trials on each side, half of them for the search. Published: the "
        "larger bound of DP-Sniper (Bichsel et al. 2021) and of its wrapped StatDP, with 2e8 "
        "trials. Exact values of a pair where they are computed.",
    )
