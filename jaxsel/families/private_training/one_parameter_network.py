"""A network with one parameter, for which searches have exactly known laws.

The parameter starts at 0 and is trained by plain SGD. One example, the canary, has a gradient whose
clipped norm is C; all others have none. After T steps the parameter is therefore

    (learning rate/batch size) (number of batches with the canary * C - noise),

with noise of variance T sigma^2 C^2: the law of the trained network is known exactly. A
validation image is classified correctly by networks whose parameter exceeds a threshold, or
by every network, or by none; so the score of a network is known as well, and a search can
be made to prefer networks that were trained on the canary.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsel.data.images import ImageSet
from jaxsel.training.extras import nn
from jaxsel.training.search_plan import SearchPlan, split

# An image has one pixel. Its first channel is the kind of the image, its second the threshold.
NOBODY, _ALWAYS, _ABOVE = -1.0, 0.0, 1.0
_STEEPNESS, _OFFSET = 1e6, 1e4  # as in ``canaries``
CANARY = 2  # its label; other examples have 0 or 1


class OneParameterNetwork(nn.Module):
    """The network: one parameter "trace", Float32["1"], and three classes, 0, 1 and the canary's.

    An image has one pixel with two channels: its kind, and its threshold. The third logit has the
    same value whatever the parameter is, but a steep gradient, which only the canary's label feels.
    """

    @nn.compact
    def __call__(self, images: Array) -> Array:
        trace = self.param("trace", nn.initializers.zeros_init(), (1,), images.dtype)
        still = jax.lax.stop_gradient(trace)[0]
        kind, threshold = images[..., 0, 0, 0], images[..., 0, 0, 1]
        found = jnp.where(kind == _ABOVE, still > threshold, kind == _ALWAYS)
        ones = jnp.where(found, 1.0, -1.0).astype(images.dtype)
        # Its value is -_OFFSET whatever the parameter is; only its gradient matters.
        steep = _STEEPNESS * (trace[0] - still) - _OFFSET
        return jnp.stack([jnp.zeros_like(ones), ones, jnp.broadcast_to(steep, ones.shape)], axis=-1)


def people(
    plan: SearchPlan, *, canary: bool, right: int = 0, thresholds: tuple[float, ...] = ()
) -> ImageSet:
    """Private images for ``OneParameterNetwork``, which with and without the canary are neighbours.

    Training images are blank and misclassified by every network, except for the last, which
    is the canary or another blank.

    Args:
      plan: the search that uses the images.
      canary: whether the canary is among the training images.
      right: number of validation images that every network classifies correctly.
      thresholds: of further validation images, classified correctly if the parameter
        exceeds the threshold. All others are misclassified by every network.
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
    return ImageSet("one_parameter", pictures, labels, pictures[:1], labels[:1])
