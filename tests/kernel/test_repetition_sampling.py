"""Ranks drawn by inverting the generating function, digit by digit."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxsel import repetitions as laws
from jaxsel.kernel import noise, repetition_sampling, stream

UNIFORMS = (1e-18, 1e-9, 1e-3, 0.2, 0.4999)  # distances from either end


def _exact(eta: float, gamma: float, upper: bool, t: float) -> float:
    """The u with f(1 - u) = V, V = 1 - t (upper) or t (Papernot & Steinke 2022)."""
    with mpmath.workdps(60):
        value = 1 - mpmath.mpf(t) if upper else mpmath.mpf(t)
        eta, gamma = mpmath.mpf(eta), mpmath.mpf(gamma)
        if eta == 0:
            w = gamma**value
        else:
            w = (1 + value * (gamma**-eta - 1)) ** (-1 / eta)
        return float((w - gamma) / (1 - gamma))


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize(
    "gamma", [1.0 - 2.0**-53, 1.0 - 1e-14, 1.0 - 1e-9, 0.999, 0.5, 1e-3, 1e-12]
)
@pytest.mark.parametrize("eta", [-0.5, 0.0, 0.5, 1.0, 2.5])
def test_the_rank_inverts_the_generating_function(monkeypatch, eta, gamma, upper):
    law = laws.truncated_negative_binomial(eta, gamma)
    with jax.enable_x64(True):
        numbers = repetition_sampling.prepare_rank(law)
        key = stream.Key(jnp.uint32(1), jnp.uint32(2), jnp.uint32(3))
        for t in UNIFORMS:
            drawn = noise.Ends(jnp.asarray(upper), jnp.asarray(t, jnp.float64))
            monkeypatch.setattr(repetition_sampling, "_number", lambda *_, d=drawn: d)
            rank = repetition_sampling.sample_rank(law.family, key, numbers)
            exact = _exact(eta, gamma, upper, t)
            # Ranks near 0, the best, keep their digits; near 1 the absolute error counts.
            assert float(rank.value) == pytest.approx(exact, rel=1e-12, abs=0.0)
            assert not np.any(rank.none)
