"""Where the choices of a private search come from, and how a candidate is drawn.

What is released is drawn by the operating system's generator: K, the secret of each run, ties
and noise. A run's candidate is drawn from its secret by SHAKE-256, so that a run that is begun
again after a kill has the same candidate and the same seed.
"""

import hashlib
import math
import random
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from jaxsel.host.errors import InputError
from jaxsel.repetitions import Repetitions, quantile

T = TypeVar("T")

_SECRET_BYTES = 32
_BLOCK_BYTES = 4096


class Stream(random.Random):
    """The numbers that a secret determines; without the secret nobody tells them from random.

    Args:
      secret: 32 bytes.
      purpose: streams of other purposes are independent.
    """

    def __init__(self, secret: bytes, purpose: str) -> None:
        self._secret, self._purpose = secret, purpose
        self._bits, self._left, self._block = 0, 0, 0
        super().__init__()

    def seed(self, *given: Any, **options: Any) -> None:
        """Does nothing: the secret is the seed."""

    def getrandbits(self, k: int, /) -> int:
        """A whole number of k bits."""
        while self._left < k:
            text = f"{self._purpose},{self._block}".encode()
            block = hashlib.shake_256(self._secret + text).digest(_BLOCK_BYTES)
            self._bits |= int.from_bytes(block, "big") << self._left
            self._left += 8 * _BLOCK_BYTES
            self._block += 1
        found = self._bits & ((1 << k) - 1)
        self._bits >>= k
        self._left -= k
        return found

    def random(self) -> float:
        """A multiple of 2^-53 in [0, 1)."""
        return self.getrandbits(53) * 2.0**-53

    def __reduce__(self) -> Any:
        raise TypeError("a stream of secret numbers is not copied")


def source(seed: int | None) -> random.Random:
    """The operating system's generator; with a seed, one that only a simulation may use."""
    if seed is None:
        return random.SystemRandom()
    return Stream(hashlib.sha256(str(seed).encode()).digest(), "simulation")


def fresh_secret(generator: random.Random) -> bytes:
    """The secret of a run."""
    if isinstance(generator, random.SystemRandom):
        return secrets.token_bytes(_SECRET_BYTES)
    return generator.getrandbits(8 * _SECRET_BYTES).to_bytes(_SECRET_BYTES, "big")


class Secrets(NamedTuple):
    """What a search draws before its first run.

    Attributes:
      name: of the search, for its ledger; it tells nothing.
      runs: the secret of each run.
      ties: of each run, a number that ranks it among runs of the same score.
    """

    name: str
    runs: tuple[bytes, ...]
    ties: tuple[int, ...]


def draw_secrets(runs: int, generator: random.Random) -> Secrets:
    """The secrets of a search that makes that many runs."""
    name = fresh_secret(generator)[:8].hex()
    drawn = tuple(fresh_secret(generator) for _ in range(runs))
    return Secrets(name, drawn, tuple(generator.getrandbits(64) for _ in range(runs)))


def draw_count(law: Repetitions, generator: random.Random) -> int:
    """K, by inverting its survival function at a number in (0, 1] of full relative precision."""
    return quantile(law, (generator.getrandbits(256) + 1) / 2**256)


class Draw:
    """Draws the parts of one candidate, in the order in which they are asked for.

    Each part may depend on those before it; none may depend on the data.
    """

    def __init__(self, secret: bytes) -> None:
        self._stream = Stream(secret, "candidate")

    def choice(self, values: Sequence[T]) -> T:
        """One of the values, each with the same probability."""
        if not len(values):
            raise InputError("there is nothing to choose from")
        return values[self._stream.randrange(len(values))]

    def integer(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return self._stream.randint(low, high)

    def uniform(self, low: float, high: float) -> float:
        """A number between low and high."""
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise InputError(f"a uniform number is drawn from [{low:g}, {high:g}]")
        return low + (high - low) * self._stream.random()

    def log_uniform(self, low: float, high: float) -> float:
        """A number between low and high, both above 0, whose logarithm is uniform."""
        if not 0.0 < low <= high < math.inf:
            raise InputError(f"a log-uniform number is drawn from [{low:g}, {high:g}]")
        return min(max(math.exp(self.uniform(math.log(low), math.log(high))), low), high)


def training_seed(secret: bytes) -> int:
    """The seed of a run's training, in [0, 2^63)."""
    return Stream(secret, "training").getrandbits(63)


def simulated_noise(secret: bytes, look: int) -> random.Random:
    """The noise of a run's scores in a simulation, which draws none twice after a kill.

    Args:
      secret: of the run.
      look: number of earlier scores of it.
    """
    return Stream(secret, f"noise {look}")


def public_name(secret: bytes) -> str:
    """A name of a run that tells nothing about its place among the others."""
    return f"{Stream(secret, 'name').getrandbits(64):016x}"
