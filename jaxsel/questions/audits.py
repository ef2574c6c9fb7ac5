"""audit: does a mechanism, or anybody's function, keep its privacy claim?

One function for every subject. A mechanism of the catalogue, or one's own in JAX, is
simulated on its pair; a function is called as it is, on pairs that a relation proposes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jaxsel.auditing.functions.subject import call_of, check_named, load
from jaxsel.host.errors import InputError
from jaxsel.language.base import Pair

if TYPE_CHECKING:
    from jaxsel.auditing.audit import Audit
    from jaxsel.auditing.functions.audit_function import FunctionAudit
    from jaxsel.kernel.engine import Performance


def is_function(subject: object) -> bool:
    """Whether a subject is called as a function is, or names one as path/to/file.py:function.

    Raises:
      InputError: for a Python file of which no function is named.
    """
    if isinstance(subject, str):
        check_named(subject)
        return ".py:" in subject
    # A mechanism is a record; the modules that define it need not be imported to see that.
    return call_of(subject) is not None and not isinstance(subject, tuple)


def audit(
    subject: Any,
    pair: Pair | tuple[Any, Any] | str | None = None,
    *,
    trials: int = 1_000_000,
    delta: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
    method: str | None = None,
    progress: bool | None = None,
    performance: "Performance | None" = None,
    relation: str | None = None,
    claim: Any = None,
    data: Any = None,
    seconds: float | None = None,
    settings: Mapping[str, Any] | None = None,
    kind: str | None = None,
    call_seconds: float | None = None,
    sequential: bool | None = None,
    repetitions: Any = None,
    bits: bool | None = None,
    curve: bool | None = None,
) -> "Audit | FunctionAudit":
    """A lower bound on epsilon at ``delta``, from trials on two neighbouring inputs.

    Args:
      subject: a mechanism: a name, for its default settings; the result of
        ``jaxsel.mechanism``; or a mechanism of your own, with a pair. Or a function:
        ``f(rng, data, n)``, ``f(rng, data)``, ``f(data)``, ``f(key, data)``,
        "path/to/file.py:name", or an object that is called: a measurement of OpenDP, a
        mechanism of diffprivlib, a method of any other.
      pair: the neighbouring inputs; for a mechanism that includes pairs, the name of one,
        by default the first; for a function, two inputs in place of proposed ones.
      trials: number of trials on each input; for a function, the search included.
      delta: of (epsilon, delta)-DP.
      confidence: the bound exceeds the truth with probability <= 1 - confidence.
      seed: of the simulation, and of the randomness that a function is handed.
      method: for a mechanism: "split", the default, chooses the event on one half of the
        trials and bounds it on the other; "bonferroni" uses all trials for all events.
      progress: as in ``simulate_grid``.
      performance: for a mechanism: likewise.
      relation: for a function, which must say: "add_or_remove_one", "replace_one",
        "general", "monotone", "l1", or "local" for the randomiser of one person.
      claim: for a function: epsilon, or a guarantee whose curve is claimed, in the forms of
        ``release``; the name of a setting; or a function of the settings.
      data: for a function: an example of its input, from which pairs are proposed.
      repetitions: for a function: the law of K, or its text; what is audited is the best of K
        runs by the first number of their outcomes, against the account of ``claim``, which is
        then that of one run.
      seconds, settings, kind, call_seconds, sequential, bits, curve: for a function: see
        ``auditing.functions.audit_function``.

    Returns:
      What was seen, which prints.

    Raises:
      InputError: for bad input; a mechanism whose draws are too coarse for this many trials;
        trials that are not independent.
    """
    of_functions = {
        "relation": relation,
        "claim": claim,
        "data": data,
        "seconds": seconds,
        "settings": settings,
        "kind": kind,
        "call_seconds": call_seconds,
        "sequential": sequential,
        "repetitions": repetitions,
        "bits": bits,
        "curve": curve,
    }
    of_mechanisms = {"method": method, "performance": performance}
    if is_function(subject):
        _refuse(of_mechanisms, "a function")
        if relation is None or claim is None:
            raise InputError(
                "a function is audited for a relation and a claim; give both, for example "
                'relation="replace_one", claim=1.0'
            )
        if isinstance(pair, str):
            raise InputError(f"pair is {pair!r}; for a function it is two inputs")
        return function_audit(
            subject,
            pair=None if pair is None else (pair[0], pair[1]),
            trials=trials,
            delta=delta,
            false_alarm=1.0 - confidence,
            seed=seed,
            progress=progress,
            **of_functions,
        )
    from jaxsel.auditing.audit import audit as audit_mechanism

    _refuse(of_functions, "a mechanism")
    if isinstance(pair, tuple) and not isinstance(pair, Pair):
        raise InputError("pair is two inputs; a mechanism's is a Pair, with its relation")
    of_mechanisms["progress"] = progress
    given = {name: value for name, value in of_mechanisms.items() if value is not None}
    return audit_mechanism(
        subject, pair, trials=trials, delta=delta, confidence=confidence, seed=seed, **given
    )


def function_audit(
    subject: Any,
    *,
    claim: Any,
    delta: float = 0.0,
    settings: Mapping[str, Any] | None = None,
    kind: str | None = None,
    repetitions: Any = None,
    **options: Any,
) -> "FunctionAudit":
    """``audit_function`` for a claim in any of its forms: see ``audit_claims.claims_of``.

    Args:
      repetitions: the law of K, or its text: then the best of K runs is audited, the claim is
        that of one run, and what is put to the test is the account of the search.
    """
    # Help texts are read without SciPy.
    from jaxsel.auditing.functions.audit_function import audit_function
    from jaxsel.questions.audit_claims import claim_words, claims_of, claims_of_search

    settings, subject = settings or {}, load(subject, kind)
    subject.check_settings(settings)
    # A claim may be a setting that is at its default.
    every = subject.defaults() | dict(settings)
    if repetitions is None:
        claims = claims_of(claim, delta, every)
        said = claim_words(claim, delta, every)
    else:
        from jaxsel.auditing.functions.best_of import best_of
        from jaxsel.repetitions import as_law, quantile_table

        claims, said = claims_of_search(claim, delta, every, repetitions)
        table = quantile_table(as_law(repetitions))
        subject, settings = best_of(subject, *table, settings)
    return audit_function(
        subject, claims=claims, said=said, settings=settings, kind=kind, **options
    )


def _refuse(options: Mapping[str, Any], what: str) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise InputError(f"{', '.join(given)} cannot be given for {what}")
