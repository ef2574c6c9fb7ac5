"""What every catalogued mechanism keeps: a new entry is tested by being listed."""

import contextlib
import inspect
import math
import zlib
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.auditing.audit import audit, audit_delta, audit_tallies
from jaxsel.auditing.audit_bounds import epsilon_lower_bound
from jaxsel.catalogue import all_claims, find_claim, mechanisms, published_claims, self_checks
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.families.private_tuning import bases
from jaxsel.families.private_tuning.noised_bases import noised_score, random_candidate
from jaxsel.families.private_tuning.private_tuning import private_tuning
from jaxsel.families.thresholds.threshold_selection import threshold_selection
from jaxsel.host.errors import InputError
from jaxsel.kernel import stream
from jaxsel.kernel.engine import simulate_grid
from jaxsel.language.base import Pair, Relation
from jaxsel.language.entry import Guarantee
from jaxsel.repetitions import capped, geometric, parse, poisson
from tests.conftest import ALPHA

AUDITED = {claim.id for claim in self_checks() if claim.id.startswith("AUDIT-")}
ENTRIES = pytest.mark.parametrize("entry", mechanisms(), ids=lambda entry: entry.name)


def family(entry) -> str:
    """The folder that declares an entry: jaxsel.families.FAMILY."""
    return entry.module.split(".")[2]


def one_a_family() -> set[str]:
    """Of each family the entry whose name has the least CRC-32."""
    found = {}
    for entry in sorted(mechanisms(), key=lambda entry: zlib.crc32(entry.name.encode())):
        found.setdefault(family(entry), entry.name)
    return set(found.values())


EAGER = one_a_family()


@ENTRIES
def test_sample_is_pure_and_the_same_eager_jitted_and_batched(entry, seed):
    """An outcome depends on its lane alone, not on its place in a batch; eager execution,
    which compiles every operation by itself, is compared for one entry a family, the one
    whose name has the least CRC-32."""
    built = entry.build({})
    mechanism = built.mechanism
    assert [*inspect.signature(mechanism.sample).parameters] == ["key", "data", "params"]
    with jax.enable_x64(True):
        data, params = mechanism.prepare(built.data, built.params)
        first, second, _ = stream.make_key(seed)

        def event(lane):
            key = stream.Key(first, second, lane)
            return mechanism.event(mechanism.sample(key, data, params))

        lanes = jnp.arange(20, dtype=jnp.uint32)
        together = jax.jit(jax.vmap(event))
        batched, backwards = (np.asarray(together(lanes)), np.asarray(together(lanes[::-1])))
        if entry.name in EAGER:
            eager = [int(event(lane)) for lane in lanes[:2]]
            again = int(event(lanes[0]))
            assert [again, eager[1]] == eager == batched[:2].tolist()
    np.testing.assert_array_equal(backwards[::-1], batched)
    assert batched.dtype == np.int32
    assert np.all((batched >= 0) & (batched < len(mechanism.labels(built.data, built.params))))


# What people and scripts write by mistake.
HOSTILE = ("nan", "inf", "-inf", "", "bogus", "1e400", "true", "-1")
HOSTILE_VALUES = (math.nan, math.inf, True, None, -1)


@contextlib.contextmanager
def fine_or_refused_in_one_sentence(given: object) -> Iterator[None]:
    sentence = "fine"
    try:
        yield
    except InputError as error:
        sentence = str(error)
    except Exception as error:
        pytest.fail(f"{given} gives {type(error).__name__}: {error}")
    assert sentence.strip(), given
    assert "\n" not in sentence, given


@pytest.mark.parametrize(
    ("entry", "name"),
    [(entry, name) for entry in mechanisms() for name in entry.settings],
    ids=lambda x: getattr(x, "name", x),
)
def test_hostile_settings_are_refused_or_work(entry, name):
    for value in (*HOSTILE, *HOSTILE_VALUES):
        with fine_or_refused_in_one_sentence({name: value}), jax.enable_x64(True):
            built = entry.build({name: value})
            built.mechanism.prepare(built.data, built.params)
            for pair in built.pairs():
                proven = entry.guarantee(built.values, pair)
                assert proven is None or proven.epsilon >= 0.0


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_hostile_parameters_are_refused_or_give_a_number(claim):
    for name in claim.parameters:
        for value in (*HOSTILE, *HOSTILE_VALUES):
            with fine_or_refused_in_one_sentence({name: value}):
                assert not math.isnan(claim.evaluate(**{name: value})), (name, value)


@pytest.mark.parametrize(
    "text",
    [
        "point_mass:count=10",
        "geometric:gamma=0.1",
        "geometric:mean=10",
        "logarithmic:gamma=0.1",
        "logarithmic:mean=10",
        "tnb:eta=0.5,gamma=0.01",
        "tnb:eta=-0.5,mean=10",
        "poisson:mean=10",
        "binomial:count=20,probability=0.5",
        "binomial:count=20,mean=10",
        "beta_binomial:count=20,gamma=1",
        "beta_binomial:count=20,mean=5",
        "poisson:mean=10,conditioned=30",
        "geometric:gamma=0.1,capped=50",
    ],
)
def test_hostile_laws_are_refused_or_work(text):
    family, _, rest = text.partition(":")
    items = dict(item.split("=") for item in rest.split(","))
    for name in items:
        for value in HOSTILE:
            changed = items | {name: value}
            written = ",".join(f"{key}={item}" for key, item in changed.items())
            with fine_or_refused_in_one_sentence(written):
                law = parse(f"{family}:{written}")
                assert law.mean >= 0.0


@ENTRIES
def test_unknown_settings_and_parameters_are_refused(entry):
    with pytest.raises(InputError, match="colour"):
        entry.build({"colour": "1"})
    built = entry.build({})
    with pytest.raises(InputError, match="colour"), jax.enable_x64(True):
        built.mechanism.prepare(built.data, dict(built.params) | {"colour": 1.0})


@ENTRIES
def test_a_guarantee_is_a_claim_and_never_a_second_number(entry, monkeypatch):
    """An entry names a claim and its parameters; the number is what the claim then says."""
    variants = [{}]
    if "base" in entry.settings:
        variants.append({"base": "finite"})
    for given in variants:
        values = entry.read(given)
        for pair in entry.pairs(values):
            found = entry.guarantee(values, pair)
            if found is None:
                continue
            assert isinstance(found, Guarantee)
            claim = find_claim(found.claim)
            assert claim.id == found.claim
            assert claim in published_claims()
            with monkeypatch.context() as altered:
                altered.setitem(vars(claim), "evaluate", lambda **given: -7.0)
                assert entry.guarantee(given, pair) == (claim.id, -7.0)


@ENTRIES
def test_exact_law_matches_labels_and_keeps_the_promise(entry):
    for base in (None, "finite", "random_candidate_laplace", "noised_score_laplace"):
        given = {} if base is None or "base" not in entry.settings else {"base": base}
        mechanism = entry.build(given).mechanism
        if mechanism.law is None:
            # Audited instead.
            assert f"AUDIT-{entry.name}" in AUDITED
            continue
        for pair in entry.pairs(given):
            sides = [pair.data, pair.neighbour]
            found = [mechanism.law(side, pair.params) for side in sides]
            for law in found:
                assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-10)
                assert len(law.labels) == law.probabilities.size
            proven = entry.guarantee(given, pair)
            if proven and not entry.broken:
                exact = exact_epsilon(*(law.probabilities for law in found))
                assert exact <= proven[1] * (1 + 1e-9), (pair.name, proven)


@pytest.mark.parametrize(
    "entry",
    [e for e in mechanisms() if f"AUDIT-{e.name}" not in AUDITED],
    ids=lambda entry: entry.name,
)
def test_audited_lower_bound_is_sound(entry, seed):
    """Below the exact value, with all but ALPHA confidence; for the others their claims
    AUDIT-* say the same. Both methods judge the same trials, as they do where they
    simulate: "split" takes the halves apart."""
    half = 2 * 8192  # whole blocks
    built = entry.build({})
    for pair in entry.pairs({}):
        selection, used = (
            simulate_grid(
                built.mechanism,
                [(pair.data, pair.params), (pair.neighbour, pair.params)],
                trials=half,
                first_trial=first,
                seed=seed,
                progress=False,
            ).values
            for first in (0, half)
        )
        split = audit_tallies(built, pair, tuple(used), tuple(selection), confidence=1.0 - ALPHA)
        assert split.bound.lower <= split.exact, (pair.name, "split")
        every = epsilon_lower_bound(*(used + selection), 0.0, 1.0 - ALPHA, ["singletons"])
        assert every.lower <= split.exact, (pair.name, "bonferroni")


def test_audit_approaches_a_tight_loss(seed):
    """Power: nine tenths of the true epsilon from a million trials."""
    mechanism = noisy_max(relation="general")
    pair = Pair("tie", [0.0, 0.0], [1.0, -1.0], Relation.GENERAL, {"epsilon": 1.0}, "")
    found = audit(mechanism, pair, trials=1_000_000, seed=seed)
    assert found.exact > found.bound.lower > 0.9 * found.exact


def test_audit_of_delta(seed):
    mechanism = noisy_max("gaussian")
    params = {"noise_scale": 1.0}
    pair = Pair("tie", [0.0, 0.0], [1.0, -1.0], Relation.GENERAL, params, "")
    for epsilon in (0.0, 0.5):
        found = audit_delta(
            mechanism, pair, trials=400_000, epsilon=epsilon, seed=seed, confidence=1.0 - ALPHA
        )
        assert 0.8 * found.exact < found.bound.lower <= found.exact


def test_audit_refuses_coarse_draws():
    pair = Pair("tie", [0.0, 0.0], [1.0, -1.0], Relation.GENERAL, {"epsilon": 1.0}, "")
    with pytest.raises(InputError, match='use precision "tail"'):
        audit(noisy_max(precision="fast"), pair, trials=100_000)


LAW = geometric(0.5)
TUNING = private_tuning(bases.randomised_response())
CAPPED = capped(LAW, 4)


@pytest.mark.parametrize(
    ("mechanism", "data", "params", "message"),
    [
        (noisy_max(), [], {"epsilon": 1.0}, "scores is empty"),
        (noisy_max(), [1.0, np.inf], {"epsilon": 1.0}, "infinite"),
        (noisy_max(), [[1.0]], {"epsilon": 1.0}, "one list"),
        (noisy_max(), [1.0], {}, "either epsilon or noise_scale"),
        (noisy_max(), [1.0], {"epsilon": 1, "noise_scale": 1}, "not both"),
        (noisy_max(), [1.0], {"noise_scale": 0.0}, "noise_scale is 0"),
        (noisy_max("gaussian"), [1.0], {"epsilon": 1.0}, "not pure DP"),
        (TUNING, 2, {"epsilon": 1.0, "repetitions": LAW}, "bit is 2"),
        (TUNING, 1, {"epsilon": -1.0, "repetitions": LAW}, "epsilon is -1"),
        (TUNING, 1, {"epsilon": 1.0}, "must be a law of K"),
        (TUNING, 1, {"epsilon": 1.0, "repetitions": poisson(3.0)}, "was made for"),
        (private_tuning(bases.finite()), [0.5, 0.6], {"repetitions": LAW}, "sum to 1"),
        (
            private_tuning(bases.finite()),
            {"probabilities": [0.5, 0.5], "scores": [1.0]},
            {"repetitions": LAW},
            "equally many",
        ),
        (private_tuning(bases.score_table()), [0.5, np.nan], {"repetitions": LAW}, "NaN"),
        (
            private_tuning(random_candidate()),
            [0.5, 0.2],
            {"repetitions": LAW},
            "noise_scale is missing",
        ),
        (
            private_tuning(noised_score()),
            0.5,
            {"repetitions": LAW, "noise_scale": 1.0, "edges": [1.0, 1.0]},
            "strictly increasing",
        ),
        (
            threshold_selection(bases.finite()),
            [0.5, 0.5],
            {"threshold": 1.0, "stop_probability": 1.5},
            "stop_probability is 1.5",
        ),
        (threshold_selection(bases.finite()), [0.5, 0.5], {}, "threshold is missing"),
        (threshold_selection(bases.finite()), [0.5, 0.5], {"threshold": 7.0}, "no run reaches"),
        (
            threshold_selection(bases.finite()),
            [0.5, 0.5],
            {"threshold": 1.0, "max_draws": 0},
            "max_draws is 0",
        ),
    ],
)
def test_bad_input(mechanism, data, params, message):
    with pytest.raises(InputError, match=message):
        mechanism.prepare(data, params)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: noisy_max("cauchy"), "noise is 'cauchy'"),
        (lambda: noisy_max("laplace", method="race"), "Gumbel noise only"),
        (lambda: noisy_max(precision="half"), "precision is 'half'"),
        (lambda: private_tuning(bases.finite(), "zipf"), "zipf"),
        (lambda: private_tuning(bases.finite(), "capped"), "capped"),
        (lambda: private_tuning(bases.finite(), method="slow"), "method is 'slow'"),
        (lambda: random_candidate("cauchy"), "noise is 'cauchy'"),
        (lambda: noised_score(sign=2), "sign is 2"),
    ],
)
def test_bad_static_settings(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_table_that_would_be_too_long_is_refused():
    mechanism = private_tuning(bases.finite(), method="literal")
    with pytest.raises(InputError, match="entries"):
        mechanism.prepare([0.5, 0.5], {"repetitions": geometric(1e-9)})
