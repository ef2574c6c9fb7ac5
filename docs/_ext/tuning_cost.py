"""``{tuning-cost}``: a picture of what tuning costs, which moves when a number moves.

``python docs/_ext/tuning_cost.py`` computes its numbers and writes them into
``docs/_static/tuning_cost.json``; the page holds them itself, since a browser reads no other file
where the site is opened from a folder.
"""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from jaxsel import account, repetitions
from jaxsel.accounting.single_run import curves

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FILE = Path(__file__).parents[1] / "_static" / "tuning_cost.json"
DELTA = 1e-6
NOISES = [float(f"{0.5 * 2 ** (step / 4):.3g}") for step in range(25)]  # 0.5 to 32
MEANS = [float(f"{10 ** (step / 8):.3g}") for step in range(25)]  # 1 to 1000 runs
# A curve of the picture and the theorem that proves it.
THEOREMS = {"envelope": "JX-Envelope", "profile": "KRW-Thm5.2", "renyi": "PS-Thm2"}
WORDS = {
    "envelope": "envelope bound of this project",
    "profile": "Koskela, Redberg & Wang 2024, Theorem 5.2",
    "renyi": "Papernot & Steinke 2022, Theorem 2",
    "single": "one run, no search",
}


def _up(epsilon: float) -> float:
    """Rounded upwards to four digits: what is shown stays proved."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 3)
    return float(f"{math.ceil(epsilon / unit - 1e-9) * unit:.4g}")


def costs(noise: float, mean: float) -> dict[str, float]:
    """The epsilon at DELTA of the best of K Gaussian runs, K geometric, by each theorem."""
    law = repetitions.from_mean("geometric", mean)
    found = account(curves.gaussian(noise), law, DELTA, attain=False)
    proved = {bound.theorem: bound.epsilon for bound in found.bounds}
    named = {name: _up(proved[theorem]) for name, theorem in THEOREMS.items()}
    return {**named, "single": _up(found.single)}


def table(noises: Iterable[float] = NOISES, means: Iterable[float] = MEANS) -> dict:
    """The document of the picture: by curve, a row for each noise with a number for each mean."""
    noises, means = [*noises], [*means]
    cells = [[costs(noise, mean) for mean in means] for noise in noises]
    rows = {name: [[cell[name] for cell in row] for row in cells] for name in THEOREMS}
    single = [row[0]["single"] for row in cells]
    return {"delta": DELTA, "noises": noises, "means": means, **rows, "single": single}


_MARKUP = """
<figure class="tuning-cost" id="tuning-cost">
<script type="application/json">{document}</script>
<div class="tuning-cost-boxes">
<label>Noise multiplier of one run <input type="range" name="noise" min="0" max="{last_noise}"
 value="12"></label>
<label>Runs on average <input type="range" name="mean" min="0" max="{last_mean}"
 value="16"></label>
</div>
<p aria-live="polite" class="tuning-cost-sentence"></p>
<svg viewBox="0 0 640 380" role="img" aria-label="Epsilon against the mean number of runs"></svg>
<ul class="tuning-cost-legend">{legend}</ul>
<figcaption>Epsilon at delta 1e-6 of the best of K runs of a Gaussian mechanism, K geometric, for
every way to rank the outputs. The numbers are those of <code>jaxsel account</code>, rounded
upwards.</figcaption>
<noscript>The picture needs JavaScript; <code>jaxsel account --base gaussian:noise_multiplier=4
--repetitions geometric:mean=100 --delta 1e-6</code> prints its numbers.</noscript>
</figure>
"""


def markup() -> str:
    """The picture as HTML, with its numbers."""
    document = json.dumps(json.loads(FILE.read_text(encoding="utf-8")), separators=(",", ":"))
    legend = "".join(
        f'<li class="{name}"><span class="line"></span> {words}: '
        f'<output name="{name}"></output></li>'
        for name, words in WORDS.items()
    )
    return _MARKUP.format(
        document=document,
        legend=legend.replace("&", "&amp;"),
        last_noise=len(NOISES) - 1,
        last_mean=len(MEANS) - 1,
    )


def setup(app: "Sphinx") -> dict[str, bool]:
    # The numbers are computed, and tested, where Sphinx is not installed.
    from docutils import nodes
    from sphinx.util.docutils import SphinxDirective

    class TuningCost(SphinxDirective):
        """The picture."""

        def run(self) -> list[nodes.Node]:
            self.env.note_dependency(str(FILE))
            return [nodes.raw("", markup(), format="html")]

    app.add_directive("tuning-cost", TuningCost)
    app.add_js_file("tuning_cost.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    FILE.write_text(json.dumps(table()) + "\n", encoding="utf-8")
