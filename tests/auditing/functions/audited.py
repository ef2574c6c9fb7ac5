"""Functions that the tests audit, in a file that every process of an audit imports at once.

A process that calls a function imports the file that holds it. A file of tests would bring pytest
and JAX, whose import takes longer than most of these audits.
"""

import math
import os
import time

import numpy as np


def laplace(rng, data, n, single=False):
    """Data plus Laplace noise, each number drawn and added in one precision."""
    kind = np.float32 if single else np.float64
    noise = rng.laplace(size=(n, *np.shape(data))).astype(kind)
    return np.asarray(data, kind) + noise


def on_a_grid(rng, data, n):
    """Discrete Laplace noise on multiples of 2^-10, at epsilon 1 exactly."""
    stop = -math.expm1(-(2.0**-10))
    steps = rng.geometric(stop, n) - rng.geometric(stop, n)
    return data + steps * 2.0**-10


def rounded(rng, data, n):
    """Laplace noise, added to the data and rounded to multiples of 2^-10."""
    return np.round((data + rng.laplace(size=n)) * 2**10) / 2**10


def responses(rng, data, n, *, epsilon=1.0):
    """Randomised response of the bit, which is its own score."""
    honest = rng.random(n) < 1.0 / (1.0 + math.exp(-epsilon))
    return np.where(honest, data[0], 1.0 - data[0])


def one_response(rng, data, *, epsilon=1.0):
    """One randomised response, beside a label."""
    return float(responses(rng, data, 1, epsilon=epsilon)[0]), "model"


def revealing(rng, data, n, *, chance=0.05):
    """Randomised response, which is (1, chance)-DP: at times it says the bit as it is."""
    shown = rng.random(n) < chance
    return np.where(shown, 2.0 + data[0], responses(rng, data, n))


def own_response(data):
    """A fair coin of the function's own randomness, whatever the data."""
    return float(np.random.default_rng().random() < 0.5)


def process_and_threads(rng, data):
    """The process that calls, and the threads that BLAS has there."""
    return os.getpid(), os.environ["OPENBLAS_NUM_THREADS"]


def refused_or_slow(rng, data, n):
    """No outcomes at all, or half a minute without one."""
    if data == "refused":
        return []
    time.sleep(25.0)
    return [0.0] * n
