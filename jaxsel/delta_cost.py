"""What tuning costs at a given epsilon, asked for by name."""

import math
from typing import NamedTuple

from jaxsel.composition import guarantee_of
from jaxsel.families.tuning import accountant
from jaxsel.printing import Summary, digits_down, digits_up, printed
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

    def sentences(self) -> list[str]:
        """What is proved, and what is not, in words; deltas are rounded up."""
        best, epsilon = self.best, self.epsilon
        if best.delta >= 1.0:
            return [f"No known theorem bounds delta at epsilon = {epsilon:g}."]
        found = [
            f"The best of K runs is ({epsilon:g}, {digits_up(best.delta):g})-"
            f"differentially private, by {best.theorem}: {best.statement}.",
            f"One run without tuning: ({epsilon:g}, {digits_up(self.single):g}). "
            f"E[K] = {self.law.mean:.6g}.",
        ]
        if math.isfinite(self.attained):
            found.append(
                f"Some base with this {self.attained_from} and some ranking of its runs "
                f"cost delta = {digits_down(self.attained):g} exactly: no bound from it "
                "that covers them all is smaller."
            )
        return found

    def summary(self) -> Summary:
        """What is proved, and every bound that applies."""
        columns = ("delta", "theorem", "by")
        return Summary("\n".join(self.sentences()), columns, self.bounds)


def account_delta(
    base: object,
    repetitions: Repetitions | str,
    epsilon: float,
    *,
    attain: bool = True,
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
        guarantee.name, law, float(epsilon), found.bounds, found.single, found.attained,
        found.attained_from,
    )  # fmt: skip
