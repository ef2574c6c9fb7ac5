"""Claims on the (epsilon, delta) that a search states, checked by audits and by exact values."""

import functools
from typing import TYPE_CHECKING, Annotated

from jaxsel.families.private_training.claims.searches import searched
from jaxsel.language.base import Relation
from jaxsel.language.checking import CONFIDENCE
from jaxsel.language.domains import number
from jaxsel.language.papers import JX

if TYPE_CHECKING:
    from jaxsel.training.search_plan import SearchPlan

Delta = Annotated[float, number("of the search", at_least=1e-9, at_most=0.1)]


@JX.privacy("JX-Search-privacy", "a whole small search as it runs", Relation.BASE)
def small(*, delta: Delta = 1e-2) -> float:
    """The release of a search's winner (its candidate, noisy score and network) is (epsilon,
    delta)-DP, with the epsilon that the search states, for a person of the training part and for
    one of the validation part.

    Returns the epsilon that the small search states at delta.
    """
    return _stated_by_small(delta)


@functools.cache
def _stated_by_small(delta: float) -> float:
    """Cached, since the check asks for it once for each kind of evidence."""
    from jaxsel.families.private_training.small_search import plan

    return _stated(plan(delta=delta))


@small.bounds()
def small_cases(budget):
    from jaxsel.accounting.single_run import curves
    from jaxsel.families.private_training.small_search import DELTA, plan, sums
    from jaxsel.training.audits import many_run_bound
    from jaxsel.tuning.attained.attained_epsilon import attained_epsilon

    # The noise on scores is chosen so that a score costs as much as training. A costly ranking
    # of the validation part therefore says something of both.
    base, law = curves.discrete_gaussian(plan().score_noise), plan().repetitions
    attained = attained_epsilon(base, law, DELTA)
    yield {"delta": DELTA}, attained, "exact, of a costly ranking, validation part"
    parts = {
        "training": ("canary", "nobody", sums),
        "validation": ("right", "wrong", lambda found: found.score),
    }
    confidence = 1.0 - (1.0 - CONFIDENCE) / len(parts)
    for part, (present, absent, look) in parts.items():
        both = (searched(kind, budget) for kind in (present, absent))
        # K is at least 1 here, so that every search has a winner.
        first, second = (look(found)[found.winner] for found in both)
        bound = many_run_bound(
            first, second, delta=DELTA, confidence=confidence, entropy=budget.seed
        )
        text = f"audited, a person of the {part} part, counts {bound.counts}"
        yield {"delta": DELTA}, bound.lower, text


def _stated(plan: "SearchPlan") -> float:
    """The epsilon that a search with this plan states at its delta."""
    from jaxsel.search.tune import private_search

    return private_search(plan).guarantee.epsilon


@functools.cache
def _default_plan(delta: float) -> "SearchPlan":
    """The plan of ``jaxsel tune`` with its default settings, but with this delta."""
    from jaxsel import repetitions
    from jaxsel.training import defaults
    from jaxsel.training.search_plan import plan_search, read_numbers, read_rates

    return plan_search(
        examples=defaults.EXAMPLES,
        rates=read_rates(defaults.LEARNING_RATES),
        noise_multipliers=read_numbers("noise-multipliers", defaults.NOISE_MULTIPLIERS),
        clip_norms=read_numbers("clip-norms", defaults.CLIP_NORMS),
        batch_sizes=read_numbers("batch-sizes", defaults.BATCH_SIZES),
        epochs=defaults.EPOCHS,
        repetitions=repetitions.parse(defaults.REPETITIONS),
        delta=delta,
    )


@JX.privacy("JX-Tune-shipped", "jaxsel tune with its default settings", Relation.BASE)
def shipped(*, delta: Delta = 1e-5) -> float:
    """The default search of jaxsel tune on the 1,437 digits has the epsilon that it states: the
    exact epsilon of a costly ranking of its runs is no larger, for a person of the training part
    and for one of the validation part."""
    return _stated(_default_plan(delta))


@shipped.bounds()
def shipped_cases(budget):
    del budget
    from jaxsel.accounting.single_run import curves
    from jaxsel.accounting.single_run.events import dp_sgd
    from jaxsel.training.defaults import DELTA
    from jaxsel.tuning.attained.attained_epsilon import attained_epsilon

    plan = _default_plan(DELTA)
    setting = plan.candidates[0]
    bases = {
        "training": dp_sgd(
            noise_multiplier=setting.noise_multiplier,
            sampling_probability=setting.batch_size / plan.training_size,
            steps=setting.steps,
        ),
        "validation": curves.discrete_gaussian(plan.score_noise),
    }
    for part, base in bases.items():
        seen = attained_epsilon(base, plan.repetitions, DELTA)
        yield {"delta": DELTA}, seen, f"exact, of a costly ranking, {part} part"
