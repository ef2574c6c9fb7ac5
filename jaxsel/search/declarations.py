"""What a caller says of a private search, checked before anything is made."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxsel.host.errors import InputError, check_choice
from jaxsel.host.outputs import check_output
from jaxsel.language.domains import Domain, choice, parsed, positive, whole
from jaxsel.language.parts import Flag, read_parts
from jaxsel.repetitions import Repetitions, as_law
from jaxsel.search import ledger as ledgers
from jaxsel.search.guarantee import RANDOMNESS, SCORED, STOPPING
from jaxsel.search.scores import Score
from jaxsel.tuning.drawn import ADAPTIVELY, INDEPENDENTLY, Drawn, read_drawn

SYSTEM, SEED = RANDOMNESS
"""Where the random numbers of a run come from."""


class Declared(NamedTuple):
    """What cannot be seen from inside a private search, and is printed with its guarantee.

    Attributes:
      scored: "public", "validation" or "training": what data the scores are computed from. None
        is "public" for a public score.
      stopping: "fixed" or "own trajectory": what ends a run. A rule on what this run alone has
        released so far, fixed before it, costs nothing more: what it stops is one more outcome,
        the worst (``tell(run, failed=True)``).
      looks: how many noisy scores of a run, besides its last, such a rule may see (``look``);
        they are accounted for.
      refit: True if the winner is trained once again, on all records, and that is released: one
        more release with the guarantee ``base``, for those that were scored, too; or what that
        training guarantees, if it is another.
      relation: which data sets are neighbours, as in ``jaxsel.guarantee_of``.
      randomness: "system" or "run.seed": where a run's random numbers come from. A run that is
        lost, because it ended its process, has failed: were it made again with other noise, the
        law of its outcome would be that of a run that was chosen. "run.seed" declares that all of
        them, batches and noise, are drawn from ``run.seed``: then a lost run is repeated as it
        was, and has failed when it is lost alone a second time without a step in between; and
        several may be made at a time.
      watched: True if somebody learns how many runs are made: then as many are made as K can
        have, and those beyond K are discarded. Needs a law with a maximum.
    """

    scored: str | None = None
    stopping: str = "fixed"
    looks: int = 0
    refit: object = False
    relation: object = None
    randomness: str = SYSTEM
    watched: bool = False


@dataclasses.dataclass(frozen=True)
class _Object(Domain):
    """Anything, which is checked later; in text yes and no are True and False."""

    def describe(self) -> str:
        """See ``Domain``."""
        return "yes, no, or what it is"

    def read(self, name: str, value: Any) -> Any:
        """See ``Domain``."""
        return {"yes": True, "no": False}.get(value, value) if isinstance(value, str) else value


_DECLARED: Mapping[str, Domain] = {
    "scored": choice(SCORED),
    "stopping": choice(STOPPING),
    "looks": whole(at_least=0),
    "refit": _Object(),
    "relation": _Object(),
    "randomness": choice(RANDOMNESS),
    "watched": Flag(),
}


FORMER = ("scored", "stopping", "looks", "refit", "relation")
"""What was an argument of its own until 0.2.0."""


def read_declared(declared: object) -> Declared:
    """What is declared, in a text such as "scored=validation", a mapping, or a record.

    Raises:
      InputError: for a part that there is none, or a value outside its domain.
    """
    if not declared:
        return Declared()
    return Declared(**read_parts("declared", declared, _DECLARED, nested=("refit",)))


class LedgerUse(NamedTuple):
    """In which ledger a search is entered.

    Attributes:
      path: a file with all private searches of a data set.
      data: the name of the data set.
      budget: the largest epsilon of all searches in the ledger together.
      chosen: "beforehand", or "on the way" if whether and how this search is made may depend on
        what earlier ones released: a ledger of such searches has a budget from its first on. None
        takes what the ledger says, and "beforehand" for a new one.
    """

    path: str | Path
    data: str | None = None
    budget: float | None = None
    chosen: str | None = None


LEDGER: Mapping[str, Domain] = {
    "path": parsed(str, "the name of a file"),
    "data": parsed(str, "the name of a data set"),
    "budget": positive(),
    "chosen": choice(ledgers.CHOSEN),
}
"""The parts of a ledger in a text: "FILE:data=census,budget=3"."""


def read_ledger(ledger: object) -> LedgerUse | None:
    """Which ledger, in a text such as "census.json:data=census,budget=3"; None for none.

    Raises:
      InputError: for a part that there is none, a value outside its domain, or no file.
    """
    if ledger is None:
        return None
    found = read_parts("ledger", ledger, LEDGER, first="path")
    if "path" not in found:
        if not isinstance(ledger, str) and "budget" not in found and "chosen" not in found:
            return None  # a name of the data set alone, as was possible until 0.2.0
        named = {"chosen": "how searches are chosen", "budget": "a budget", "data": "a name"}
        what = next(words for part, words in named.items() if part in found)
        raise InputError(f"{what} is kept by a ledger of the data set; give its file")
    return LedgerUse(**found)


def checked_randomness(randomness: str, adaptive: bool) -> str:
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
            raise InputError("with base=None no record trains; declare scored=validation")
    if scored is None:
        if score.is_public:
            return "public"
        raise InputError(
            "declare scored=validation if no scored record trains in any run, or scored=training"
        )
    check_choice("scored", scored, SCORED)
    if (scored == "public") != score.is_public:
        raise InputError(
            "scores of public data are scores.public() with scored=public; others need noise"
        )
    return scored


def checked_looks(looks: int, stopping: str, score: Score) -> int:
    if looks and (stopping == "fixed" or score.is_public):
        raise InputError(
            "looks are noisy scores that a rule of a run sees: declare stopping=own trajectory; "
            "a score of public data needs none"
        )
    return looks


def checked_law(
    repetitions: Repetitions | str | None, drawn: str | Drawn | Mapping[str, Any], watched: bool
) -> tuple[Repetitions | None, int]:
    """The law of K, or None; and how often its search, or a run, is released."""
    way = read_drawn(drawn).one_of("a private search", INDEPENDENTLY, ADAPTIVELY)
    if way.released_runs is not None:
        if repetitions is not None or watched:
            raise InputError(
                "an adaptive search has a number of runs, and neither K nor runs beyond it"
            )
        return None, way.released_runs
    if repetitions is None:
        raise InputError('give repetitions, the law of K, for example "geometric:mean=20"')
    law = as_law(repetitions)
    if watched and law.maximum is None:
        raise InputError(
            f"a search that is watched makes as many runs as K can have, and {law.name} has no "
            f"largest K; write {law.name},capped=..."
        )
    return law, 1


def checked_ledger(ledger: object) -> tuple[Path, str, float, str | None] | None:
    use = read_ledger(ledger)
    if use is None:
        return None
    check_output("ledger", use.path, makes_folders=True)
    if not use.data or not isinstance(use.data, str):
        raise InputError("a ledger is of a data set; give its name as data")
    return Path(use.path), use.data, math.inf if use.budget is None else use.budget, use.chosen


def check_candidates(candidates: object) -> None:
    if callable(candidates):
        return
    if isinstance(candidates, str) or not isinstance(candidates, Sequence) or not candidates:
        raise InputError(
            "candidates is a list of at least one, or a function that draws one from a Draw"
        )
