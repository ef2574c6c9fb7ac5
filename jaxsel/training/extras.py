"""Flax and optax, which training alone needs: an installation that accounts has neither."""

from jaxsel.host.errors import InputError

try:
    import flax.linen as nn
    import optax
except ModuleNotFoundError as error:
    raise InputError(
        'training networks needs Flax and optax; run pip install "jaxsel[train]"'
    ) from error

__all__ = ["nn", "optax"]
