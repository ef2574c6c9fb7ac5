"""What is released from some data, and its cost: ``search_cost``, ``release``, their sums."""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from jaxsel.accounting.single_run.curves import gaussian
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.host.errors import InputError, check_integer, check_interval, check_positive
from jaxsel.language.default_delta import DELTA, note
from jaxsel.language.domains import nearest
from jaxsel.language.printing import Summary, printed
from jaxsel.questions.cost import Cost, loss_distribution, refuse_score_noise
from jaxsel.repetitions import Repetitions, as_law
from jaxsel.tuning.accountant import (
    ProvenEpsilon,
    attained,
    proven_deltas,
    proven_epsilons,
    single_delta,
)
from jaxsel.tuning.base_forms import guarantee_of, releases_of
from jaxsel.tuning.bounds.needed import needed, needed_composed
from jaxsel.tuning.composing_searches import (
    MOST_TIMES,
    Release,
    checked,
    compose_searches,
    compose_searches_delta,
)
from jaxsel.tuning.drawn import INDEPENDENTLY, Drawn, read_drawn
from jaxsel.tuning.secrecy import is_fixed

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    from matplotlib.figure import Figure

    from jaxsel.reports.proven_pairs import Pairs


def _asked(delta: float | None, epsilon: float | None) -> tuple[float | None, float | None]:
    """Where is asked: a delta, by default the usual one, or an epsilon; the other is None.

    Raises:
      InputError: if both are given, or one is out of range.
    """
    if delta is not None and epsilon is not None:
        raise InputError("give delta or epsilon, not both")
    if epsilon is not None:
        return None, check_interval("epsilon", epsilon, 0.0, math.inf, low_open=False)
    chosen = DELTA if delta is None else delta
    return check_interval("delta", chosen, 0.0, 1.0, low_open=False), None


@printed
class Released:
    """What is released from the same data: a search, a run, or several of these together.

    Made by ``jaxsel.search_cost`` and ``jaxsel.release``; ``search * 16`` is sixteen searches with
    new randomness each, and ``search + other`` is both. Costs are computed when they are
    asked for, and cached. Printed, it shows the cost at the default delta.

    Attributes:
      releases: what is released, each with its number of times.
      score_noise: as in ``jaxsel.search_cost``; None if it is not declared.

    Example:
        >>> import jaxsel
        >>> search = jaxsel.search_cost("pure:epsilon=0.1", "geometric:mean=3")
        >>> week = search * 5 + jaxsel.release("pure:epsilon=0.1")
        >>> print(f"{search.epsilon(0):.2f} of one search, {week.epsilon(0):.2f} of the week")
        0.20 of one search, 1.10 of the week
    """

    def __init__(self, releases: Sequence[Release], score_noise: float | None = None):
        self.releases = tuple(releases)
        self.score_noise = score_noise
        self._costs: dict[Any, Cost] = {}

    def __iter__(self) -> Iterator[Release]:
        return iter(self.releases)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Released):
            return NotImplemented
        return (self.releases, self.score_noise) == (other.releases, other.score_noise)

    def __hash__(self) -> int:
        # Guarantees and laws hold mappings, which have no hash.
        return hash((*((each.base.name, each.times) for each in self.releases), self.score_noise))

    def __mul__(self, times: int) -> "Released":
        count = check_integer("times", times, 1)
        self._needs_no_score_noise()
        return Released([each._replace(times=count * each.times) for each in self.releases])

    __rmul__ = __mul__

    def __add__(self, other: "Released") -> "Released":
        if not isinstance(other, Released):
            return NotImplemented
        for one in (self, other):
            one._needs_no_score_noise()
        return Released([*self.releases, *other.releases])

    def _needs_no_score_noise(self) -> None:
        refuse_score_noise(self.score_noise)

    @property
    def is_one_search(self) -> bool:
        """Whether it is the best of K runs, released once."""
        if len(self.releases) != 1:
            return False
        return self.releases[0].repetitions is not None and self.releases[0].times == 1

    def cost(
        self, delta: float | None = None, *, epsilon: float | None = None, attain: bool = True
    ) -> Cost:
        """What is proved: every bound, the best of them, and what is attained.

        Args:
          delta: in [0, 1); the default delta if neither it nor ``epsilon`` is given.
          epsilon: >= 0; asks for delta at this epsilon, instead.
          attain: also look for a costly ranking of the runs of one search.

        Raises:
          InputError: if both are given, one is out of range, K is always 0, or the
            relations of what is released differ.
        """
        delta, epsilon = _asked(delta, epsilon)
        asked = delta, epsilon, attain
        if asked not in self._costs:
            if self.is_one_search:
                base, law, _ = self.releases[0]
                assert law is not None
                known: dict[str, Any]
                with one_blas_thread():
                    if epsilon is None:
                        assert delta is not None
                        at, bounds = delta, proven_epsilons(base, law, delta)
                        known = self._beside(bounds[0], delta)
                    else:
                        self._needs_no_score_noise()
                        at, bounds = epsilon, proven_deltas(base, law, epsilon)
                        known = {"single": single_delta(base, epsilon)}
                    if attain:
                        known["attained"] = attained(base, law, bounds[0], at)
                if base.more_than_pairs:
                    known["attained_from"] = "privacy profile"
                found = Cost(self.releases, float(at), bounds, base.relation, **known)
            else:
                found = compose(self, delta, epsilon=epsilon)
            self._costs[asked] = found
        return self._costs[asked]

    def _beside(self, best: ProvenEpsilon, delta: float) -> dict[str, Any]:
        """What is said of one search at a delta beside its bounds, as fields of ``Cost``."""
        base, law, _ = self.releases[0]
        assert law is not None
        found: dict[str, Any] = {"single": base.epsilon(delta), "score_noise": self.score_noise}
        if not math.isfinite(best.epsilon):
            found["needed"] = needed(base, law, delta)
        if is_fixed(law) and 1 < law.mean <= MOST_TIMES:
            every = Release(base, None, law.maximum or 1)
            found["grid"] = compose_searches([every], delta)[0].epsilon
        if self.score_noise is not None:
            found["scores"] = proven_epsilons(gaussian(self.score_noise), law, delta)[0]
        return found

    def epsilon(self, delta: float = DELTA) -> float:
        """The least epsilon that a theorem proves at delta; inf if none does."""
        return self.cost(delta, attain=False).epsilon

    def delta(self, epsilon: float) -> float:
        """The least delta that a theorem proves at epsilon; 1 if none does."""
        return self.cost(epsilon=epsilon, attain=False).delta

    def attained(self, delta: float | None = None, *, epsilon: float | None = None) -> float:
        """The exact cost of one search with some base and ranking: ``Cost.attained``."""
        return self.cost(delta, epsilon=epsilon).attained

    @functools.cached_property
    def _pairs(self) -> "Pairs":
        from jaxsel.reports.proven_pairs import proven_pairs

        self._needs_no_score_noise()
        with one_blas_thread():
            return proven_pairs(self.releases)

    def true_positive_rate(self, false_positive_rate: npt.ArrayLike) -> Any:
        """The largest true positive rate of any membership attack, element by element.

        An upper bound, from all that is proved of the release at every epsilon.

        Args:
          false_positive_rate: in [0, 1].

        Raises:
          InputError: if a rate lies outside [0, 1], or for a search with noise on its score,
            since the bound would not cover its validation records.
        """
        from jaxsel.reports import attacks

        found = attacks.true_positive_rate(self._pairs, false_positive_rate)
        return float(found) if np.ndim(found) == 0 else found

    def advantage(self) -> float:
        """The largest true less false positive rate of any attack: delta at epsilon 0.

        An upper bound, as ``true_positive_rate``, and refused where that is.
        """
        if self.is_one_search:
            self._needs_no_score_noise()
            return self.delta(0.0)
        from jaxsel.reports import attacks

        return attacks.advantage(self._pairs)

    def pld(self, interval: float | None = None) -> "PrivacyLossDistribution":
        """Its privacy loss distribution; see ``jaxsel.privacy_loss_distribution``."""
        return privacy_loss_distribution(self, interval=interval)

    def plot(self, delta: float = DELTA) -> "Figure":
        """Plots the proven privacy profile, and marks the guarantee at delta."""
        return self.cost(delta, attain=False).plot()

    def summary(self) -> Summary:
        """The cost at the default delta."""
        found = self.cost().summary()
        return found._replace(sentence=f"{found.sentence}\n{note()}")


def search_cost(
    base: object,
    repetitions: Repetitions | str | None = None,
    *,
    drawn: str | Drawn = INDEPENDENTLY,
    relation: object = None,
    score_noise: float | None = None,
) -> Released:
    """The best of K runs of a base, released: a private search.

    Args:
      base: guarantee of one run, made by ``jaxsel.accounting.single_run.curves`` or from
        text as on the command line: "gaussian:noise_multiplier=4" (``jaxsel list bases``);
        or an object of another library: see ``jaxsel.guarantee_of``.
      repetitions: law of K, made by ``jaxsel.repetitions`` or from text:
        "geometric:mean=100"; the runs and the best of them are independent given K.
      drawn: how candidates are drawn. "independently" of each other; "grid:n=12", each of 12
        once; or "adaptively:n=12", as earlier noisy scores suggest: of these two there is no law
        of K, and all runs are released with their scores.
      relation: which data sets are neighbours, where the base does not declare it; as in
        ``jaxsel.guarantee_of``.
      score_noise: standard deviation > 0 of Gaussian noise on the number of validation
        examples that a run gets right, where that ranks the runs: the search is then
        accounted for those examples, too. One record of them changes the number by at
        most 1, and no record trains (Liu & Talwar 2019, Section 5.1).

    Raises:
      InputError: for text of another form, or a base or a law that is not one.

    Example:
        >>> import jaxsel
        >>> search = jaxsel.search_cost("pure:epsilon=0.5", "geometric:mean=3")
        >>> print(f"once {search.epsilon(1e-6):.1f}, four times {(search * 4).epsilon(1e-6):.1f}")
        once 1.0, four times 3.8
    """
    if score_noise is not None:
        check_positive("score_noise", score_noise)
    way = read_drawn(drawn)
    if way.released_runs is None:
        if repetitions is None:
            raise InputError('give repetitions, the law of K, for example "geometric:mean=20"')
        law, times = as_law(repetitions), 1
    else:
        if repetitions is not None:
            raise InputError(
                f"candidates drawn {way.name} are {way.released_runs} runs, which are all "
                "released, and no random number; leave repetitions out"
            )
        refuse_score_noise(score_noise)
        law, times = None, way.released_runs
    return Released([Release(guarantee_of(base, relation), law, times)], score_noise)


def release(
    base: object,
    repetitions: Repetitions | str | None = None,
    times: int = 1,
    *,
    relation: object = None,
) -> Released:
    """Something that is released: one run of a base, or the best of K runs of it.

    Args:
      base: as in ``guarantee_of``.
      repetitions: law of K, or its text; None if one run is released as it is.
      times: how often it is released, each time with new randomness.
      relation: as in ``guarantee_of``.

    Raises:
      InputError: for an invalid base, law or number of times.

    Example:
        >>> import jaxsel
        >>> twice = jaxsel.release("pure:epsilon=0.5", times=2)
        >>> print(twice.epsilon(0))
        1.0
    """
    law = None if repetitions is None else as_law(repetitions)
    count = check_integer("times", times, 1)
    return Released([Release(guarantee_of(base, relation), law, count)])


_KEYS = ("base", "repetitions", "times", "relation")


def releases_from(items: object) -> list[Release]:
    """Releases from records, mappings of their fields, and events of dp-accounting.

    Raises:
      InputError: as ``release``, or for an unknown key.
    """
    found: list[Release] = []
    listed = items if isinstance(items, list | tuple) else [items]
    for item in [items] if isinstance(items, Release | Mapping) else listed:
        if isinstance(item, Release):
            found.append(item)
        elif isinstance(item, Released):
            item._needs_no_score_noise()
            found += item.releases
        elif isinstance(item, Mapping):
            for key in item:
                if key not in _KEYS:
                    raise InputError(
                        f"a release has no {key!r}{nearest(str(key), _KEYS)}; it has "
                        f"{', '.join(_KEYS)}"
                    )
            if "base" not in item:
                raise InputError("a release needs a base: what one run is")
            found += release(**item)
        else:
            found += releases_of(item)
    return found


def account(
    base: object,
    repetitions: Repetitions | str | None = None,
    delta: float | None = None,
    *,
    drawn: str | Drawn = INDEPENDENTLY,
    epsilon: float | None = None,
    attain: bool = True,
    score_noise: float | None = None,
) -> Cost:
    """What is proved about the best of K runs: ``search_cost(base, repetitions).cost(delta)``.

    Args:
      base, repetitions, drawn, score_noise: as in ``search_cost``.
      delta, epsilon, attain: as in ``Released.cost``.

    Raises:
      InputError: as ``search_cost`` and ``Released.cost``.

    Example:
        >>> import jaxsel
        >>> cost = jaxsel.account("gaussian:noise_multiplier=4", "geometric:mean=100", 1e-6)
        >>> print(f"epsilon {cost.single:.1f} of one run, {cost.epsilon:.1f} of the best of them")
        epsilon 1.1 of one run, 2.0 of the best of them
    """
    search = search_cost(base, repetitions, drawn=drawn, score_noise=score_noise)
    return search.cost(delta, epsilon=epsilon, attain=attain)


@one_blas_thread()
def compose(releases: object, delta: float | None = None, *, epsilon: float | None = None) -> Cost:
    """What is proved about several releases from the same data, added up.

    Args:
      releases: what ``release`` or ``search_cost`` made, or a list of these, of mappings with
        the arguments of ``release``, or of events of dp-accounting
        (RepeatAndSelectDpEvent is a search).
      delta: of all releases together, in [0, 1); the default delta if neither it nor
        ``epsilon`` is given.
      epsilon: of all releases together, >= 0, finite; asks for delta at this epsilon, instead.

    Raises:
      InputError: for invalid releases, relations that differ, a delta or an epsilon out of
        range, or both.

    Example:
        >>> import jaxsel
        >>> searches = jaxsel.release("pure:epsilon=0.1", "geometric:mean=3", times=4)
        >>> cost = jaxsel.compose([searches, jaxsel.release("gdp:mu=0.1")], delta=1e-6)
        >>> print(f"epsilon {cost.epsilon:.1f} of all five")
        epsilon 0.9 of all five
    """
    delta, epsilon = _asked(delta, epsilon)
    listed = tuple(releases_from(releases))
    if epsilon is not None:
        bounds = compose_searches_delta(listed, epsilon)
        return Cost(listed, epsilon, bounds, checked(listed))
    assert delta is not None
    bounds = compose_searches(listed, delta)
    lacking = None if math.isfinite(bounds[0].epsilon) else needed_composed(listed, delta)
    return Cost(listed, float(delta), bounds, checked(listed), lacking)


@one_blas_thread()
def privacy_loss_distribution(
    releases: object, *, interval: float | None = None
) -> "PrivacyLossDistribution":
    """dp-accounting's privacy loss distribution of one or several releases.

    Args:
      releases: as in ``compose``.
      interval: the width of the cells of the discretised loss; two distributions compose
        only if it is the same. By default dp-accounting's 1e-4, or wider if memory is short.

    Returns:
      A pessimistic distribution in both directions: its deltas are those that this project
      proves without Renyi divergences.

    Raises:
      InputError: as ``compose``, or if a release has no known dominating pair.

    Example:
        >>> import jaxsel
        >>> search = jaxsel.search_cost("pure:epsilon=0.5", "geometric:mean=3")
        >>> loss = jaxsel.privacy_loss_distribution(search)  # dp-accounting composes it further
        >>> print(f"{loss.get_epsilon_for_delta(1e-6):.1f}")
        1.0
    """
    listed = releases_from(releases)
    return loss_distribution(listed, interval)
