"""The numbers of a statement: proven guarantees, and bounds on the success of attacks."""

import importlib.metadata
from typing import NamedTuple

import numpy as np

from jaxsel.host.errors import InputError
from jaxsel.reports import attacks, words
from jaxsel.reports.proven_pairs import Pairs, proven_pairs
from jaxsel.tuning.accountant import ProvenEpsilon
from jaxsel.tuning.composing_searches import Release
from jaxsel.tuning.proofs import releases_all
from jaxsel.tuning.secrecy import SCORE

_FALSE_POSITIVE_RATES = (0.001, 0.01)
_POINTS = 241  # points of a drawn curve
_LEAST_RATE = 1e-5  # the least delta that is drawn


class Part(NamedTuple):
    """A group of records that are used in the same way, and the releases from them.

    Attributes:
      records: a name, such as "training images"; empty if all records are used alike.
      releases: the releases.
      points: further (epsilon, delta) guarantees that are proved for them.
    """

    records: str
    releases: tuple[Release, ...]
    points: tuple[tuple[float, float], ...] = ()


class Subject(NamedTuple):
    """The subject of a statement.

    Attributes:
      kind: "account", "plan" or "search".
      parts: one for each use of records; every record is in exactly one part.
      delta: the delta of the proof.
      proof: the smallest epsilon that is proved for all parts.
      relation: the neighbouring relation; None if unknown.
      facts: further names and values, shown unchanged.
    """

    kind: str
    parts: tuple[Part, ...]
    delta: float
    proof: ProvenEpsilon
    relation: str | None
    facts: tuple[tuple[str, str], ...] = ()


class Statement(NamedTuple):
    """The numbers of a statement, each an upper bound.

    Attributes:
      subject: the subject.
      source, theorem: the source of the theorem, and its statement.
      references: the works that the source cites, and those with the proofs of the profile.
      all_runs: whether all runs and K may be released.
      single: epsilon of one run at the same delta; None for several releases, inf if
        none is known.
      mu, floor: no test has a true positive rate above that of mu-Gaussian differential
        privacy plus floor.
      rates: false positive rates, and the largest true positive rate at each.
      advantage: the largest difference of true and false positive rate.
      epsilons, deltas: Float[np.ndarray, "points"], the proven profile.
      false_positives, true_positives: Float[np.ndarray, "points"], the trade-off.
      versions: of this package and of the libraries that it computes with.
    """

    subject: Subject
    source: str
    theorem: str
    references: tuple[str, ...]
    all_runs: bool
    single: float | None
    mu: float
    floor: float
    rates: tuple[tuple[float, float], ...]
    advantage: float
    epsilons: np.ndarray
    deltas: np.ndarray
    false_positives: np.ndarray
    true_positives: np.ndarray
    versions: tuple[tuple[str, str], ...]

    @property
    def searches(self) -> tuple[Release, ...]:
        """The releases that select the best of several runs."""
        first = self.subject.parts[0].releases
        return tuple(each for each in first if each.repetitions is not None)

    def as_record(self) -> dict:
        """Names and numbers, JSON-serialisable."""
        subject = self.subject
        return {
            "kind": subject.kind,
            "epsilon": subject.proof.epsilon,
            "delta": subject.delta,
            "theorem": subject.proof.theorem,
            "source": self.source,
            "statement": self.theorem,
            "references": list(self.references),
            "relation": subject.relation,
            "released": [
                {
                    "records": part.records,
                    "releases": [words.release_words(each) for each in part.releases],
                }
                for part in subject.parts
            ],
            "all_runs_released": self.all_runs,
            "score": SCORE if self.searches else None,
            "single_run_epsilon": self.single,
            "gaussian_mu": self.mu,
            "gaussian_floor": self.floor,
            "true_positive_rates": [
                {"false_positive_rate": fpr, "true_positive_rate": tpr} for fpr, tpr in self.rates
            ],
            "advantage": self.advantage,
            "facts": dict(subject.facts),
            "versions": dict(self.versions),
        }


def versions() -> tuple[tuple[str, str], ...]:
    """Names and versions of the packages that computed the numbers."""
    found = []
    for name in ("jaxsel", "jax", "dp-accounting"):
        try:
            found.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            found.append((name, "not installed"))
    return tuple(found)


def _pairs(subject: Subject, all_runs: bool) -> Pairs:
    """Dominating pairs of all parts, since a record may be in any of them."""
    found: list = []
    for part in subject.parts:
        points = (*part.points, (subject.proof.epsilon, subject.delta))
        found += proven_pairs(part.releases, points, all_runs=all_runs)
    return tuple(found)


def state(subject: Subject) -> Statement:
    """Computes a statement.

    Raises:
      InputError: if no epsilon is proved.
    """
    proof, delta = subject.proof, subject.delta
    if not np.isfinite(proof.epsilon):
        raise InputError(
            f"no epsilon is proved at delta = {delta:g}, so that there is nothing to "
            "state; take a larger delta (jaxsel account says what is needed)"
        )
    releases = subject.parts[0].releases
    alone = len(releases) == 1 and releases[0].times == 1
    # For several parts the theorem is that of the first, and may not cover all runs of
    # another.
    all_runs = alone and len(subject.parts) == 1 and releases_all(proof.theorem)
    pairs = _pairs(subject, all_runs)
    floor = attacks.floor_of(pairs)
    source, theorem = words.theorem_words(proof.theorem, proof.statement)
    searched = any(each.repetitions is not None for each in releases)
    # The rates use the priced envelope, whichever theorem gives epsilon.
    works = words.references(f"{source}; jaxsel" if searched else source)
    rates = np.geomspace(_LEAST_RATE, 1.0, _POINTS)
    epsilons = np.linspace(0.0, _reach(proof.epsilon), _POINTS)
    found = attacks.true_positive_rate(pairs, _FALSE_POSITIVE_RATES)
    return Statement(
        subject,
        source,
        theorem,
        works,
        all_runs,
        releases[0].base.epsilon(delta) if alone else None,
        attacks.gaussian_mu(pairs, floor),
        floor,
        tuple(zip(_FALSE_POSITIVE_RATES, found.tolist(), strict=True)),
        attacks.advantage(pairs),
        epsilons,
        attacks.profile(pairs, epsilons),
        rates,
        attacks.true_positive_rate(pairs, rates),
        versions(),
    )


def _reach(epsilon: float) -> float:
    """The largest epsilon to draw."""
    return max(4.0 / 3.0 * epsilon, 0.1)
