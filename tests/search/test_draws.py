"""The numbers that a secret determines, held to SHAKE-256 by another route; and what is drawn."""

import hashlib
import math
import pickle
import random

import pytest

from jaxsel.host.errors import InputError
from jaxsel.repetitions import as_law
from jaxsel.search import draws

SECRET = bytes(range(32))


def _all_bits(purpose, blocks):
    """All bits of the first blocks as one number, those of the first block lowest."""
    found = 0
    for block in range(blocks):
        words = hashlib.shake_256(SECRET + f"{purpose},{block}".encode()).digest(4096)
        found |= int.from_bytes(words, "big") << (8 * 4096 * block)
    return found


def test_a_stream_goes_on_into_its_second_and_third_block(monkeypatch):
    bits = _all_bits("candidate", 3)
    stream = draws.Stream(SECRET, "candidate")
    at = 0
    # Within a block, to its very end, across an end, and more than a block at once.
    for size in (1, 64, 53, 8 * 4096 - 118, 31, 8 * 4096, 1000):
        assert stream.getrandbits(size) == (bits >> at) & ((1 << size) - 1)
        at += size
    assert draws.Stream(SECRET, "candidate").random() == (bits & (2**53 - 1)) / 2**53
    # It is a generator like others: what the library derives from these numbers is theirs, too.
    one, other = (draws.Stream(SECRET, "candidate").gauss(0.0, 1.0) for _ in range(2))
    assert one == other


def test_every_purpose_and_every_look_has_numbers_of_its_own():
    first = [
        draws.training_seed(SECRET),
        int(draws.public_name(SECRET), 16),
        *(draws.simulated_noise(SECRET, look).getrandbits(63) for look in range(3)),
        draws.Draw(SECRET)._stream.getrandbits(63),
    ]
    assert len(set(first)) == len(first)
    assert first[0] == _all_bits("training", 1) % 2**63
    assert draws.public_name(SECRET) == f"{_all_bits('name', 1) % 2**64:016x}"
    assert first[2] == _all_bits("noise 0", 1) % 2**63
    assert draws.training_seed(SECRET[::-1]) != first[0]


def test_a_seed_is_a_simulations_and_none_is_the_systems():
    assert isinstance(draws.source(None), random.SystemRandom)
    one, other = draws.source(3), draws.source(4)
    assert one.getrandbits(256) == draws.source(3).getrandbits(256) != other.getrandbits(256)
    secrets = {draws.fresh_secret(draws.source(None)) for _ in range(20)}
    assert len(secrets) == 20
    assert {len(secret) for secret in secrets} == {32}
    drawn = draws.source(3).getrandbits(256).to_bytes(32, "big")
    assert draws.fresh_secret(draws.source(3)) == drawn
    with pytest.raises(TypeError, match="not copied"):
        pickle.dumps(one)


@pytest.mark.parametrize("seed", [None, 5])
def test_every_run_has_a_secret_and_a_tie_of_its_own(seed):
    found = draws.draw_secrets(50, draws.source(seed))
    assert len(found.runs) == len(found.ties) == 50
    assert len(set(found.runs)) == len(set(found.ties)) == 50
    assert all(len(run) == 32 for run in found.runs)
    assert all(0 <= tie < 2**64 for tie in found.ties)
    assert max(found.ties) > 2**63  # all bits are drawn: fails with probability 2^-50
    assert len(found.name) == 16
    assert not any(run.hex().startswith(found.name) for run in found.runs)
    again = draws.draw_secrets(50, draws.source(seed))
    assert (again == found) == (seed is not None)
    assert draws.draw_secrets(0, draws.source(seed)).runs == ()


class _Says:
    """A generator whose next bits are given."""

    def __init__(self, bits):
        self.bits = bits

    def getrandbits(self, k):
        assert self.bits < 2**k
        return self.bits


@pytest.mark.parametrize("text", ["geometric:mean=3", "poisson:mean=2", "point_mass:count=4"])
def test_k_is_the_quantile_of_a_number_of_256_bits(text):
    law = as_law(text)
    for k in range(law.minimum, 9):
        above, here = (float(law.survival(value)) for value in (k - 1, k))
        if above - here < 1e-9:
            continue
        # P[K > k] < v <= P[K > k - 1] is K = k.
        for v in (here * (1 + 1e-9) + 1e-12, above * (1 - 1e-9)):
            assert draws.draw_count(law, _Says(int(v * 2**256) - 1)) == k
    assert draws.draw_count(law, _Says(2**256 - 1)) == law.minimum
    # A number that a float of 53 bits does not reach: K is far out, and finite.
    most = draws.draw_count(law, _Says(0))
    assert law.maximum == most or float(law.survival(most)) <= 2.0**-256 * (1 + 1e-6)


@pytest.mark.parametrize("number", [0.0, 0.25, 1.0 - 2.0**-53])
def test_parts_of_a_candidate_at_the_ends_of_what_is_drawn(monkeypatch, number):
    draw = draws.Draw(SECRET)
    monkeypatch.setattr(draw._stream, "random", lambda: number)
    assert draw.uniform(-3.0, 5.0) == -3.0 + 8.0 * number
    assert draw.uniform(2.0, 2.0) == 2.0
    found = draw.log_uniform(1e-4, 1e2)
    assert 1e-4 <= found <= 1e2
    assert math.log10(found) == pytest.approx(-4.0 + 6.0 * number, abs=1e-12)


def test_every_value_is_drawn_as_often():
    draw = draws.Draw(SECRET)
    size = 3000
    chosen = [draw.choice(["a", "b", "c"]) for _ in range(size)]
    whole = [draw.integer(-1, 1) for _ in range(size)]
    for found, values in ((chosen, ("a", "b", "c")), (whole, (-1, 0, 1))):
        assert set(found) == set(values)
        for value in values:  # 5.6 standard deviations: 1e-8
            assert abs(found.count(value) - size / 3) < 5.6 * math.sqrt(size * 2 / 9)


@pytest.mark.parametrize(
    "asked",
    [
        lambda draw: draw.choice([]),
        lambda draw: draw.uniform(1.0, 0.0),
        lambda draw: draw.uniform(-math.inf, 0.0),
        lambda draw: draw.uniform(0.0, math.inf),
        lambda draw: draw.uniform(math.nan, 1.0),
        lambda draw: draw.log_uniform(0.0, 1.0),
        lambda draw: draw.log_uniform(2.0, 1.0),
        lambda draw: draw.log_uniform(1.0, math.inf),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked):
    with pytest.raises(InputError):
        asked(draws.Draw(SECRET))
