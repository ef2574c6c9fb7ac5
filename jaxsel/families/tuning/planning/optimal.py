"""``jaxsel.optimal``: the law of K that costs least for what is asked of a search."""

import math
from typing import NamedTuple

from jaxsel.accounting.single_run.base_text import parse_base
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.errors import InputError
from jaxsel.families.tuning.planning.optimal_law import optimal_law
from jaxsel.families.tuning.planning.plan import rank_of_geometric
from jaxsel.families.tuning.planning.wishes import (
    Utility,
    Wishes,
    read_wishes,
    utility,
)
from jaxsel.families.tuning.secrecy import SCORE
from jaxsel.printing import Summary, printed, rounded_up
from jaxsel.repetitions import Repetitions, describe


@printed
class Optimal(NamedTuple):
    """The law of K of least envelope, and a bound on every other.

    Attributes:
      base: one run, by name.
      law: of K.
      epsilon: of the search with it, proved by the envelope.
      lower: no law of K that meets the wishes has an envelope with a smaller epsilon.
      delta: at which.
      wishes: that the law meets.
      utility: what to expect.
    """

    base: str
    law: Repetitions
    epsilon: float
    lower: float
    delta: float
    wishes: Wishes
    utility: Utility

    def sentences(self) -> list[str]:
        """The law and its certificate, in words; epsilon is rounded up, lower down."""
        found, good = self.utility, self.wishes.good
        hit = "" if good is None else f", among the best {good:g} with {found.hit:.4g}"
        return [
            f"With K from this law the best run is ({rounded_up(self.epsilon):g}, "
            f"{self.delta:g})-differentially private, whatever ranks the runs.",
            f"No law of K that gives what is asked has an envelope below epsilon = "
            f"{math.floor(self.lower * 1e4) / 1e4:g}.",
            f"It takes {found.mean_runs:.4g} runs on average, at most {found.runs_95} in "
            f"95 searches of 100, and the winner is at quantile "
            f"{found.expected_quantile:.4g} of the candidates on average{hit}.",
            SCORE,
        ]

    def summary(self) -> Summary:
        """In words, and the law."""
        table = [[int(k), p] for k, p in self.law.parameters.items()]
        return Summary("\n".join(self.sentences()), ("runs", "probability"), table)

    def as_record(self) -> dict:
        """Names and numbers, ready for JSON."""
        return {
            "base": self.base,
            "epsilon": self.epsilon,
            "lower": self.lower,
            "delta": self.delta,
            "law": describe(self.law),
            "score": SCORE,
            **self.utility._asdict(),
            "wishes": self.wishes._asdict(),
        }


def optimal(
    base: str | BaseGuarantee,
    *,
    delta: float = 1e-6,
    runs: float | None = None,
    runs_95: int | None = None,
    most: int | None = None,
    rank: float | None = None,
    rank_of: str | Repetitions | None = None,
    good: float | None = None,
    chance: float | None = None,
    none: float | None = None,
) -> Optimal:
    """The law of K that costs least in privacy, for what is asked of the search.

    Least is the epsilon of the envelope (docs/envelope.md) at delta; ``lower`` is a
    certificate that no other law of K does better (docs/optimal-law.md). Where nothing is
    said of the winner, it has to be as good, in expected rank, as that of a geometric K
    with the runs that are allowed. Takes some ten seconds.

    Args:
      base: one run, as for ``account``.
      delta: of the search, in (0, 1).
      runs: E[K] at most.
      runs_95: number of runs that 95 searches of 100 do not exceed.
      most: number of runs that no search exceeds; 10,000 if neither this nor runs is
        given.
      rank: expected rank of the winner, from the top, at most: 1 less its quantile.
      rank_of: in place of rank: a law of K whose winner is good enough.
      good: share of the candidates that counts as good.
      chance: that the winner is among these, at least.
      none: chance that nothing is released, at most.

    Raises:
      InputError: for wishes that no law of K meets, with the nearest that one does, for a
        base without a privacy profile, or numbers out of range.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.optimal("gaussian:noise_multiplier=2", runs=5)
        >>> found.law.mean <= 5 and found.lower <= found.epsilon
        True
    """
    wishes = read_wishes(
        runs=runs, runs_95=runs_95, rank=rank, rank_of=rank_of, good=good, chance=chance,
        none=none, most=most,
    )  # fmt: skip
    if not wishes.asks_for_quality:
        if runs is None and runs_95 is None:
            raise InputError(
                "nothing is asked of the search; give runs, rank, rank-of, or good with "
                "a chance"
            )
        wishes = wishes._replace(rank=rank_of_geometric(wishes._replace(most=None)))
    run = parse_base(base) if isinstance(base, str) else base
    found = optimal_law(run, delta, wishes)
    name = base if isinstance(base, str) else run.name
    return Optimal(
        name, found.law, found.epsilon, found.lower, found.delta, found.wishes,
        utility(found.law, wishes.good),
    )  # fmt: skip
