"""Every formula at the ends of its domains: at once a number, or a refusal in one sentence.

What is asked are all functions that declare the domains of their parameters (``factory``,
``validated``), all published claims and all mechanisms of the catalogue. Each parameter takes the
ends of its domain, what lies just inside and just outside, numbers whose reciprocals, squares or
exponentials are no float64, and values of wrong types, while the others keep their defaults; and
several parameters are at such values together. `make test` asks a share, drawn by the name of what
is asked; the test that asks all is marked ``rare``.
"""

import contextlib
import dataclasses
import functools
import importlib
import inspect
import math
import pkgutil
import resource
import signal
import typing
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

import jaxsel
from jaxsel import repetitions
from jaxsel.accounting.single_run import curves, pure_composition
from jaxsel.accounting.single_run.closed_forms import gaussian_renyi
from jaxsel.accounting.single_run.conversions import zcdp_rho, zcdp_to_epsilon
from jaxsel.accounting.single_run.pure_composition import composed_pure_epsilon
from jaxsel.accounting.single_run.truncated_laplace import truncated_laplace_delta
from jaxsel.catalogue import find_claim, mechanisms, published_claims
from jaxsel.families.multiplicative_weights import transfer
from jaxsel.families.ridge_regression import laws
from jaxsel.families.top_k import recall
from jaxsel.host.errors import InputError, on_one_line
from jaxsel.language.base import Relation, factory
from jaxsel.language.domains import Choice, Domain, Named, Number, Numbers, Whole
from jaxsel.language.entry import MechanismEntry
from jaxsel.language.signature import _declarations, validated


class Subject(NamedTuple):
    """What is asked: a function of values by name, their domains, and values that suit it."""

    name: str
    call: Callable[[Mapping[str, Any]], Any]
    domains: Mapping[str, Domain]
    usual: Mapping[str, Any]


# --- What is asked ---------------------------------------------------------------------

_DECORATED = {validated(lambda: 0).__code__, factory(lambda: 0).__code__}


def _modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(jaxsel.__path__, "jaxsel."):
        if not found.name.endswith("__main__"):
            try:
                yield importlib.import_module(found.name)
            except ModuleNotFoundError as error:  # of an optional library
                if str(error.name).startswith("jaxsel"):
                    raise


def _is_decorated(function: Any) -> bool:
    return getattr(function, "__code__", None) in _DECORATED


def _unchecked(function: Any) -> Any:
    """Without the wrappers by which the tests check the types of what runs on devices."""
    return inspect.unwrap(function, stop=_is_decorated) if inspect.isfunction(function) else None


@functools.cache
def decorated() -> Mapping[str, Callable[..., Any]]:
    """The functions that ``factory`` and ``validated`` decorate, by their full names."""
    found = {}
    for module in _modules():
        kept = [*vars(module).values()]
        for each in vars(module).values():
            kept += vars(each).values() if inspect.isclass(each) else ()
        for each in map(_unchecked, kept):
            if _is_decorated(each) and each.__module__ == module.__name__:
                found[f"{each.__module__}.{each.__qualname__}"] = each
    return found


@functools.cache
def _records() -> dict[str, Any]:
    """Values of parameters without a domain, by the names of their annotated classes."""
    return {
        "Repetitions": repetitions.geometric(0.2),
        "BaseGuarantee": curves.gaussian(4.0),
        "Generator": np.random.default_rng(0),
        "Relation": Relation.MONOTONE,
        "Line": laws.Line(2.0, 1.0, 30),
        "Accuracy": transfer.Accuracy(0.1, 0.05),
        "Groups": recall.group_counts([5, 3, 1], [True, False, False]),
    }


def _named() -> Mapping[str, Any]:
    """Values of parameters without a domain, by name: arrays, and functions of a base."""
    base = curves.gaussian(4.0)
    return {
        **dict.fromkeys(("scores", "gaps", "values", "votes"), np.array([3.0, 2.0, 1.0])),
        **dict.fromkeys(("levels", "shifts", "lead"), np.array([0.0, -1.0, -2.0])),
        **dict.fromkeys(("sensitivities", "smooth_sensitivities", "noise_scales"), (1.0, 1.0, 1.0)),
        **dict.fromkeys(("q_best_first", "probabilities", "weights", "shares"), (0.2, 0.3, 0.5)),
        **dict.fromkeys(("first", "p", "passing"), (0.2, 0.8)),
        **dict.fromkeys(("second", "q", "failing"), (0.3, 0.7)),
        **dict.fromkeys(("renyi", "base_renyi", "forward", "backward"), base.renyi),
        **dict.fromkeys(("profile", "delta_at"), base.profile),
        **dict.fromkeys(("order", "second_order", "gap"), 4.0),
        **dict.fromkeys(("epsilon", "second_epsilon", "scale", "test_scale"), 1.0),
        **dict.fromkeys(("x", "top", "winner"), 0.3),
        **dict.fromkeys(("delta", "middle", "sample_tail", "delta_t", "loser"), 1e-3),
        **dict.fromkeys(("queries", "dimension", "candidates", "times"), 5),
        **dict.fromkeys(("bit", "picks", "part"), 1),
        "biases": (0.2, 0.6),
        "histogram": (5, 3, 1),
        "tradeoff": base.tradeoff,
        "good": 0.1,
        "others": 0.2,
        "query_units": 2.0,
        "edges": np.array([0.0, 1.0]),
        "batch_size": 4.0,
        "features": np.array([[0.1, 0.2], [0.3, 0.1]]),
        "noise": "gumbel",
        "dtype": np.float32,
        "noise_scale": 2.0,
        "selection": (0.5, 0.5),
        "peel_scale": lambda picks: 2.0,
        "data": (2.0, 1.0),
        "params": {"epsilon": 1.0, "draws": 2},
    }


# By the end of a function's full name: values of parameters that have no default.
_USUAL: Mapping[str, Mapping[str, Any]] = {
    "events.dp_sgd": {"noise_multiplier": 1.0, "sampling_probability": 0.1, "steps": 5},
    "laws.amplified_law_of_different": {"probabilities": ((0.5, 0.5),), "weights": (0.2, 0.3)},
    "laws.clipped_scores": {"rank": 1},
    "smooth_sensitivity.median_smooth_sensitivity": {"high": 4.0},
    "settings.repetitive": {"queries": 20, "beta": 0.1, "delta": 1e-6, "rows": 1e6},
    "settings.repetitive_plan": {"queries": 20, "beta": 0.1},
    "settings.repetitive_rows": {"queries": 20, "beta": 0.1, "delta": 1e-6},
    "score_percentile_laws.rank_range": {"rank": 2},
    "baseline_settings.balanced_precision": {"regularisation": 10.0},
    "laws.threshold_law": {"accepted": 2},
    "baseline_laws.limited_domain_law": {"k": 1, "domain": 2},
    "baseline_laws.top_stable_law": {"k": 1},
    "confident_laws.peeling_lead": {"candidates": 5, "k": 2},
    "confident_laws.confident_lead": {"candidates": 5},
    "laws.fixed_top_k_law": {"k": 1},
    "recall.hit_law": {"k": 1},
    "objective_perturbation.check_intercept": {"feature_norm": 2.0},
    "objective_perturbation.with_intercept": {"norm": 2.0},
    "random_stopping.hard_stop_excess": {"steps": 20},
    "negative_binomial.negative_binomial_renyi": {"gamma": 0.2},
}

# These take data, programs or solved programs, which their own tests build.
_UNASKED = {
    "families.choosing.choosing._level_groups",
    "families.choosing.choosing.noisy_selection",
    "families.choosing.laws.needed_lead",
    "families.noisy_max.subsampled_exponential_laws.read_input",
    "families.ridge_regression.settings.run_guarantee",
    "families.ridge_regression.tuned.tuned_guarantee",
    "families.score_selection.stopping.candidate_stopping",
    "families.selection_and_test.program.program",
    "families.top_k.arrivals.plan_races",
    "families.top_k.calibration.calibrate",
    "families.top_k.noisy_gaps.gap_contest",
    "families.top_k.release.mask_codes",
    "families.top_k.votes.scaled_votes",
    "training.audits.one_run_audit",
    "training.canaries.canary_scores",
    "training.objective_privacy.noise_for",
    "training.search_plan.plan_search",
    "tuning.bounds.envelope.envelope_epsilon",
    "tuning.bounds.priced_envelope.priced_delta",
    "tuning.bounds.priced_envelope.priced_epsilon",
    "tuning.composing_searches.compose_searches",
    "tuning.composing_searches.compose_searches_delta",
    "tuning.planning.optimal_law.optimal_law",
    "tuning.renyi_filter.RenyiFilter.epsilon_at",
    "tuning.renyi_filter.renyi_filter",
}


def _generic(domain: Domain) -> Iterator[Any]:
    """Values of a domain that are nothing special."""
    if isinstance(domain, Whole):
        low = int(domain.low) if math.isfinite(domain.low) else 0
        yield from (low + 3, low + 1, low)
    elif isinstance(domain, Numbers):
        yield from ((0.3, 0.2, 0.5), (3.0, 2.0, 1.0))
    elif isinstance(domain, Number):
        yield from (0.3, 0.1, 0.01, 2.0, 4.0, domain.low + 1e-6)
    elif isinstance(domain, Choice | Named):
        yield from domain.options


def _some(domain: Domain) -> Any:
    for value in _generic(domain):
        with contextlib.suppress(InputError):
            return domain.read("", value)
    raise AssertionError(f"no value of {domain} is known")


def _usual(name: str, function: Callable[..., Any]) -> dict[str, Any] | None:
    """A value for each parameter that has no default; None where a value is not known."""
    hints = typing.get_type_hints(function)
    declared, named = _declarations(function), _named()
    own = next((value for end, value in _USUAL.items() if name.endswith("." + end)), {})
    usual = {}
    for parameter in inspect.signature(function).parameters.values():
        kind = getattr(hints.get(parameter.name), "__name__", None)
        if parameter.name in own:
            usual[parameter.name] = own[parameter.name]
        elif parameter.default is not parameter.empty:
            continue
        elif parameter.name in declared:
            usual[parameter.name] = _some(declared[parameter.name].domain)
        elif kind in _records():
            usual[parameter.name] = _records()[kind]
        elif kind in _kinds(function):
            return None
        elif parameter.name in named:
            usual[parameter.name] = named[parameter.name]
        else:
            return None
    return usual


@functools.cache
def functions() -> Mapping[str, Subject]:
    """The decorated functions that are asked."""
    wanted = {kind for call in decorated().values() for kind in _kinds(inspect.unwrap(call))}
    found: dict[str, Subject] = {}
    for _ in range(3):  # what one returns is what another takes
        for name, call in decorated().items():
            function = inspect.unwrap(call)
            if name in found or name.removeprefix("jaxsel.") in _UNASKED:
                continue
            usual = _usual(name, function)
            if usual is None:
                continue
            domains = {key: each.domain for key, each in _declarations(function).items()}
            found[name] = Subject(name, functools.partial(_by_name, call), domains, usual)
            made = getattr(typing.get_type_hints(function).get("return"), "__name__", None)
            if made in wanted - _records().keys():
                _records()[made] = found[name].call(usual)
    return found


def _kinds(function: Callable[..., Any]) -> set[str]:
    """The classes of this package that a function takes, by name."""
    hints = [hint for name, hint in typing.get_type_hints(function).items() if name != "return"]
    return {
        each.__name__ for each in hints if str(getattr(each, "__module__", "")).startswith("jaxsel")
    }


def _by_name(call: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    return call(**values)


@functools.cache
def claims() -> Mapping[str, Subject]:
    """The published claims, by id."""
    return {
        claim.id: Subject(
            claim.id, functools.partial(_by_name, claim.evaluate), claim.parameters, {}
        )
        for claim in published_claims()
    }


@functools.cache
def entries() -> Mapping[str, Subject]:
    """The mechanisms of the catalogue, by name: what is known of each without drawing."""

    def known(entry: MechanismEntry, values: Mapping[str, Any]) -> Any:
        trial = entry.build(values)
        return [(pair, trial.guarantee(pair)) for pair in trial.pairs()]

    return {
        entry.name: Subject(entry.name, functools.partial(known, entry), entry.settings, {})
        for entry in mechanisms()
    }


# --- What they are asked ---------------------------------------------------------------

_PLAIN = (0.0, 1e-320, 1e-300, 1e-155, 1e-15, 1e-3, 0.5, 1.0, 30.0, 700.0, 1e4, 1e6, 1e15)
_PLAIN += (2**53 + 1, 1e155, 1e300, math.nan, math.inf, -math.inf, -1)
_LISTS = ("0,0", "1,1", "1e300,-1e300", "1e-320,0,0", "1e308,1e308", "0.5,0.5", "1,0")
_WRONG = ("x", "", True, b"1", 1j, (1, 2), np.arange(4.0).reshape(2, 2), object(), 10**400)
_WRONG += ("nan", "2,1", len, "1\n", 10**5000)


def ends(domain: Domain) -> list[Any]:
    """What a parameter is asked at, from all that its domain may admit and some that it refuses."""
    found: list[Any] = list(_PLAIN)
    if isinstance(domain, Number | Whole | Numbers):
        for end, inwards in ((domain.low, math.inf), (domain.high, -math.inf)):
            if math.isfinite(end):
                found += [end, math.nextafter(end, inwards), math.nextafter(end, -inwards)]
                found += [end + math.copysign(1.0, inwards)]
    if isinstance(domain, Whole):
        found += [2, 3, 100, *(int(each) for each in _PLAIN if math.isfinite(each))]
    if isinstance(domain, Choice | Named):
        found += domain.options
    if isinstance(domain, Numbers):
        found += _LISTS
    return found


def calls(subject: Subject, mixed: int) -> Iterator[dict[str, Any]]:
    """Each parameter alone at each value, and several together, drawn by the subject's name."""
    for name, domain in subject.domains.items():
        for value in (*ends(domain), *_WRONG):
            yield {name: value}
    generator = np.random.default_rng(zlib.crc32(subject.name.encode()))
    if len(subject.domains) < 2:
        return
    for _ in range(mixed):
        drawn = {}
        for name, domain in subject.domains.items():
            if generator.random() < 0.6:
                some = ends(domain)
                drawn[name] = some[generator.integers(len(some))]
        yield drawn


# --- What they answer ------------------------------------------------------------------

FINE, REFUSED = "fine", "refused"
# Seconds of the processor: no formula is worth a longer wait. Some that compose or search are.
LIMIT, DEAR_LIMIT = 10.0, 60.0
MEMORY = 2**32  # bytes


class _Late(BaseException):
    pass


def _late(*_: Any) -> typing.NoReturn:
    raise _Late


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Within so much time of the processor, and within so much more memory than is in use."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    former_memory = resource.getrlimit(resource.RLIMIT_AS)
    former = signal.signal(signal.SIGPROF, _late)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, former_memory[1]))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, former)
        resource.setrlimit(resource.RLIMIT_AS, former_memory)


def _holds_nan(value: Any) -> bool:
    """Whether an answer, or a part of it, is NaN; of laws and guarantees some values are asked."""
    if isinstance(value, repetitions.Repetitions):
        at = np.array([0.0, 1e-12, 0.3, 1.0])
        asked = (value.pgf(at), value.pgf_gap(at), value.log_pgf_derivative_tail(at))
        counts = np.array([0.0, 1.0, 5.0, 1e6])
        return _holds_nan((*value, *asked, value.pmf(counts), value.survival(counts)))
    if isinstance(value, curves.BaseGuarantee):
        asked = [value.renyi(np.array([1.0, 1.5, 64.0, math.inf]))]
        if value.profile is not None:
            asked.append(value.profile(np.array([0.0, 1.0, 50.0])))
        if value.tradeoff is not None:
            asked.append(value.tradeoff(np.array([0.0, 1e-9, 0.5, 1.0])))
        return _holds_nan(asked)
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, np.ndarray):
        # The beginning of a view that repeats itself, larger than memory, is all of it.
        some = value.reshape(-1)[:1000] if value.size < 1e6 else value[:1000]
        return value.dtype.kind == "f" and bool(np.isnan(some).any())
    if isinstance(value, tuple | list):
        return any(map(_holds_nan, value))
    if isinstance(value, Mapping):
        return any(map(_holds_nan, value.values()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(_holds_nan(vars(value).get(field.name)) for field in dataclasses.fields(value))
    return False


def answer(subject: Subject, given: Mapping[str, Any], limit: float = LIMIT) -> tuple[str, Any]:
    """What comes of a call: FINE with the answer, REFUSED with the sentence, or what is wrong."""
    try:
        with warnings.catch_warnings(), _limited(limit):
            warnings.simplefilter("error")
            value = subject.call({**subject.usual, **given})
            return ("NaN" if _holds_nan(value) else FINE), value
    except InputError as error:
        sentence = str(error)
        one = sentence.strip() and "\n" not in sentence and len(sentence) < 2000
        return (REFUSED if one else f"refused in lines: {sentence[:200]!r}"), sentence
    except _Late:
        return f"no answer in {limit:g} seconds of the processor", None
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}", error


# --- The tests -------------------------------------------------------------------------


# --- The tests -------------------------------------------------------------------------

KINDS = {"functions": functions, "claims": claims, "mechanisms": entries}
# So dear that a call may take seconds: asked by the test marked ``rare`` alone, and less.
_DEAR = frozenset(
    {
        "CL-Thm11",
        "CL-Thm12-accuracy",
        "JX-BetaBinomial",
        "JX-Compose-profiles",
        "JX-Compose-renyi",
        "JX-DP-SGD",
        "JX-Envelope",
        "JX-Envelope-attained",
        "JX-Envelope-tightest",
        "JX-ObjPert-gap",
        "JX-ObjPert-logistic",
        "JX-OptimalK",
        "JX-OptimalK-attained",
        "JX-OptimalK-lower",
        "JX-OptimalK-proven",
        "JX-Priced",
        "JX-Priced-attained",
        "JX-Priced-envelope",
        "JX-Pruning",
        "JX-Search-privacy",
        "JX-Tune-shipped",
        "KRW-Proc6.2",
        "KRW-Sec1-three-times",
        "KRW-Sec6.1-tighter",
        "KRW-Sec7-tight",
        "KRW-Thm3.2-groups",
        "KRW-Thm3.2-single",
        "KRW-Thm3.3-dominated",
        "PS-Alg0",
        "PS-Fig7-axis",
        "PS-Fig7-axis-at-delta",
        "PS-Fig8",
        "PS-Fig8-printed",
        "PS-Lem22",
        "PS-Lem22-printed",
        "PS-Lem7",
        "PS-Thm6",
        "ZW-EXP2b-noise",
        "accounting.single_run.curves.discrete_gaussian",
        "accounting.single_run.events.dp_sgd",
        "accounting.single_run.pairs.random_pure_pair",
        "families.multiplicative_weights.settings.repetitive",
        "families.noisy_max.composition_bounds.dominated_composition_delta",
        "families.noisy_max.composition_bounds.dominated_composition_epsilon",
        "families.noisy_max.group_bounds.group_delta",
        "families.noisy_max.group_bounds.group_epsilon",
        "families.noisy_max.group_bounds.single_pair",
        "families.noisy_max.group_bounds.worst_composed_group_pair",
        "families.noisy_max.group_bounds.worst_group_pair",
        "families.private_training.dp_sgd.dp_sgd",
        "families.private_training.laws.ratio_law",
        "families.query_release.repaired_answers.calibrated_median",
        "families.repetitive_sparse_vector.error_laws.needed_margin",
        "families.repetitive_sparse_vector.error_laws.tuned_settings",
        "families.repetitive_sparse_vector.settings.calibrated",
        "families.selection_and_test.laws.repeated_selection_law",
        "tuned_posterior_sampling",
        "tuning.accountant.proven_deltas",
        "tuning.accountant.proven_epsilons",
        "tuning.attained.adversarial_orders.adversarial_delta",
        "tuning.attained.adversarial_orders.adversarial_epsilon",
        "tuning.attained.attained_epsilon.attained_delta",
        "tuning.attained.attained_epsilon.attained_epsilon",
        "tuning.bounds.conditional.fitted_tight_conditional",
        "tuning.bounds.heterogeneous.largest_steps",
        "tuning.bounds.heterogeneous.subsampled_gaussian_profile",
        "tuning.bounds.released_search_budget.subsampled_gaussian_renyi",
        "tuning.bounds.released_search_budget.training_renyi",
        "tuning.bounds.slope_cover.slope_cover",
    }
)


def _wrong(subject: Subject, asked: Iterable[Mapping[str, Any]]) -> list[str]:
    """The calls whose answers are neither numbers nor refusals, once for each thing that is
    wrong."""
    found: dict[str, str] = {}
    for given in asked:
        dear = subject.name.removeprefix("jaxsel.") in _DEAR
        told, _ = answer(subject, given, DEAR_LIMIT if dear else LIMIT)
        if told not in (FINE, REFUSED):
            shown = ", ".join(f"{name}={on_one_line(value)}" for name, value in given.items())
            found.setdefault(told, f"{subject.name} at {shown}: {told}")
            if told.startswith("no answer"):
                break
    return [*found.values()]


def _drawn(subject: Subject, share: int, mixed: int) -> list[dict[str, Any]]:
    """So many of the calls, drawn by the subject's name."""
    generator = np.random.default_rng(zlib.crc32(subject.name.encode()))
    some = list(calls(subject, mixed))
    return [some[i] for i in generator.permutation(len(some))[:share]]


def test_every_function_of_declared_domains_is_asked():
    missing = {name.removeprefix("jaxsel.") for name in decorated().keys() - functions().keys()}
    assert missing == _UNASKED


@pytest.mark.parametrize("kind", KINDS)
def test_some_calls_at_the_ends_give_numbers_or_are_refused(kind):
    wrong = []
    for name, subject in KINDS[kind]().items():
        if name.removeprefix("jaxsel.") not in _DEAR:
            wrong += _wrong(subject, _drawn(subject, 50, 20))
    assert not wrong, "\n".join(wrong)


@pytest.mark.rare
@pytest.mark.parametrize("kind", KINDS)
def test_all_calls_at_the_ends_give_numbers_or_are_refused(kind):
    wrong = []
    for name, subject in KINDS[kind]().items():
        dear = name.removeprefix("jaxsel.") in _DEAR
        told, value = answer(subject, {}, DEAR_LIMIT if dear else LIMIT)
        assert told == FINE, f"{name} at its usual values: {told}, {value}"
        wrong += _wrong(subject, _drawn(subject, 6, 10) if dear else calls(subject, 30))
    assert not wrong, "\n".join(wrong)


# --- The mended formulas, by arithmetic of 60 digits -------------------------------------


def _exactly(function: Callable[[], Any]) -> float:
    with mpmath.workdps(60):
        return float(function())


def _near(found: float, exact: Callable[[], Any], tolerance: float = 1e-12) -> None:
    assert found == pytest.approx(_exactly(exact), rel=tolerance, abs=0.0)


@pytest.mark.parametrize("gamma", [1e-300, 1e-150, 1e-9, 3e-6])
def test_the_penalty_of_truncation_keeps_its_digits_at_rare_stops(gamma):
    for maximum in (1, 2, 20):

        def exact(m=maximum):
            g = mpmath.mpf(gamma)
            # P[K <= m], and the chance of two successes among m + 1 (both as sums).
            within = mpmath.fsum(g * (1 - g) ** k for k in range(m))
            kept = mpmath.fsum((k + 1) * g**2 * (1 - g) ** k for k in range(m))
            return -mpmath.log(within) / 2 - mpmath.log(kept)

        _near(find_claim("PS-Lem22-penalty")(order=3.0, gamma=gamma, maximum=maximum), exact)


@pytest.mark.parametrize(("eta", "gamma"), [(700.0, 0.2), (1e4, 0.2), (3.0, 1e-290), (0.5, 0.2)])
def test_the_mixture_keeps_its_digits_at_large_shapes(eta, gamma):
    def exact():
        e, g = mpmath.mpf(eta), mpmath.mpf(gamma)
        ways = mpmath.rf(e, 3) / mpmath.factorial(3)
        return ways * (1 - g) ** 3 * g**e / (1 - g**e)

    # Logarithms of about 10^4 log(1/gamma) lose as many digits.
    _near(find_claim("PS-A.2-mixture")(eta=eta, gamma=gamma, count=3), exact, 1e-10)


@pytest.mark.parametrize("noise", [1e-155, 1e-149, 0.3, 1e149, 1e155])
def test_the_renyi_curve_of_gaussian_noise_keeps_its_digits_where_squares_are_none(noise):
    exact = _exactly(lambda: 3 / (2 * mpmath.mpf(noise) ** 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = gaussian_renyi(3.0, noise)
    # Of the least floats few digits are left.
    assert found == exact or found == pytest.approx(exact, rel=1e-12, abs=1e-320)


@pytest.mark.parametrize("delta", [5e-324, 1e-320, 1e-300])
def test_conversions_of_zcdp_keep_their_digits_at_the_least_deltas(delta):
    def to_epsilon():
        return mpmath.mpf(0.3) + 2 * mpmath.sqrt(-mpmath.mpf(0.3) * mpmath.log(mpmath.mpf(delta)))

    def rho():
        length = -mpmath.log(mpmath.mpf(delta))
        return (mpmath.sqrt(length + 2) - mpmath.sqrt(length)) ** 2

    _near(zcdp_to_epsilon(0.3, delta), to_epsilon)
    _near(zcdp_rho(2.0, delta), rho)


def test_many_pure_releases_cost_no_less_than_their_worst_case(monkeypatch):
    """Beyond a million the bound is another, and above the exact one."""
    exact = {count: composed_pure_epsilon(0.01, count, 1e-6) for count in (10, 1000, 100_000)}
    monkeypatch.setattr(pure_composition, "_MOST_THRESHOLDS", 1)
    for count, least in exact.items():
        found = composed_pure_epsilon(0.01, count, 1e-6)
        assert least <= found <= 2.0 * least
    assert composed_pure_epsilon(1e-9, 2**53 + 1, 1e-6) < 1e-9 * 2**53


@pytest.mark.parametrize(("epsilon", "truncation"), [(50.0, 1e-3), (800.0, 1e-9), (1e4, 0.5)])
def test_truncated_laplace_noise_at_large_epsilons_is_what_lies_beyond(epsilon, truncation):
    """Only the outcomes count that one side alone has."""

    def exact():
        least, rate = mpmath.mpf(truncation), mpmath.mpf(epsilon)
        end = -mpmath.log(least) / rate
        if 1 - end >= end:
            return mpmath.mpf(1)
        tail = (mpmath.exp(-rate * abs(1 - end)) - least) / (2 * (1 - least))
        return tail if end > 1 else 1 - tail

    _near(truncated_laplace_delta(epsilon, truncation), exact)


@pytest.mark.parametrize("epsilon", [1e-15, 1e-9, 1e-3])
def test_the_rho_of_a_tiny_epsilon_keeps_its_digits(epsilon):
    def exact():
        length = -mpmath.log(mpmath.mpf(0.5e-6))
        rho = (mpmath.sqrt(length + mpmath.mpf(epsilon)) - mpmath.sqrt(length)) ** 2
        return mpmath.sqrt(10 / rho)

    claim = find_claim("ZW-EXP2a-calibration-StableTopK")
    # The roots cancel to 1e-6 just above where the other form is taken.
    _near(claim(epsilon=epsilon, delta=1e-6, days=10), exact, 1e-9)


@pytest.mark.parametrize("gamma", [1e-12, 1e-6, 1.0, 1e6, 1e9])
def test_the_beta_binomial_law_keeps_its_digits_at_the_ends_of_its_prior(gamma):
    law, count = repetitions.beta_binomial(7, gamma), 7

    def mass(k):
        g = mpmath.mpf(gamma)
        return mpmath.binomial(count, k) * g * mpmath.beta(k + g, count - k + 1)

    _near(law.mean, lambda: count * mpmath.mpf(gamma) / (1 + mpmath.mpf(gamma)))
    for k in (0, 1, 7):
        _near(float(law.pmf(k)), lambda k=k: mass(k), 1e-6)
    u = 0.3

    def gap():
        return 1 - mpmath.fsum(mass(k) * (1 - mpmath.mpf(u)) ** k for k in range(count + 1))

    # As its docstring says: about 1e-15/gamma, relatively.
    _near(float(law.pgf_gap(u)), gap, 1e-9 + 1e-14 / gamma)


def test_an_array_does_not_break_the_line_of_a_refusal():
    for refused in (
        lambda: gaussian_renyi(-np.ones((2, 2)), 1.0),
        lambda: repetitions.poisson(np.ones((2, 2))),
        lambda: find_claim("PS-Def1")(gamma=np.zeros((300, 300))),
    ):
        with pytest.raises(InputError) as caught:
            refused()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400
