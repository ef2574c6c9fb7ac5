"""PrivateSearch: a private hyperparameter search of anybody's training.

The search draws K and the candidates itself, hands them out, takes scores, and releases the best
run alone. What it proves is the account of the best of K (``jaxsel.search_cost``), for the records
that train and for those that are scored. What a caller could do wrong is impossible, or refused,
or, where it cannot be seen from here, declared and printed in the guarantee's sentence.

Whatever the data may decide does not leave by an exception: a run that raises, whose score is no
number or whose outcome cannot be kept has failed, which is an outcome like others, and why stands
in ``problems``, which are never released (``attempt``, ``PrivateSearch.tell``). An exception says
what the caller did, whatever the data.
"""

import contextlib
import datetime
import math
import os
import pickle
import random
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.host.errors import CouldNotError, InputError, check_integer, check_interval
from jaxsel.host.former_names import former_arguments
from jaxsel.host.outputs import check_output
from jaxsel.host.own_code import Reading, suffix
from jaxsel.host.records import digest
from jaxsel.language.default_delta import DELTA
from jaxsel.language.printing import Summary, printed
from jaxsel.language.relations import relation_name
from jaxsel.repetitions import Repetitions
from jaxsel.search import ledger as ledgers
from jaxsel.search.declarations import (
    FORMER,
    SEED,
    SYSTEM,
    Declared,
    LedgerUse,
    check_candidates,
    checked_law,
    checked_ledger,
    checked_looks,
    checked_randomness,
    checked_score,
    checked_scored,
    read_declared,
)
from jaxsel.search.draws import (
    Draw,
    draw_count,
    draw_secrets,
    fresh_secret,
    public_name,
    simulated_noise,
    source,
    training_seed,
)
from jaxsel.search.guarantee import (
    COPIES,
    EARLIER,
    NUMBERS,
    RANDOMNESS,
    SCORED,
    SETTINGS,
    SIMULATION,
    STOPPING,
    UNTRAINED,
    SearchGuarantee,
    as_text,
    described_law,
    looked_at,
    parts,
)
from jaxsel.search.scores import Score
from jaxsel.search.storage import Progress, Storage
from jaxsel.tuning.base_forms import guarantee_of
from jaxsel.tuning.drawn import ADAPTIVELY, INDEPENDENTLY, Drawn
from jaxsel.tuning.secrecy import is_fixed

Candidates = Sequence[Any] | Callable[[Draw], Any]
_OUT, _TOLD, _FAILED = "handed out", "told", "failed"
_MOST_RUNS = 10**6
_LONGEST_PROBLEM = 20_000  # characters
_NEW_SETTINGS = ("profile", "randomness", "ledger")
"""What the folder of a search of jaxsel 0.2.0 does not say."""
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

    Example:
        >>> import jaxsel
        >>> search = jaxsel.PrivateSearch(
        ...     ["small", "large"],
        ...     base="gaussian:noise_multiplier=4",
        ...     repetitions="point_mass:count=2",
        ...     score=jaxsel.scores.count(noise=8),
        ...     declared="scored=validation",
        ... )
        >>> for run in search:
        ...     search.tell(run, 1000 if run.candidate == "large" else 0, outcome="a model")
        >>> winner = search.release()
        >>> winner.candidate in ("small", "large"), winner.outcome
        (True, 'a model')
        >>> print(f"{winner.guarantee.epsilon:.1f}")
        1.5
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
        forms of ``jaxsel.guarantee_of``; for candidates of unlike privacy ``dominating`` ones. None
        declares that no private records are trained on: then the scores alone cost.
      score: how runs are ranked, from ``jaxsel.scores``.
      repetitions: law of K, or its text. A file that ``jaxsel plan --save`` wrote is ``file:FILE``.
      drawn: how candidates are drawn: "independently", from ``candidates``; or "adaptively:n=30":
        candidates may depend on earlier scores, every run and every score is released, and the
        composition of all 30 runs is accounted for.
      delta: of the guarantee.
      storage: a folder for the secrets of the search, from which it goes on after a kill. None
        keeps them in memory.
      ledger: a file with all private searches of this data set, in which this one is entered:
        "census.json:data=census,budget=3", or a ``jaxsel.search.declarations.LedgerUse``; the
        budget is the largest epsilon of all of them together, at ``delta``.
      declared: what cannot be seen from here, and is printed with the guarantee, as text,
        mapping or ``jaxsel.search.declarations.Declared``: "scored=validation".
      seed: for tests and simulations: whoever knows it has no privacy, and what releases asks to
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
        ...     declared="scored=validation",
        ... )
        >>> for run in search:
        ...     search.tell(run, 100 - round(100 * abs(run.candidate - 0.2)))
        >>> winner = search.release()
        >>> winner.candidate is None or winner.candidate in (0.1, 0.2, 0.4)
        True
    """

    @former_arguments(
        {
            **{name: f"declared.{name}" for name in FORMER},
            **{name: f"ledger.{name}" for name in ("data", "budget")},
            "pad": "declared.watched",
            "adaptive": lambda yes: ("drawn", {"way": ADAPTIVELY if yes else None}),
            "runs": "drawn.n",
        },
        first={"ledger": "path"},
    )
    def __init__(
        self,
        candidates: Candidates,
        *,
        base: object,
        score: Score,
        repetitions: Repetitions | str | None = None,
        drawn: str | Drawn = INDEPENDENTLY,
        delta: float = DELTA,
        storage: str | Path | None = None,
        ledger: str | Path | LedgerUse | Mapping[str, Any] | None = None,
        declared: str | Declared | Mapping[str, Any] = Declared(),
        seed: int | None = None,
    ) -> None:
        self._lock, self._process = threading.RLock(), os.getpid()
        check_output("storage", storage, folder=True, makes_folders=True)
        self._candidates, self._score = candidates, checked_score(score)
        said = read_declared(declared)
        relation = said.relation
        self._law, self._count = checked_law(repetitions, drawn, said.watched)
        self._adaptive, self._pad = self._law is None, said.watched
        self._scored = checked_scored(score, said.scored, base is not None)
        self._randomness = checked_randomness(said.randomness, self._adaptive)
        self._stopping = said.stopping
        self._looks = checked_looks(said.looks, said.stopping, score)
        self._delta = check_interval("delta", delta, 0.0, 1.0, low_open=False)
        self._base = None if base is None else guarantee_of(base, relation)
        self._relation = relation_name(relation) if self._base is None else self._base.relation
        self._refit = self._checked_refit(said.refit, relation)
        if seed is not None:
            check_integer("seed", seed, 0)
        self._random, self._simulated, self._folder = source(seed), seed is not None, storage
        self._ledger = checked_ledger(ledger)
        check_candidates(candidates)
        scores = [] if score.is_public else [looked_at(score.guarantee(), self._looks + 1)]
        if self._base is None:
            scores = [each._replace(relation=self._relation) for each in scores]
        self._parts = parts(self._base, scores, self._scored, self._law, self._count, self._refit)
        self._guarantee = self._proved()
        configuration = self._configuration()
        earlier = {k: v for k, v in configuration.items() if k not in _NEW_SETTINGS}
        self._storage = Storage(storage, configuration, earlier)
        is_new = self._storage.state is None
        try:
            self._state = self._storage.state or self._begun()
            if self._storage.is_earlier:
                self._brought_up_to_date()
            if self._state["begun"] is not None:
                more = (*self._guarantee.declared, EARLIER)
                self._guarantee = self._guarantee._replace(declared=more)
            if self._ledger is not None:
                path, data_name, most, how = self._ledger
                self._check_ledger(path, data_name)
                found = ledgers.enter(path, data_name, self._entry(), most, self._delta, how)
                self._guarantee = self._guarantee._replace(
                    data=data_name, total=found.epsilon, together=tuple(found.sentences())
                )
                self._state["entered"] = True
            self._restarted()
        except BaseException:
            # A search that its budget refuses leaves nothing that could go on without a ledger.
            self._storage.close(forget=is_new)
            raise

    def _checked_refit(self, refit: object, relation: object) -> BaseGuarantee | None:
        if self._base is None:
            if refit is not False:
                raise InputError(
                    "base=None says that no private records are trained on; leave refit out"
                )
            return None
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
        return SearchGuarantee(costs, self._declared(), self._watchers())

    def _declared(self) -> tuple[str, ...]:
        return (
            f"ranked by {self._score.words}",
            *([UNTRAINED] if self._base is None else []),
            SCORED[self._scored],
            *([] if self._score.is_public else [NUMBERS]),
            STOPPING[self._stopping],
            RANDOMNESS[self._randomness],
            SETTINGS,
            *([] if self._refit is None else [_REFIT]),
            *([] if self._folder is None else [COPIES]),
            *([SIMULATION] if self._simulated else []),
        )

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
            "is not covered: keep that secret, or declare watched=yes to jaxsel.PrivateSearch, "
            "with a law that has a maximum."
        )

    def _configuration(self) -> dict[str, Any]:
        reading = Reading()
        code = reading.read(self._candidates, strict=True) + suffix(reading.unreadable)
        return {
            "candidates": code,
            **self._base_settings(),
            "law": described_law(self._law, self._count),
            "score": [self._score.words, self._scored],
            "delta": self._delta,
            "stopping": [self._stopping, self._looks],
            "pad": self._pad,
            "refit": None if self._refit is None else self._refit.name,
            "simulated": self._simulated,
            "randomness": self._randomness,
            "ledger": None if self._ledger is None else self._ledger[1],
        }

    def _base_settings(self) -> dict[str, Any]:
        base = self._base
        if base is None:
            return {"base": None, "relation": self._relation, "profile": None}
        # Names such as "a privacy loss distribution", or that of a file, do not say its numbers.
        named = as_text(base) == base.name and not base.name.startswith("opacus:")
        profile = None if named else digest(base.pairs())
        return {"base": base.name, "relation": base.relation, "profile": profile}

    def _check_ledger(self, path: Path, data: str) -> None:
        """A folder goes on with the ledger in which its search was entered."""
        if self._state["entered"]:
            known = {each.search for each in ledgers.read(path, data).entries}
            if self._state["name"] not in known:
                raise InputError(
                    f"this search was entered in a ledger, and {path} does not hold it; give the "
                    "ledger that does"
                )

    def _entry(self) -> ledgers.Entry:
        roles = []
        for part in self._parts:
            entries = []
            for each in part.released.releases:
                entry = {"base": as_text(each.base), "times": each.times}
                if each.repetitions is not None:
                    entry["repetitions"] = each.repetitions.name
                entries.append(entry)
            roles.append(tuple(entries))
        name, date = self._state["name"], self._state["date"]
        return ledgers.Entry(name, date, tuple(roles), self._relation)

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
            "looks": [[] for _ in range(most)],  # noisy scores that a rule of the run saw
            "status": [],  # of the runs that were handed out, in their order
            "lost": [],  # places of runs that were lost since their last step
            "charged": [],  # those of them that were alone in their process
            "beside": [],  # places of runs under way that others were made beside
            "again": [],  # places of runs that are to be handed out again
            "void": [],  # places of runs under way that have failed, whatever they are told
            "best": None,  # [score in units, tie, place]
            "problems": [],  # why runs failed
            "released": False,
            "entered": False,  # in a ledger
            "begun": None,  # by an earlier version
        }
        self._storage.save(state)
        return state

    def _brought_up_to_date(self) -> None:
        """The state of a search that jaxsel 0.2.0 began, which made lost runs once again.

        Raises:
          InputError: if it did, and not everything that a run draws is drawn from its seed.
        """
        state = self._state
        out = [place for place in self._out() if place not in state["again"]]
        redone = [place for place in state["lost"] if place not in state["again"]]
        if self._randomness == SYSTEM and (redone or len(out) > 1):
            raise InputError(
                "jaxsel 0.2.0 made a lost run of this search again, or several at a time, which is "
                "private only if all its noise is drawn from run.seed: declare randomness=run.seed "
                "if so, or begin another search in another folder"
            )
        state |= {
            "looks": [[None] * looks for looks in state["looks"]],
            "charged": [],
            "beside": out if len(out) > 1 else [],
            # What a rule has seen of them was not kept, and cannot be repeated.
            "void": [place for place in self._out() if state["looks"][place]],
            "problems": [],
            "entered": False,
            "begun": "0.2.0",
        }
        if self._randomness == SYSTEM:
            for place in state["again"]:
                state["status"][place] = _FAILED
            state["lost"], state["again"] = [], []

    def _restarted(self) -> None:
        """Runs that were under way in a process that ended were lost with it."""
        self._here: dict[str, int] = {}  # runs that this process handed out, by name
        self._looked: dict[str, int] = {}  # how often, since they were handed out, and before
        self._saved: dict[str, Progress | None] = {}  # what was kept of them last
        self._lose(self._under_way())

    def _out(self) -> list[int]:
        return [place for place, status in enumerate(self._state["status"]) if status == _OUT]

    def _under_way(self) -> list[int]:
        return [place for place in self._out() if place not in self._state["again"]]

    def _lose(self, places: Sequence[int]) -> None:
        """Runs whose process ended are repeated as they were, or have failed.

        Whether a run ends its process may depend on the data. With noise of its own, whoever makes
        it again draws from the law of runs that do not, and not from that of the run. One that is
        repeated as it was fails where it was alone, from its beginning on: else it would fail
        others.
        """
        state = self._state
        for place in places:
            alone = place not in state["beside"]
            if self._randomness == SYSTEM or (alone and place in state["charged"]):
                state["status"][place] = _FAILED
                state["problems"].append("its process ended")
                continue
            if alone:
                state["charged"].append(place)
            if place not in state["lost"]:
                state["lost"].append(place)
            state["again"].append(place)
        self._forget("beside", places)
        self._tidy()

    def _forget(self, what: str, places: Sequence[int]) -> None:
        self._state[what] = [each for each in self._state[what] if each not in places]

    def _tidy(self) -> None:
        """Saves the state, then removes what it does not need any more."""
        self._storage.save(self._state)
        self._storage.drop(self._best_name(), {self._name(place) for place in self._out()})

    @property
    def over(self) -> bool:
        """Whether every run has been handed out."""
        with self._lock:
            state = self._state
            return not state["again"] and len(state["status"]) == len(state["secrets"])

    @property
    def ready(self) -> bool:
        """Whether ``ask`` hands out a run now: one is left, and may be made beside others."""
        with self._lock:
            return not self.over and self._obstacle() is None

    @property
    def problems(self) -> tuple[str, ...]:
        """Why runs failed, as secret as the data: no release and no command shows it."""
        return tuple(self._state["problems"])

    def _obstacle(self) -> str | None:
        """Why the next run cannot be made beside those that are under way."""
        state, under_way = self._state, self._under_way()
        if not under_way or self._adaptive:  # where all is released, all is paid for
            return None
        if self._randomness == SYSTEM:
            return (
                "a run is under way, and one that ends its process would fail those beside it: "
                "tell it first, or declare randomness=run.seed if all that a run draws is drawn "
                "from its seed"
            )
        if state["again"] and state["again"][0] in state["lost"]:
            under_way = [*under_way, state["again"][0]]
        if any(place in state["lost"] for place in under_way):
            return (
                "a run that was lost is repeated alone, so that it is known whether it ends its "
                "process; tell those that are under way first"
            )
        return None

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise InputError(
                f"this process was forked from {self._process}, where the search goes on: what it "
                "released would be another release, which the guarantee does not cover; begin a "
                "search here"
            )

    def ask(self, candidate: Any = None) -> Run:
        """The next run to make.

        Args:
          candidate: of an adaptive search alone: what to train instead of what would be drawn.

        Raises:
          InputError: if no run is left; if one is under way beside which none is made (see
            ``ready``); or a candidate is given that the search must draw.
        """
        if candidate is not None and not self._adaptive:
            raise InputError(
                "the search draws its candidates itself, whatever the data and the scores are; a "
                "candidate of yours needs drawn='adaptively:n=...', which releases and pays for "
                "every run"
            )
        with self._lock:
            self._check_process()
            state = self._state
            if state["released"]:
                raise InputError("the search is over: its winner has been released")
            if self.over:
                raise InputError("the search is over: every one of its runs has been handed out")
            obstacle = self._obstacle()
            if obstacle is not None:
                raise InputError(obstacle)
            place = state["again"][0] if state["again"] else len(state["status"])
            under_way = self._under_way()
            if under_way:
                state["beside"] = [*{*state["beside"], *under_way, place}]
            run = self._run(place)
            if candidate is not None:
                run = run._replace(candidate=candidate)
            _check_candidate(run.candidate)
            saved = None
            if state["again"]:
                state["again"].pop(0)
                saved = self._storage.progress(run.name)
            else:
                state["status"].append(_OUT)
            self._storage.save(state)
            self._here[run.name], self._saved[run.name] = place, saved
            self._looked[run.name] = 0 if saved is None else saved.looked
            return run if saved is None else run._replace(progress=pickle.loads(saved.content))

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
        self,
        run: Run,
        score: Any = None,
        outcome: Any = None,
        *,
        failed: bool = False,
        simulation: bool = False,
    ) -> float | None:
        """Takes the score of a run, adds the noise, and keeps the run if it is the best.

        A score that is no number of the kind that the search reads, or an outcome that cannot be
        pickled, is a failed run, and no exception: whether it is may depend on the data. Why
        stands in ``problems``.

        Args:
          run: what ``ask`` returned.
          score: as ``score`` of the search reads it.
          outcome: what is released if this run wins: a model, parameters; it must be pickled.
          failed: the run diverged, or was stopped by its own rule: it ranks below all others,
            for good.
          simulation: must be said of an adaptive search with a seed: what is returned is released.

        Returns:
          The noisy score, if the search is adaptive and so releases it (NaN of a failed run); else
          None.

        Raises:
          InputError: for a run of another search, one that was told before, or a failed run with a
            score.
        """
        with self._lock:
            place = self._place(run)
            if self._adaptive:
                self.check_simulation(simulation)
            if failed and score is not None:
                raise InputError("a failed run has no score; leave it out")
            units, problem = math.nan, None
            if not failed and place not in self._state["void"]:
                source = self._noise(place, len(self._state["looks"][place]))
                units, problem = attempt(self._score.noisy, score, source)
                if problem is None:
                    kept = (run.candidate, self._score.value(units), outcome)
                    content, problem = attempt(pickle.dumps, kept)
                    if problem is None:
                        return self._told(run.name, place, units, content)
            self._failed(place, problem)
            return math.nan if self._adaptive else None

    def _told(self, name: str, place: int, units: float, content: bytes) -> float | None:
        state = self._state
        # Of every run, so that how long this takes does not tell which one is ahead.
        self._storage.keep(name, content)
        counts = place < state["count"]  # runs beyond K are made for watchers alone
        mine = [units, state["ties"][place], place]
        if counts and (state["best"] is None or mine[:2] > state["best"][:2]):
            state["best"] = mine
        self._over_with(place, _TOLD)
        return self._score.value(units) if self._adaptive else None

    def _failed(self, place: int, problem: str | None) -> None:
        if problem is not None:
            self._state["problems"].append(problem)
        self._over_with(place, _FAILED)

    def _over_with(self, place: int, status: str) -> None:
        state = self._state
        state["status"][place] = status
        state["looks"][place] = []
        for name in ("lost", "charged", "beside", "void"):
            self._forget(name, [place])
        self._tidy()

    def look(self, run: Run, score: Any, *, simulation: bool = False) -> float:
        """A noisy score of a run that is under way, for the rule that may stop it.

        A run that is repeated sees what it saw: its looks are not drawn again.

        Args:
          run: what ``ask`` returned.
          score: as ``score`` of the search reads it.
          simulation: must be said of a search with a seed: what is returned is released.

        Returns:
          The noisy score; NaN if the score is no number, and then the run has failed, whatever it
          is told.

        Raises:
          InputError: for a run that is none or over, or more looks than are accounted for.
        """
        with self._lock:
            place = self._place(run)
            self.check_simulation(simulation)
            seen, made = self._state["looks"][place], self._looked[run.name]
            if made >= self._looks:
                raise InputError(
                    f"{self._looks} looks at a run are accounted for; a further one is not covered"
                )
            if made == len(seen):
                units, problem = attempt(self._score.noisy, score, self._noise(place, made))
                seen.append(None if problem is not None else units)
                if problem is not None:
                    self._state["problems"].append(problem)
                    self._state["void"].append(place)
                self._storage.save(self._state)
            self._looked[run.name] += 1
            units = seen[made]
            return math.nan if units is None else self._score.value(units)

    def _place(self, run: Run) -> int:
        self._check_process()
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

    def save(self, run: Run, progress: Any, *, step: int | None = None) -> None:
        """Keeps how far the training of a run has come, in the folder of the search.

        After a kill ``ask`` hands a run that is repeated out again with its ``progress``. One that
        is lost twice has failed, unless it made a step in between.

        Args:
          run: what ``ask`` returned.
          progress: as secret as the data; it must be pickled, or the run has failed.
          step: how many steps of the training it has made: what is saved after more than before
            counts as a step. Without it, whatever differs from what was saved before does.

        Raises:
          InputError: for a run that is none or over.
        """
        with self._lock:
            place = self._place(run)
            if step is not None:
                step = check_integer("step", step, 0)
            content, problem = attempt(pickle.dumps, progress)
            if problem is not None:
                self._state["problems"].append(problem)
                self._state["void"].append(place)
                self._storage.save(self._state)
                return
            before = self._saved[run.name]
            saved = Progress(step, self._looked[run.name], content)
            self._storage.keep_progress(run.name, saved)
            self._saved[run.name] = saved
            if place in self._state["lost"] and saved.is_ahead_of(before):
                self._forget("lost", [place])
                self._forget("charged", [place])
                self._storage.save(self._state)

    def _noise(self, place: int, look: int) -> random.Random:
        secret = bytes.fromhex(self._state["secrets"][place])
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
            (SystemExit, too) has failed, and the traceback stays in ``problems``, a secret.
            KeyboardInterrupt (Ctrl-C) stops the search, and the run is made when it goes on.
          executor: of ``concurrent.futures`` or Dask (``client.get_executor()``), which makes
            runs side by side; Dask and others that may repeat a run by themselves need
            ``randomness="run.seed"`` is declared.
          together: how many; 1 unless ``randomness="run.seed"`` is declared.
          simulation: as in ``release``.

        Raises:
          InputError: for an executor, or several runs at a time, that need another ``randomness``;
            for one that takes no runs, or no function that cannot be pickled.
          CouldNotError: if a worker of the executor ends without a word; ``run`` with another
            executor goes on. With "system" randomness the run that was under way has failed; else
            those that were are repeated one after the other, so that one that ends its worker is
            known, and has failed when it has done so alone twice.
        """
        self.check_simulation(simulation)
        with self.interruptible():
            if executor is None:
                for run in self:
                    self.take(run, *attempt(train, run.candidate, run.seed))
            else:
                self._run_by(executor, self._checked_executor(executor, together, train), train)
        return self.release(simulation=simulation)

    def _run_by(self, executor: Executor, together: int, train: Callable[[Any, int], Any]) -> None:
        under_way: dict[Future[Any], Run] = {}
        while under_way or not self.over:
            while self.ready and len(under_way) < together:
                run = self.ask()
                under_way[self._submitted(executor, train, run, under_way)] = run
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            # What is finished is taken before a broken executor is reported.
            for future in sorted(done, key=_is_broken):
                self._take_from(future, under_way)

    def _submitted(
        self,
        executor: Executor,
        train: Callable[[Any, int], Any],
        run: Run,
        under_way: dict[Future[Any], Run],
    ) -> Future[Any]:
        try:
            return executor.submit(attempt, train, run.candidate, run.seed)
        except Exception as problem:
            self._take_back([self._here[run.name]])  # no worker began it
            if isinstance(problem, BrokenExecutor):
                self._broken(list(under_way.values()), problem)
            if isinstance(problem, RuntimeError):  # it was shut down
                raise InputError(f"the executor takes no more runs: {problem}") from problem
            raise

    def _take_from(self, future: Future[Any], under_way: dict[Future[Any], Run]) -> None:
        problem = _raised(future)
        if isinstance(problem, BrokenExecutor):
            self._broken(list(under_way.values()), problem)
        if isinstance(problem, KeyboardInterrupt):
            raise problem
        run = under_way.pop(future)
        if _is_lost(problem):
            with self._lock:
                self._lose([self._here.pop(run.name)])
        elif problem is not None:  # its outcome could not be sent back
            self.take(run, None, repr(problem))
        else:
            self.take(run, *future.result())

    def _checked_executor(self, executor: Executor, together: int, train: Any) -> int:
        together = check_integer("together", together, 1)
        if not callable(getattr(executor, "submit", None)):
            raise InputError(
                f"executor is {executor!r}; it must submit calls as those of concurrent.futures do"
            )
        if isinstance(executor, ProcessPoolExecutor):
            _, problem = attempt(pickle.dumps, train)
            if problem is not None:
                raise InputError(
                    f"{train!r} cannot be sent to other processes; give a function of a module"
                )
        if self._randomness == SEED:
            return together
        if together > 1 and not self._adaptive:
            raise InputError(
                "a run that ends its worker would fail those beside it: say together=1, or "
                "randomness=run.seed if all that a run draws is drawn from its seed"
            )
        if not isinstance(executor, ThreadPoolExecutor | ProcessPoolExecutor):
            raise InputError(
                f"{type(executor).__name__} may begin a lost run again by itself, with other noise:"
                " declare randomness=run.seed if all that a run draws is drawn from its seed, or "
                "use ThreadPoolExecutor or ProcessPoolExecutor"
            )
        return together

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C is its user's, whatever the data: runs under way are handed out once more."""
        try:
            yield
        except KeyboardInterrupt:
            self._take_back(self._under_way())
            raise

    def _take_back(self, places: Sequence[int]) -> None:
        with self._lock:
            for place in places:
                self._here.pop(self._name(place), None)
                self._state["again"].insert(0, place)
                if self._adaptive:  # it may be asked for with another candidate
                    self._state["secrets"][place] = fresh_secret(self._random).hex()
            self._forget("beside", places)
            self._storage.save(self._state)

    def _broken(self, runs: Sequence[Run], problem: BaseException) -> NoReturn:
        with self._lock:
            self._lose([self._here.pop(run.name) for run in runs])
        raise CouldNotError(
            "a worker of the executor ended without a word; call run with another executor, which "
            "goes on"
        ) from problem

    def take(self, run: Run, found: Any, problem: str | None) -> None:
        """Takes what ``attempt`` made of a run: its score, or (score, outcome), or a problem."""
        if problem is None:
            pair = isinstance(found, tuple) and len(found) == 2
            score, outcome = found if pair else (found, None)
            self.tell(run, score, outcome, simulation=True)
            return
        with self._lock:
            self._failed(self._place(run), problem)

    # --- The release ---------------------------------------------------------------------

    def release(self, *, simulation: bool = False) -> Winner:
        """The best run; the same one, ever after.

        Args:
          simulation: must be said of a search with a seed, whose release is not private.

        Raises:
          InputError: if runs are left, or a seed was given and it is not said.
        """
        self.check_simulation(simulation)
        with self._lock:
            self._check_process()
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

    def check_simulation(self, simulation: bool) -> None:
        """Raises InputError for a search with a seed of which that is not said."""
        if self._simulated and not simulation:
            raise InputError(
                "this search has a seed, so what it releases is not private; say simulation=True"
            )

    def close(self) -> None:
        """Lets another process go on with the folder."""
        self._storage.close()

    def __enter__(self) -> "PrivateSearch":
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self._take_back(self._under_way())
        self.close()

    def __repr__(self) -> str:
        what = "scores" if self._base is None else self._base.name
        return f"PrivateSearch({described_law(self._law, self._count)} of {what})"


def attempt(
    action: Callable[..., Any], *given: Any, leaving: tuple[type[BaseException], ...] = ()
) -> tuple[Any, str | None]:
    """What an action returns, or the traceback of what it raised, SystemExit included.

    What happens in a run may be decided by the data, and so must not leave by an exception.

    Args:
      action: that is tried.
      given: to the action.
      leaving: what leaves all the same, beside KeyboardInterrupt: what the caller did, whatever
        the data.
    """
    try:
        return action(*given), None
    except (KeyboardInterrupt, *leaving):
        raise
    except BaseException:
        return None, traceback.format_exc()[-_LONGEST_PROBLEM:]


def _raised(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as problem:
        return problem


def _is_broken(future: Future[Any]) -> bool:
    return isinstance(_raised(future), BrokenExecutor)


def _is_lost(problem: BaseException | None) -> bool:
    """Whether a worker ended with the run: what the run itself raises does not come this far."""
    kinds = {kind.__name__ for kind in type(problem).__mro__}
    return isinstance(problem, CancelledError) or "KilledWorker" in kinds  # of Dask


def _check_candidate(candidate: Any) -> None:
    _, problem = attempt(pickle.dumps, candidate)
    if problem is not None:
        raise InputError(
            f"a candidate is a {type(candidate).__name__} that cannot be pickled; give something "
            "that can, such as the names and numbers that describe it"
        )
