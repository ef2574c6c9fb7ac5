"""What is simulated: a mechanism with one input, and what is known of it (``Trial``).

An entry of the catalogue and a cell function of a sweep or of a figure are functions of their
settings that return a ``Trial``. ``simulate`` makes many random trials of one.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from jaxsel.host.errors import InputError, check_finite, on_one_line
from jaxsel.language.base import Mechanism, Pair, Relation
from jaxsel.language.printing import Summary, printed
from jaxsel.language.utility import Utility

Values = Mapping[str, Any]
_NONE: Values = MappingProxyType({})


class Guarantee(NamedTuple):
    """What is proven (or, of a broken mechanism, hoped for): a number, and the claim that gives it.

    Attributes:
      claim: id of the claim.
      epsilon: the pure epsilon that the claim gives.
    """

    claim: str
    epsilon: float


# Each is (name, data, neighbour, relation, why), which has the parameters of its trial, or a whole
# Pair where the parameters are others.
Neighbours = Iterable[Pair | tuple[str, Any, Any, Relation, str]]
Pairs = Neighbours | Callable[[], Neighbours]
_Guarantees = Guarantee | Callable[[Pair], Guarantee | None] | None
_Worth = Utility | Callable[[tuple[str, ...]], Utility]


@printed
class Trial:
    """A mechanism with one input, and what is known of it.

    ``trial[:3]`` is its mechanism, data and params.

    Attributes:
      mechanism: what runs; the same object in all cells of a sweep that differ in numbers only.
        Made when it is first asked for, where it was given as a function.
      data, params: its input.
      statistic: what is summed over trials, from ``jaxsel.statistics``; None to count events.
      beside: numbers, or arrays of equal shapes in all cells, by name: further quantities that
        need no trials, for the data set of a sweep.
      entry: its entry of the catalogue; None of a mechanism of one's own.
      values: the settings of the entry that it was built with.
      worth: the utility as it was given; see ``utility``.

    Example:
        >>> import jaxsel
        >>> def decision(epsilon: float = jaxsel.over(0.5, 1.0)):  # one cell of a sweep
        ...     return jaxsel.Trial(jaxsel.noisy_max(), [1, 0], {"epsilon": epsilon})
        >>> found = jaxsel.sweep(decision, trials=1000)
        >>> dict(found["frequency"].sizes)
        {'epsilon': 2, 'outcome': 2}
    """

    def __init__(
        self,
        mechanism: Mechanism | Callable[[], Mechanism],
        data: Any = (),
        params: Any = _NONE,
        pairs: Pairs = (),
        guarantee: _Guarantees = None,
        utility: _Worth = _NONE,
        statistic: Any = None,
        beside: Values = _NONE,
        *,
        entry: Any = None,
        values: Values = _NONE,
    ):
        """What is not always needed, or may be refused, may be given as a function.

        Args:
          mechanism, data, params, statistic, beside, entry, values: as the attributes.
          pairs: neighbouring inputs, the default one first: each a ``Pair``, or (name, data,
            neighbour, relation, why), which has the parameters of this trial.
          guarantee: the pure epsilon that is proven for the pairs, from
            ``language.entry.guarantee``, or a function of a pair; None for none.
          utility: Float64["events"] by name, one of ``language.utility.MEANINGS``: the utility
            of each event; or a function of the events' labels.
        """
        self.data, self.params = data, params
        self.statistic, self.beside = statistic, beside
        self.entry, self.values, self.worth = entry, values, utility
        self._mechanism, self._pairs, self._guarantee = mechanism, pairs, guarantee

    @functools.cached_property
    def mechanism(self) -> Mechanism:
        """What runs."""
        # Making a mechanism imports JAX; whoever asks for pairs or guarantees alone need not wait.
        found = self._mechanism
        made = found if isinstance(found, Mechanism) or not callable(found) else found()
        if not isinstance(made, Mechanism):
            raise InputError(
                f"the mechanism of a trial is {type(made).__name__}; give what "
                "jaxsel.own_mechanism returns, or another jaxsel.Mechanism, or a function without "
                "arguments that makes one"
            )
        return made

    def __iter__(self) -> Iterator[Any]:
        return iter((self.mechanism, self.data, self.params))

    def __getitem__(self, index: Any) -> Any:
        return (self.mechanism, self.data, self.params)[index]

    def _replace(self, **changes: Any) -> "Trial":
        """A copy with other values of some arguments."""
        given = {
            "mechanism": self._mechanism,
            "data": self.data,
            "params": self.params,
            "pairs": self._pairs,
            "guarantee": self._guarantee,
            "utility": self.worth,
            "statistic": self.statistic,
            "beside": self.beside,
            "entry": self.entry,
            "values": self.values,
        }
        return Trial(**{**given, **changes})

    def heard(self, by: Callable[[Callable[..., Any]], Callable[..., Any]]) -> "Trial":
        """A copy of which each part that is a function is what ``by`` makes of it."""
        parts = {
            "mechanism": self._mechanism,
            "pairs": self._pairs,
            "guarantee": self._guarantee,
            "utility": self.worth,
        }
        pairs = self._pairs
        if callable(pairs):  # a generator raises only when it is read
            parts["pairs"] = lambda: tuple(pairs())
        later = {
            name: by(part)
            for name, part in parts.items()
            if callable(part) and not isinstance(part, Mechanism)
        }
        return self._replace(**later) if later else self

    @property
    def name(self) -> str:
        """Of the entry, or of the mechanism."""
        return self.mechanism.name if self.entry is None else self.entry.name

    def pairs(self) -> tuple[Pair, ...]:
        """Its neighbouring pairs, the default one first.

        Raises:
          InputError: if none can be constructed at these settings.
        """
        found = self._pairs() if callable(self._pairs) else self._pairs
        if isinstance(found, str) or not isinstance(found, Iterable):
            self._refuse_pair(found)
        return tuple(self._pair(each) for each in found)

    def _pair(self, each: Any) -> Pair:
        """One of the pairs, as it was given."""
        if not isinstance(each, Pair):
            if not isinstance(each, tuple | list) or len(each) != 5:
                self._refuse_pair(each)
            name, data, neighbour, relation, why = each
            each = Pair(name, data, neighbour, relation, self.params, why)
        if not isinstance(each.name, str) or not isinstance(each.relation, Relation):
            self._refuse_pair(each)
        return each

    def _refuse_pair(self, given: object) -> NoReturn:
        raise InputError(
            f"a pair of {self.name} is {on_one_line(repr(given))}; each must be a jaxsel.Pair, or "
            "(name, data, neighbour, relation, why) with a jaxsel.Relation"
        )

    def pair(self, name: str | None = None) -> Pair:
        """The pair of that name, by default the first.

        Raises:
          InputError: if there is none.
        """
        pairs = self.pairs()
        for pair in pairs:
            if name in (None, pair.name):
                return pair
        names = ", ".join(pair.name for pair in pairs) or "none"
        raise InputError(f"{self.name} has no pair {name!r}; it has: {names}")

    def guarantee(self, pair: Pair) -> Guarantee | None:
        """The pure epsilon that is proven for a pair, if any is."""
        found = self._guarantee
        if callable(found):
            found = found(pair)
        if found is not None and not isinstance(found, Guarantee):
            raise InputError(
                f"the guarantee of {self.name} is {on_one_line(repr(found))}; it must be a "
                "Guarantee(claim, epsilon), which jaxsel.language.entry.guarantee makes, or None"
            )
        return found

    def utility(self) -> Utility:
        """What each event is worth; {} where events are not ranked.

        Raises:
          InputError: unless each is a finite number for every event.
        """
        if not self.worth:
            return {}
        labels = self.mechanism.labels(self.data, self.params)
        found = self.worth(labels) if callable(self.worth) else self.worth
        if not isinstance(found, Mapping):
            raise InputError(
                f"the utility of {self.name} is {on_one_line(repr(found))}; it must be numbers, "
                "one for each event, by name"
            )
        worth = {name: check_finite(f"the utility {name}", each) for name, each in found.items()}
        for name, each in worth.items():
            if each.shape != (len(labels),):
                raise InputError(
                    f"the utility {name} has the shape {each.shape}; it must be one number for "
                    f"each of the {len(labels)} events"
                )
        return worth

    def summary(self) -> Summary:
        """What it does, its settings, and the pairs to audit it on."""
        if self.entry is None:
            return Summary(f"{self.mechanism.name} with one input.")
        return self.entry.described(self.values)
