"""A fixed grid of candidates beside a random search: what each costs and covers."""

from typing import Any, NamedTuple

from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.host.errors import check_integer
from jaxsel.language.default_delta import DELTA
from jaxsel.language.printing import Summary, printed, rounded_up
from jaxsel.language.relations import neighbours
from jaxsel.questions.cost import Cost, saying_something
from jaxsel.questions.released import account, compose
from jaxsel.repetitions import Repetitions, as_law, from_mean
from jaxsel.tuning.base_forms import guarantee_of
from jaxsel.tuning.composing_searches import Release
from jaxsel.tuning.secrecy import kept_secret


@printed
class GridCost(NamedTuple):
    """Every candidate once, beside random candidates a random number of times.

    Attributes:
      candidates: how many the grid has.
      every: the cost of training each candidate once and releasing all the runs.
      random: the cost of the best of K runs, each with a candidate drawn at random.
      tried: probability that the random search tries a given candidate at all.
    """

    candidates: int
    every: Cost
    random: Cost
    tried: float

    @property
    def is_proved(self) -> bool:
        """Whether a theorem bounds the cost of at least one of the two."""
        return self.every.is_proved or self.random.is_proved

    def sentences(self) -> list[str]:
        """What the grid and the random search cost and cover; epsilons are rounded up."""
        grid, random, delta = self.every.best, self.random.best, self.random.delta
        first = (
            f"The grid, each of {self.candidates} candidates once: "
            f"({rounded_up(grid.epsilon):g}, {delta:g})-differentially private, by "
            f"{grid.theorem}. It covers all {self.candidates} runs with their scores: all "
            "may be published. It covers as many runs whose candidates depend on earlier scores, "
            "too, as those of TPE or of a person who tunes by hand do."
        )
        second = (
            f"A random candidate in each of K runs, E[K] = {self.random.law.mean:.6g}: "
            f"({rounded_up(random.epsilon):g}, {delta:g})-differentially private, by "
            f"{random.theorem}. It covers the best run only: keep "
            f"{kept_secret([self.random.law])} secret. A given candidate is "
            f"tried with probability {self.tried:.3g}."
        )
        said = [first, second, neighbours(self.random.relation)]
        if not (self.every.is_proved and self.random.is_proved):
            return said
        cheaper = grid.epsilon < random.epsilon
        name = "The grid" if cheaper else "The random search"
        return [*said, f"{name} costs less."]

    def summary(self) -> Summary:
        """The sentences, and a table of every bound that applies."""
        rows = [
            [name, bound.epsilon, bound.theorem]
            for name, bounds in (("grid", self.every.bounds), ("random", self.random.bounds))
            for bound in saying_something(bounds)
        ]
        columns = ("search", "epsilon", "theorem")
        return Summary("\n".join(self.sentences()), columns, rows)

    def as_record(self) -> dict[str, Any]:
        """Names and numbers, ready for JSON."""
        random = self.random
        return {
            "grid": {
                **self.every.as_record(),
                "candidates": self.candidates,
                "covers": "every run with its score, also where candidates depend on scores",
            },
            "random": {
                "base": random.base,
                "relation": random.relation,
                "repetitions": random.law.name,
                "mean_repetitions": random.law.mean,
                "delta": random.delta,
                "epsilon": random.epsilon,
                "theorem": random.best.theorem,
                "bounds": random.bounds,
                "probability_that_a_candidate_is_tried": self.tried,
                "covers": "the best run; K, the other runs and their scores are secret",
            },
        }


@one_blas_thread()
def account_grid(
    base: object,
    candidates: int,
    delta: float = DELTA,
    *,
    repetitions: Repetitions | str | None = None,
) -> GridCost:
    """A fixed grid of candidates beside a random search of the same size.

    Args:
      base: what one run guarantees, whichever its candidate; as in ``guarantee_of``.
      candidates: the number of candidates of the grid, >= 1.
      delta: in [0, 1).
      repetitions: law of K of the random search; by default geometric, with as many runs
        on average as the grid has candidates.

    Raises:
      InputError: as ``compose`` and ``account``.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.account_grid("pure:epsilon=0.1", candidates=10, delta=0)
        >>> print(f"all ten: {found.every.epsilon:.2f}; a search: {found.random.epsilon:.2f}")
        all ten: 1.00; a search: 0.26
    """
    count = check_integer("grid", candidates, 1)
    if repetitions is None:
        law = from_mean("geometric", float(count))
    else:
        law = as_law(repetitions)
    guarantee = guarantee_of(base)
    every = compose(Release(guarantee, None, count), delta)
    random = account(guarantee, law, delta)
    return GridCost(count, every, random, float(law.pgf_gap(1.0 / count)))
