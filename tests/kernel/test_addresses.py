"""No random number is used twice: every address drawn inside one trial is recorded.

One trial is traced and then run operation by operation; whatever asks the generator for
words is noted. An address is all four words: key, lane and draw.
"""

import collections

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from benchmarks import jaxpr_in_numpy
from jaxsel.catalogue import mechanisms
from jaxsel.kernel import lanes, stream
from jaxsel.language.base import Mechanism

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@np.errstate(over="ignore")
def threefry(first, second, x0, x1):
    """Threefry-2x32-20 (Salmon et al. 2011), in NumPy."""
    words = [np.asarray(word).astype(np.uint32) for word in (first, second, x0, x1)]
    first, second, x0, x1 = np.broadcast_arrays(*words)
    keys = (first, second, first ^ second ^ np.uint32(0x1BD11BDA))
    x0, x1 = x0 + first, x1 + second
    for i in range(5):
        for distance in _ROTATIONS[i % 2]:
            x0 = x0 + x1
            x1 = x0 ^ ((x1 << np.uint32(distance)) | (x1 >> np.uint32(32 - distance)))
        x0, x1 = x0 + keys[(i + 1) % 3], x1 + keys[(i + 2) % 3] + np.uint32(i + 1)
    return x0, x1


@jax.jit
def a_hash(first, second, x0, x1):
    """What a trace shows in the place of the generator."""
    both = jnp.broadcast_arrays(first ^ second, x0 ^ x1)
    return tuple(both)


@jax.jit
def some_words(first, second, x0, x1):
    """What a trace shows where words are drawn, and not keys made."""
    return a_hash(first, second, x0, x1)


def _u32(values):
    return [jnp.asarray(value).astype(jnp.uint32) for value in values]


class Recorder:
    """Stands in for the generator and keeps the addresses of all words drawn."""

    def __init__(self, monkeypatch):
        self.drawn: dict = collections.defaultdict(list)
        monkeypatch.setattr(stream, "threefry_2x32", lambda *four: a_hash(*_u32(four)))
        monkeypatch.setattr(stream, "words", lambda key, draw: some_words(*_u32((*key, draw))))

    def note(self, place, *address):
        flat = [word.ravel().tolist() for word in np.broadcast_arrays(*address)]
        for each in zip(*flat, strict=True):
            self.drawn[each].append(place)
        return threefry(*address)

    def run(self, mechanism: Mechanism, data, params, seed: int) -> None:
        """One trial of a mechanism."""
        with jax.enable_x64(True):
            prepared = mechanism.prepare(data, params)
            low, high = np.uint32(seed), np.uint32(seed >> 32)
            jaxpr_in_numpy.run(
                lambda low, high, *given: mechanism.sample(
                    stream.trial_key(low, high, 0, 0, 3), *given
                ),
                low,
                high,
                *prepared,
                watch={
                    "some_words": self.note,
                    "a_hash": lambda place, *address: threefry(*address),
                },
            )

    def repeated(self, one_place: bool = False) -> list:
        """Addresses that were drawn more than once; with ``one_place``, those that two
        places in the code drew."""
        return [
            address
            for address, places in self.drawn.items()
            if len(set(places) if one_place else places) > 1
        ]


# Off the special values; loops of more rounds than there are tags in use, wherever a loop
# can have so many; k > 1.
MANY = {"repetitions": "point_mass:count=300", "base": "random_candidate_laplace"}
LONG = {
    "private_amplification": {"candidates": 300, "gamma": 0.2},
    "choosing_mechanism": {"scores": "0,-1", "beta": 0.02},
    "stable_selection": {"beta": 0.02, "scores": "0,-1,0"},
    "private_multiplicative_weights": {"queries": 8, "updates": 3, "threshold": 0.05},
    "repetitive_multiplicative_weights": {
        "queries": 8,
        "updates": 3,
        "threshold": 0.01,
        "gamma": 0.7,
        "repetitions": 30,
        "max_failures": 9,
    },
    "noisy_max_composition": {"rounds": 20},
    "subsampled_exponential": {"draws": 300},
    "percentile_above_threshold": {"shares": ",".join(["0.1"] * 260)},
    "extended_above_threshold": {"shares": ",".join(["0.1"] * 20), "samples": 15},
    "find_percentile_threshold": {"shares": "0.01,0.02,0.03,0.04", "samples": 300},
    "percentile_pipeline": {"stop_probability": 0.003, "samples": 300},
    "better_than_median": {"alpha": 0.7, "beta": 0.3},
    "median_of_runs": {"count": 301, "rank": 270},
    "query_release": {"epsilon": 0.7, "inner": "repaired", "delta": 0.3},
    "repetitive_sparse_vector": {"levels": "-9,-9,-8", "gamma": 0.7, "repetitions": 40},
    "validation_selection": {"gamma": 0.03},
    "selection_once": {"gamma": 0.7, "rounds": 60},
    "selections": {"gamma": 0.7, "rounds": 60, "calls": 3},
    "tests_until_top": {"gamma": 0.7, "bottoms": 300, "tops": 5, "quiet": 0.01},
    "interleaved": {"gamma": 0.7, "rounds": 60},
    "coin_game": {"coins": 300, "biases": "0.001,0.002", "ones": 3},
    "above_threshold": {"answers": ",".join(["-9"] * 300)},
    "sparse": {"cutoff": 4, "answers": "0,0,3,3,3,0,3,3,3"},
    "sparse_vector": {"cutoff": 5, "answers": "0,0,3,3,3,0,3,3,3"},
    "threshold_selection": {"gamma": 0.005, "threshold": 5},
    "decreasing_thresholds": {"gamma": 0.001, "levels": 3},
    "fixed_top_k": {"k": 3, "events": "hits"},
    "exponential_top_k": {"histogram": "9,9,8,8,7,7,6,5,4,3,2,1,1,1", "k": 13, "events": "hits"},
    "confident_top_k": {"beta": 0.1, "epsilon": 1.3},
    "private_tuning": MANY,
    "fixed_repetitions": {"count": 300, "base": "noised_score_laplace"},
}
# "literal" asks at every query for the noise of the next threshold, always the same
# number, and keeps it at the query that answers "above".
ASKED_EARLY = {"sparse", "sparse_vector_dwork_roth"}


# It begins from weights that JAX's own generator draws; tests/training records its draws.
ELSEWHERE = {"dp_sgd"}


def cases():
    for entry in mechanisms():
        if entry.name in ELSEWHERE:
            continue
        if "method" not in entry.settings:
            yield pytest.param(entry, LONG.get(entry.name, {}), id=entry.name)
            continue
        for method in entry.settings["method"].options:
            given = {"method": method} | LONG.get(entry.name, {})
            if method == "law" or (entry.name, method) == ("query_release", "largest"):
                given = {"method": method}
            yield pytest.param(entry, given, id=f"{entry.name}-{method}")


@pytest.mark.parametrize(("entry", "given"), list(cases()))
def test_no_address_is_drawn_twice_in_a_trial(entry, given, seed, monkeypatch):
    recorder = Recorder(monkeypatch)
    built = entry.build(given)
    recorder.run(built.mechanism, built.data, built.params, seed)
    assert recorder.drawn
    early = entry.name in ASKED_EARLY and given.get("method") == "literal"
    assert not recorder.repeated(one_place=early)


def test_a_number_used_twice_is_seen(seed, monkeypatch):
    """Power: the same draw for two purposes, a round numbered like a tag, a stuck loop."""

    def same_draw(key, data, params):
        return stream.words(key, 0)[0] ^ stream.words(key, 0)[1]

    def like_a_tag(key, data, params):
        def once(i, total):
            here = stream.at_round(key, i, first=0)
            return total ^ stream.words(here, 0)[0]

        return lax.fori_loop(0, 9, once, stream.words(stream.fold(key, 7), 0)[0])

    def stuck_in_lanes(key, data, params):
        def once(i, total):
            return total ^ stream.words(stream.at_round(key, i // 2), 0)[0]

        return lanes.repeat(jnp.int32(4), once, jnp.uint32(0))

    def stuck(key, data, params):
        def once(i, total):
            return total ^ stream.words(stream.at_round(key, i // 2), 0)[0]

        return lax.fori_loop(0, 4, once, jnp.uint32(0))

    def fine(key, data, params):
        def once(i, total):
            return total ^ stream.words(stream.at_round(key, i), 0)[0]

        return lax.fori_loop(0, 9, once, stream.words(stream.fold(key, 7), 0)[0])

    built = mechanisms()[0].build({})
    for sample, seen in (
        (same_draw, 1),
        (like_a_tag, 1),
        (stuck, 2),
        (stuck_in_lanes, 2),
        (fine, 0),
    ):
        recorder = Recorder(monkeypatch)
        mechanism = built.mechanism._replace(sample=sample, prepare=lambda data, params: ((), ()))
        recorder.run(mechanism, (), (), seed)
        assert len(recorder.repeated()) == seen, sample
