"""One-shot Gumbel top-k, at a cost that depends on k and not on the number of candidates.

Counts with Gumbel noise of scale b are a race in which candidate i arrives after an
exponential time of rate exp(count_i/b); the first k to arrive are released. Up to a
horizon each candidate arrives, or not, independently. Walking through the candidates in
descending order of rates, those that arrive are found by skipping: with p the chance of
the last one visited, the next visit is a geometric number of candidates further on, and
is accepted with the ratio of its own probability to p (Batagelj & Brandes 2005; Miller &
Hagberg 2011). The arrival time of an accepted visit is computed from the same random
number.

The host chooses the horizon late enough for k arrivals, and the number of visits large
enough for all arrivals before it: both fail with probability below 2**-65, which is the
resolution of the draws.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

from jaxsel.families.top_k.order_statistics import largest
from jaxsel.families.top_k.parameters import Padding
from jaxsel.host.errors import InputError
from jaxsel.kernel import noise as noises
from jaxsel.kernel import stream
from jaxsel.language.signature import validated

_LOG_FAILURE = 65.0 * np.log(2.0)
_REACH = 700.0  # exp() beyond it overflows
_STEPS = 70  # bisection steps, from a range of thousands
_MAX_CELLS = 20_000_000
_FEW, _STEP = 256, 32  # candidates that are all visited; multiples of visits


class Race(NamedTuple):
    """A race among some of the candidates, as it is described on the host.

    Attributes:
      first: rank visited first.
      direction: 1 if ranks are visited upwards, -1 if downwards.
      size: number of candidates in the race, >= 1.
      picks: number of arrivals wanted, in [1, size].
      slope: gain in log rate per vote: 1/b upwards, -1/b downwards.
      widest: largest number of candidates, >= size. The plan is valid for every number from
        ``size`` to this one (see ``wanted_among_first``).
    """

    first: int
    direction: int
    size: int
    picks: int
    slope: float
    widest: int


class Races(NamedTuple):
    """Races prepared for the device, one per row.

    Attributes:
      first, direction, size, picks: Int32["rows"].
      reference, slope, log_horizon: Float["rows"]: a candidate's expected number of
        arrivals before the horizon is exp((count - reference) slope + log_horizon).
      visits: UInt32["visits"], the numbers of the visits, 0, 1, ...
    """

    first: np.ndarray
    direction: np.ndarray
    size: np.ndarray
    picks: np.ndarray
    reference: np.ndarray
    slope: np.ndarray
    log_horizon: np.ndarray
    visits: np.ndarray


# --- Host -----------------------------------------------------------------------------


def _poisson_below(mean: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Minus the log of Chernoff's bound on P[at most ``number`` arrive], where ``mean`` do."""
    number = np.minimum(number, mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(number > 0, number * np.log(mean / number), 0.0)
    return mean - number - spread


def _poisson_reach(mean: np.ndarray) -> np.ndarray:
    """A number that a Poisson number exceeds with probability below 2**-66, by Chernoff's bound."""
    low, high = mean, mean + 40.0 * np.sqrt(mean) + 200.0
    for _ in range(60):
        middle = (low + high) / 2.0
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(mean > 0, np.log(middle / mean), 0.0)
        rare = middle * ratio - middle + mean > _LOG_FAILURE + 1.0
        rare = np.where(mean > 0, rare, True)
        low, high = np.where(rare, low, middle), np.where(rare, middle, high)
    return high


@validated
def plan_races(counts: np.ndarray, races: list[Race], dtype, capacity: Padding = None) -> Races:
    """Plans races for the device: chooses their horizons and their number of visits.

    Args:
      counts: Float["candidates"], descending.
      races: at least one.
      dtype: of the device's numbers.
      capacity: number of visits, for cells of a grid that must have equal shapes; None for
        the necessary number, rounded up (one per candidate if there are at most 256).

    Raises:
      InputError: if the capacity is too small, or there are too many different counts
        for this many races.
    """
    starts = np.flatnonzero(np.append(True, np.diff(counts) != 0.0))
    ends = np.append(starts[1:], counts.size)
    if len(races) * starts.size > _MAX_CELLS:
        raise InputError(
            f"{len(races)} races among {starts.size} different counts are too many to "
            'plan; restrict the sizes, or take method "literal"'
        )
    first = np.array([race.first for race in races])
    direction = np.array([race.direction for race in races])

    def members(number: list[int]) -> np.ndarray:
        """How many candidates of each count race, in visiting order."""
        low = np.where(direction > 0, first, first - np.array(number) + 1)[:, None]
        high = low + np.array(number)[:, None]
        inside = np.minimum(ends, high) - np.maximum(starts, low)
        inside = np.maximum(inside, 0).astype(np.float64)
        inside[direction < 0] = inside[direction < 0, ::-1]
        return inside

    sizes = members([race.size for race in races])
    slope = np.array([race.slope for race in races])
    picks = np.array([race.picks for race in races], dtype=np.float64)
    last = first + direction * (picks.astype(np.int64) - 1)
    reference = counts[last]
    gains = (counts[starts] - reference[:, None]) * slope[:, None]
    gains[direction < 0] = gains[direction < 0, ::-1]
    top = np.minimum(np.maximum(picks[:, None] - (np.cumsum(sizes, 1) - sizes), 0), sizes)

    def expected(t):
        return np.exp(np.minimum(gains + t[:, None], _REACH))

    def enough(t):
        each = expected(t)
        mean = np.sum(sizes * -np.expm1(-each), axis=1)
        poisson = _poisson_below(mean, picks - 1.0) > _LOG_FAILURE
        with np.errstate(divide="ignore"):
            missing = np.log(np.sum(np.where(top > 0, top * np.exp(-each), 0.0), axis=1))
        return poisson | (missing < -_LOG_FAILURE)

    early, late = np.full(picks.size, -800.0), np.full(picks.size, 60.0)
    for _ in range(_STEPS):
        middle = (early + late) / 2.0
        good = enough(middle)
        early, late = np.where(good, early, middle), np.where(good, middle, late)
    # More competitors only arrive sooner; the visits must suffice for the largest number.
    needed = _visits(expected(late), members([race.widest for race in races]))
    visits = int(needed.max())
    if capacity is None:
        # Short histograms of equal length, such as neighbours, have equal shapes.
        visits = counts.size if counts.size <= _FEW else -(-visits // _STEP) * _STEP
        visits = min(visits, counts.size)
    elif capacity < visits:
        raise InputError(f"capacity is {capacity}; these races need {visits} visits")
    else:
        visits = capacity
    integer = np.int32
    return Races(
        first.astype(integer),
        direction.astype(integer),
        np.array([race.size for race in races], integer),
        picks.astype(integer),
        reference.astype(dtype),
        slope.astype(dtype),
        late.astype(dtype),
        np.arange(visits, dtype=np.uint32),
    )


def _visits(each: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The number of visits, accepted or not, that finds all arrivals; at most all candidates.

    Args:
      each: Float["races counts"], expected arrivals before the horizon of a candidate of each
        count.
      sizes: Float["races counts"], how many candidates of each count race.
    """
    mean = sizes * -np.expm1(-each)
    # Candidates at the far end whose total arrival probability is below 2**-66 need no
    # visits.
    beyond = np.cumsum((sizes * each)[:, ::-1], axis=1)[:, ::-1]
    inside = (sizes > 0) & (beyond > np.exp(-_LOG_FAILURE - 1.0))
    kept = np.minimum(_poisson_reach(mean.sum(axis=1)), (sizes * inside).sum(axis=1))
    # A visit is rejected if the probability falls from the last one visited to this one:
    # 1 - ratio is subadditive, hence at most its sum over all falls on the way.
    chance = np.where(inside, -np.expm1(-each), 0.0)
    before = np.concatenate([chance[:, :1], chance[:, :-1]], axis=1)
    falls = inside & (before > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(falls, 1.0 - chance / before, 0.0).sum(axis=1)
    lost = np.where(lost > 1e-15, _poisson_reach(lost), 0.0)
    total = np.ceil(kept + lost) + 1.0
    return np.minimum(total, sizes.sum(axis=1))


# --- Device ---------------------------------------------------------------------------


def wanted_among_first(
    key: stream.Key, counts, wanted, races: Races, row, precision: str, size=None
) -> Int[Array, ""]:
    """The number of wanted candidates among the first arrivals of race ``row``.

    Args:
      key: of the trial's race; visit v takes hashes 2 v and 2 v + 1.
      counts: Float["candidates"], descending.
      wanted: Bool["candidates"], by rank.
      races: the plan.
      row: which race to run, Int[Array, ""].
      precision: "tail" or "float64".
      size: number of candidates in the race, between the plan's size and its widest; None
        for its size.
    """
    plan = [jnp.asarray(field)[row] for field in races[:-1]]
    first, direction, planned, picks, reference, slope, log_horizon = plan
    size = planned if size is None else jnp.asarray(size, jnp.int32)
    counts, wanted = jnp.asarray(counts), jnp.asarray(wanted)
    far = jnp.asarray(2.0**24, counts.dtype)  # beyond every candidate, whole in float32

    def expected(rank):
        gain = (counts[rank] - reference) * slope + log_horizon
        return jnp.exp(jnp.minimum(gain, jnp.asarray(60.0, gain.dtype)))

    def visit(state, number):
        place, last = state
        skip = noises.exponential(noises.number(key, 2 * number, precision)) / last
        place = place + jnp.minimum(jnp.floor(skip), far).astype(jnp.int32)
        present = place < size
        rank = first + direction * jnp.minimum(place, size - 1)
        rate = expected(rank)
        time = _truncated_exponential(noises.number(key, 2 * number + 1, precision), last)
        # Kept if the time, in units of the horizon, is below 1.
        time = jnp.where(present, time / rate, jnp.asarray(jnp.inf, rate.dtype))
        time = jnp.where(time < 1, time, jnp.asarray(jnp.inf, rate.dtype))
        place = jnp.minimum(place + 1, size)
        return (place, jnp.where(present, rate, last)), (time, wanted[rank])

    start = jnp.zeros((), jnp.int32), expected(first)
    _, (times, good) = lax.scan(visit, start, jnp.asarray(races.visits))
    chosen = largest(-times, picks, jnp.isfinite(times))
    return jnp.sum(chosen & good, dtype=jnp.int32)


def _truncated_exponential(number: noises.Ends, bound) -> Array:
    """A standard exponential number, given that it is below ``bound``; accurate at both ends."""
    upper, t = number
    # The number is u = 1 - t or t; the value -log(1 - p u), p = 1 - exp(-bound).
    p, rest = -jnp.expm1(-bound), jnp.exp(-bound)
    return jnp.where(upper, -jnp.log(rest + p * t), -jnp.log1p(-p * t))
