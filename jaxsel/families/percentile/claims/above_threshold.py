"""Liu & Talwar 2019, Section 4: privacy of Algorithm 3, and Corollary 4.2."""

from collections.abc import Iterator

import numpy as np

from jaxsel.accounting.single_run.divergences import exact_epsilon
from jaxsel.accounting.single_run.pairs import extreme_neighbours
from jaxsel.base import Budget, Claim, Relation
from jaxsel.checking import Case, at_least, at_most
from jaxsel.errors import check_interval, check_positive
from jaxsel.families.percentile.laws import oracle_law

_PAPER = "Liu & Talwar 2019"


# --- Pairs of streams -----------------------------------------------------------------


def low_then_high(epsilon: float, low: int) -> tuple[np.ndarray, np.ndarray]:
    """Randomised response: ``low`` shares 1/(1+e^epsilon), then 1/(1+e^-epsilon).

    On the other side all are flipped, which moves every log-odds by 2 epsilon, and the
    last one against the others.
    """
    first = np.append(np.full(low, -epsilon), epsilon)
    return 1.0 / (1.0 + np.exp(-first)), 1.0 / (1.0 + np.exp(first))


def random_shares(
    generator: np.random.Generator, epsilon: float, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Random shares and neighbours that are epsilon-close, most of them extreme."""
    first = generator.uniform(0.05, 0.95, size)
    second = [extreme_neighbours(p, epsilon)[generator.integers(2)] for p in first]
    return first, np.array(second)


# --- Algorithm 3: Theorem 4.1(a), Corollary 4.2 ---------------------------------------


def _final(*, final_epsilon: float = 1.0) -> float:
    """epsilon_3 itself, whatever epsilon_1 is.

    Args:
      final_epsilon: > 0.
    """
    return check_positive("final_epsilon", final_epsilon)


def _nearly_final(*, final_epsilon: float = 1.0) -> float:
    """0.99 epsilon_3.

    Args:
      final_epsilon: > 0.
    """
    return 0.99 * _final(final_epsilon=final_epsilon)


def _oracle_epsilon(first, second, target, base, final) -> float:
    settings = {"target": target, "base_epsilon": base, "final_epsilon": final}
    return exact_epsilon(oracle_law(first, **settings), oracle_law(second, **settings))


def _oracle_privacy(target: float | None):
    def cases(budget: Budget) -> Iterator[Case]:
        generator = np.random.default_rng(budget.seed)
        for low in (1, 10, 200):
            for base, final in ((0.5, 1.0), (1.0, 0.3), (0.1, 0.4)):
                seen = _oracle_epsilon(*low_then_high(base, low), 0.5, base, final)
                where = f"{low} low shares, then a high one, epsilon_1={base}"
                yield final, seen, f"{where}, epsilon_3={final}, p*=0.5"
        for _ in range(min(budget.cases, 150)):
            base = float(generator.uniform(0.05, 1.5))
            final = base * float(generator.uniform(0.1, 4.0))
            aim = float(generator.uniform(0.05, 0.95)) if target is None else target
            pair = random_shares(generator, base, int(generator.integers(1, 8)))
            where = f"shares {pair[0].tolist()} and {pair[1].tolist()}, p*={aim!r}"
            seen = _oracle_epsilon(*pair, aim, base, final)
            yield final, seen, f"{where}, epsilon_1={base!r}, epsilon_3={final!r}"

    return cases


def _oracle_tight(budget: Budget) -> Iterator[Case]:
    del budget
    for base, final in ((0.5, 1.0), (0.25, 1.0), (1.0, 1.0)):
        seen = _oracle_epsilon(*low_then_high(base, 1000), 0.5, base, final)
        where = f"1000 low shares, then a high one, p*=0.5, epsilon_1={base}"
        yield _nearly_final(final_epsilon=final), seen, f"{where}, epsilon_3={final}"


def _joint_failure(*, beta: float = 0.1) -> float:
    """Failure probability beta.

    Args:
      beta: in (0, 0.9].
    """
    return check_interval("beta", beta, 0.0, 0.9, high_open=False)


def _low_share(ratio: np.ndarray | float, power: float) -> np.ndarray:
    """ratio^power/(1 + ratio^power): the share at Phi = ratio^power."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.asarray(ratio) ** -power)


def _median_streams(budget: Budget) -> Iterator[tuple[float, float, np.ndarray]]:
    generator = np.random.default_rng(budget.seed)
    for beta, power, size in ((0.1, 1.0, 1), (0.5, 2.0, 30), (0.9, 0.5, 10)):
        yield beta, power, np.zeros(size)
    for _ in range(min(budget.cases, 60)):
        power = float(generator.uniform(0.1, 3.0))
        spread = generator.uniform(0.0, 3.0, int(generator.integers(1, 9)))
        yield float(generator.uniform(0.01, 0.9)), power, spread


def _median_cases(kind: str):
    """Streams at the bound of Corollary 4.2 or up to a few log-odds inside it."""

    def cases(budget: Budget) -> Iterator[Case]:
        for beta, power, inside in _median_streams(budget):
            halts = np.arange(1.0, inside.size + 1.0)
            settings = {"base_epsilon": power, "final_epsilon": 12.0}
            if kind == "early":
                bound = _low_share(beta / (halts + 1.0), power)
                shares = _low_share(beta / (halts + 1.0) * np.exp(-inside), power)
                law = oracle_law(shares, target=0.5, **settings)
                seen = float(np.sum(law[:-1][shares <= bound * (1 + 1e-12)]))
            elif kind == "late":
                # A first query that is too high for every later halt R is "late".
                ratio = (halts + 2.0) / beta * np.exp(inside)
                shares = _low_share(ratio, power)
                law = oracle_law(shares, target=0.5, **settings)
                highest = np.maximum.accumulate(shares)[:-1]
                bound = _low_share((halts[1:] + 1.0) / beta, power)
                seen = float(np.sum(law[1:-1][highest >= bound * (1 - 1e-12)]))
            else:
                last = float(_low_share(1.0 / beta, power))
                shares = np.append(_low_share(np.exp(-inside), power), last)
                seen = float(oracle_law(shares, target=0.5, **settings)[-1])
            where = f"shares {np.round(shares[:8], 6).tolist()}, {beta=!r}"
            yield beta, seen, f"{where}, 12 epsilon_1/epsilon_3={power!r}"

    return cases


def privacy_claim(id_, place, statement, evaluate, check) -> Claim:
    return Claim(
        id=id_,
        source=f"{_PAPER}, {place}",
        statement=statement,
        kind="privacy",
        relation=Relation.BASE,
        evaluate=evaluate,
        check=check,
    )


def _corollary(part: str, statement: str, kind: str) -> Claim:
    return Claim(
        id=f"LT-Cor4.2({part})",
        source=f"{_PAPER}, Corollary 4.2({part}), corrected",
        statement=statement,
        kind="utility",
        relation=None,
        evaluate=_joint_failure,
        check=at_most(_median_cases(kind)),
        erratum="LT-E1" if part == "d" else "LT-E2",
    )


CLAIMS: tuple[Claim, ...] = (
    privacy_claim(
        "LT-Thm4.1(a)",
        "Theorem 4.1(a)",
        "Over epsilon_1-DP bases Algorithm 3 is epsilon_3-DP.",
        _final,
        at_most(_oracle_privacy(None)),
    ),
    privacy_claim(
        "LT-Thm4.1(a)-tight",
        "Theorem 4.1(a)",
        "Theorem 4.1(a) is tight: after 1000 queries of randomised response, then one "
        "flipped, the exact privacy loss is at least 0.99 epsilon_3.",
        _nearly_final,
        at_least(_oracle_tight),
    ),
    privacy_claim(
        "LT-Cor4.2(a)",
        "Corollary 4.2(a)",
        "Over epsilon_1-DP bases Algorithm 3 with p* = 1/2 is epsilon_3-DP.",
        _final,
        at_most(_oracle_privacy(0.5)),
    ),
    _corollary(
        "b",
        "For p* = 1/2 and beta <= 0.9, with a = 12 epsilon_1/epsilon_3, Algorithm 3 "
        "halts at some query R with p_R <= beta^a/(beta^a + (R+1)^a) with probability "
        "at most beta.",
        "early",
    ),
    _corollary(
        "c",
        "For p* = 1/2 and beta <= 0.9, with a = 12 epsilon_1/epsilon_3, Algorithm 3 "
        "halts at some query R after an i < R with p_i >= (R+1)^a/(beta^a + (R+1)^a) "
        "with probability at most beta.",
        "late",
    ),
    _corollary(
        "d",
        "For p* = 1/2, with a = 12 epsilon_1/epsilon_3, if p_i >= 1 - beta^a/(1 + "
        "beta^a), Algorithm 3 answers queries 1 to i all with 'below' with probability "
        "at most beta.",
        "far",
    ),
)
