"""What other libraries promise and what is found: mechanisms, accountants and auditors.

Of what is installed of OpenDP, diffprivlib, autodp, jax_privacy and dp-accounting: mechanisms
of selection and noise are audited as anybody's functions; what accountants of selection
promise is held against exact laws of a pair of neighbours; auditors audit a law against itself
again and again. Every number is measured when the table is made.
"""

import functools
import importlib.metadata
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from dp_accounting import dp_event
from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism
from dp_accounting.rdp import RdpAccountant
from scipy.special import expit

from benchmarks.audit_tables import Row
from benchmarks.audit_tables import library_mechanisms as mechanisms
from benchmarks.peers import imported
from jaxsel.accounting.single_run import closed_forms
from jaxsel.accounting.single_run.divergences import renyi_divergence
from jaxsel.auditing.functions.how import How
from jaxsel.auditing.functions.verdicts import FAILED
from jaxsel.families.sparse_vector.patterns import SparseNoise
from jaxsel.families.sparse_vector.profiles import pair_epsilon, worst_pair
from jaxsel.host.errors import CouldNotError
from jaxsel.host.intervals import binomial_p_value
from jaxsel.language.relations import Relation
from jaxsel.questions.function_audit import function_audit
from jaxsel.questions.released import search_cost

TRIALS, SECONDS, RUNS = 100_000, 15.0, 1000
"""Of each audit, where nothing else is asked; RUNS are audits by an auditor."""

FALSE_ALARM = 1e-6
FOUND, CLEARED, CANNOT, ABSENT = "found", "cleared", "cannot be judged", "not installed"
INSTALL = {
    "opendp": 'pip install "jaxsel[libraries]"',
    "autodp": 'pip install "jaxsel[libraries]"',
    "jax_privacy": 'pip install "jaxsel[libraries]"',
    "dp-accounting": "pip install dp-accounting",
    "diffprivlib": 'pip install "jaxsel[diffprivlib]", in an environment of its own',
}
"""The libraries, and what installs each."""

_SLACK = 1e-6  # relative, of numbers that are computed in different ways
_ERROR = 0.05  # of an auditor that audits a law against itself
_SCORES, _MORE_SCORES = 200, 600  # each is of the one side or the other by a fair coin
# As many audits again show a share that is a little above what is allowed.
_MORE_RUNS = 40
_DELTA = 1e-5


class Effort(NamedTuple):
    """What is spent on a subject: trials a side, a seed, seconds, and audits by an auditor."""

    trials: int
    seed: int
    seconds: float | None
    runs: int


class Seen(NamedTuple):
    """What is promised, what was found, and how.

    Attributes:
      measure: of what the two are numbers; or why there is none.
      promised, found: numbers; None where there is none.
      verdict: "found" where they contradict one another, else "cleared".
    """

    measure: str
    promised: float | None
    found: float | None
    verdict: str


class Subject(NamedTuple):
    """What is judged.

    Attributes:
      library: the name under which it is installed.
      name: in words.
      look: what is done.
      broken: the versions in which the promise is known not to be kept. Where there are none,
        the promise is known to be kept; of other versions nothing is known.
    """

    library: str
    name: str
    look: Callable[[Effort], Seen]
    broken: tuple[str, ...] = ()

    def expected(self, version: str) -> str | None:
        """The verdict that is known for a version; None if none is."""
        if not self.broken:
            return CLEARED
        return FOUND if version in self.broken else None


def _audited(
    name: str,
    claim: Callable[[], float],
    effort: Effort,
    *,
    zero_concentrated: bool = False,
    delta: float = 0.0,
    relation: str = "general",
    inputs: tuple[Any, ...] = (0.0,),
) -> Seen:
    """An audit of a function of ``library_mechanisms``, for the relation of scores."""
    claimed = claim()
    found = function_audit(
        f"{Path(mechanisms.__file__)}:{name}",
        *inputs,
        claim=f"zcdp:rho={claimed!r}" if zero_concentrated else claimed,
        delta=delta,
        trials=effort.trials,
        # A first call imports the library.
        how=How(seconds=effort.seconds, call_seconds=effort.seconds),
        false_alarm=FALSE_ALARM,
        seed=effort.seed,
        relation=relation,
    )
    if found.verdict == FAILED:
        raise CouldNotError(f"the audit ends with {found.verdict!r}: {found.event}")
    at = f" at delta {found.delta:.3g}" if found.delta else ""
    verdict = FOUND if found.refuted else CLEARED
    measure = f"epsilon{at}, lower bound of {found.trials} trials a side"
    return Seen(measure, found.epsilon, found.lower, verdict)


def _bounded(measure: str, promised: float, exact: float) -> Seen:
    """A promise that is to be no smaller than an exact value."""
    broken = exact > promised * (1.0 + _SLACK)
    return Seen(measure, promised, exact, FOUND if broken else CLEARED)


# --- OpenDP ---------------------------------------------------------------------------


def _opendp(name: str, make: Callable[[], Any], moved: float = 1.0, **options: Any):
    return functools.partial(_audited, name, lambda: float(make().map(moved)), **options)


def _stops(probability: float, effort: Effort) -> Seen:
    """How often a private selection stops after a run whose score is too low."""
    selections = max(min(effort.trials // 10, 10_000), 100)
    runs = np.array(mechanisms.runs_of_selection(probability, selections))
    # After each run it stops with the stated probability. So many selections need at most so many
    # runs if these have as many stops, and at least so many if those before the last have fewer.
    total = int(runs.sum())
    few = binomial_p_value(selections, total, probability, "greater")
    many = binomial_p_value(selections - 1, total - 1, probability, "less")
    p = 2.0 * min(few, many)
    verdict = FOUND if p < FALSE_ALARM else CLEARED
    measure = f"runs on average, of {selections} selections"
    return Seen(measure, 1.0 / probability, float(runs.mean()), verdict)


_SCORES_OF_THREE: dict[str, Any] = {"inputs": ([1.0, 1.0, 1.0],)}
_OPENDP = (
    Subject("opendp", "Laplace", _opendp("opendp_laplace", mechanisms.laplace)),
    Subject(
        "opendp",
        "Laplace, low bits",
        _opendp("opendp_laplace_low_bits", mechanisms.laplace, inputs=(0.0, 1.0)),
    ),
    Subject(
        "opendp",
        "Gaussian under zCDP",
        _opendp("opendp_gaussian", mechanisms.gaussian, zero_concentrated=True),
    ),
    Subject(
        "opendp",
        "discrete Laplace",
        _opendp("opendp_discrete_laplace", mechanisms.discrete_laplace, moved=1, inputs=(0,)),
    ),
    Subject(
        "opendp",
        "noisy max, pure (permute-and-flip)",
        _opendp("opendp_noisy_max_pure", mechanisms.noisy_max_pure, **_SCORES_OF_THREE),
    ),
    Subject(
        "opendp",
        "noisy max under zCDP",
        _opendp(
            "opendp_noisy_max_zero_concentrated",
            mechanisms.noisy_max_zero_concentrated,
            zero_concentrated=True,
            **_SCORES_OF_THREE,
        ),
    ),
    Subject(
        "opendp",
        "noisy top 2, pure",
        _opendp("opendp_noisy_top_two", mechanisms.noisy_top_two, **_SCORES_OF_THREE),
    ),
    Subject(
        "opendp",
        "private selection, its epsilon",
        _opendp("opendp_selection", mechanisms.selection),
    ),
    *(
        Subject(
            "opendp",
            f"private selection, stop probability {probability:g}",
            functools.partial(_stops, probability),
            ("0.15.1", "0.16.0"),
        )
        for probability in (0.1, 0.9)
    ),
)


# --- diffprivlib ----------------------------------------------------------------------


def _diffprivlib(name: str, words: str, broken: tuple[str, ...] = (), **options: Any) -> Subject:
    look = functools.partial(_audited, f"diffprivlib_{name}", lambda: mechanisms.EPSILON, **options)
    return Subject("diffprivlib", words, look, broken)


_DIFFPRIVLIB = (
    _diffprivlib("laplace", "Laplace"),
    _diffprivlib("laplace_low_bits", "Laplace, low bits", ("0.6.6",), inputs=(0.0, 1.0)),
    _diffprivlib("snapping", "Snapping"),
    _diffprivlib("snapping_low_bits", "Snapping, low bits", inputs=(0.0, 1.0)),
    _diffprivlib("laplace_truncated", "LaplaceTruncated"),
    _diffprivlib("laplace_folded", "LaplaceFolded"),
    _diffprivlib("laplace_bounded_domain", "LaplaceBoundedDomain"),
    _diffprivlib("laplace_bounded_noise", "LaplaceBoundedNoise", delta=mechanisms.DELTA),
    _diffprivlib("staircase", "Staircase"),
    _diffprivlib("geometric", "Geometric", inputs=(0,)),
    _diffprivlib("gaussian", "Gaussian", delta=mechanisms.DELTA),
    _diffprivlib("gaussian_analytic", "GaussianAnalytic", delta=mechanisms.DELTA),
    _diffprivlib("gaussian_discrete", "GaussianDiscrete", delta=mechanisms.DELTA, inputs=(0,)),
    _diffprivlib("exponential", "Exponential", **_SCORES_OF_THREE),
    _diffprivlib("permute_and_flip", "PermuteAndFlip", **_SCORES_OF_THREE),
)


# --- autodp ---------------------------------------------------------------------------

_QUERIES = 100  # below the threshold, before those above


def _autodp_sparse_vector(relation: Relation, scale: float, cutoff: int, effort: Effort) -> Seen:
    """The sparse vector with equal Laplace noise on threshold and queries, at order infinity."""
    del effort
    zoo, queries = imported("autodp.mechanism_zoo"), _QUERIES + cutoff
    mechanism = zoo.LaplaceSVT_Mechanism({"b": scale, "k": queries, "c": cutoff})
    promised = mechanism.RenyiDP(np.inf)
    pair = worst_pair(_QUERIES, cutoff, relation)
    exact = pair_epsilon(*pair, SparseNoise(scale, scale, cutoff))
    return _bounded(f"epsilon, exact on a pair of {queries} queries", float(promised), exact)


def _autodp_exponential(effort: Effort) -> Seen:
    """The Renyi divergences of two candidates at many gaps of their scores, at three orders."""
    del effort
    mechanism = imported("autodp.mechanism_zoo").ExponentialMechanism(1.0)
    worst = (-math.inf, 0.0, 0.0, 0)
    for order in (2, 8, 64):
        promised = float(mechanism.RenyiDP(order))
        for gap in np.linspace(-4.0, 4.0, 161):
            p, q = ([expit(x), expit(-x)] for x in (gap, gap + 1.0))
            exact = float(renyi_divergence(p, q, order))
            worst = max(worst, (exact / promised, promised, exact, order))
    _, promised, exact, order = worst
    return _bounded(f"Renyi divergence of order {order}, exact on a pair", promised, exact)


_AUTODP = (
    *(
        Subject(
            "autodp",
            f"Laplace sparse vector, general queries, b = {scale:g}, cut-off {cutoff}",
            functools.partial(_autodp_sparse_vector, Relation.GENERAL, scale, cutoff),
            ("0.2.3.1",),
        )
        for scale, cutoff in ((1.0, 1), (10.0, 1), (10.0, 3))
    ),
    Subject(
        "autodp",
        "Laplace sparse vector, monotone queries, b = 10, cut-off 1",
        functools.partial(_autodp_sparse_vector, Relation.MONOTONE, 10.0, 1),
    ),
    Subject("autodp", "exponential mechanism, zCDP", _autodp_exponential),
)


# --- dp-accounting --------------------------------------------------------------------


def _repeat_and_select(law: str, shape: float, effort: Effort) -> Seen:
    """The best of ten runs on average of a Gaussian mechanism with noise multiplier 4."""
    del effort
    accountant = RdpAccountant()
    run = dp_event.GaussianDpEvent(4.0)
    accountant.compose(dp_event.RepeatAndSelectDpEvent(run, 10, shape))
    promised = float(accountant.get_epsilon(_DELTA))
    exact = search_cost("gaussian:noise_multiplier=4", f"{law}:mean=10").attained(_DELTA)
    return _bounded(f"epsilon at delta {_DELTA:g}, attained by a ranking", promised, float(exact))


def _laplace_loss(effort: Effort) -> Seen:
    del effort
    promised = float(from_laplace_mechanism(1.0).get_delta_for_epsilon(0.5))
    exact = float(closed_forms.laplace_delta(0.5, 1.0))
    return _bounded("delta at epsilon 0.5, exact", promised, exact)


_DP_ACCOUNTING = (
    *(
        Subject(
            "dp-accounting",
            f"RepeatAndSelectDpEvent, {law}",
            functools.partial(_repeat_and_select, law, shape),
        )
        for law, shape in (("geometric", 1.0), ("logarithmic", 0.0), ("poisson", math.inf))
    ),
    Subject("dp-accounting", "privacy loss distribution of Laplace", _laplace_loss),
)


# --- jax_privacy ----------------------------------------------------------------------


def _of_one_law(ask: Callable[[Any], float], scores: int, times: int, effort: Effort) -> Seen:
    """How often a canary auditor bounds epsilon above 0 where both sides have one law.

    Args:
      ask: the bound of an auditor.
      scores: on both sides together.
      times: as many audits as are asked for, so often.
      effort: what is spent.
    """
    auditor = imported("jax_privacy.auditing").CanaryScoreAuditor
    audits = times * effort.runs
    generator = np.random.default_rng([effort.seed, scores, audits])
    above = 0
    for _ in range(audits):
        every, inside = generator.normal(size=scores), generator.random(scores) < 0.5
        above += ask(auditor(every[inside], every[~inside])) > 0.0
    p = binomial_p_value(above, audits, _ERROR, "greater")
    verdict = FOUND if p < FALSE_ALARM else CLEARED
    return Seen(
        f"share above the truth, of {audits} audits of one law", _ERROR, above / audits, verdict
    )


def _auditor(
    name: str,
    ask: Callable[[Any], float],
    broken: tuple[str, ...] = (),
    scores: int = _SCORES,
    times: int = 1,
) -> Subject:
    look = functools.partial(_of_one_law, ask, scores, times)
    return Subject("jax_privacy", f"canary auditor, {name}", look, broken)


def _one_run(auditor: Any) -> float:
    # By default the error is divided by the number of thresholds that the scores themselves leave.
    return auditor.epsilon_one_run(_ERROR, _DELTA)


_JAX_PRIVACY = (
    _auditor("Clopper-Pearson", lambda one: one.epsilon_clopper_pearson(_ERROR)),
    _auditor("from a Gaussian", lambda one: one.epsilon_from_gdp(_ERROR, _DELTA), ("2.0.0",)),
    _auditor("one run", _one_run, ("2.0.0",), _MORE_SCORES, _MORE_RUNS),
)

SUBJECTS = (*_OPENDP, *_DIFFPRIVLIB, *_AUTODP, *_DP_ACCOUNTING, *_JAX_PRIVACY)


def installed(library: str) -> str | None:
    """The version of a library that is installed; None if none is."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def _row(library: str, version: str | None, name: str | None, seen: Seen, known: str | None) -> Row:
    return {
        "library": library,
        "version": version,
        "subject": name,
        **seen._asdict(),
        "known": known,
    }


def looked(subject: Subject, version: str, effort: Effort) -> Row:
    """The row of a subject; what its library raises is a row, too."""
    began = time.monotonic()
    try:
        seen = subject.look(effort)
    except Exception as error:  # of whatever class of another library's
        seen = Seen(f"{type(error).__name__}: {' '.join(str(error).split())}", None, None, CANNOT)
    known = subject.expected(version)
    row = _row(subject.library, version, subject.name, seen, known)
    return {**row, "seconds": time.monotonic() - began}


def rows(trials: int, seed: int, seconds: float | None, runs: int) -> Iterator[Row]:
    """Judges every subject of each library that is installed; a row for each that is not.

    Args:
      trials: of each audit, on each side.
      seed: of all randomness that is ours; most libraries have their own.
      seconds: at most, for each audit.
      runs: audits by each auditor.
    """
    effort = Effort(trials, seed, seconds, runs)
    for library, install in INSTALL.items():
        version = installed(library)
        if version is None:
            absent = Seen(install, None, None, ABSENT)
            yield {**_row(library, None, None, absent, None), "seconds": 0.0}
            continue
        for subject in SUBJECTS:
            if subject.library == library:
                yield looked(subject, version, effort)


def judged(found: Sequence[Row]) -> tuple[str, bool]:
    """What the table shows, in a sentence, and whether all is found that is known.

    Known findings are to be found again, and what is known to be right is to be cleared.
    """
    counts = {
        verdict: sum(row["verdict"] == verdict for row in found)
        for verdict in (FOUND, CLEARED, CANNOT)
    }
    known = [row for row in found if row["known"] is not None]
    again = sum(row["verdict"] == row["known"] for row in known)
    absent = [str(row["library"]) for row in found if row["verdict"] == ABSENT]
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    missing = f" Not installed: {', '.join(absent)}." if absent else ""
    return (
        f"{said}; {again} of {len(known)} are as is known. False-alarm rate {FALSE_ALARM:g} a row; "
        f"cleared is no proof.{missing}",
        again == len(known),
    )
