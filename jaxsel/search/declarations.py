"""What a caller says of a private search, checked before anything is made."""

import math
from collections.abc import Sequence
from pathlib import Path

from jaxsel.host.errors import InputError, check_choice, check_integer, check_interval
from jaxsel.host.outputs import check_output
from jaxsel.repetitions import Repetitions, as_law
from jaxsel.search import ledger as ledgers
from jaxsel.search.guarantee import RANDOMNESS, SCORED
from jaxsel.search.scores import Score

SYSTEM, SEED = RANDOMNESS
"""Where the random numbers of a run come from."""


def checked_randomness(randomness: str, adaptive: bool) -> str:
    check_choice("randomness", randomness, RANDOMNESS)
    if adaptive and randomness == SEED:
        raise InputError(
            "an adaptive search pays for every run, and a lost one has failed: it is not repeated, "
            "since another candidate may be asked for; leave randomness out"
        )
    return randomness


def checked_score(score: object) -> Score:
    if not isinstance(score, Score):
        raise InputError(
            f"score is {score!r}; it must say how far one record moves it, as jaxsel.scores.count, "
            "clipped_mean or stated do, or public"
        )
    return score


def checked_scored(score: Score, scored: str | None, trained: bool) -> str:
    if not trained:
        if score.is_public:
            raise InputError(
                "base=None says that no private records are trained on, and a public score that "
                "none are scored: nothing here is private"
            )
        scored = scored or "validation"
        if scored == "training":
            raise InputError('with base=None no record trains; say scored="validation"')
    if scored is None:
        if score.is_public:
            return "public"
        raise InputError(
            'say scored="validation" if no scored record trains in any run, or scored="training"'
        )
    check_choice("scored", scored, SCORED)
    if (scored == "public") != score.is_public:
        raise InputError(
            'scores of public data are scores.public() with scored="public"; others need noise'
        )
    return scored


def checked_looks(looks: int, stopping: str, score: Score) -> int:
    found = check_integer("looks", looks, 0)
    if found and (stopping == "fixed" or score.is_public):
        raise InputError(
            'looks are noisy scores that a rule of a run sees: say stopping="own trajectory"; '
            "a score of public data needs none"
        )
    return found


def checked_law(
    repetitions: Repetitions | str | None, adaptive: bool, runs: int | None, pad: bool
) -> tuple[Repetitions | None, int]:
    """The law of K, or None; and how often its search, or a run, is released."""
    if adaptive:
        if repetitions is not None or pad:
            raise InputError("an adaptive search has a number of runs, and neither K nor pad")
        if runs is None:
            raise InputError("an adaptive search releases every run; give their number as runs")
        return None, check_integer("runs", runs, 1)
    if runs is not None:
        raise InputError("runs belongs to an adaptive search; here repetitions is the law of K")
    if repetitions is None:
        raise InputError('give repetitions, the law of K, for example "geometric:mean=20"')
    law = as_law(repetitions)
    if pad and law.maximum is None:
        raise InputError(
            f"pad makes as many runs as K can have, and {law.name} has no largest K; write "
            f"{law.name},capped=..."
        )
    return law, 1


def checked_ledger(
    ledger: str | Path | None, data: str | None, budget: float | None, chosen: str | None
) -> tuple[Path, str, float, str | None] | None:
    if ledger is None:
        if budget is not None or chosen is not None:
            what = "a budget" if chosen is None else "how searches are chosen"
            raise InputError(f"{what} is kept by a ledger of the data set; give ledger and data")
        return None
    check_output("ledger", ledger, makes_folders=True)
    if not data or not isinstance(data, str):
        raise InputError("a ledger is of a data set; give its name as data")
    if chosen is not None:
        check_choice("chosen", chosen, ledgers.CHOSEN)
    most = math.inf if budget is None else check_interval("budget", budget, 0.0, math.inf)
    return Path(ledger), data, most, chosen


def check_candidates(candidates: object) -> None:
    if callable(candidates):
        return
    if isinstance(candidates, str) or not isinstance(candidates, Sequence) or not candidates:
        raise InputError(
            "candidates is a list of at least one, or a function that draws one from a Draw"
        )
