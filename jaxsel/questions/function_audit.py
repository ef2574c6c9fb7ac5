"""audit_function: does anybody's function keep its privacy claim?"""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jaxsel.auditing.functions.audited_function import load
from jaxsel.auditing.functions.how import How, read, reads_former
from jaxsel.host.errors import check_interval
from jaxsel.language.relations import Relation

if TYPE_CHECKING:
    from jaxsel.auditing.functions.audit_function import FunctionAudit


@reads_former("data", "pair", *(one.name for one in dataclasses.fields(How)))
def audit_function(
    subject: Any,
    *data: Any,
    relation: str | Relation,
    claim: Any,
    delta: float = 0.0,
    trials: int = 1_000_000,
    confidence: float = 0.95,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    how: Any = None,
) -> "FunctionAudit":
    """Looks for two neighbouring inputs and an event that refute what a function claims.

    The function is called as it is. A pair and an event are searched on one half of the trials;
    a lower bound on epsilon comes from the other half, by exact limits of the event's two
    probabilities (``auditing.event_limits``), so that a function that keeps its claim is refuted
    with probability at most 1 - confidence, whatever the search did.

    Args:
      subject: ``f(rng, data, n)``, which returns n outcomes; ``f(rng, data)``; ``f(data)``;
        ``f(key, data)`` with a key of jax.random; "path/to/file.py:name"; or an object that is
        called: a measurement of OpenDP, a mechanism of diffprivlib, a method of any other.
      data: two neighbours; or an example of the input, whose length and range the proposed
        pairs keep; or nothing, which is five scores, or eight records of 0 and 1.
      relation: in what sense inputs are neighbours: "add_or_remove_one", "replace_one",
        "general", "monotone", "l1", or "local" for the randomiser of one person.
      claim: epsilon; a guarantee whose whole curve is claimed, in the forms of
        ``jaxsel.release`` ("zcdp:rho=0.5"); the name of a setting, whose value is epsilon; or a
        function of the settings that returns one of these.
      delta: at which epsilon is claimed.
      trials: on each side, the search included.
      confidence: the bound exceeds the truth with probability at most 1 - confidence.
      seed: of the randomness that is handed to the function; equal seeds have equal verdicts
        unless time ends the audit, or makes its calls shorter, or the function has randomness
        of its own.
      settings: parameters of the function that have defaults, by name.
      how: how it is called and what is looked for, as a text such as "bits,seconds=10", or a
        ``jaxsel.auditing.functions.how.How``, which lists what there is.

    Returns:
      What was seen, which prints.

    Raises:
      InputError: for bad input, a pair that is none, a file that cannot be imported, or trials
        that are not independent.

    Example:
        >>> import jaxsel
        >>> def half_the_noise(rng, data, n):
        ...     return sum(data) + rng.laplace(scale=0.5, size=n)
        >>> claimed = {"relation": "replace_one", "claim": 1.0, "trials": 4000}
        >>> found = jaxsel.audit_function(half_the_noise, [0, 1, 1], [0, 0, 1], **claimed)
        >>> found.refuted, found.lower > 1.0
        (True, True)
    """
    return function_audit(
        subject,
        *data,
        relation=relation,
        claim=claim,
        delta=delta,
        trials=trials,
        false_alarm=1.0 - check_interval("confidence", confidence, 0.0, 1.0),
        seed=seed,
        settings=settings,
        how=how,
    )


def function_audit(
    subject: Any,
    *data: Any,
    claim: Any,
    delta: float = 0.0,
    settings: Mapping[str, Any] | None = None,
    how: Any = None,
    **options: Any,
) -> "FunctionAudit":
    """``search_and_bound`` for a claim in any of its forms: see ``audit_claims.claims_of``."""
    # Help texts are read without SciPy.
    from jaxsel.auditing.functions.audit_function import search_and_bound
    from jaxsel.questions.audit_claims import claim_words, claims_of, claims_of_search

    how = read(How, how)
    settings, subject = settings or {}, load(subject, how.kind)
    subject.check_settings(settings)
    # A claim may be a setting that is at its default.
    every = subject.defaults() | dict(settings)
    if how.repetitions is None:
        claims = claims_of(claim, delta, every)
        said = claim_words(claim, delta, every)
    else:
        from jaxsel.auditing.functions.best_of import best_of
        from jaxsel.repetitions import as_law, quantile_table

        claims, said = claims_of_search(claim, delta, every, how.repetitions)
        table = quantile_table(as_law(how.repetitions))
        subject, settings = best_of(subject, *table, settings)
    return search_and_bound(
        subject, *data, claims=claims, said=said, settings=settings, how=how, **options
    )
