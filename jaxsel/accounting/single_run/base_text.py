"""Parses base guarantees from a line of text or from an Opacus accountant.

Other libraries' names of parameters are accepted: Opacus uses sample_rate and sigma,
TensorFlow Privacy q, n and noise_multiplier, papers sigma and T.

Every Opacus accountant has ``history``, a list of (noise_multiplier, sample_rate, steps).
Opacus uses Poisson subsampling, and its neighbours differ by adding or removing one record.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jaxsel.accounting.single_run import curves, events
from jaxsel.accounting.single_run.curves import BaseGuarantee
from jaxsel.accounting.single_run.parameters import SamplingProbability, Steps, TrainingNoise
from jaxsel.host.errors import InputError
from jaxsel.host.reading import read_json, read_text
from jaxsel.language.domains import nearest
from jaxsel.language.signature import read_params

_DP_SGD = {
    "sigma": "noise_multiplier",
    "noise": "noise_multiplier",
    "z": "noise_multiplier",
    "q": "sampling_probability",
    "sample_rate": "sampling_probability",
    "sampling_rate": "sampling_probability",
    "sampling_prob": "sampling_probability",
    "num_steps": "steps",
    "iterations": "steps",
    "n": "dataset_size",
    "sample_size": "dataset_size",
    "num_examples": "dataset_size",
    "number_of_examples": "dataset_size",
    "num_samples": "dataset_size",
    "lot_size": "batch_size",
    "expected_batch_size": "batch_size",
    "num_epochs": "epochs",
}

_WORDS: Mapping[str, Mapping[str, str]] = {
    "dp_sgd": _DP_SGD,
    "gaussian": {"sigma": "noise_multiplier", "z": "noise_multiplier"},
    "laplace": {"scale": "noise_scale", "b": "noise_scale"},
}
"""Family of bases -> alternative name -> the parameter that it stands for."""


class _Form(NamedTuple):
    """A form of base text: its family, its parameter names, and its factory."""

    family: str
    names: tuple[str, ...]
    make: Callable[..., BaseGuarantee]
    meaning: str


_FORMS = (
    _Form(
        "dp_sgd",
        ("dataset_size", "batch_size", "noise_multiplier", "epochs"),
        events.dp_sgd,
        "DP-SGD with Poisson subsampling, add or remove one record",
    ),
    _Form(
        "dp_sgd",
        ("sampling_probability", "noise_multiplier", "steps"),
        events.dp_sgd,
        "the same, by sampling probability and steps",
    ),
    _Form(
        "dp_sgd",
        ("sampling_probability", "noise_multiplier", "epochs"),
        events.dp_sgd,
        "the same, by sampling probability and epochs",
    ),
    _Form(
        "dp_sgd",
        ("dataset_size", "batch_size", "noise_multiplier", "steps"),
        events.dp_sgd,
        "the same, by batch size and steps",
    ),
    _Form(
        "gaussian",
        ("noise_multiplier",),
        curves.gaussian,
        "Gaussian noise; its standard deviation over the sensitivity",
    ),
    _Form(
        "laplace", ("noise_scale",), curves.laplace, "Laplace noise; its scale over the sensitivity"
    ),
    _Form(
        "discrete_gaussian",
        ("sigma", "sensitivity"),
        curves.discrete_gaussian,
        "discrete Gaussian noise on a whole number that one record moves by the sensitivity",
    ),
    _Form("gdp", ("mu",), curves.gaussian_differential_privacy, "mu-GDP"),
    _Form("zcdp", ("rho",), curves.zcdp, "rho-zCDP"),
    _Form("pure", ("epsilon",), curves.pure, "epsilon-DP"),
    _Form(
        "approximate",
        ("epsilon", "delta"),
        curves.approximate,
        "(epsilon, delta)-DP, nothing else known",
    ),
    _Form(
        "randomised_response",
        ("epsilon",),
        curves.randomised_response,
        "binary randomised response",
    ),
)


def _written(form: _Form) -> str:
    return f"{form.family}:" + ",".join(f"{name}=..." for name in form.names)


FORMS: Mapping[str, str] = {_written(form): form.meaning for form in _FORMS} | {
    "points:EPSILON=DELTA,...": "several (epsilon, delta) guarantees of the same run",
    "points:FILE": "the same, columns epsilon and delta of a text or CSV file, by name if it has "
    "a header",
    "opacus:FILE": "DP-SGD by the history of an Opacus accountant, as JSON",
}
"""Every form that parse_base reads, with its meaning."""


def parameter_names() -> tuple[str, ...]:
    """All parameter names that may occur in the text of a base."""
    return tuple(dict.fromkeys(name for form in _FORMS for name in form.names))


def _wrong(text: object, hint: str = "") -> InputError:
    forms = "  ".join(FORMS)
    return InputError(f"base is {text!r}{hint}; it must look like one of: {forms}")


def _spelled(
    family: str, given: Iterable[tuple[str, float]], known: Collection[str]
) -> dict[str, float]:
    """Values by parameter, with alternative names resolved.

    Args:
      family: the family of the base.
      given: (name, value) pairs, as written.
      known: the family's parameters.

    Raises:
      InputError: for an unknown name, suggesting the nearest one, or a parameter given
        twice.
    """
    words = _WORDS.get(family, {})
    values: dict[str, float] = {}
    written: dict[str, str] = {}
    for word, value in given:
        name = word if word in known else words.get(word.lower(), word.lower())
        if name not in known:
            raise InputError(
                f"{family} has no parameter {word!r}{nearest(word, [*known, *words])}; it "
                f"takes {', '.join(known)}"
            )
        if name in values:
            if word == written[name]:
                raise InputError(f"{word} of {family} is given twice; give it once")
            raise InputError(
                f"{written[name]} and {word} are both {name} of {family}; give one of them"
            )
        values[name], written[name] = value, word
    return values


def _pairs(text: str, rest: str, family: str) -> list[tuple[str, float]]:
    """Parses the names and numbers after the colon.

    Raises:
      InputError: naming an item that is not of the form name=number.
    """
    found = []
    for item in filter(None, (part.strip() for part in rest.split(","))):
        name, equals, value = (part.strip() for part in item.partition("="))
        try:
            number = float(value)
        except ValueError:
            if equals and name:
                raise InputError(f"{name} of {family} is {value!r}; it must be a number") from None
            raise InputError(f"{item!r} in {text!r} must be one name=number") from None
        found.append((name, number))
    return found


_COLUMNS = ("epsilon", "delta")


def _fields(line: str) -> list[str]:
    """The cells of a line: between commas if it has one, else between spaces."""
    cells = line.split(",") if "," in line else line.split()
    return [cell.strip().strip("\"'").strip() for cell in cells]


def _header(path: Path, number: int, line: str) -> tuple[int, int] | None:
    """The columns of epsilon and of delta that a line names; None if it holds numbers.

    Raises:
      InputError: if it names other columns.
    """
    names = [field.lower() for field in _fields(line)]
    if sorted(names) == sorted(_COLUMNS):
        return names.index("epsilon"), names.index("delta")
    try:
        [float(name) for name in names if name]
    except ValueError:
        raise InputError(
            f"{path}, line {number}: the header is {line.strip()!r}; the columns must be named "
            "epsilon and delta, in either order"
        ) from None
    return None


def _read_points(path: Path) -> BaseGuarantee:
    """A guarantee from a file of two columns, by their names if it has a header.

    Lines that begin with # are skipped, but for one before the first point that names the columns,
    as ``numpy.savetxt`` writes its header.
    """
    rows, columns, named = [], (0, 1), False
    for number, text in enumerate(read_text(path, "a list of points").splitlines(), 1):
        line, _, comment = text.partition("#")
        if not line.strip():
            if not rows and not named and sorted(_fields(comment.lower())) == sorted(_COLUMNS):
                columns, named = _header(path, number, comment) or columns, True
            continue
        if not rows and not named:
            found = _header(path, number, line)
            if found is not None:
                columns, named = found, True
                continue
        try:
            row = [float(field) for field in _fields(line)]
        except ValueError:
            row = []
        if len(row) != 2:
            raise InputError(
                f"{path}, line {number}: expected two numbers, {' and '.join(_COLUMNS)}"
            )
        rows.append([row[column] for column in columns])
    if not rows:
        raise InputError(f"{path} holds no (epsilon, delta) points")
    try:
        return curves.points([e for e, _ in rows], [d for _, d in rows])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


# --- Opacus ---------------------------------------------------------------------------

_PHASE = {"noise_multiplier": TrainingNoise, "sample_rate": SamplingProbability, "steps": Steps}
_ITEM = "each item must be [noise_multiplier, sample_rate, steps]"


def _items(history: object) -> Sequence[Any]:
    """The list of phases, from an accountant, its state_dict, or the list itself."""
    found = getattr(history, "history", history)
    if isinstance(found, Mapping):
        if "history" not in found:
            raise InputError(
                "the Opacus history has no key 'history'; give a list of "
                "[noise_multiplier, sample_rate, steps], or an accountant's state_dict()"
            )
        found = found["history"]
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise InputError(f"the Opacus history is {found!r}; it must be a list, and {_ITEM}")
    if not found:
        raise InputError("the Opacus history is empty; no step was taken")
    return found


def _phase(number: int, item: object) -> tuple[float, float, int]:
    if isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 3:
        raise InputError(f"item {number} of the Opacus history is {item!r}; {_ITEM}")
    known = {
        f"{name} of item {number} of the Opacus history": domain for name, domain in _PHASE.items()
    }
    noise, rate, steps = read_params(dict(zip(known, item, strict=True)), known).values()
    return noise, rate, steps


def from_opacus(history: object, *, name: str = "") -> BaseGuarantee:
    """The guarantee of one training run from its Opacus accountant.

    Args:
      history: an Opacus accountant, its ``state_dict()``, or its ``history``: a list of
        (noise_multiplier, sample_rate, steps).
      name: for messages.

    Returns:
      The guarantee of DP-SGD with these phases in sequence.

    Raises:
      InputError: if it is not an Opacus history, or a value is out of range.
    """
    return events.dp_sgd_phases(opacus_phases(history), name=name)


def opacus_phases(history: object) -> tuple[tuple[float, float, int], ...]:
    """The phases of an Opacus history, of which equal ones in a row are made one.

    Each is noise multiplier, sampling probability and steps. Else as ``from_opacus``.
    """
    phases: list[tuple[float, float, int]] = []
    for number, item in enumerate(_items(history), 1):
        noise, rate, steps = _phase(number, item)
        if phases and phases[-1][:2] == (noise, rate):
            steps += phases.pop()[2]
        phases.append((noise, rate, steps))
    return tuple(phases)


def _read_opacus(path: Path) -> BaseGuarantee:
    """The same from a JSON file, as ``json.dump(accountant.state_dict(), file)`` writes.

    Raises:
      InputError: if the file cannot be read or is not JSON, or as in from_opacus.
    """
    found = read_json(path)
    try:
        return from_opacus(found, name=f"opacus:{path}")
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def parse_base(text: str) -> BaseGuarantee:
    """Reads a base guarantee.

    Args:
      text: one of the forms in FORMS, for example "gaussian:noise_multiplier=4",
        "dp_sgd:dataset_size=60000,batch_size=256,noise_multiplier=1.1,epochs=60",
        "approximate:epsilon=1,delta=1e-6" or "points:0.5=1e-3,1=1e-6".

    Raises:
      InputError: if the text has another form or a value is out of range.
    """
    family, _, rest = str(text).partition(":")
    family, rest = family.strip(), rest.strip()
    if family == "points" and rest:
        if "=" not in rest:
            return _read_points(Path(rest))
        try:
            listed = [(float(e), d) for e, d in _pairs(text, rest, family)]
        except InputError:
            raise
        except ValueError:
            raise _wrong(text) from None
        return curves.points([e for e, _ in listed], [d for _, d in listed])
    if family == "opacus" and rest:
        return _read_opacus(Path(rest))
    forms = [form for form in _FORMS if form.family == family]
    if not forms:
        raise _wrong(text, nearest(family, [form.family for form in _FORMS]))
    known = tuple(dict.fromkeys(name for form in forms for name in form.names))
    values = _spelled(family, _pairs(text, rest, family), known)
    for form in forms:
        if set(form.names) == set(values):
            return form.make(**values)
    # The form with the fewest missing names, then the fewest superfluous ones.
    nearest_form = min(
        forms,
        key=lambda form: (len(set(values) - set(form.names)), len(set(form.names) - set(values))),
    )
    missing = [name for name in nearest_form.names if name not in values]
    surplus = [name for name in values if name not in nearest_form.names]
    wrong = f"{' and '.join(missing)} missing" if missing else f"{surplus[0]} too much"
    raise InputError(f"base is {text!r}, with {wrong}; write {_written(nearest_form)}")
