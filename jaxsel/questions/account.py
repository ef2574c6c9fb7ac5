"""What people ask for by name: a mechanism, a claim, the price of tuning."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxsel import catalogue
from jaxsel.accounting.single_run.curves import BaseGuarantee, gaussian
from jaxsel.families.tuning import accountant
from jaxsel.families.tuning.base_forms import guarantee_of
from jaxsel.families.tuning.composing_searches import MOST_TIMES, Release, compose_searches
from jaxsel.families.tuning.proofs import releases_all
from jaxsel.families.tuning.secrecy import SCORE, is_fixed, keep
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.host.errors import check_positive
from jaxsel.language.base import Claim
from jaxsel.language.default_delta import DELTA
from jaxsel.language.entry import Built
from jaxsel.language.printing import Summary, printed, rounded_up
from jaxsel.questions import tuning_words
from jaxsel.questions.compose import privacy_loss_distribution
from jaxsel.repetitions import Repetitions, as_law

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution


def mechanism(name: str, /, **settings: Any) -> Built:
    """A mechanism of the catalogue with its input, ready to simulate and to audit.

    Args:
      name: a name or an id, in any case of letters: "noisy_max", "LT-Alg2".
      **settings: its settings, as values or as text; ``jaxsel show NAME`` lists them, and
        so does the result when printed.

    Raises:
      InputError: for an unknown name or setting, or a value outside its domain.

    Example:
        >>> import jaxsel
        >>> built = jaxsel.mechanism("noisy_max", scores=[3, 2, 1], epsilon=2)
        >>> jaxsel.simulate(built, trials=1000).trials
        1000
    """
    return catalogue.find_mechanism(name).build(settings)


def claim(identity: str) -> Claim:
    """A published statement: ``claim("PS-Cor3").evaluate(epsilon=1)`` is its number.

    Args:
      identity: id or alias, in any case of letters.

    Raises:
      InputError: if there is none.
    """
    return catalogue.find_claim(identity)


@printed
class TuningCost(NamedTuple):
    """What tuning costs.

    Attributes:
      base: what one run is, in words.
      law: of the number of runs K.
      delta: that of every epsilon here.
      bounds: every bound that applies, best first; those that say nothing at this delta
        have epsilon inf.
      single: epsilon of one run, released without tuning; inf if not known.
      attained: exact epsilon of one base with this guarantee, ranked adversarially: no
        bound that covers every such base and every ranking is smaller. (Of DP-SGD, of
        one base with this privacy profile: ``attained_from``.) NaN if not searched for,
        or none is known.
      needed: what would make an epsilon provable, where none is; None elsewhere.
      guarantee: of one run.
      grid: epsilon of K given candidates, each run once and all of them released, where K
        is always the same number above 1; NaN elsewhere.
      score_noise: standard deviation of Gaussian noise on the number of validation
        examples that a run gets right, which ranks the runs; None if nothing is said of
        how the score is made.
      scores: the smallest proven epsilon of the search for a record that validates and
        does not train, with that noise; None without it.
    """

    base: str
    law: Repetitions
    delta: float
    bounds: tuple[accountant.ProvenEpsilon, ...]
    single: float
    attained: float
    attained_from: str = "guarantee"
    needed: accountant.Needed | None = None
    guarantee: BaseGuarantee | None = None
    grid: float = math.nan
    score_noise: float | None = None
    scores: accountant.ProvenEpsilon | None = None

    @property
    def best(self) -> accountant.ProvenEpsilon:
        """The smallest proven epsilon."""
        return self.bounds[0]

    @property
    def is_proved(self) -> bool:
        """Whether a theorem bounds epsilon at this delta."""
        return math.isfinite(self.best.epsilon)

    def privacy_loss_distribution(self, interval: float | None = None) -> "PrivacyLossDistribution":
        """The search in dp-accounting's terms, to be composed with other releases.

        See ``jaxsel.privacy_loss_distribution``.
        """
        assert self.guarantee is not None
        searched = Release(self.guarantee, self.law)
        return privacy_loss_distribution(searched, interval=interval)

    def sentences(self) -> list[str]:
        """What is proved, and what is not, in words; epsilons are rounded up."""
        best, delta = self.best, self.delta
        if self.is_proved:
            found = [tuning_words.proved(rounded_up(best.epsilon), delta, best)]
        else:
            found = [tuning_words.lacking(delta, self.needed, "this base and K", "the best of K")]
        found.append(tuning_words.one_run(rounded_up(self.single), delta, self.law))
        if self.law.probability_zero > 0.0:
            zero = f"{self.law.probability_zero:.3g}"
            found.append(f"With probability {zero} nothing is run or released.")
        if math.isfinite(self.attained):
            cost = f"{math.floor(self.attained * 1e4) / 1e4:g}"
            found.append(tuning_words.attained(cost, self.attained_from))
        if not self.is_proved:
            return found
        if releases_all(best.theorem):
            found.append(
                "This covers the release of all runs with their scores, and of K: none "
                "of it need be secret."
            )
        else:
            found.append(f"{keep([self.law])}: this bound does not cover them.")
        if not math.isnan(self.grid):
            found.append(self._of_a_grid())
        return [*found, self._of_the_score()]

    def _of_the_score(self) -> str:
        """Whether the records that rank the runs are covered, too, and at what price."""
        if self.scores is None:
            return SCORE
        noise = (
            f"Gaussian noise of standard deviation {self.score_noise:g} on the number of "
            "validation examples that a run gets right"
        )
        epsilon = self.scores.epsilon
        if not math.isfinite(epsilon):
            return f"{noise} proves nothing for those examples at this delta."
        both = rounded_up(max(self.best.epsilon, epsilon))
        return (
            f"{noise} keeps ({rounded_up(epsilon):g}, {self.delta:g}) for those "
            f"examples, by {self.scores.theorem}; where no record both trains and "
            f"validates, the search is ({both:g}, {self.delta:g})-differentially "
            "private for all."
        )

    def _of_a_grid(self) -> str:
        """What K runs cost that are not alike: each given candidate is tried once."""
        count = self.law.maximum
        cost = (
            f"({rounded_up(self.grid):g}, {self.delta:g}) is proved of"
            if math.isfinite(self.grid)
            else "nothing is proved here of"
        )
        return (
            f"Each of the {count} runs draws its candidate at random; {cost} {count} given "
            f"candidates, each run once (--grid {count})."
        )

    def summary(self) -> Summary:
        """What is proved, and every bound that applies."""
        return tuning_words.with_bounds(self.sentences(), self.bounds)

    def as_record(self) -> dict[str, Any]:
        """Names and numbers, ready for JSON."""
        return {
            **tuning_words.search(self.base, self.law),
            "probability_of_no_run": self.law.probability_zero,
            "delta": self.delta,
            "epsilon": self.best.epsilon,
            "theorem": self.best.theorem,
            "single_run_epsilon": self.single,
            "attained_epsilon": self.attained,
            "grid_epsilon": self.grid,
            "score": self._of_the_score(),
            "score_noise": self.score_noise,
            "score_epsilon": None if self.scores is None else self.scores.epsilon,
            "needed": None if self.needed is None else self.needed._asdict(),
            "bounds": [b._asdict() for b in tuning_words.saying_something(self.bounds)],
        }


@one_blas_thread()
def account(
    base: object,
    repetitions: Repetitions | str,
    delta: float = DELTA,
    *,
    attain: bool = True,
    score_noise: float | None = None,
) -> TuningCost:
    """What is proved about the best of K runs of a base algorithm.

    Args:
      base: guarantee of one run, made by ``jaxsel.accounting.single_run.curves`` or from
        text as on the command line: "gaussian:noise_multiplier=4" (``jaxsel list bases``);
        or what another library has: see ``jaxsel.guarantee_of``.
      repetitions: law of K, made by ``jaxsel.repetitions`` or from text:
        "geometric:mean=100"; the runs and the best of them are independent given K.
      delta: in [0, 1).
      attain: search for a costly ranking, too.
      score_noise: standard deviation > 0 of Gaussian noise on the number of validation
        examples that a run gets right, where that ranks the runs: the search is then
        accounted for those examples, too. One record of them changes the number by at
        most 1, and no record trains (Liu & Talwar 2019, Section 5.1).

    Raises:
      InputError: for text of another form, a delta out of range, or a K that is always 0.
    """
    guarantee = guarantee_of(base)
    law = as_law(repetitions)
    if score_noise is not None:
        check_positive("score_noise", score_noise)
    found = accountant.account(guarantee, law, delta, attain=attain)
    grid = math.nan
    if is_fixed(law) and 1 < law.mean <= MOST_TIMES:
        every = Release(guarantee, None, law.maximum or 1)
        grid = compose_searches([every], delta).best.epsilon
    scores = None
    if score_noise is not None:
        count = gaussian(score_noise)
        scores = accountant.account(count, law, delta, attain=False).best
    return TuningCost(
        guarantee.name,
        law,
        float(delta),
        found.bounds,
        found.single,
        found.attained,
        found.attained_from,
        found.needed,
        guarantee,
        grid,
        score_noise,
        scores,
    )
