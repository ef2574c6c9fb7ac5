"""Flax and optax, which training alone needs: an installation that accounts has neither."""

from jaxsel.host.errors import InputError

try:
    import optax as optax
    from flax import linen as nn  # noqa: F401
except ModuleNotFoundError as error:
    raise InputError(
        'training networks needs Flax and optax; run pip install "jaxsel[train]"'
    ) from error
