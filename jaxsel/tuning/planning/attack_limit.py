"""What any attack on a search may reach: the budget of a plan in an attacker's terms.

An attack sees the release and says whether a record is in. Its advantage is its true less
its false positive rate. An (epsilon, delta)-private search leaves every attack

    TPR <= delta + e^epsilon FPR  and  TPR <= 1 - e^-epsilon (1 - delta - FPR),

hence an advantage of delta at epsilon = 0. So a limit on attacks is kept by a search with
one proven point of its profile, and a plan looks for that.
"""

import math
from typing import NamedTuple

from scipy import special

from jaxsel.host.errors import InputError
from jaxsel.language.domains import probability
from jaxsel.language.parts import read_parts
from jaxsel.language.printing import digits_up

ATTACK = {
    "advantage": probability("of any attack: its true less its false positive rate, at most"),
    "true_positive_rate": probability("of any attack, at most"),
    "false_positive_rate": probability("of the attack"),
}
"""How an attack may be limited: the parts of ``attack=`` and ``--attack``."""


class AttackLimit(NamedTuple):
    """The most that any attack on a search may reach.

    Attributes:
      most: its advantage, or its true positive rate.
      false_positive_rate: at which; None where the advantage is limited.
    """

    most: float
    false_positive_rate: float | None = None

    @property
    def name(self) -> str:
        """The limited quantity, as a key of records: advantage or true_positive_rate."""
        return "advantage" if self.false_positive_rate is None else "true_positive_rate"

    @property
    def chance(self) -> float:
        """The value of the limited quantity that guessing reaches, without seeing the release.

        An advantage of 0, or a true positive rate equal to the false positive rate.
        """
        return self.false_positive_rate or 0.0

    def _scores(self) -> tuple[float, float]:
        """Normal quantiles of both rates where the Gaussian trade-off meets the limit."""
        if self.false_positive_rate is None:
            half = float(special.ndtri(0.5 * (1.0 + self.most)))
            return -half, half
        return float(special.ndtri(self.false_positive_rate)), float(special.ndtri(self.most))

    def _exponent(self) -> float:
        """log of the slope of that trade-off there."""
        false, true = self._scores()
        return 0.5 * (false**2 - true**2)

    @property
    def steepness(self) -> float:
        """The elasticity in mu of what the best attack on mu-GDP gains over guessing.

        That is the derivative of log(gain) by log(mu), where the Gaussian trade-off meets the
        limit.
        """
        false, true = self._scores()
        density = math.exp(-0.5 * true**2) / math.sqrt(2.0 * math.pi)
        return density * (true - false) / (self.most - self.chance)

    @property
    def epsilon(self) -> float:
        """The epsilon at which the privacy profile is to be bounded.

        There the Gaussian trade-off curve that meets the limit is tangent to that of (epsilon,
        delta)-DP. A search with the least noise has nearly the trade-off of a Gaussian.
        """
        return abs(self._exponent())

    @property
    def delta(self) -> float:
        """The largest delta at ``epsilon`` with which a search keeps the limit."""
        if self._exponent() >= 0.0:
            return self.most - math.exp(self.epsilon) * self.chance
        return 1.0 - self.chance - math.exp(self.epsilon) * (1.0 - self.most)

    def reached(self, delta: float) -> float:
        """The largest advantage or true positive rate of any attack, given delta at ``epsilon``."""
        if self._exponent() >= 0.0:
            found = delta + math.exp(self.epsilon) * self.chance
        else:
            found = 1.0 - math.exp(-self.epsilon) * (1.0 - delta - self.chance)
        return min(found, 1.0)

    def of(self, number: float) -> str:
        """A value of the limited quantity, in words."""
        if self.false_positive_rate is None:
            return f"an advantage of {number:g}"
        rate = self.false_positive_rate
        return f"a true positive rate of {number:g} at a false positive rate of {rate:g}"

    def sentence(self, reached: float) -> str:
        """A sentence that no attack exceeds ``reached``, which is rounded up."""
        return f"No attack on the best run reaches more than {self.of(digits_up(reached))}."

    def as_record(self, reached: float) -> dict[str, float]:
        """The bound ``reached`` on every attack, under its name, ready for JSON."""
        if self.false_positive_rate is None:
            return {self.name: reached}
        return {self.name: reached, "false_positive_rate": self.false_positive_rate}


def read_attack_limit(attack: object) -> AttackLimit | None:
    """Reads a limit on attacks, parts of ``ATTACK`` in a text or a mapping; None if there is none.

    Raises:
      InputError: for both forms, half of the second, or a limit that guessing exceeds.
    """
    if attack is None:
        return None
    read = read_parts("attack", attack, ATTACK)
    advantage, true, false = map(read.get, ATTACK)
    if (true is None) != (false is None):
        raise InputError(
            "a true positive rate is limited at a false positive rate; give both of them"
        )
    if advantage is not None and true is not None:
        raise InputError("give an advantage or a true positive rate, not both")
    if advantage is not None:
        return AttackLimit(advantage)
    if true is None:
        return None
    assert false is not None
    if true <= false:
        raise InputError(
            f"true positive rate is {true:g}, and an attack that guesses reaches {false:g}, "
            "its false positive rate; take a true positive rate above that"
        )
    return AttackLimit(true, false)
