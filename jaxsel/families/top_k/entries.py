"""Private top-k sets by name: settings, neighbours that differ in one user, guarantees."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxsel.families.top_k.confident_laws import confident_settings
from jaxsel.families.top_k.curves import SELECTION_NOISES, TEST_NOISES
from jaxsel.families.top_k.laws import BEYOND, EVENTS, descending
from jaxsel.families.top_k.limits import LEAST_PROBABILITY, MAX_COUNT, SCALES
from jaxsel.language.base import Mechanism, Pair, Relation
from jaxsel.language.domains import Domain, choice, number, numbers, positive, probability, whole
from jaxsel.language.entry import Built, Guarantee, MechanismEntry, Values, guarantee, no_guarantee
from jaxsel.language.utility import Utility, of_sets

_HISTOGRAM = numbers(
    "counts of the candidates", at_least=0.0, at_most=MAX_COUNT, size=3, default="6,5,5,2,1"
)
_EVENTS = choice(EVENTS, "what is tallied; sets of at most 12 candidates", default="sets")
_PRECISION = choice(("tail", "float64"), "of the draws", default="tail")
_K = whole("size of the set", at_least=1, at_most=1e9, default=2)
_DELTA_T = probability("failure probability of the test", default=0.05)
_MAX_SIZE = whole("largest size that may be selected", at_least=1)
_SELECTION = choice(SELECTION_NOISES, "noise that selects the size", default="gumbel")
_TEST = choice(TEST_NOISES, "noise of the test", default="gaussian")
_THRESHOLD = choice(
    ("printed", "quantile"), "of the test; the quantile is smaller", default="printed"
)
_ARRIVALS = "how trials are drawn; arrivals with events=hits alone"
_HOW = "how trials are drawn"
_RHO, _EPSILON = 0.5, 1.0  # unless a scale of noise is given
_ONE_METHOD = choice(("literal", "law"), _HOW, default="literal")
_GAP_METHOD = choice(("grouped", "literal", "law"), _HOW, default="grouped")


def _scale(help: str, *, default: float | None = None) -> Domain:
    low, high = SCALES
    return number(help, at_least=low, at_most=high, default=default)


def _chance(help: str, *, default: float) -> Domain:
    return number(help, above=LEAST_PROBABILITY, below=1.0, default=default)


def _given(values: Values, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _votes(values: Values) -> dict[str, np.ndarray]:
    """The histogram with one more user, who votes for few."""
    counts = values["histogram"]
    ranks = descending(counts)
    found = {}
    last = ranks.size - min(values.get("k", 2), ranks.size - 1)
    voted = {
        "second": [1],
        "third": [2],
        "first-third": [0, 2],
        "last": list(range(last, ranks.size)),
    }
    for name, chosen in voted.items():
        found[name] = counts.copy()
        found[name][ranks[chosen]] += 1.0
    return found


_WHY = {
    "second": "one more vote, for the second candidate: ties and top sets change",
    "third": "one more vote, for the third candidate: one gap grows, another shrinks",
    "first-third": "votes for the first and the third: gaps move in turn",
    "last": "votes for the last k: all of an unlikely set gain at once",
}


def _entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    settings: Mapping[str, Domain],
    make: Callable[..., Mechanism],
    chosen: tuple[str, ...],
    params: Callable[[Values], dict[str, Any]],
    promise: Callable[[Values, Pair], Guarantee | None] = no_guarantee,
    broken: bool = False,
    *,
    generic: Values,
) -> MechanismEntry:
    """An entry on histograms.

    Args:
      chosen: settings of the factory ``make``, in addition to precision.
      params: values -> parameters of the mechanism.
    """

    def build(values: Values) -> Built:
        mechanism = make(**_given(values, (*chosen, "precision")))
        return Built(mechanism, values["histogram"], params(values))

    def pairs(values: Values) -> tuple[Pair, ...]:
        sides = _votes(values)
        counts, given = values["histogram"], params(values)
        return tuple(
            Pair(key, counts, sides[key], Relation.MONOTONE, given, why)
            for key, why in _WHY.items()
        )

    def utility(values: Values, labels: tuple[str, ...]) -> Utility:
        return of_sets(values["histogram"], labels, values.get("k"))

    shown = {"histogram": _HISTOGRAM, **settings, "precision": _PRECISION}
    return MechanismEntry(
        name, ids, summary, broken, shown, build, pairs, promise, generic, utility
    )


def _params(*names: str) -> Callable[[Values], dict[str, Any]]:
    return lambda values: _given(values, names)


# --- Sizes ----------------------------------------------------------------------------


def _gap_params(values: Values) -> dict[str, Any]:
    noise = _given(values, ("epsilon", "noise_scale")) or {"epsilon": _EPSILON}
    return noise | _given(values, ("max_size",))


def _make_largest_gap(**settings: str) -> Mechanism:
    from jaxsel.families.top_k.noisy_gaps import largest_gap

    return largest_gap(**settings)


def _gap_guarantee(values: Values, pair: Pair) -> Guarantee | None:
    """From what is asked for, not from the noise that is drawn for it."""
    del pair
    noise, params = values["noise"], _gap_params(values)
    if noise == "gaussian":
        return None
    epsilon = params["epsilon"] if "epsilon" in params else 2.0 / params["noise_scale"]
    if noise == "gumbel":
        return guarantee("ZW-Prop7-pure", epsilon=epsilon)
    return guarantee(f"NM-{noise}-general", noise_scale=2.0 / epsilon)


_LARGEST_GAP = _entry(
    "largest_gap",
    ("ZW-Alg1",),
    "Select the size of a top-k set where the noisy gap is largest (Zhu & Wang 2022, Algorithm 1).",
    {
        "noise": _SELECTION,
        "epsilon": positive(f"sets the noise scale to 2/epsilon (default {_EPSILON:g})"),
        "noise_scale": _scale("noise scale, instead of epsilon; the one for gaussian"),
        "max_size": _MAX_SIZE,
        "method": _GAP_METHOD,
    },
    _make_largest_gap,
    ("noise", "method"),
    _gap_params,
    _gap_guarantee,
    generic={"histogram": "5,5,3,3,0", "noise": "laplace", "epsilon": 0.7, "max_size": 3},
)


# --- Sets -----------------------------------------------------------------------------


def _stable_params(values: Values) -> dict[str, Any]:
    noise = _given(values, ("rho", "selection_scale", "test_scale"))
    return (noise or {"rho": _RHO}) | _given(values, ("delta_t", "max_size"))


def _make_stable(**settings: str) -> Mechanism:
    from jaxsel.families.top_k.stable import stable_top_k

    return stable_top_k(**settings)


_STABLE = _entry(
    "stable_top_k",
    ("ZW-Alg2", "ZW-Ex14"),
    "Select a size by noisy gaps and release its top set if the gap passes a test "
    "(StableTopK; Zhu & Wang 2022, Algorithm 2).",
    {
        "rho": positive(f"sets both noise scales to 1/sqrt(rho) (default {_RHO})"),
        "selection_scale": _scale("scale of the selecting noise, instead of rho"),
        "test_scale": _scale("scale of the testing noise, instead of rho"),
        "delta_t": _DELTA_T,
        "selection": _SELECTION,
        "test": _TEST,
        "threshold": _THRESHOLD,
        "max_size": _MAX_SIZE,
        "events": _EVENTS,
        "method": _GAP_METHOD,
    },
    _make_stable,
    ("selection", "test", "threshold", "events", "method"),
    _stable_params,
    generic={
        "histogram": "9,9,3,3,0",
        "selection": "gaussian",
        "test": "laplace",
        "selection_scale": 3.5,
        "test_scale": 1.4,
        "delta_t": 0.2,
        "threshold": "quantile",
        "max_size": 3,
    },
)


def _make_test(**settings: str) -> Mechanism:
    from jaxsel.families.top_k.stable import propose_test_release

    return propose_test_release(**settings)


_TEST_RELEASE = _entry(
    "propose_test_release",
    ("ZW-Alg4", "ZW-Alg5"),
    "Release the top set of a given size if its gap passes a noisy test (Zhu & Wang "
    "2022, Algorithms 4 and 5).",
    {
        "k": _K,
        "test": choice(TEST_NOISES, "gaussian: Algorithm 4; laplace: 5", default="gaussian"),
        "noise_scale": _scale("standard deviation, or Laplace scale", default=1),
        "delta_t": _DELTA_T,
        "threshold": _THRESHOLD,
        "events": _EVENTS,
        "method": _ONE_METHOD,
    },
    _make_test,
    ("test", "threshold", "events"),
    _params("k", "noise_scale", "delta_t"),
    generic={
        "histogram": "5,5,5,3,0",
        "k": 3,
        "test": "laplace",
        "noise_scale": 1.4,
        "delta_t": 0.2,
        "threshold": "quantile",
    },
)


def _make_fixed(**settings: str) -> Mechanism:
    from jaxsel.families.top_k.fixed import fixed_top_k

    return fixed_top_k(**settings)


_FIXED = _entry(
    "fixed_top_k",
    ("ZW-Alg3",),
    "StableTopK for a given k: exponential mechanisms fill up, choose within or replace "
    "the tested set (Zhu & Wang 2022, Algorithm 3).",
    {
        "k": _K,
        "rho": positive("zCDP parameter", default=_RHO),
        "delta_t": _DELTA_T,
        "weight": number("lambda of the regulariser -lambda |j - k|", at_least=0.0, default=0),
        "beyond": choice(BEYOND, "what a larger set that passes is for", default="fewer"),
        "max_size": _MAX_SIZE,
        "events": _EVENTS,
        "method": choice(("literal", "arrivals", "law"), _ARRIVALS, default="literal"),
    },
    _make_fixed,
    ("beyond", "events", "method"),
    _params("k", "rho", "delta_t", "weight", "max_size"),
    generic={
        "histogram": "5,5,3,3,0",
        "k": 3,
        "rho": 0.3,
        "delta_t": 0.2,
        "weight": 0.7,
        "beyond": "drop",
    },
)


# --- Baselines ------------------------------------------------------------------------


def _exponential_params(values: Values) -> dict[str, Any]:
    noise = _given(values, ("rho", "noise_scale")) or {"rho": _RHO}
    return {"k": values["k"]} | noise


def _make_exponential(**settings: str) -> Mechanism:
    from jaxsel.families.top_k.exponential import exponential_top_k

    return exponential_top_k(**settings)


def _exponential_guarantee(values: Values, pair: Pair) -> Guarantee:
    """From what is asked for, not from the noise that is drawn for it."""
    del pair
    params = _exponential_params(values)
    if "rho" not in params:
        return guarantee("BASE-EM-pure", **params)
    return guarantee("BASE-EM-rho-pure", **params, changes=values["relation"])


_EXPONENTIAL = _entry(
    "exponential_top_k",
    ("EM-CDP",),
    "Pick k candidates by exponential mechanisms, in one shot of Gumbel noise (EM-CDP).",
    {
        "k": _K,
        "rho": positive(f"zCDP parameter of all picks; sets the noise (default {_RHO})"),
        "noise_scale": _scale("Gumbel scale, instead of rho"),
        "relation": choice(("monotone", "general"), "how counts may change", default="monotone"),
        "events": _EVENTS,
        "method": choice(("one_shot", "peeling", "arrivals", "law"), _ARRIVALS, default="one_shot"),
    },
    _make_exponential,
    ("relation", "events", "method"),
    _exponential_params,
    _exponential_guarantee,
    generic={"histogram": "5,5,3,3,0", "k": 3, "rho": 0.3, "relation": "general"},
)


def _make_limited(**settings: str) -> Mechanism:
    from jaxsel.families.top_k.limited_domain import limited_domain

    return limited_domain(**settings)


_LIMITED = _entry(
    "limited_domain",
    ("LD",),
    "Pick among the largest counts those above a noisy threshold, at most k (Durfee & "
    "Rogers 2019).",
    {
        "k": _K,
        "epsilon": positive("privacy parameter of a pick", default=1),
        "delta": probability("of the restriction to the largest counts", default=0.05),
        "domain": whole("how many counts compete (default k)", at_least=1),
        "events": _EVENTS,
        "method": _ONE_METHOD,
    },
    _make_limited,
    ("events",),
    _params("k", "epsilon", "delta", "domain"),
    generic={"histogram": "5,5,3,3,0", "k": 3, "epsilon": 0.7, "delta": 0.02, "domain": 4},
)


def _top_stable_entry(
    name: str, ids: tuple[str, ...], summary: str, quirks: bool
) -> MechanismEntry:
    def make(**settings: str) -> Mechanism:
        from jaxsel.families.top_k.top_stable import top_stable_sets

        return top_stable_sets(reference_quirks=quirks, **settings)

    return _entry(
        name,
        ids,
        summary,
        {
            "k": _K,
            "epsilon": positive("privacy parameter", default=3),
            "delta": _chance("of the whole", default=0.05),
            "events": _EVENTS,
            "method": _ONE_METHOD,
        },
        make,
        ("events",),
        _params("k", "epsilon", "delta"),
        broken=quirks,
        generic={"histogram": "5,5,3,3,0", "k": 3, "epsilon": 1.7, "delta": 0.02},
    )


_TOP_STABLE = _top_stable_entry(
    "top_stable",
    ("TS",),
    "Test the gaps at k, k - 1, ..., 1 and release the first stable set (Carvalho et al. 2020).",
    False,
)
_TOP_STABLE_CODE = _top_stable_entry(
    "top_stable_published_code",
    ("TS-code",),
    "BROKEN: Top Stable that reads each gap one place too low, as in its authors' code; "
    "a set may change where the gap it reads is large.",
    True,
)


# --- Labels ---------------------------------------------------------------------------

_label_params = _params("noise_scale", "threshold")


def _make_labels(values: Values) -> Built:
    from jaxsel.families.top_k.pate import noisy_labels

    mechanism = noisy_labels(**_given(values, ("events", "precision")))
    return Built(mechanism, _labels_data(values), _label_params(values))


def _labels_data(values: Values) -> dict[str, np.ndarray]:
    votes = values["votes"]
    return {"votes": votes, "truth": votes > votes.mean()}


def _labels_pairs(values: Values) -> tuple[Pair, ...]:
    data = _labels_data(values)
    more = data | {"votes": data["votes"] + 1.0}
    why = "one more teacher, who votes for every label"
    relation, params = Relation.MONOTONE, _label_params(values)
    return (Pair("all-labels", data, more, relation, params, why),)


_LABELS = MechanismEntry(
    "noisy_labels",
    ("PATE-multi-label",),
    "Release every label whose noisy votes exceed a threshold (PATE on many labels).",
    False,
    {
        "votes": numbers(
            "votes of the teachers for each label",
            at_least=0.0,
            at_most=MAX_COUNT,
            default="6,5,2,1",
        ),
        "threshold": number("in votes", above=-MAX_COUNT, below=MAX_COUNT, default=4),
        "noise_scale": _scale("standard deviation of the noise, in votes", default=2),
        "events": _EVENTS,
        "precision": _PRECISION,
        "method": _ONE_METHOD,
    },
    _make_labels,
    _labels_pairs,
    generic={"votes": "5,5,3,3", "threshold": 3.5, "noise_scale": 1.4},
)


# --- High confidence ------------------------------------------------------------------

_confident_params = _params("k", "epsilon", "delta", "beta")


def _make_confident(values: Values) -> Built:
    from jaxsel.families.top_k.confident_top_k import confident_top_k

    mechanism = confident_top_k(**_given(values, ("events", "settings")))
    return Built(mechanism, values["scores"], _confident_params(values))


def _confident_pairs(values: Values) -> tuple[Pair, ...]:
    scores, params = values["scores"], _confident_params(values)
    top = np.zeros(scores.size)
    top[descending(scores)[: values["k"]]] = 1.0
    return (
        Pair(
            "opposed",
            scores,
            scores + 1.0 - 2.0 * top,
            Relation.GENERAL,
            params,
            "the gap of the best set moves by 2, and every round against the best",
        ),
        Pair("top", scores, scores + top, Relation.MONOTONE, params, "the best gain on all others"),
    )


def _confident_guarantee(values: Values, pair: Pair) -> Guarantee | None:
    """Pure where k rounds fit into epsilon/6 by adding up."""
    del pair
    params = _confident_params(values)
    if values["settings"] == "printed" or not confident_settings(**params).pure:
        return None
    return guarantee("CL-Thm6-pure", epsilon=values["epsilon"])


_CONFIDENT = MechanismEntry(
    "confident_top_k",
    ("CL-Thm6",),
    "Draw several top-k sets by exponential mechanisms and release that of the "
    "smallest noisy gap (Cohen et al. 2022, Theorem 6).",
    False,
    {
        "scores": numbers(
            "each moves by at most 1",
            at_least=-MAX_COUNT,
            at_most=MAX_COUNT,
            size=2,
            default="3,2,1,0",
        ),
        "k": _K,
        "epsilon": _scale("of the whole release", default=1),
        "delta": _chance("of the whole release", default=1e-6),
        "beta": _chance("chance of failure", default=0.9),
        "events": _EVENTS,
        "settings": choice(
            ("corrected", "printed"), "printed has too little noise", default="corrected"
        ),
        "method": _ONE_METHOD,
    },
    _make_confident,
    _confident_pairs,
    _confident_guarantee,
    generic={"scores": "4,4,1,0", "k": 3, "epsilon": 20.0, "delta": 0.0001, "beta": 0.5},
    utility=lambda values, labels: of_sets(values["scores"], labels, values["k"]),
)

ENTRIES: tuple[MechanismEntry, ...] = (
    _LARGEST_GAP,
    _STABLE,
    _FIXED,
    _TEST_RELEASE,
    _EXPONENTIAL,
    _LIMITED,
    _TOP_STABLE,
    _TOP_STABLE_CODE,
    _LABELS,
    _CONFIDENT,
)
