"""``jaxsel.mechanism``, ``law``, ``claim``, ``claims`` and ``show``: what is asked for by name."""

from collections.abc import Iterator
from typing import Any

from jaxsel import catalogue
from jaxsel.host.errors import InputError
from jaxsel.language.base import Claim, FiniteLaw
from jaxsel.language.entry import MechanismEntry
from jaxsel.language.papers import find_paper, paper_of
from jaxsel.language.printing import Summary, printed
from jaxsel.language.subject import Subject
from jaxsel.language.trial import Trial


@printed
class Mechanisms:
    """The mechanisms of the catalogue, each by its name: ``jaxsel.mechanisms.noisy_max``.

    Called, this lists them all; one of them, called with its settings, is that mechanism
    with its input.

    Example:
        >>> import jaxsel
        >>> built = jaxsel.mechanisms.noisy_max(scores=[3, 2, 1], epsilon=2)
        >>> jaxsel.simulate(built, trials=1000).trials
        1000
        >>> len(jaxsel.mechanisms()) >= 60
        True
    """

    def __call__(self) -> tuple[MechanismEntry, ...]:
        """Every mechanism, by family."""
        return catalogue.mechanisms()

    def __iter__(self) -> Iterator[MechanismEntry]:
        return iter(catalogue.mechanisms())

    def __dir__(self) -> list[str]:
        return [entry.name for entry in catalogue.mechanisms()]

    def __getattr__(self, name: str) -> MechanismEntry:
        try:
            if name.startswith("_"):
                raise InputError(f"no mechanism is called {name}")
            return catalogue.find_mechanism(name)
        except InputError as error:
            raise AttributeError(str(error)) from None

    def summary(self) -> Summary:
        """How many there are."""
        found = catalogue.mechanisms()
        return Summary(f"{len(found)} mechanisms: {', '.join(entry.name for entry in found)}.")


mechanisms = Mechanisms()


def mechanism(name: str, /, **settings: Any) -> Trial:
    """A mechanism of the catalogue with its input, ready to simulate and to audit.

    Args:
      name: a name or an id, in any case of letters: "noisy_max", "LT-Alg2".
      **settings: its settings, as values or as text; ``jaxsel.show(name)`` lists them, and
        so does the result when printed.

    Raises:
      InputError: for an unknown name or setting, or a value outside its domain.

    Example:
        >>> import jaxsel
        >>> built = jaxsel.mechanism("noisy_max", scores=[3, 2, 1], epsilon=2)
        >>> jaxsel.simulate(built, trials=1000).trials
        1000
    """
    return catalogue.find_mechanism(name).build(settings)


def law(subject: Subject, /, **settings: Any) -> FiniteLaw:
    """The exact output law of a mechanism, where one is known.

    Args:
      subject: a name of the catalogue, or what ``jaxsel.mechanism`` made.
      **settings: of a mechanism by name.

    Raises:
      InputError: as ``mechanism``; or if there is no exact law, or no input.

    Example:
        >>> import jaxsel
        >>> jaxsel.law("noisy_max", scores=[1, 1], epsilon=1).probabilities.tolist()
        [0.5, 0.5]
    """
    if isinstance(subject, str | MechanismEntry):
        subject = catalogue.find_mechanism(subject).build(settings)
    elif settings:
        raise InputError("this mechanism comes with its input; give no settings")
    if not isinstance(subject, Trial):
        raise InputError(f"{subject.name} comes without an input; call its law with one")
    if subject.mechanism.law is None:
        raise InputError(f"{subject.mechanism.name} has no exact law; simulate it instead")
    return subject.mechanism.law(subject.data, subject.params)


def claim(identity: str) -> Claim:
    """A published statement: ``claim("PS-Cor3").evaluate(epsilon=1)`` is its number.

    Args:
      identity: id or alias, in any case of letters.

    Raises:
      InputError: if there is none.

    Example:
        >>> import jaxsel
        >>> jaxsel.claim("PS-Cor3").evaluate(base="pure:epsilon=0.5", law="geometric:mean=10")
        1.5
    """
    return catalogue.find_claim(identity)


def claims(*, paper: str | None = None, kind: str | None = None) -> tuple[Claim, ...]:
    """The published statements that are claims.

    Args:
      paper: those of one paper: "LT", "PS", "CL", "KRW", "ZW", ...
      kind: those about "privacy" or "utility", or those that are an "identity".

    Raises:
      InputError: for a paper or a kind that there is not.

    Example:
        >>> import jaxsel
        >>> for claim in jaxsel.claims(paper="PS", kind="utility")[:2]:
        ...     print(claim.id)
        PS-A.2-limits
        PS-A.2-runtime
    """
    wanted = None if paper is None else find_paper(paper)
    kinds = ("privacy", "utility", "identity")
    if kind is not None and kind not in kinds:
        raise InputError(f"kind is {kind!r}; it must be one of: {', '.join(kinds)}")
    return tuple(
        one
        for one in catalogue.published_claims()
        if (wanted is None or paper_of(one.source) is wanted) and kind in (None, one.kind)
    )


def show(name: str) -> Any:
    """What has that name; it prints as what is known of it.

    Args:
      name: an id or a name, in any case of letters: of a claim, an erratum, a remark or a
        mechanism; or the text of a law of K or of a base, "geometric:mean=10".

    Returns:
      A ``Claim``, ``Erratum``, ``Remark``, a mechanism of ``jaxsel.mechanisms``, a law of K
      or the guarantee of a base; a tuple of these if several have the name.

    Raises:
      InputError: if nothing has it.

    Example:
        >>> import jaxsel
        >>> jaxsel.show("PS-Cor3").kind
        'privacy'
    """
    from jaxsel.questions.all_names import find

    found = [each.value(name) for each in find(name)]
    return found[0] if len(found) == 1 else tuple(found)
