"""Claims of Liu & Talwar 2019, Theorem 4.1: Algorithm 3 halts where a known share exceeds p*.

Phi(p) = p/(1 - p) are the odds of a share p, the probability that a run reaches its threshold.
"""

import numpy as np
from scipy import special

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.accounting.single_run.pairs import extreme_neighbours
from jaxsel.families.percentile.claims.formulas import beta_itself, final_itself
from jaxsel.families.percentile.claims.single_tests import SCALES, level
from jaxsel.families.percentile.laws import oracle_law
from jaxsel.families.percentile.parameters import Beta, SmallBeta
from jaxsel.families.sparse_vector.halting_law import halting_law
from jaxsel.language.base import Relation
from jaxsel.language.checking import listed
from jaxsel.language.papers import LT

# --- Pairs of streams -----------------------------------------------------------------


def low_then_high(epsilon: float, low: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of randomised response on two sides: first ``low`` low ones, then a high one.

    On the first side they are 1/(1+e^epsilon), and the last is 1/(1+e^-epsilon). On the other
    side all answers are flipped, which moves every log-odds by 2 epsilon, the last one against
    the others.
    """
    first = np.append(np.full(low, -epsilon), epsilon)
    return 1.0 / (1.0 + np.exp(-first)), 1.0 / (1.0 + np.exp(first))


def random_shares(
    generator: np.random.Generator, epsilon: float, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Random shares, and shares of a neighbour that are as far from them as epsilon-DP allows.

    Args:
      generator: draws both.
      epsilon: of one run.
      size: number of queries.

    Returns:
      Two Float["size"].
    """
    first = generator.uniform(0.05, 0.95, size)
    second = [extreme_neighbours(p, epsilon)[generator.integers(2)] for p in first]
    return first, np.array(second)


# --- (a): privacy ---------------------------------------------------------------------


def _oracle_epsilon(first, second, target, base, final) -> float:
    """The exact pure epsilon of Algorithm 3 between two lists of shares.

    Args:
      first, second: Float["queries"], the shares on the two sides.
      target: p*.
      base, final: epsilon_1 and epsilon_3, of which the noise is made.
    """
    settings = {"target": target, "base_epsilon": base, "final_epsilon": final}
    return exact_epsilon(oracle_law(first, **settings), oracle_law(second, **settings))


def privacy_cases(budget, target: float | None):
    """Cases of Algorithm 3's privacy; ``target`` is p*, or None for random ones."""
    for low in (1, 10, 200):
        for base, final in ((0.5, 1.0), (1.0, 0.3), (0.1, 0.4)):
            seen = _oracle_epsilon(*low_then_high(base, low), 0.5, base, final)
            where = f"{low} low shares, then a high one, epsilon_1={base}, p*=0.5"
            yield {"final_epsilon": final}, seen, where
    for generator in budget.draws(150):
        base = float(generator.uniform(0.05, 1.5))
        final = base * float(generator.uniform(0.1, 4.0))
        aim = float(generator.uniform(0.05, 0.95)) if target is None else target
        pair = random_shares(generator, base, int(generator.integers(1, 8)))
        where = f"shares {pair[0].tolist()} and {pair[1].tolist()}, p*={aim!r}"
        seen = _oracle_epsilon(*pair, aim, base, final)
        yield {"final_epsilon": final}, seen, f"{where}, epsilon_1={base!r}"


@LT.privacy("LT-Thm4.1(a)", "Theorem 4.1(a)", Relation.BASE, formula=final_itself)
def private():
    """Over epsilon_1-DP bases Algorithm 3 is epsilon_3-DP."""


private.bounds(target=None)(privacy_cases)


@private.attains(
    listed("base_epsilon final_epsilon", (0.5, 1.0), (0.25, 1.0), (1.0, 1.0)),
    share=0.99,
    where="1000 queries of randomised response, then one flipped",
    at="epsilon_1 of 0.5 and 1 and epsilon_3 up to 1",
)
def thousand_low_shares(base_epsilon, final_epsilon):
    pair = low_then_high(base_epsilon, 1000)
    seen = _oracle_epsilon(*pair, 0.5, base_epsilon, final_epsilon)
    return seen, "1000 low shares, then a high one, p*=0.5"


# --- (b) and (c): where it halts (LT-E2) ----------------------------------------------


@LT.utility("LT-Thm4.1(b)", "Theorem 4.1(b), corrected")
def early(*, beta: SmallBeta = 0.1) -> float:
    """For beta <= 0.9, Algorithm 3 halts at some query R with Phi(p_R) <= (beta/(R+1))^(12
    epsilon_1/epsilon_3) Phi(p*) with probability at most (2/3) beta^(3/2) (zeta(3/2) - 1) - beta^3
    (zeta(3) - 1)/6 <= beta."""
    first, second = special.zeta(1.5) - 1.0, special.zeta(3.0) - 1.0
    return float(2.0 / 3.0 * beta**1.5 * first - beta**3 * second / 6.0)


@LT.utility(
    "LT-Thm4.1(c)",
    "Theorem 4.1(c), corrected",
    loose="a late halt needs the first query that is too high to fail, with probability (2/3) "
    "(beta/3)^(3/2) at most, while the bound adds up such failures over all R, to 6.5 times that",
)
def late(*, beta: SmallBeta = 0.1) -> float:
    """For beta <= 0.9, Algorithm 3 halts at some query R after an i < R with Phi(p_i) >=
    ((R+1)/beta)^(12 epsilon_1/epsilon_3) Phi(p*) with probability at most (2/3) beta^(3/2)
    (zeta(3/2) - 1 - 2^(-3/2)) - beta^3 (zeta(3) - 9/8)/6 <= beta."""
    return early(beta=beta) - (2.0 / 3.0 * (beta / 2.0) ** 1.5 - (beta / 2.0) ** 3 / 6.0)


def _bad_early(levels: list[float], beta: float) -> np.ndarray:
    """For each R, whether halting there is too early: Phi(p_R) <= (beta/(R+1))^(...) Phi(p*).

    ``levels`` are log Phi(p)/Phi(p*) in scales of the threshold noise (``single_tests.level``).
    """
    halts = np.arange(1, len(levels) + 1)
    return np.array(levels) <= 3.0 * np.log(beta / (halts + 1.0)) + 1e-12


def _bad_late(levels: list[float], beta: float) -> np.ndarray:
    """For each R, whether halting there is too late: Phi(p_i) >= ((R+1)/beta)^(...) Phi(p*) for an
    i < R. ``levels`` as of ``_bad_early``."""
    halts = np.arange(1, len(levels) + 1)
    highest = np.concatenate([[-np.inf], np.maximum.accumulate(levels)[:-1]])
    return highest >= 3.0 * np.log((halts + 1.0) / beta) - 1e-12


@LT.utility("LT-Thm4.1(b)-printed", "Theorem 4.1(b)", formula=beta_itself)
def early_printed():
    """Given that Algorithm 3 halts at query R, Phi(p_R) <= (beta/(R+1))^(12 epsilon_1/epsilon_3)
    Phi(p*) with probability at most beta."""


@LT.utility("LT-Thm4.1(c)-printed", "Theorem 4.1(c)", formula=beta_itself)
def late_printed():
    """Given that Algorithm 3 halts at query R, some i < R has Phi(p_i) >= ((R+1)/beta)^(12
    epsilon_1/epsilon_3) Phi(p*) with probability at most beta."""


@early_printed.bounds(
    listed("beta", 0.1, 0.5), bad=_bad_early, stream=lambda beta: [level(beta / 2.0)]
)
@late_printed.bounds(
    listed("beta", 0.1, 0.5), bad=_bad_late, stream=lambda beta: [level(3.0 / beta)] * 2
)
def given_halt(beta, bad, stream):
    """For each possible R, the probability of a bad halt given a halt at R, which is 0 or 1.

    Args:
      beta: failure probability.
      bad: ``_bad_early`` or ``_bad_late``.
      stream: from beta to the levels of the queries.
    """
    levels = stream(beta)
    law = halting_law(levels, *SCALES)[:-1]
    for halt in np.flatnonzero(law > 0.0):
        joint = float(law[halt]) if bad(levels, beta)[halt] else 0.0
        where = (
            f"levels {levels} (log Phi/Phi(p*) in threshold noise scales), "
            f"R={halt + 1} has probability {law[halt]:.3g}"
        )
        yield joint / float(law[halt]), where


def _low(beta: float, size: int) -> list[float]:
    """The levels of ``size`` queries, each of which is just too low to be halted at."""
    return [level(beta / (i + 2.0)) for i in range(size)]


def _high(beta: float, size: int) -> list[float]:
    """The levels of ``size`` queries, each of which is just too high to be passed over."""
    return [level((i + 3.0) / beta) for i in range(size)]


@early.bounds(bad=_bad_early, first=[level(0.05)], stream=_low, sizes=(1, 10, 100))
@late.bounds(bad=_bad_late, first=[level(30.0)] * 2, stream=_high, sizes=(2, 10, 100))
def jointly(budget, bad, first, stream, sizes):
    """The exact probability of a bad halt, summed over R, on constructed and on random streams.

    Args:
      budget: how many random streams are drawn.
      bad: ``_bad_early`` or ``_bad_late``.
      first: the levels of the first stream.
      stream: (beta, size) -> the levels of a stream near the bound.
      sizes: of these streams.
    """
    streams = [(0.1, first)]
    for beta in (0.1, 0.5, 0.9):
        streams += [(beta, stream(beta, size)) for size in sizes]
    for generator in budget.draws(60):
        beta, size = float(generator.uniform(0.01, 0.9)), int(generator.integers(2, 9))
        spread = level(size / beta)
        streams.append((beta, generator.uniform(-spread, spread, size).tolist()))
    for beta, levels in streams:
        law = halting_law(levels, *SCALES)[:-1]
        seen = float(np.sum(law[bad(levels, beta)]))
        yield {"beta": beta}, seen, f"{len(levels)} queries, levels {levels[:6]}..."


# --- (d): queries far above the threshold (LT-E1) -------------------------------------


@LT.utility("LT-Thm4.1(d)", "Theorem 4.1(d), corrected")
def far_failure(*, beta: Beta = 0.1) -> float:
    """If Phi(p_i) >= (1/beta)^(12 epsilon_1/epsilon_3) Phi(p*), Algorithm 3 answers queries 1 to i
    all with 'below' with probability at most (4 beta^(3/2) - beta^3)/6 <= beta."""
    return (4.0 * beta**1.5 - beta**3) / 6.0


@LT.utility("LT-Thm4.1(d)-printed", "Theorem 4.1(d)", formula=beta_itself)
def far_printed():
    """If Phi(p_i) >= (1/beta)^(12 epsilon_1/epsilon_3) Phi(p*), Algorithm 3 answers query i with
    'above', given 'below' before, with probability at most beta."""


@far_printed.bounds(listed("beta", 0.1, 0.01, 0.5))
def far_passing(beta):
    return float(halting_law([level(1.0 / beta)], *SCALES)[0]), "one query at the level"


@LT.utility("LT-Thm4.1(d)-conditional-printed", "Theorem 4.1(d)", formula=beta_itself)
def far_conditional():
    """With 'above' read as 'below': given 'below' on all queries before, a query with Phi(p_i) >=
    (1/beta)^(12 epsilon_1/epsilon_3) Phi(p*) is answered 'below' with probability at most beta."""


@far_conditional.bounds(listed("beta earlier", (0.1, 5), (0.1, 20), (0.1, 200)))
def far_failing_late(beta, earlier):
    law = halting_law([level(1.0 / beta)] * (earlier + 1), *SCALES)
    return float(law[-1] / (law[-2] + law[-1])), "earlier queries at the level, too"


@far_failure.bounds()
def far_failing_jointly(budget):
    streams = [(0.1, [level(10.0)] * earlier) for earlier in (0, 5, 20, 200)]
    for generator in budget.draws(100):
        beta = float(generator.uniform(0.001, 0.999))
        earlier = generator.normal(-5.0, 10.0, generator.integers(0, 9)).tolist()
        streams.append((beta, earlier))
    for beta, earlier in streams:
        law = halting_law([*earlier, level(1.0 / beta)], *SCALES)
        yield {"beta": beta}, float(law[-1]), f"{len(earlier)} earlier levels {earlier[:8]}"


LT_E22 = LT.misprint(
    "LT-E22",
    "Section 4",
    "misprint",
    printed="Q_i = f_i + Lap(4/epsilon_1) is epsilon_1-DP for 1-Lipschitz f_i.",
    correct="It is epsilon_1/4-DP: not wrong, but Lap(1/epsilon_1) is enough.",
)

LT_E2 = LT.misprint(
    "LT-E2",
    "Theorems 4.1(b)(c) and 4.4(b)(c), Corollary 4.2(b)(c)",
    "statement",
    printed="Conditional on halting at query R, p_R is far below, or a p_i with i < R far above, "
    "the threshold with probability at most beta.",
    correct="For a fixed stream of queries that conditional probability is 0 or 1. What is at most "
    "beta is the joint probability of halting at such an R, summed over all R (shown for beta <= "
    "0.9).",
    refuted=[early_printed, late_printed],
    corrected=[
        early,
        late,
        "LT-Thm4.4(b)",
        "LT-Thm4.4(c)",
        "LT-Cor4.2(b)",
        "LT-Cor4.2(c)",
        "LT-Thm1.5(b)",
    ],
)

LT_E1 = LT.misprint(
    "LT-E1",
    "Theorem 4.1(d), Corollary 4.2(d), Theorem 4.4(d)",
    "statement",
    printed="A query far above the threshold is answered 'above', given 'below' on all before, "
    "with probability at most beta.",
    correct="The probability of 'below' is meant, and it is small only jointly: all queries up to "
    "the far one are answered 'below' with probability at most (4 beta^(3/2) - beta^3)/6. Given "
    "earlier answers 'below' the threshold noise is likely to be large, and at beta = 0.1 the "
    "query then fails with probability 0.73, 0.91 and 0.99 after 5, 20 and 200 such queries.",
    refuted=[far_printed, far_conditional, "LT-Thm4.4(d)-printed"],
    corrected=[far_failure, "LT-Thm4.4(d)", "LT-Cor4.2(d)"],
)
