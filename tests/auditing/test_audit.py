"""Which trials an audit uses for what."""

import math
import pickle

import numpy as np
import pytest

from jaxsel.auditing import audit as auditing
from jaxsel.families.noisy_max.noisy_max import noisy_max
from jaxsel.host import source_digest
from jaxsel.host.errors import InputError
from jaxsel.kernel import engine
from jaxsel.kernel.engine import Performance
from jaxsel.kernel.tables import from_law
from jaxsel.language.base import FiniteLaw, Mechanism, Pair, Relation
from tests.conftest import ALPHA

_P = Performance()
PAIR = Pair("p", [1.0, 0.0], [0.0, 1.0], Relation.GENERAL, {"epsilon": 1.0}, "a test")


@pytest.mark.parametrize(("method", "parts"), [("split", 2), ("bonferroni", 1)])
def test_the_event_is_chosen_on_other_trials_than_it_is_bounded_on(method, parts, monkeypatch):
    calls, simulate_grid = [], auditing.simulate_grid

    def noted(mechanism, cells, **settings):
        calls.append((cells, settings))
        return simulate_grid(mechanism, cells, **settings)

    monkeypatch.setattr(auditing, "simulate_grid", noted)
    found = auditing.audit(noisy_max(), PAIR, trials=1001, method=method)
    ranges = [
        set(range(given["first_trial"], given["first_trial"] + given["trials"]))
        for _, given in calls
    ]
    assert len(ranges) == parts
    assert sum(map(len, ranges)) == len(set().union(*ranges)) == 1001
    # Bounded on the last of them, on both sides.
    assert found.bound.counts[1::2] == (len(ranges[-1]),) * 2
    for cells, _ in calls:
        sides = [side for side, _ in cells]
        np.testing.assert_array_equal(sides, [PAIR.data, PAIR.neighbour])


def test_draws_too_coarse_for_the_trials_are_refused():
    with pytest.raises(InputError, match="too coarse to audit"):
        auditing.audit(noisy_max(precision="fast"), PAIR, trials=100_000)


def test_a_bound_of_simulated_tallies_has_its_randomness_from_their_seed_and_pair():
    found = auditing.audit(noisy_max(), PAIR, trials=1000, seed=3)
    assert found == auditing.audit(noisy_max(), PAIR, trials=1000, seed=3)
    assert found.bound.entropy[0] == 3
    moved = auditing.audit(noisy_max(), PAIR._replace(name="q"), trials=1000, seed=3)
    assert moved.bound.entropy != found.bound.entropy
    delta = auditing.audit_delta(noisy_max(), PAIR, trials=1000, epsilon=0.1, seed=3)
    assert delta.bound.entropy == found.bound.entropy
    # Tallies are bounded as where they are simulated.
    sides = auditing._both_sides(auditing._audited(noisy_max(), PAIR), 1000, "split", 3, None, _P)
    again = auditing.audit_tallies(noisy_max(), PAIR, sides.used, sides.selection, seed=3)
    assert again == found
    unknown = auditing.audit_tallies(noisy_max(), PAIR, sides.used, sides.selection)
    assert unknown.bound.entropy not in (found.bound.entropy, ())


def _binary(p, q, resolution=2.0**-53):
    """One of three outcomes by an exact law; the sampler is the law's."""
    laws = {0.0: np.array(p), 1.0: np.array(q)}

    def law(data, params):
        return FiniteLaw(laws[float(data)], ("a", "b", "c"))

    labels = lambda data, params: ("a", "b", "c")  # noqa: E731
    mechanism = Mechanism(None, None, lambda outcome: outcome, labels, law, resolution, "table")
    return from_law(mechanism)._replace(resolution=resolution)


FIRST, SECOND = (0.6, 0.3, 0.1), (0.2, 0.4, 0.4)
SIDES = Pair("sides", 0.0, 1.0, Relation.GENERAL, {}, "two laws")


@pytest.mark.parametrize("delta", [0.0, 0.15])
def test_the_exact_value_is_the_larger_of_both_directions(delta):
    table = _binary(FIRST, SECOND)
    found = auditing.audit(table, SIDES, trials=40_000, delta=delta, confidence=1 - 1e-6)
    # The least epsilon with sum max(p - e^epsilon q, 0) <= delta, by bisection, both ways.
    exact = 0.0
    for p, q in ((FIRST, SECOND), (SECOND, FIRST)):
        low, high = 0.0, 10.0
        for _ in range(80):
            middle = (low + high) / 2
            over = sum(max(a - math.exp(middle) * b, 0.0) for a, b in zip(p, q, strict=True))
            low, high = (middle, high) if over > delta else (low, middle)
        exact = max(exact, high)
    assert found.exact == pytest.approx(exact, abs=1e-9)
    assert 0.8 * exact < found.bound.lower <= exact
    assert (found.quantity, found.at, found.trials) == ("epsilon", delta, 40_000)
    assert not found.refuted  # nothing is promised
    swapped = SIDES._replace(data=1.0, neighbour=0.0)
    again = auditing.audit(table, swapped, trials=40_000, delta=delta, confidence=1 - 1e-6)
    assert again.exact == pytest.approx(exact, abs=1e-9)


def test_the_exact_delta_is_that_of_the_worse_direction():
    found = auditing.audit_delta(_binary(FIRST, SECOND), SIDES, trials=40_000, epsilon=0.4)
    grown = math.exp(0.4)
    one, other = (
        sum(max(a - grown * b, 0.0) for a, b in zip(p, q, strict=True))
        for p, q in ((FIRST, SECOND), (SECOND, FIRST))
    )
    assert one != pytest.approx(other)
    assert found.exact == pytest.approx(max(one, other))
    assert (found.quantity, found.at) == ("delta", 0.4)
    assert "delta at epsilon = 0.4 is at least" in found.summary().sentence


def test_a_bound_above_the_promise_refutes_and_one_at_it_does_not():
    found = auditing.audit("noisy_max", trials=2000)
    assert found.guarantee is not None
    for lower, refuted in ((0.9, False), (1.0, False), (1.0 + 1e-9, True)):
        proven = found.guarantee._replace(epsilon=1.0)
        one = found._replace(bound=found.bound._replace(lower=lower), guarantee=proven)
        assert one.refuted == refuted
        assert ("REFUTED" in one.summary().sentence) == refuted
    (row,) = found.summary().rows
    assert row[2:6] == [found.bound.lower, found.exact, *found.guarantee]
    assert "epsilon at delta = 0 is at least" in found.summary().sentence


def test_trials_are_as_many_as_the_draws_resolve():
    # A thousandth of the least probability that so many trials show.
    for trials, resolution, refused in ((1000, 1e-6, False), (1001, 1e-6, True)):
        table = _binary(FIRST, SECOND, resolution)
        counts = (np.array([trials // 2, 0, 0]),) * 2
        rest = (np.array([trials - trials // 2, 0, 0]),) * 2
        if refused:
            with pytest.raises(InputError, match="too coarse to audit with 1001 trials"):
                auditing.audit_tallies(table, SIDES, counts, rest)
        else:
            assert auditing.audit_tallies(table, SIDES, counts, rest).trials == trials


def test_a_picture_has_the_event_on_both_sides_and_what_is_allowed():
    found = auditing.audit("noisy_max", trials=20_000)
    (axes,) = found.plot().axes
    k, n, other, m = found.bound.counts
    heights = sorted(float(y) for line in axes.get_lines() for y in np.ravel(line.get_ydata()))
    for share in (k / n, other / m):
        assert any(abs(height - share) < 1e-9 for height in heights)


@pytest.mark.parametrize("method", ["split", "bonferroni"])
def test_at_a_delta_the_event_may_be_of_several_outcomes(method):
    """Each of two alone shows .05 more than delta allows; together they show .3."""
    first, second = (0.25, 0.25, 0.1, 0.4), (0.05, 0.05, 0.4, 0.5)
    laws = {0.0: np.array(first), 1.0: np.array(second)}
    labels = ("a", "b", "c", "d")
    plain = Mechanism(
        None, None, lambda outcome: outcome, lambda *given: labels,
        lambda data, params: FiniteLaw(laws[float(data)], labels), 2.0**-53, "four",
    )  # fmt: skip
    options = {"trials": 40_000, "delta": 0.2, "confidence": 1 - ALPHA, "method": method}
    found = auditing.audit(from_law(plain), SIDES, **options)
    assert found.event_labels == ("a", "b")
    # A single outcome shows log 2 at most, in the other direction.
    assert math.log(2.0) < found.bound.lower < found.exact
    assert found.exact == pytest.approx(math.log(3.0))
    assert (found.at, found.bound.confidence, found.bound.method) == (0.2, 1 - ALPHA, method)
    # Of tallies that there are already, too.
    sides = auditing._both_sides(
        auditing._audited(from_law(plain), SIDES), 40_000, "split", 0, None, _P
    )
    again = auditing.audit_tallies(
        from_law(plain), SIDES, sides.used, sides.selection, delta=0.2, confidence=1 - ALPHA, seed=0
    )
    assert again.bound.confidence == 1 - ALPHA
    assert again.event_labels == ("a", "b")
    if method == "split":
        assert again == found


def test_a_bound_on_delta_has_its_confidence_method_and_side():
    table = _binary(FIRST, SECOND)
    given = {"trials": 40_000, "epsilon": 0.4, "confidence": 1 - ALPHA}
    for method in ("split", "bonferroni"):
        found = auditing.audit_delta(table, SIDES, method=method, **given)
        assert (found.bound.confidence, found.bound.method) == (1 - ALPHA, method)
        # Standard deviations of two shares of 20,000 trials: five of the limit, five of chance.
        lost = 10.0 * (math.sqrt(0.24 / 20_000) + math.exp(0.4) * math.sqrt(0.16 / 20_000))
        assert found.exact - lost < found.bound.lower < found.exact
        assert found.guarantee is None
        swapped = auditing.audit_delta(
            table, SIDES._replace(data=1.0, neighbour=0.0), method=method, **given
        )
        assert swapped.event_labels == found.event_labels
        directions = {found.bound.direction, swapped.bound.direction}
        assert directions == {"data/neighbour", "neighbour/data"}
    assert auditing.audit_delta("noisy_max", trials=2000, epsilon=0.1).guarantee is None
    assert not auditing.audit_delta("noisy_max", trials=2000, epsilon=0.0).refuted


@pytest.mark.parametrize("swapped", [False, True])
def test_a_picture_has_the_likelier_side_first_and_what_the_claim_allows(swapped):
    found = auditing.audit("noisy_max", trials=20_000)
    direction = "neighbour/data" if swapped else "data/neighbour"
    bound = found.bound._replace(counts=(900, 1000, 100, 2000), direction=direction)
    proven = found.guarantee._replace(epsilon=0.5)
    for at in (0.0, 0.1):
        (axes,) = found._replace(bound=bound, guarantee=proven, at=at).plot().axes
        other = 0.9 if swapped else 0.05
        (line,) = (one for one in axes.get_lines() if "claimed" in str(one.get_label()))
        assert line.get_ydata()[0] == pytest.approx(min(1.0, math.exp(0.5) * other + at))
        names = [text.get_text() for text in axes.get_xticklabels()]
        expected = ["on the data", "on the neighbour"]
        assert names == (expected[::-1] if swapped else expected)
    for without in ({"guarantee": None}, {"quantity": "delta"}):
        (axes,) = found._replace(bound=bound, **without).plot().axes
        assert not any("claimed" in str(one.get_label()) for one in axes.get_lines())


def test_an_audit_whose_tallies_nobody_keeps_reads_no_source(tmp_path, monkeypatch):
    asked = []
    digest = source_digest.digest
    monkeypatch.setattr(
        source_digest, "digest", lambda *things: asked.append(things) or digest(*things)
    )
    auditing.audit("noisy_max", trials=1000)
    assert not asked
    plain = engine.simulate("noisy_max", trials=1000)
    kept = engine.simulate("noisy_max", trials=1000, record=tmp_path / "kept.nc")
    assert len(asked) == 1
    # Who asks is told, in this process and in another one.
    assert plain.configuration["code"] == kept.configuration["code"]
    assert plain.configuration == kept.configuration
    assert pickle.loads(pickle.dumps(plain.configuration)) == dict(kept.configuration)
