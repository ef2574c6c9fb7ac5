"""PrivateSearch: a private hyperparameter search of anybody's training.

The search draws K and the candidates itself, hands them out, takes scores, and releases the best
run alone. What it proves is the account of the best of K (``jaxsel.tuned``), for the records that
train and for those that are scored. What a caller could do wrong is impossible, or refused, or,
where it cannot be seen from here, declared and printed in the guarantee's sentence.
"""

import datetime
import math
import random
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.families.tuning.base_forms import guarantee_of
from jaxsel.families.tuning.secrecy import is_fixed
from jaxsel.host.errors import (
    CouldNotError,
    InputError,
    check_choice,
    check_integer,
    check_interval,
)
from jaxsel.host.own_code import Reading, suffix
from jaxsel.language.default_delta import DELTA
from jaxsel.language.printing import Summary, printed
from jaxsel.repetitions import Repetitions, as_law, describe
from jaxsel.search import ledger as ledgers
from jaxsel.search.draws import (
    Draw,
    draw_count,
    draw_secrets,
    public_name,
    simulated_noise,
    source,
    training_seed,
)
from jaxsel.search.guarantee import (
    SCORED,
    STOPPING,
    SearchGuarantee,
    as_text,
    described_law,
    looked_at,
    parts,
)
from jaxsel.search.scores import Score
from jaxsel.search.storage import Storage

Candidates = Sequence[Any] | Callable[[Draw], Any]
_OUT, _TOLD, _FAILED = "handed out", "told", "failed"
_MOST_RUNS = 10**6
_REFIT = "the winner is trained once more, on all records, and that is released, too"


class Run(NamedTuple):
    """One run that is to be made.

    Attributes:
      name: of this run; it tells nothing about its place among the others.
      candidate: what to train.
      seed: of its training, in [0, 2^63); a run that is begun again after a kill has the same.
      draw: draws further parts of the candidate, where they are asked for as training goes on.
      progress: what was saved of it last before a kill, to go on from; None begins it anew.
    """

    name: str
    candidate: Any
    seed: int
    draw: Draw
    progress: Any = None


@printed
class Winner(NamedTuple):
    """What a private search releases.

    Attributes:
      candidate: of the best run; None if no run was made or none succeeded.
      score: its noisy score; NaN without a winner.
      outcome: what was told with it, such as the trained model.
      guarantee: what is proved of the release.
    """

    candidate: Any
    score: float
    outcome: Any
    guarantee: SearchGuarantee

    def summary(self) -> Summary:
        """The winner, and the guarantee."""
        known = self.guarantee.summary()
        if self.candidate is None:
            said = "No run was made, or none succeeded: nothing else is released."
        else:
            said = f"Winner: {self.candidate!r}, with a noisy score of {self.score:.6g}."
        return known._replace(sentence=f"{said}\n{known.sentence}")


class PrivateSearch:
    """A private search: ``ask`` for runs, ``tell`` their scores, ``release`` the best.

    Args:
      candidates: a list, of which each run draws one uniformly and with replacement; or a
        function of a ``Draw`` that draws a candidate, whose later parts may depend on earlier
        ones, but never on the data.
      base: what one run guarantees to the records that train, whichever its candidate, in the
        forms of ``jaxsel.guarantee_of``; for candidates of unlike privacy ``dominating`` ones.
      score: how runs are ranked, from ``jaxsel.scores``.
      repetitions: law of K, or its text. A file that ``jaxsel plan --save`` wrote is ``file:FILE``.
      scored: "public", "validation" or "training": what data the scores are computed from. It
        cannot be seen from here, and is printed with the guarantee.
      delta: of the guarantee.
      storage: a folder for the secrets of the search, from which it goes on after a kill. None
        keeps them in memory.
      data: a name of the data set, for the ledger.
      ledger: a file with all private searches of this data set.
      budget: the largest epsilon of all searches in the ledger together, at ``delta``.
      chosen: "beforehand", or "on the way" if whether and how this search is made may depend on
        what earlier ones released: a ledger of such searches has a ``budget`` from its first on.
        None takes what the ledger says, and "beforehand" for a new one.
      stopping: "fixed" or "own trajectory": what ends a run; printed with the guarantee. A rule
        on what this run alone has released so far, fixed before it, costs nothing more: what it
        stops is one more outcome, the worst (``tell(run, failed=True)``).
      looks: how many noisy scores of a run, besides its last, such a rule may see (``look``);
        they are accounted for.
      adaptive: whether candidates may depend on earlier scores: then every run and every score
        is released, and the composition of all ``runs`` is accounted for.
      runs: how many runs an adaptive search makes.
      pad: makes as many runs as K can have, and discards those beyond K, so that who counts
        runs learns nothing. Needs a law with a maximum.
      refit: True if the winner is trained once again, on all records, and that is released: one
        more release with the guarantee ``base``, for those that were scored, too; or what that
        training guarantees, if it is another.
      relation: which data sets are neighbours, as in ``jaxsel.guarantee_of``.
      seed: for tests and simulations: whoever knows it has no privacy, and ``release`` asks to
        be told so.

    Raises:
      InputError: for bad input; a folder that is open to others, in use or of another search; a
        budget that is spent.

    Example:
        >>> import jaxsel
        >>> search = jaxsel.PrivateSearch(
        ...     [0.1, 0.2, 0.4],
        ...     base="gaussian:noise_multiplier=4",
        ...     repetitions="geometric:mean=5",
        ...     score=jaxsel.scores.count(noise=8),
        ...     scored="validation",
        ... )
        >>> for run in search:
        ...     search.tell(run, 100 - round(100 * abs(run.candidate - 0.2)))
        >>> winner = search.release()
        >>> winner.candidate is None or winner.candidate in (0.1, 0.2, 0.4)
        True
    """

    def __init__(
        self,
        candidates: Candidates,
        *,
        base: object,
        score: Score,
        repetitions: Repetitions | str | None = None,
        scored: str | None = None,
        delta: float = DELTA,
        storage: str | Path | None = None,
        data: str | None = None,
        ledger: str | Path | None = None,
        budget: float | None = None,
        chosen: str | None = None,
        stopping: str = "fixed",
        looks: int = 0,
        adaptive: bool = False,
        runs: int | None = None,
        pad: bool = False,
        refit: object = False,
        relation: object = None,
        seed: int | None = None,
    ) -> None:
        self._lock = threading.RLock()
        self._candidates, self._score = candidates, _checked_score(score)
        self._scored = _checked_scored(score, scored)
        check_choice("stopping", stopping, STOPPING)
        self._stopping, self._adaptive, self._pad = stopping, adaptive, pad
        self._looks = _checked_looks(looks, stopping, score)
        self._delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
        self._base = guarantee_of(base, relation)
        self._refit = self._checked_refit(refit, relation)
        self._law, self._count = _checked_law(repetitions, adaptive, runs, pad)
        self.problems: tuple[str, ...] = ()  # what ``train`` raised: as secret as the scores
        self._random, self._simulated = source(seed), seed is not None
        self._ledger = _checked_ledger(ledger, data, budget, chosen)
        _check_candidates(candidates)
        scores = [] if score.is_public else [looked_at(score.guarantee(), looks + 1)]
        self._parts = parts(self._base, scores, self._scored, self._law, self._count, self._refit)
        self._guarantee = self._proved()
        self._storage = Storage(storage, self._configuration())
        try:
            self._state = self._storage.state or self._begun()
            if self._ledger is not None:
                path, data_name, most, how = self._ledger
                found = ledgers.enter(path, data_name, self._entry(), most, self._delta, how)
                self._guarantee = self._guarantee._replace(
                    data=data_name, total=found.epsilon, together=tuple(found.sentences())
                )
            self._restarted()
        except BaseException:
            self._storage.close()
            raise

    def _checked_refit(self, refit: object, relation: object) -> BaseGuarantee | None:
        if isinstance(refit, bool):
            return self._base if refit else None
        try:
            return guarantee_of(refit, relation)
        except InputError as error:
            raise InputError(f"refit is True, False, or what it guarantees: {error}") from None

    # --- What is proved ------------------------------------------------------------------

    @property
    def guarantee(self) -> SearchGuarantee:
        """What the release of this search guarantees."""
        return self._guarantee

    def _proved(self) -> SearchGuarantee:
        costs = tuple(
            (part.whose, part.released.cost(self._delta, attain=False)) for part in self._parts
        )
        for whose, cost in costs:
            if not math.isfinite(cost.epsilon):
                raise InputError(
                    f"nothing is proved for the {whose} at delta = {self._delta:g}: take more "
                    "noise, a larger delta, or another law of K"
                )
        declared = (
            f"ranked by {self._score.words}",
            SCORED[self._scored],
            STOPPING[self._stopping],
            *([] if self._refit is None else [_REFIT]),
        )
        return SearchGuarantee(costs, declared, self._watchers())

    def _watchers(self) -> str:
        if self._law is None:
            return "Every run and every noisy score is released; who watches learns no more."
        if self._pad:
            return (
                f"Every search makes {self._law.maximum} runs, so that who counts them does not "
                "learn K; how long each takes may tell its candidate."
            )
        if is_fixed(self._law):
            return "K is fixed; who watches learns how long the runs take, which is not covered."
        return (
            "Who sees how many runs are made, or how long the search takes, learns about K, which "
            "is not covered: keep that secret, or use pad=True with a law that has a maximum."
        )

    def _configuration(self) -> dict[str, Any]:
        reading = Reading()
        code = reading.read(self._candidates, strict=True) + suffix(reading.unreadable)
        return {
            "candidates": code,
            "base": self._base.name,
            "relation": self._base.relation,
            "law": described_law(self._law, self._count),
            "score": [self._score.words, self._scored],
            "delta": self._delta,
            "stopping": [self._stopping, self._looks],
            "pad": self._pad,
            "refit": None if self._refit is None else self._refit.name,
            "simulated": self._simulated,
        }

    def _entry(self) -> ledgers.Entry:
        roles = []
        for part in self._parts:
            entries = []
            for each in part.released.releases:
                entry = {"base": as_text(each.base), "times": each.times}
                if each.repetitions is not None:
                    entry["repetitions"] = describe(each.repetitions)
                entries.append(entry)
            roles.append(tuple(entries))
        name, date = self._state["name"], self._state["date"]
        return ledgers.Entry(name, date, tuple(roles), self._base.relation)

    # --- Runs ----------------------------------------------------------------------------

    def _begun(self) -> dict[str, Any]:
        """The state of a new search: K and the secret of each run are drawn before any is made."""
        count = self._count if self._law is None else draw_count(self._law, self._random)
        if count > _MOST_RUNS:
            raise InputError(f"K was drawn above {_MOST_RUNS}; take a law of smaller mean")
        most = (self._law.maximum or 0) if self._pad and self._law is not None else count
        drawn = draw_secrets(most, self._random)
        state = {
            "name": drawn.name,
            "date": datetime.date.today().isoformat(),
            "count": count,
            "secrets": [secret.hex() for secret in drawn.runs],
            "ties": list(drawn.ties),
            "looks": [0] * most,
            "status": [],  # of the runs that were handed out, in their order
            "lost": [],  # places of runs that a kill ended
            "again": [],  # places of runs that a kill ended and that are not begun again yet
            "best": None,  # [score in units, tie, place]
            "released": False,
        }
        self._storage.save(state)
        return state

    def _restarted(self) -> None:
        """Runs that were handed out by a process that was killed are begun once again."""
        state = self._state
        self._here: dict[str, int] = {}  # runs that this process handed out, by name
        out = [place for place, status in enumerate(state["status"]) if status == _OUT]
        self._lose([place for place in out if place not in state["again"]])

    def _lose(self, places: Sequence[int]) -> None:
        """Runs whose worker ended without a word are begun once again, or have failed."""
        state = self._state
        for place in places:
            if place in state["lost"]:
                # Whether a run kills its worker may depend on the data: twice is a failure.
                state["status"][place] = _FAILED
            else:
                state["lost"].append(place)
                state["again"].append(place)
        if places:
            self._tidy()

    def _tidy(self) -> None:
        """Saves the state, then removes what it does not need any more."""
        self._storage.save(self._state)
        out = [place for place, status in enumerate(self._state["status"]) if status == _OUT]
        self._storage.drop(self._best_name(), {self._name(place) for place in out})

    @property
    def over(self) -> bool:
        """Whether every run has been handed out."""
        with self._lock:
            state = self._state
            return not state["again"] and len(state["status"]) == len(state["secrets"])

    def ask(self, candidate: Any = None) -> Run:
        """The next run to make.

        Args:
          candidate: of an adaptive search alone: what to train instead of what would be drawn.

        Raises:
          InputError: if no run is left, or a candidate is given that the search must draw.
        """
        if candidate is not None and not self._adaptive:
            raise InputError(
                "the search draws its candidates itself, whatever the data and the scores are; a "
                "candidate of yours needs adaptive=True, which releases and pays for every run"
            )
        with self._lock:
            state = self._state
            if state["released"]:
                raise InputError("the search is over: its winner has been released")
            again = bool(state["again"])
            if again:
                place = state["again"].pop(0)
            elif len(state["status"]) < len(state["secrets"]):
                place = len(state["status"])
                state["status"].append(_OUT)
            else:
                raise InputError("the search is over: every one of its runs has been handed out")
            self._storage.save(state)
            run = self._run(place)
            if again:
                run = run._replace(progress=self._storage.progress(run.name))
            self._here[run.name] = place
        return run if candidate is None else run._replace(candidate=candidate)

    def _run(self, place: int) -> Run:
        secret = bytes.fromhex(self._state["secrets"][place])
        draw = Draw(secret)
        given = self._candidates
        candidate = given(draw) if callable(given) else draw.choice(given)
        return Run(public_name(secret), candidate, training_seed(secret), draw)

    def __iter__(self) -> Iterator[Run]:
        while not self.over:
            yield self.ask()

    def tell(
        self, run: Run, score: Any = None, outcome: Any = None, *, failed: bool = False
    ) -> float | None:
        """Takes the score of a run, adds the noise, and keeps the run if it is the best.

        Args:
          run: what ``ask`` returned.
          score: as ``score`` of the search reads it.
          outcome: what is released if this run wins: a model, parameters; it must be pickled.
          failed: the run diverged, or was stopped by its own rule: it ranks below all others,
            for good.

        Returns:
          The noisy score, if the search is adaptive and so releases it; else None.

        Raises:
          InputError: for a run of another search, one that was told before, or a score that is
            none.
        """
        with self._lock:
            place = self._place(run)
            state = self._state
            if failed:
                if score is not None:
                    raise InputError("a failed run has no score; leave it out")
                state["status"][place] = _FAILED
                self._tidy()
                return None
            units = self._score.noisy(score, self._noise(place))
            counts = place < state["count"]  # runs beyond K are made for watchers alone
            mine = [units, state["ties"][place], place]
            if counts and (state["best"] is None or mine[:2] > state["best"][:2]):
                self._storage.keep(run.name, (run.candidate, self._score.value(units), outcome))
                state["best"] = mine
            state["status"][place] = _TOLD
            self._tidy()
            return self._score.value(units) if self._adaptive else None

    def look(self, run: Run, score: Any) -> float:
        """A noisy score of a run that is under way, for the rule that may stop it.

        Raises:
          InputError: for a run that is none or over, or more looks than are accounted for.
        """
        with self._lock:
            place = self._place(run)
            if self._state["looks"][place] >= self._looks:
                raise InputError(
                    f"{self._looks} looks at a run are accounted for; a further one is not covered"
                )
            units = self._score.noisy(score, self._noise(place))
            self._state["looks"][place] += 1
            self._storage.save(self._state)
            return self._score.value(units)

    def _place(self, run: Run) -> int:
        name = getattr(run, "name", None)
        place = self._here.get(name) if isinstance(name, str) else None
        if place is None:
            raise InputError("that run was not handed out by this search in this process")
        status = self._state["status"][place]
        if status == _FAILED:
            raise InputError(
                "that run failed, and a failed run is not made again: whether it fails may depend "
                "on the data"
            )
        if status != _OUT:
            raise InputError("that run was told already; a run has one score")
        return place

    def save(self, run: Run, progress: Any) -> None:
        """Keeps how far the training of a run has come, in the folder of the search.

        After a kill ``ask`` hands the run out again with its ``progress``. A run that is lost twice
        has failed, unless it saved something in between: then it gets ahead.

        Args:
          run: what ``ask`` returned.
          progress: as secret as the data; it must be pickled.

        Raises:
          InputError: for a run that is none or over.
        """
        with self._lock:
            place = self._place(run)
            self._storage.keep_progress(run.name, progress)
            if place in self._state["lost"]:
                self._state["lost"].remove(place)
                self._storage.save(self._state)

    def _noise(self, place: int) -> random.Random:
        secret = bytes.fromhex(self._state["secrets"][place])
        look = self._state["looks"][place]
        return simulated_noise(secret, look) if self._simulated else self._random

    def _name(self, place: int) -> str:
        return public_name(bytes.fromhex(self._state["secrets"][place]))

    def _best_name(self) -> str | None:
        best = self._state["best"]
        return None if best is None else self._name(best[2])

    def run(
        self,
        train: Callable[[Any, int], Any],
        executor: Executor | None = None,
        *,
        together: int = 2,
        simulation: bool = False,
    ) -> Winner:
        """Makes all runs and releases the best.

        Args:
          train: (candidate, seed) -> the score, or (score, outcome); a run in which it raises
            has failed, and the traceback stays in ``problems``, a secret.
          executor: of ``concurrent.futures`` or Dask (``client.get_executor()``), which makes
            runs side by side.
          together: how many.
          simulation: as in ``release``.

        Raises:
          CouldNotError: if a worker of the executor ends without a word; ``run`` with another
            executor goes on. A run that was under way is begun once again with its seed, alone,
            so that one that ends its worker twice is known, and has failed.
        """
        if executor is None:
            for run in self:
                self._take(run, *_tried(train, run.candidate, run.seed))
            return self.release(simulation=simulation)
        under_way: dict[Future[Any], Run] = {}
        while under_way or not self.over:
            most = 1 if self._state["again"] else together
            while not self.over and len(under_way) < most:
                run = self.ask()
                most = 1 if self._was_lost(run) or self._state["again"] else together
                try:
                    future = executor.submit(_tried, train, run.candidate, run.seed)
                except BrokenExecutor as problem:
                    self._take_back(run)
                    self._broken(list(under_way.values()), problem)
                under_way[future] = run
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            # What is finished is taken before a broken executor is reported.
            for future in sorted(done, key=_is_broken):
                run, problem = under_way.pop(future), future.exception()
                if isinstance(problem, BrokenExecutor):
                    self._broken([run, *under_way.values()], problem)
                found = future.result() if problem is None else (None, repr(problem))
                self._take(run, *found)
        return self.release(simulation=simulation)

    def _was_lost(self, run: Run) -> bool:
        return self._here[run.name] in self._state["lost"]

    def _take_back(self, run: Run) -> None:
        """A run that no worker began is handed out again, and is not lost."""
        with self._lock:
            self._state["again"].insert(0, self._here.pop(run.name))
            self._storage.save(self._state)

    def _broken(self, runs: Sequence[Run], problem: BaseException) -> NoReturn:
        with self._lock:
            self._lose([self._here.pop(run.name) for run in runs])
        raise CouldNotError(
            "a worker of the executor ended without a word; call run with another executor, which "
            "begins the runs that were under way once again"
        ) from problem

    def _take(self, run: Run, found: Any, problem: str | None) -> None:
        if problem is not None:
            self.problems = (*self.problems, problem)
            self.tell(run, failed=True)
        else:
            score, outcome = found if isinstance(found, tuple) else (found, None)
            self.tell(run, score, outcome)

    # --- The release ---------------------------------------------------------------------

    def release(self, *, simulation: bool = False) -> Winner:
        """The best run; the same one, ever after.

        Args:
          simulation: must be said of a search with a seed, whose release is not private.

        Raises:
          InputError: if runs are left, or a seed was given and it is not said.
        """
        if self._simulated and not simulation:
            raise InputError(
                "this search has a seed, so its release is not private; say simulation=True"
            )
        with self._lock:
            if not self.over or _OUT in self._state["status"]:
                raise InputError("the search is not over: tell the score of every run first")
            name = self._best_name()
            if not self._state["released"]:
                self._state["released"] = True
                self._storage.save(self._state)  # before it is returned
            candidate, score, outcome = (
                (None, math.nan, None) if name is None else self._storage.kept(name)
            )
            return Winner(candidate, score, outcome, self._guarantee)

    def close(self) -> None:
        """Lets another process go on with the folder."""
        self._storage.close()

    def __enter__(self) -> "PrivateSearch":
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PrivateSearch({described_law(self._law, self._count)} of {self._base.name})"


def _tried(train: Callable[[Any, int], Any], candidate: Any, seed: int) -> tuple[Any, str | None]:
    try:
        return train(candidate, seed), None
    except Exception:
        return None, traceback.format_exc()


def _is_broken(future: Future[Any]) -> bool:
    return isinstance(future.exception(), BrokenExecutor)


def _checked_score(score: object) -> Score:
    if not isinstance(score, Score):
        raise InputError(
            f"score is {score!r}; it must say how far one record moves it, as jaxsel.scores.count, "
            "clipped_mean or stated do, or public"
        )
    return score


def _checked_scored(score: Score, scored: str | None) -> str:
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


def _checked_looks(looks: int, stopping: str, score: Score) -> int:
    found = check_integer("looks", looks, 0)
    if found and (stopping == "fixed" or score.is_public):
        raise InputError(
            'looks are noisy scores that a rule of a run sees: say stopping="own trajectory"; '
            "a score of public data needs none"
        )
    return found


def _checked_law(
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
            f"pad makes as many runs as K can have, and {describe(law)} has no largest K; write "
            f"{describe(law)},capped=..."
        )
    return law, 1


def _checked_ledger(
    ledger: str | Path | None, data: str | None, budget: float | None, chosen: str | None
) -> tuple[Path, str, float, str | None] | None:
    if ledger is None:
        if budget is not None or chosen is not None:
            what = "a budget" if chosen is None else "how searches are chosen"
            raise InputError(f"{what} is kept by a ledger of the data set; give ledger and data")
        return None
    if not str(ledger):
        raise InputError("ledger is the name of a file, and not an empty one")
    if not data:
        raise InputError("a ledger is of a data set; give its name as data")
    if chosen is not None:
        check_choice("chosen", chosen, ledgers.CHOSEN)
    most = math.inf if budget is None else check_interval("budget", budget, 0.0, math.inf)
    return Path(ledger), data, most, chosen


def _check_candidates(candidates: object) -> None:
    if callable(candidates):
        return
    if isinstance(candidates, str) or not isinstance(candidates, Sequence) or not candidates:
        raise InputError(
            "candidates is a list of at least one, or a function that draws one from a Draw"
        )
