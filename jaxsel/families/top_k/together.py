"""Several mechanisms in one trial, to compare them in one compiled program."""

from jaxsel.host.errors import InputError
from jaxsel.kernel import stream
from jaxsel.language.base import FiniteLaw, Mechanism, factory


@factory
def together(mechanisms: tuple[Mechanism, ...]) -> Mechanism:
    """Runs every mechanism in every trial, each on a stream of its own.

    Each part has the law of its mechanism, and the parts of one trial are independent.
    Their draws are not those of the mechanism simulated alone. A block of trials needs the
    memory of all parts, so the largest one determines its size.

    Args:
      mechanisms: at least one; repetitions are allowed.

    Data, params: tuples, one entry a mechanism, each in that mechanism's form.
    Outcome: the tuple of outcomes. The event, labels and law are those of the first
      mechanism; to keep something of each, combine statistics of their outcomes.

    Raises:
      InputError: if there is no mechanism, or what it is given is not a tuple with one
        entry for each; and what the mechanisms raise.
    """
    if not mechanisms:
        raise InputError("together needs at least one mechanism")
    number = len(mechanisms)

    def parts(data, params):
        for name, value in (("data", data), ("params", params)):
            if not isinstance(value, tuple) or len(value) != number:
                raise InputError(f"{name} must be a tuple of {number} entries, one a mechanism")
        return zip(mechanisms, data, params, strict=True)

    def prepare(data, params):
        ready = [one.prepare(*given) for one, *given in parts(data, params)]
        return tuple(part[0] for part in ready), tuple(part[1] for part in ready)

    def sample(key: stream.Key, data, params):
        return tuple(
            one.sample(stream.fold(key, place), *given)
            for place, (one, *given) in enumerate(parts(data, params))
        )

    def event(outcome):
        return mechanisms[0].event(outcome[0])

    def labels(data, params) -> tuple[str, ...]:
        one, *given = next(iter(parts(data, params)))
        return one.labels(*given)

    first_law = mechanisms[0].law

    def law(data, params) -> FiniteLaw:
        assert first_law is not None
        _, *given = next(iter(parts(data, params)))
        return first_law(*given)

    return Mechanism(
        prepare=prepare,
        sample=sample,
        event=event,
        labels=labels,
        law=None if first_law is None else law,
        resolution=max(one.resolution for one in mechanisms),
    )
