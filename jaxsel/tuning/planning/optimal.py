"""``jaxsel.optimal``: the law of K with the least privacy cost that meets given wishes."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.host.errors import InputError
from jaxsel.host.former_names import former_arguments
from jaxsel.host.progress import progress_bar
from jaxsel.language.default_delta import DELTA
from jaxsel.language.printing import Summary, printed, rounded_up
from jaxsel.language.relations import neighbours
from jaxsel.repetitions import Repetitions, from_mean
from jaxsel.tuning.base_forms import guarantee_of
from jaxsel.tuning.planning.budget import rank_of_geometric
from jaxsel.tuning.planning.least_proven import NAME, least_proven
from jaxsel.tuning.planning.named_laws import FAMILIES
from jaxsel.tuning.planning.optimal_law import FINDING_STEPS, optimal_law
from jaxsel.tuning.planning.wishes import WINNER, Utility, Wishes, read_winner, read_wishes, utility
from jaxsel.tuning.secrecy import SCORE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@printed
class Optimal(NamedTuple):
    """The law of K with the least proven epsilon of those tried, and a bound on all envelopes.

    The law of least envelope and the named laws are tried: other bounds than the envelope,
    such as the priced one at large delta, may be smaller for a law whose envelope is
    larger.

    Attributes:
      base: one run, by name.
      law: the law of K.
      epsilon: of the search with it, proved by ``theorem``.
      lower: no law of K that meets the wishes has an envelope with a smaller epsilon; this
        does not apply to other bounds, so ``epsilon`` may be less.
      delta: of the search.
      wishes: the wishes that the law meets.
      utility: the expected utility of the search.
      name: "optimal" for the law of least envelope, else the family of the law.
      theorem: the theorem that proves ``epsilon``.
      envelope: epsilon of the least envelope found, at least ``lower``.
      envelope_law: the law with that envelope.
      relation: which data sets are neighbours; None if the base does not say.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.optimal("gaussian:noise_multiplier=2", runs=3)
        >>> print(f"{found.epsilon:.1f}, and at least {found.lower:.1f} with any law of K")
        2.7, and at least 2.7 with any law of K
    """

    base: str
    law: Repetitions
    epsilon: float
    lower: float
    delta: float
    wishes: Wishes
    utility: Utility
    name: str
    theorem: str
    envelope: float
    envelope_law: Repetitions
    relation: str | None = None

    def sentences(self) -> list[str]:
        """Describes the law and its certificate; epsilon is rounded up, lower down."""
        found, good = self.utility, self.wishes.good
        hit = "" if good is None else f", among the best {good:g} with {found.hit:.4g}"
        law = "this law" if self.name == NAME else self.law.name
        return [
            f"With K from {law} the best run is ({rounded_up(self.epsilon):g}, "
            f"{self.delta:g})-differentially private, whatever ranks the runs, by "
            f"{self.theorem}.",
            neighbours(self.relation),
            f"No law of K that gives what is asked has an envelope (JX-Envelope) below "
            f"epsilon = {math.floor(self.lower * 1e4) / 1e4:g}, and one has "
            f"{rounded_up(self.envelope):g}; other bounds may prove less.",
            f"It takes {found.mean_runs:.4g} runs on average, at most {found.runs_95} in "
            f"95 searches of 100, and the winner is at quantile "
            f"{found.expected_quantile:.4g} of the candidates on average{hit}.",
            SCORE,
        ]

    def plot(self) -> "Figure":
        """Plots P(K >= k), beside the geometric law with as many runs on average."""
        from jaxsel.pictures.tallied import draw_laws

        laws = {f"{self.name}, epsilon {self.epsilon:.4g}": self.law}
        if self.name != "geometric" and self.law.mean > 1.0:
            laws["geometric, as many runs on average"] = from_mean("geometric", self.law.mean)
        return draw_laws(laws, f"K for {self.base}, delta {self.delta:g}")

    def summary(self) -> Summary:
        """The description, and the law as a table."""
        return Summary("\n".join(self.sentences()), ("runs", "probability"), self.table())

    def table(self) -> list[list]:
        """Counts and probabilities of the law; empty for a named law."""
        if self.name != NAME:
            return []
        return [[int(k), p] for k, p in self.law.parameters.items()]

    def as_record(self) -> dict:
        """Names and numbers, JSON-serialisable."""
        return {
            "base": self.base,
            "epsilon": self.epsilon,
            "lower": self.lower,
            "delta": self.delta,
            "law": self.law.name,
            "name": self.name,
            "theorem": self.theorem,
            "envelope": self.envelope,
            "envelope_law": self.envelope_law.name,
            "score": SCORE,
            **self.utility._asdict(),
            "wishes": self.wishes._asdict(),
        }


@former_arguments({part: f"winner.{part}" for part in WINNER})
@one_blas_thread()
def optimal(
    base: str | BaseGuarantee,
    *,
    delta: float = DELTA,
    runs: float | None = None,
    runs_95: int | None = None,
    most: int | None = None,
    winner: str | Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Optimal:
    """The law of K with the least privacy cost among those that meet given wishes.

    It finds the law whose envelope (docs/envelope.md) has the least epsilon at delta;
    ``lower`` is a certificate that no other law of K has a smaller envelope
    (docs/optimal-law.md). That law and the named laws are then accounted with all known
    bounds, and the one with the least proven epsilon is returned. By default the expected
    rank of the winner must be at least as good as with a geometric K with the allowed runs.
    Takes some seconds.

    Args:
      base: one run, as for ``account``.
      delta: of the search, in (0, 1).
      runs: largest E[K].
      runs_95: number of runs that 95 searches of 100 do not exceed.
      most: largest number of runs of any search; 10,000 if neither this nor runs is given.
      winner: what is asked of it, as in ``jaxsel.plan``: "good=0.05,chance=0.9".
      progress: whether to show a bar after 1.5 seconds; None: on a terminal.

    Raises:
      InputError: for wishes that no law of K meets, with the nearest feasible ones, or for a
        base without a privacy profile.

    Example:
        >>> import jaxsel
        >>> found = jaxsel.optimal("gaussian:noise_multiplier=2", runs=5)
        >>> print(f"{found.epsilon:.1f} with {found.law.mean:.1f} runs on average")
        2.8 with 5.0 runs on average
    """
    wished = read_winner(winner)
    wishes = read_wishes(runs=runs, runs_95=runs_95, most=most, winner=wished)
    if not wishes.asks_for_quality:
        if runs is None and runs_95 is None:
            raise InputError(
                "nothing is asked of the search; give runs, or a winner with a rank, a rank_of, or "
                "good and a chance"
            )
        wishes = wishes._replace(rank=rank_of_geometric(wishes._replace(most=None)))
    run = guarantee_of(base)
    name = base if isinstance(base, str) else run.name
    steps = FINDING_STEPS + len(FAMILIES) + 2
    with progress_bar(steps, 0, progress, unit="steps") as advance:
        found = optimal_law(run, delta, wishes, advance=advance)
        best = least_proven(run, found, wished.get("rank_of"), advance)
    return Optimal(
        name,
        best.law,
        best.epsilon,
        found.lower,
        found.delta,
        found.wishes,
        utility(best.law, wishes.good),
        best.name,
        best.theorem,
        found.epsilon,
        found.law,
        run.relation,
    )
