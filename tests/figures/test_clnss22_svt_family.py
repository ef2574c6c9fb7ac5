"""Six sparse vectors: exact losses, audits below them, and what is drawn."""

import math

import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy import stats

from figures import clnss22_svt_family as figure
from figures.common.audited_bounds import audited
from jaxsel.families.sparse_vector import variant_settings as svt
from jaxsel.families.sparse_vector.patterns import pattern_log_probability
from jaxsel.families.sparse_vector.profiles import pair_epsilon
from jaxsel.language.base import Relation
from sims import registry
from tests.conftest import ALPHA
from tests.figures.sharing import WHOLE, drawn, whole

TRIALS = WHOLE["clnss22-svt-family"]
RELATIONS = (Relation.GENERAL, Relation.MONOTONE)
MEMBERS = {member.variant.number: member for member in figure.MEMBERS}


@pytest.fixture(scope="module")
def record():
    return registry.load("clnss22-svt-family", whole("clnss22-svt-family"))["spotted"]


def test_counts_have_their_exact_law(record):
    """Each counted pattern on each side; the value of algorithm 3 by its own law."""
    checked = 0
    for number, member in MEMBERS.items():
        for relation in member.relations:
            tallies = figure.counts_of(record, member, relation).sel(outcome="wanted")
            for size in member.sizes:
                found = figure.queries_of(member, size, relation)
                noise = figure.noise_of(member, size)
                noise = noise._replace(redrawn=member.variant is svt.DWORK_ROTH)
                above = np.isin(np.arange(sum(found.lengths)), found.above)
                counts = tallies.sel(size=size, side=["first", "second"]).values
                for levels, seen in zip((found.first, found.second), counts, strict=True):
                    rows = np.repeat(levels, found.lengths)
                    exact = math.exp(pattern_log_probability(rows, above, noise))
                    if number == 3:
                        assert seen <= stats.binom.isf(ALPHA, TRIALS, exact)
                        continue
                    tails = stats.binom.cdf(seen, TRIALS, exact)
                    assert ALPHA < tails, (number, size, relation)
                    assert stats.binom.sf(seen - 1, TRIALS, exact) > ALPHA
                    checked += 1
    assert checked == 4 * sum(len(m.sizes) for n, m in MEMBERS.items() if n != 3)


def test_audits_are_sound_and_come_near(record):
    for number, member in MEMBERS.items():
        for relation in member.relations:
            # A false alarm of one bound of many: confidence to match.
            counts = figure.counts_of(record, member, relation)
            low = audited(counts, 1.0 - ALPHA).values
            exact = [figure.loss(member, size, relation) for size in member.sizes]
            if number == 5:
                assert low[0] > 6.0
                continue
            assert np.all(low <= exact), number
            if relation is Relation.GENERAL:
                near = audited(counts)
                assert near[0] > 0.7 * exact[0], number


def test_the_counted_pattern_loses_most_from_two_queries_on():
    for number in (1, 2, 4, 6):
        member = MEMBERS[number]
        for relation in RELATIONS:
            for size in (1, 2, 4, 6):
                found = figure.queries_of(member, size, relation)
                noise = figure.noise_of(member, size)
                noise = noise._replace(redrawn=member.variant is svt.DWORK_ROTH)
                pair = [np.repeat(levels, found.lengths) for levels in (found.first, found.second)]
                most = pair_epsilon(*pair, noise)
                loss = figure.loss(member, size, relation)
                assert loss <= most * (1.0 + 1e-9)
                if size > 1:
                    assert loss == pytest.approx(most, rel=1e-9), number


def test_right_ones_keep_epsilon_and_the_others_do_not():
    for relation in RELATIONS:
        for number, member in MEMBERS.items():
            used = figure._relation_of(member, relation)
            if number == 5:
                continue
            last = figure.loss(member, 64, used)
            bound = figure.bounds(member, relation)
            assert last <= bound * (1.0 + 1e-9)
            assert (last > 1.0 * (1.0 + 1e-9)) == (number not in (1, 2))
            if math.isfinite(bound):
                assert last == pytest.approx(bound, rel=1e-3)
    assert figure.bounds(MEMBERS[4], Relation.GENERAL) == 3.25
    assert figure.bounds(MEMBERS[4], Relation.MONOTONE) == 1.75


def test_figure_draws_losses_bounds_and_audits(record, monkeypatch, tmp_path):
    canvas = drawn(figure, {"spotted": record}, monkeypatch, tmp_path)
    for axes, relation in zip(canvas.axes, RELATIONS, strict=True):
        lines = axes.get_lines()
        for number, (label, look) in figure.LOOKS.items():
            own = [each for each in lines if each.get_label() == label]
            assert len(own) == 1
            member = MEMBERS[number]
            used = figure._relation_of(member, relation)
            shown = dict(zip(*own[0].get_data(), strict=True))
            if number == 5:
                low = audited(figure.counts_of(record, member, used))
                assert shown == {1: float(low[0])}
            else:
                for size in (1, 8, 64):
                    assert shown[size] == figure.loss(member, size, used)
            marks = [
                line
                for line in lines
                if line.get_marker() == look["marker"] and to_hex(line.get_color()) == look["color"]
            ]
            assert len(marks) == 1
    assert "60,000" in canvas.get_supxlabel()
