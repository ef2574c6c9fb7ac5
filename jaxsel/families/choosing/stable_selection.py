"""Stable selection: where few of m candidates lead all others, the loss does not grow with m.

Cohen, Lyu, Nelson, Sarlos & Stemmer 2022, Theorem 8.
"""

from jaxsel.families.choosing.choosing import (
    Method,
    noisy_selection,
    read_candidates,
    read_settings,
)
from jaxsel.families.choosing.laws import clipped_scores, stable_settings
from jaxsel.families.choosing.parameters import Rank, Shares
from jaxsel.language.base import Mechanism, factory


@factory
def stable_selection(*, method: Method = "grouped", shares: Shares = 6) -> Mechanism:
    """Releases the candidate whose max(f_i - Q, 0) + noise is the largest over all runs.

    Here f_i are the scores and Q is the (k+1)-th largest of them (Cohen et al. 2022, Theorem 8).

    Args:
      method: "literal" makes every run, as the paper writes it; "grouped" draws the
        best run of all candidates of one clipped score at once.
      shares: the noise has rate epsilon/shares: 6, or 3 as the paper prints it, which
        is not (epsilon, delta)-DP (CL-E13, CL-E20).

    Data: scores, Float["m"]; or {"scores", "counts"} for groups of identical
      candidates, of any size; labels are then groups. Each score moves by at most 1.
    Params: "epsilon" and "delta", of the whole mechanism; "beta", the failure probability;
      "rank", k; optionally "groups", the number of groups of equal clipped scores to which the
      input is padded, so that the cells of a grid have equal shapes.
    Outcome: ``Chosen``, whose loss is that of the scores before clipping.
    Event: the released label; "none" comes last.

    Formal guarantees (claims): CL-Thm8, CL-Thm8-sharp, CL-Thm8-utility.

    Raises:
      InputError: for a rank that is not below the number of candidates, or too many runs
        for "literal".
    """

    def read(data, params):
        found = read_candidates(data)
        given = read_settings(params, {"rank": Rank})
        settings = stable_settings(**given, shares=shares)
        levels = clipped_scores(found.scores, given["rank"], found.counts)
        return found, levels, settings

    return noisy_selection(method, read)
