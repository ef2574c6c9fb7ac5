"""What tuning costs at a given epsilon, asked for by name."""

import math
from typing import Any, NamedTuple

from jaxsel.families.tuning import accountant
from jaxsel.families.tuning.base_forms import guarantee_of
from jaxsel.families.tuning.secrecy import SCORE
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.language.printing import Summary, digits_down, digits_up, printed
from jaxsel.questions import tuning_words
from jaxsel.repetitions import Repetitions, as_law


@printed
class DeltaCost(NamedTuple):
    """What tuning costs at a given epsilon.

    Attributes:
      base: what one run is, in words.
      law: of the number of runs K.
      epsilon: that of every delta here.
      bounds: every bound that applies, best first; those that say nothing have delta 1.
      single: delta of one run, released without tuning.
      attained: exact delta of one base with this guarantee, ranked adversarially: no
        bound that covers every such base and every ranking is smaller. (Of DP-SGD, of
        one base with this privacy profile: ``attained_from``.) NaN if not searched for,
        or none is known.
    """

    base: str
    law: Repetitions
    epsilon: float
    bounds: tuple[accountant.ProvenDelta, ...]
    single: float
    attained: float
    attained_from: str = "guarantee"

    @property
    def best(self) -> accountant.ProvenDelta:
        """The smallest proven delta."""
        return self.bounds[0]

    @property
    def is_proved(self) -> bool:
        """Whether a theorem says anything of this epsilon."""
        return self.best.delta < 1.0

    def sentences(self) -> list[str]:
        """What is proved, and what is not, in words; deltas are rounded up."""
        best, epsilon = self.best, self.epsilon
        if not self.is_proved:
            return [f"No known theorem bounds delta at epsilon = {epsilon:g}."]
        found = [
            tuning_words.proved(epsilon, digits_up(best.delta), best),
            tuning_words.one_run(epsilon, digits_up(self.single), self.law),
        ]
        if math.isfinite(self.attained):
            cost = f"delta = {digits_down(self.attained):g}"
            found.append(tuning_words.attained(cost, self.attained_from))
        return [*found, SCORE]

    def summary(self) -> Summary:
        """What is proved, and every bound that applies."""
        return tuning_words.with_bounds(self.sentences(), self.bounds)

    def as_record(self) -> dict[str, Any]:
        """Names and numbers, ready for JSON."""
        return {
            **tuning_words.search(self.base, self.law),
            "epsilon": self.epsilon,
            "delta": self.best.delta,
            "theorem": self.best.theorem,
            "single_run_delta": self.single,
            "attained_delta": self.attained,
            "score": SCORE,
            "bounds": [b._asdict() for b in tuning_words.saying_something(self.bounds)],
        }


@one_blas_thread()
def account_delta(
    base: object, repetitions: Repetitions | str, epsilon: float, *, attain: bool = True
) -> DeltaCost:
    """What is proved about delta of the best of K runs at a given epsilon.

    ``account`` the other way round.

    Args:
      base, repetitions, attain: as of ``jaxsel.account``.
      epsilon: >= 0, finite.

    Raises:
      InputError: for text of another form, an epsilon out of range, or a K that is
        always 0.
    """
    guarantee = guarantee_of(base)
    law = as_law(repetitions)
    found = accountant.account_delta(guarantee, law, epsilon, attain=attain)
    return DeltaCost(
        guarantee.name,
        law,
        float(epsilon),
        found.bounds,
        found.single,
        found.attained,
        found.attained_from,
    )
