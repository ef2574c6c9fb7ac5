"""A search that can be seen through: its network is one number, the trace of one person.

The parameter starts at 0 and moves by plain SGD. One example, the canary, has a gradient of
norm C along it; all others have none. After T steps it is therefore

    (learning rate/batch size) (number of batches with the canary * C - noise),

noise of variance T sigma^2 C^2: what leaves the training is known exactly. Validation
pictures come in two kinds, labelled right by a network whose parameter lies above a
threshold, or by every network, or by none; so the score of a network is known, too, and a
search can be made to prefer networks that were trained on the canary.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsel.data.images import ImageSet
from jaxsel.training.plan import SearchPlan
from jaxsel.training.search import split

# First pixel of a picture: what kind it is; second: the threshold.
NOBODY, _ALWAYS, _ABOVE = -1.0, 0.0, 1.0
_STEEPNESS, _OFFSET = 1e6, 1e4  # as in ``canaries``
CANARY = 2  # its label; of people, 0 or 1


class Glass(nn.Module):
    """The network: parameter "trace", Float32[""], and classes 0, 1 and the canary's."""

    @nn.compact
    def __call__(self, images: Array) -> Array:
        trace = self.param("trace", nn.initializers.zeros_init(), (1,), images.dtype)
        still = jax.lax.stop_gradient(trace)[0]
        kind, threshold = images[..., 0, 0, 0], images[..., 0, 0, 1]
        found = jnp.where(kind == _ABOVE, still > threshold, kind == _ALWAYS)
        ones = jnp.where(found, 1.0, -1.0).astype(images.dtype)
        # Of value -_OFFSET whatever the parameter is: only its slope counts.
        steep = _STEEPNESS * (trace[0] - still) - _OFFSET
        return jnp.stack([jnp.zeros_like(ones), ones, jnp.broadcast_to(steep, ones.shape)], axis=-1)


def people(
    plan: SearchPlan, *, canary: bool, right: int = 0, thresholds: tuple[float, ...] = ()
) -> ImageSet:
    """Private images for ``Glass``.

    Training images are blank, and labelled wrongly by every network, but for the last,
    which is the canary or as blank as the others: neighbours.

    Args:
      plan: the search that they are for.
      canary: whether the person of the training part is there.
      right: how many validation images every network labels correctly.
      thresholds: of further validation images: right if the parameter lies above. All
        others are labelled wrongly by every network.
    """
    total = plan.training_size + plan.validation_size
    pictures = np.zeros((total, 1, 1, 2), dtype=np.float32)
    pictures[..., 0] = NOBODY
    labels = np.ones(total, dtype=np.int32)
    numbers = ImageSet("rows", np.arange(total), labels, np.arange(0), labels[:0])
    rows = split(numbers, plan)
    training, validation = rows.training[0], rows.validation[0]
    if canary:
        labels[training[-1]] = CANARY
    pictures[validation[:right], 0, 0, 0] = _ALWAYS
    for row, threshold in zip(validation[right:], thresholds, strict=False):
        pictures[row, 0, 0] = _ABOVE, threshold
    return ImageSet("glass", pictures, labels, pictures[:1], labels[:1])
