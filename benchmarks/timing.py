"""Times candidates in one process, in interleaved repeats, and compares the fastest ones.

A shared machine slows every candidate at times. The fastest of several interleaved repeats is
the least disturbed, and ratios of fastest repeats are stable while absolute speeds are not.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.checks import chi_square_p_value

# The false-alarm probability of every test of a law.
_ALPHA = 1e-6


class Settings(NamedTuple):
    """Settings of measurements.

    Attributes:
      repeats: timed repeats of each candidate.
      seconds: target duration of one repeat.
      clock: the clock. ``time.process_time`` excludes the time of other programs on a busy
        machine; it is meant for a single thread without a GPU.
    """

    repeats: int
    seconds: float
    clock: Callable[[], float] = time.perf_counter


class Sampler(NamedTuple):
    """A competitor, which makes trials and returns their tallies.

    Attributes:
      run: ``trials -> tallies``, with fresh randomness at every call; returns when it is
        done.
      block: the number of trials must be a multiple of this.
      law: probabilities of the tallied events, tested against all timed runs together; None
        if ``run`` returns something else.
    """

    run: Callable[[int], Any]
    block: int
    law: np.ndarray | None = None


class Timing(NamedTuple):
    """Seconds per trial.

    Attributes:
      fastest, median: over the repeats.
      trials: number of trials in one repeat.
      p_value: of the chi-square test of the timed tallies; None if there is no law.
    """

    fastest: float
    median: float
    trials: int
    p_value: float | None


def _seconds(sampler: Sampler, trials: int, settings: Settings) -> tuple[float, Any]:
    start = settings.clock()
    tallies = sampler.run(trials)
    return settings.clock() - start, tallies


def _trials_for(sampler: Sampler, settings: Settings) -> int:
    """The number of trials that takes about ``seconds``; the first call may compile."""
    sampler.run(sampler.block)
    blocks = 1
    while True:
        spent, _ = _seconds(sampler, blocks * sampler.block, settings)
        if spent >= settings.seconds / 2:
            return blocks * sampler.block
        growth = 0.75 * settings.seconds / max(spent, 1e-6)
        blocks = int(blocks * min(16.0, max(2.0, growth)))


def time_all(samplers: Mapping[str, Sampler], settings: Settings) -> dict[str, Timing]:
    """Times the samplers in turn, A B C A B C, and tests their tallies.

    Raises:
      RuntimeError: if the tallies of a sampler contradict its law, so that a comparison
        with it would mean nothing.
    """
    trials = {name: _trials_for(sampler, settings) for name, sampler in samplers.items()}
    spent: dict[str, list[float]] = {name: [] for name in samplers}
    tallies: dict[str, Any] = dict.fromkeys(samplers, 0)
    for _ in range(settings.repeats):
        for name, sampler in samplers.items():
            seconds, found = _seconds(sampler, trials[name], settings)
            spent[name].append(seconds / trials[name])
            if sampler.law is not None:
                tallies[name] = tallies[name] + np.asarray(found)
    return {
        name: Timing(
            min(spent[name]),
            float(np.median(spent[name])),
            trials[name],
            _checked(name, sampler, tallies[name]),
        )
        for name, sampler in samplers.items()
    }


def _checked(name: str, sampler: Sampler, tallies) -> float | None:
    if sampler.law is None:
        return None
    p_value = chi_square_p_value(tallies, sampler.law)
    if p_value < _ALPHA:
        raise RuntimeError(f"{name} does not sample its law: p = {p_value:.1e}")
    return p_value


def ratio(times: Mapping[str, Timing], slow: str, fast: str) -> float:
    """The speed-up of ``fast`` over ``slow``, by the fastest repeats."""
    return times[slow].fastest / times[fast].fastest


def rates(times: Mapping[str, Timing], *names: str) -> str:
    """The absolute speeds behind a ratio, as text."""
    parts = []
    for name in names:
        timing = times[name]
        part = f"{name}: {1e-6 / timing.fastest:.4g} M/s (median {1e-6 / timing.median:.4g})"
        if timing.p_value is not None:
            part += f", law p = {timing.p_value:.2g}"
        parts.append(part)
    return "; ".join(parts)
