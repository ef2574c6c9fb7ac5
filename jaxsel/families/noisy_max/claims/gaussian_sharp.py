"""Sharper profiles of noisy max than Theorem 3.2 of Koskela, Redberg & Wang 2024.

A result of this project; the proofs are in ``jaxsel.families.noisy_max.bounds``.
"""

from jaxsel.families.noisy_max.bounds import noisy_max_sharp_delta
from jaxsel.families.noisy_max.claims.instances import ENDING, MOVES, TOLERANCE, profile_points
from jaxsel.families.noisy_max.group_bounds import group_delta
from jaxsel.families.noisy_max.laws import noisy_max_shift
from jaxsel.families.noisy_max.parameters import LevelFromZero, Noise, Scale, Several
from jaxsel.language.base import Claim, Relation
from jaxsel.language.checking import grid
from jaxsel.language.papers import JX

_PLACE = "after Koskela, Redberg & Wang 2024, Theorem 3.2"


def _sharp(relation: Relation) -> Claim:
    """The sharper claim for one way in which scores may change."""
    shift = noisy_max_shift(relation)

    @JX.privacy(
        f"KRW-Thm3.2-sharp{ENDING[relation]}",
        _PLACE,
        relation,
        statement=f"For epsilon >= 0 and {MOVES[relation]}, max(1, m - 2) replaces the factor m of "
        f"Theorem 3.2; with Gaussian noise a shift of {shift:g} sqrt((m - 1)/m) is enough, and the "
        f"profile of one Gaussian at a shift of {shift / 2:g} sqrt(m) is a bound, too.",
    )
    def sharp(
        *,
        epsilon: LevelFromZero = 1.0,
        noise_scale: Scale = 4.0,
        candidates: Several = 10,
        noise: Noise = "gaussian",
    ) -> float:
        """Returns the least of these bounds on delta(epsilon)."""
        return float(noisy_max_sharp_delta(epsilon, noise, noise_scale, candidates, relation))

    @sharp.bounds(tolerance=TOLERANCE)
    def profiles(budget):
        return profile_points(budget, relation)

    @sharp.attains(
        grid(
            noise_scale=(0.5, 1.0, 4.0),
            epsilon=(0.0, 0.5, 2.0),
            candidates=(2,),
            noise=("gaussian",),
        ),
        share=1.0,
        where="the worst neighbours of two candidates, with Gaussian noise",
        at="scales of 0.5 to 4 and epsilon up to 2",
        tolerance=1e-10,
    )
    def exact_profiles(noise_scale, epsilon):
        return group_delta(epsilon, 1, 1, noise_scale, relation)

    return sharp


SHARP = tuple(map(_sharp, ENDING))
