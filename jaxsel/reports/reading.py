"""Reads the JSON of a plan or of a finished search as the subject of a statement.

Only the bases, the law of K and delta are taken from the file; the proof is computed again,
and the file must not promise more.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxsel.accounting.single_run.curves import points
from jaxsel.host.errors import InputError, check_interval
from jaxsel.host.reading import parse_json, read_text
from jaxsel.language.relations import ADD_OR_REMOVE_ONE
from jaxsel.repetitions import Repetitions, parse
from jaxsel.reports.statement import Part, Subject
from jaxsel.reports.words import theorem_words
from jaxsel.tuning.accountant import ProvenEpsilon, proven_epsilons
from jaxsel.tuning.base_forms import guarantee_of
from jaxsel.tuning.composing_searches import Release

RELEASE = "release.json"
"""File name of the release of a finished search in its folder."""
# Names of the records from which a search resumes, now and in earlier versions.
_UNFINISHED = ("search.nc", "search.json")

_ROUNDING = 1e-6  # relative tolerance for the epsilon of a file


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Reads a file with one JSON object.

    Raises:
      InputError: if it cannot be read, or contains something else.
    """
    try:
        found = parse_json(read_text(path, what))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); give {what}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} is JSON, but no object; give {what}")
    return found


def read_search(path: str | Path) -> dict[str, Any]:
    """Reads the release of a finished search, from its folder or the JSON of jaxsel tune.

    Raises:
      InputError: if there is none, or the search in the folder is not finished.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        return read_json(path, "the folder of a search, or what jaxsel tune --json says")
    if not (path / RELEASE).exists():
        if any((path / name).exists() for name in _UNFINISHED):
            raise InputError(
                f"the search in {path} is not finished; the same jaxsel tune goes on with it"
            )
        raise InputError(f"{path} is not the folder of a search of jaxsel tune")
    return read_json(path / RELEASE, "the folder of a search")


def read_plan(path: str | Path) -> dict[str, Any]:
    """Reads the output of ``jaxsel plan --json`` from a file.

    Raises:
      InputError: if the file contains something else.
    """
    what = "what jaxsel plan --json printed"
    found = read_json(Path(path).expanduser(), what)
    if "law" not in found:
        raise InputError(f"{path} is no plan; give {what}")
    return found


def _field(record: Mapping[str, Any], name: str, kind: type, what: str) -> Any:
    value = record.get(name)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind):
        raise InputError(f"{what} has no {name!r}, or not as it was written")
    return value


def _proved(
    base: str, law: Repetitions, delta: float, promised: float, what: str
) -> tuple[Release, ProvenEpsilon]:
    """A search described in a file, and the epsilon that is proved for it now.

    Raises:
      InputError: if the file promises less than that epsilon.
    """
    release = Release(guarantee_of(base), law)
    best = proven_epsilons(release.base, law, delta)[0]
    if not best.epsilon <= promised * (1.0 + _ROUNDING):
        raise InputError(
            f"{what} promises epsilon = {promised:.6g}, and {best.epsilon:.6g} is proved "
            f"of {base}; make it anew"
        )
    return release, best


def plan_subject(record: Mapping[str, Any]) -> Subject:
    """The subject of a plan's record, as ``jaxsel plan --json`` prints it.

    Raises:
      InputError: if it is no such record, or promises more than is proved.
    """
    what = "the plan"
    base, text = (_field(record, name, str, what) for name in ("base", "law"))
    law = parse(text)
    delta = _delta(record, what)
    epsilon = _field(record, "epsilon", float, what)
    release, best = _proved(base, law, delta, epsilon, what)
    facts = [("Runs on average", f"{law.mean:.4g}")]
    for name, words in (
        ("runs_95", "Runs in 95 of 100 searches, at most"),
        ("expected_quantile", "Quantile of the winner, expected"),
    ):
        value = record.get(name)
        if isinstance(value, int | float):
            facts.append((words, f"{value:.4g}"))
    hit, wishes = record.get("hit"), record.get("wishes")
    good = wishes.get("good") if isinstance(wishes, Mapping) else None
    if isinstance(hit, int | float) and isinstance(good, int | float):
        facts.append((f"Chance to hit the best {good:g}", f"{hit:.4g}"))
    noise = record.get("score_noise")
    if isinstance(noise, int | float) and math.isfinite(noise):
        facts.append(
            (
                "Noise on a count that scores a run",
                f"standard deviation {noise:.4g}: records that validate, and do not "
                "train, have the same ε and δ; what attacks can do is said of those "
                "that train",
            )
        )
    part = Part("", (release,))
    return Subject("plan", (part,), delta, best, release.base.relation, tuple(facts))


def _delta(record: Mapping[str, Any], what: str) -> float:
    return check_interval("delta", _field(record, "delta", float, what), 0.0, 1.0, low_open=False)


def search_subject(record: Mapping[str, Any]) -> Subject:
    """The subject of the release of a finished search.

    A data record is used for training or for validation; all numbers hold for both kinds.

    Raises:
      InputError: if it is no such record, or promises more than is proved.
    """
    what = "the search"
    law = parse(_field(record, "repetitions", str, what))
    delta = _delta(record, what)
    epsilon = _field(record, "epsilon", float, what)
    noise = _field(record, "score_noise", float, what)
    theorem, statement = (_field(record, name, str, what) for name in ("theorem", "statement"))
    base = record.get("base")
    if base is None:  # candidates with different guarantees: the theorem gives one point
        training = Release(_MIXED, law)
        proof = ProvenEpsilon(epsilon, theorem, statement)
    else:
        base = _field(record, "base", str, what)
        training, proof = _proved(base, law, delta, epsilon, what)
    # Earlier versions drew continuous noise, and did not say so.
    count = record.get("scores", f"gaussian:noise_multiplier={noise!r}")
    validation, other = _proved(count, law, delta, epsilon, what)
    parts = (Part("training images", (training,)), Part("validation images", (validation,)))
    relation = ADD_OR_REMOVE_ONE if base is None else training.base.relation
    return both_parts("search", parts, delta, (proof, other), relation, _winner(record))


def both_parts(
    kind: str,
    parts: tuple[Part, Part],
    delta: float,
    proofs: tuple[ProvenEpsilon, ProvenEpsilon],
    relation: str | None,
    facts: tuple[tuple[str, str], ...] = (),
) -> Subject:
    """The subject of a search in which each record is used for training or for validation.

    Arguments as the fields of ``Subject``; ``proofs`` are those of the parts. The larger
    epsilon holds for both parts; the theorem named is the training part's.
    """
    first, second = proofs
    proof = first._replace(epsilon=max(first.epsilon, second.epsilon))
    if second.theorem != first.theorem:
        source, _ = theorem_words(second.theorem, second.statement)
        name = f"Theorem, {parts[1].records}"
        facts = ((name, f"{second.theorem}: {source}"), *facts)
    return Subject(kind, parts, delta, proof, relation, facts)


# There is no guarantee of one run; the proof enters as a point.
_MIXED = points(0.0, 1.0)._replace(name="DP-SGD with candidates that differ in privacy")


def _winner(record: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The winner that a search released, as names and values."""
    found = [("Data", str(record.get("data", "not said")))]
    winner = record.get("winner")
    if not isinstance(winner, Mapping):
        return (*found, ("Winner", "none: K was 0, or no run succeeded"))
    settings = ", ".join(
        f"{str(name).replace('_', ' ')} {value:.4g}"
        for name, value in winner.items()
        if isinstance(value, int | float)
    )
    found.append(("Winner", settings))
    for name, words in (
        ("noisy_validation_accuracy", "Validation accuracy, with noise (private)"),
        ("test_accuracy", "Test accuracy (test images taken to be public)"),
    ):
        value = record.get(name)
        if isinstance(value, int | float):
            found.append((words, f"{value:.4f}"))
    return tuple(found)
