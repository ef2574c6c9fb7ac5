"""What StableTopK with given k does after its test: the cases, their races, and exact laws.

The cases are that the test fails, and that it passes at each size (Zhu & Wang 2022, Algorithm 3).
"""

from typing import NamedTuple

import numpy as np

from jaxsel.families.top_k.arrivals import Race, Races, plan_races
from jaxsel.families.top_k.gaps import pass_probability
from jaxsel.families.top_k.laws import fixed_top_k_law, keeps
from jaxsel.families.top_k.noisy_gaps import selection_law
from jaxsel.families.top_k.recall import group_counts, hit_law
from jaxsel.families.top_k.release import Ranking
from jaxsel.families.top_k.scales import fixed_peel_scale, fixed_top_k_scale
from jaxsel.host.errors import InputError

_GROWTH = 1.05  # large sizes share a race up to this factor
_NEGLIGIBLE = 1e-17
_MAX_CASES = 400


class Settings(NamedTuple):
    """The settings of Algorithm 3.

    Attributes:
      ranking: the histogram, in order.
      levels: q_j + r(j), see ``gap_levels``.
      rho: of the whole.
      delta_t: failure probability of the test.
      beyond: see ``fixed_top_k``.
      groups, capacity: padding, for cells of a grid.
    """

    ranking: Ranking
    levels: np.ndarray
    rho: float
    delta_t: float
    beyond: str
    groups: int | None = None
    capacity: int | None = None

    @property
    def scale(self) -> float:
        """Scale of the selection noise and of the test noise, each at a quarter of rho."""
        return fixed_top_k_scale(self.rho)

    def peel_scale(self, picks: int) -> float:
        """Gumbel scale at which ``picks`` picks cost half of rho."""
        return fixed_peel_scale(self.rho, picks)


class Cases(NamedTuple):
    """The picks by exponential mechanisms in each case.

    Case 0 is that the test fails, and case j that it passes at size j.

    Attributes:
      base: Int32["m"], number of first ranks that are released without a pick, or from which some
        are dropped.
      low, high: Int32["m"], the ranks low, ..., high - 1 are those among which to pick.
      picks: Int32["m"], number of picks. They are added to the base, or dropped from it if they
        are inside.
      slope: Float["m"], 1 over the Gumbel scale, negative if lower counts are preferred.
    """

    base: np.ndarray
    low: np.ndarray
    high: np.ndarray
    picks: np.ndarray
    slope: np.ndarray


def cases_of(settings: Settings) -> Cases:
    """How candidates are picked in each case of the test, for these settings."""
    m, k = settings.ranking.counts.size, settings.ranking.k
    size = np.arange(m)
    fewer, more = (size > 0) & (size < k), size > k
    drops = more & np.array([not keeps(settings.beyond, int(j), k) for j in size])
    base = np.where(fewer | drops | (size == k), size, 0)
    picks = np.where(fewer, k - size, np.where(drops, size - k, k))
    picks[k] = 0
    unit = settings.peel_scale(1)
    slope = 1.0 / (unit * np.sqrt(np.maximum(picks, 1)))
    return Cases(
        base.astype(np.int32),
        np.where(fewer, size, 0).astype(np.int32),
        np.where(more, size, m).astype(np.int32),
        picks.astype(np.int32),
        np.where(drops, -slope, slope),
    )


def plan_cases(settings: Settings, cases: Cases, dtype) -> tuple[Races, np.ndarray]:
    """The races of all cases, and the number of the race of each case: Int32["m"].

    Cases of large sets of nearly equal size share a race.

    Args:
      settings: of Algorithm 3.
      cases: see ``cases_of``.
      dtype: of the device's numbers.
    """
    m, k = settings.ranking.counts.size, settings.ranking.k
    races, row = [], np.zeros(m, dtype=np.int32)
    case = 0
    while case < m:
        last = case
        if case > k and cases.base[case] == 0:
            last = min(m - 1, int(case * _GROWTH))
        row[case : last + 1] = len(races)
        low, high = int(cases.low[case]), int(cases.high[case])
        slope, picks = float(cases.slope[case]), int(cases.picks[case])
        up = slope > 0
        races.append(
            Race(
                low if up else high - 1,
                1 if up else -1,
                high - low,
                max(picks, 1),
                slope,
                int(cases.high[last]) - low,
            )
        )
        case = last + 1
    counts = settings.ranking.counts
    return plan_races(counts - counts[k - 1], races, dtype, settings.capacity), row


# --- Exact laws -----------------------------------------------------------------------


def fixed_set_law(settings: Settings) -> np.ndarray:
    """Exact law of the released set of k candidates: Float["2^m"], indexed by bit masks.

    Bit i of an index stands for candidate i of the histogram as given.
    """
    ranking = settings.ranking
    law = fixed_top_k_law(
        ranking.histogram,
        ranking.k,
        selection_law(settings.levels, settings.scale, "gumbel"),
        settings.scale,
        settings.delta_t,
        settings.peel_scale,
        beyond=settings.beyond,
    )
    return law.sum(axis=(0, 1))


def fixed_hit_law(settings: Settings) -> np.ndarray:
    """Exact law of the number of wanted candidates in the released set: Float["k+1"].

    It is the mixture, over the cases of the test, of exact laws of peeling.

    Raises:
      InputError: if more than ``_MAX_CASES`` cases are likely enough to count.
    """
    ranking, cases = settings.ranking, cases_of(settings)
    k = ranking.k
    chosen = selection_law(settings.levels, settings.scale, "gumbel")
    passed = pass_probability(ranking.gaps, settings.scale, settings.delta_t)
    weight = np.append(1.0 - np.sum(chosen * passed), chosen * passed)
    likely = np.flatnonzero(weight > _NEGLIGIBLE)
    if likely.size > _MAX_CASES:
        raise InputError(
            f"{likely.size} sizes may pass; the exact law is for at most {_MAX_CASES}: "
            "restrict them by max_size, or simulate"
        )
    law = np.zeros(k + 1)
    for case in likely:
        base, picks = int(cases.base[case]), int(cases.picks[case])
        pool = slice(int(cases.low[case]), int(cases.high[case]))
        counts, wanted = ranking.counts[pool], ranking.wanted[pool]
        at_hand = int(ranking.wanted[:base].sum())
        slope = float(cases.slope[case])
        if picks == 0:
            found = np.ones(1)
        elif picks == counts.size:
            found = np.append(np.zeros(int(wanted.sum())), 1.0)
        else:
            signed = counts if slope > 0 else -counts
            groups = group_counts(signed, wanted)
            found = hit_law(groups, picks, 1.0 / abs(slope))
        step = 1 if slope > 0 else -1
        for hits in np.flatnonzero(found):
            law[at_hand + step * hits] += weight[case] * found[hits]
    return law
