"""The table that the simulations of linear queries run on.

Some attributes of the 202,599 images of CelebA where the user has them, else 100,000 rows
drawn from the tumour table of 256 cells that is stored here.
"""

import functools

from sims.data import tumour_table
from sims.data.categorical_table import CategoricalTable, face_table, resampled
from sims.data.celeba import celeba_available, load_celeba

ATTRIBUTES = (
    "Male",
    "Young",
    "Smiling",
    "Eyeglasses",
    "Wavy_Hair",
    "Black_Hair",
    "Attractive",
    "Heavy_Makeup",
    "High_Cheekbones",
    "Mouth_Slightly_Open",
    "Bangs",
)
_ROWS = 100_000


@functools.cache
def table(attributes: int = 8) -> CategoricalTable:
    """The faces by the first of ATTRIBUTES, or the tumours; ``source`` says which."""
    if celeba_available():
        return face_table(load_celeba(), ATTRIBUTES[:attributes])
    return resampled(tumour_table.load(), _ROWS)
