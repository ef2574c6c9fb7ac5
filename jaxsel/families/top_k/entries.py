"""Private top-k sets of histograms by name, with neighbours that differ in one user."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxsel.base import Mechanism, Pair, Relation
from jaxsel.entry import Built, MechanismEntry, Settings
from jaxsel.errors import InputError, check_choice
from jaxsel.families.top_k.baselines import peel_scale
from jaxsel.families.top_k.exponential import exponential_top_k
from jaxsel.families.top_k.fixed import fixed_top_k
from jaxsel.families.top_k.laws import largest_gap_scale
from jaxsel.families.top_k.limited_domain import limited_domain
from jaxsel.families.top_k.noisy_gaps import largest_gap
from jaxsel.families.top_k.pate import noisy_labels
from jaxsel.families.top_k.stable import propose_test_release, stable_top_k
from jaxsel.families.top_k.top_stable import top_stable_sets
from jaxsel.options import Option, read_number, read_numbers

_HISTOGRAM = Option("6,5,5,2,1", "counts of the candidates, >= 0")
_EVENTS = Option("sets", "sets (at most 12 candidates) or hits")
_PRECISION = Option("tail", "of the draws: tail or float64")
_K = Option("2", "size of the set")
_DELTA_T = Option("0.05", "failure probability of the test, in (0, 1)")

Promise = Callable[[Settings, Pair], tuple[str, float] | None]


def _none(values: Settings, pair: Pair) -> None:
    """Its guarantee has delta > 0."""
    del values, pair


def _params(values: Settings, names: tuple[str, ...]) -> dict[str, Any]:
    """The given ones of these parameters, whole numbers as such."""
    found: dict[str, Any] = {}
    for name in names:
        if name in values:
            number = read_number(name, values[name])
            found[name] = int(number) if number == int(number) else number
    return found


def _votes(values: Settings) -> dict[str, np.ndarray]:
    """The histogram, and with one more user who votes for few."""
    counts = np.array(read_numbers("histogram", values["histogram"]))
    if counts.size < 3:
        raise InputError("histogram must hold at least three counts here")
    ranks = np.argsort(-counts, kind="stable")
    found = {"": counts}
    for name, chosen in (("second", [1]), ("third", [2]), ("first-third", [0, 2])):
        more = counts.copy()
        more[ranks[chosen]] += 1.0
        found[name] = more
    return found


_WHY = {
    "second": "one more vote, for the second candidate: ties and top sets change",
    "third": "one more vote, for the third candidate: one gap grows, another shrinks",
    "first-third": "votes for the first and the third: gaps move in turn",
}


def _entry(
    name: str,
    ids: tuple[str, ...],
    summary: str,
    options: Mapping[str, Option],
    make: Callable[[Settings], Mechanism],
    params: tuple[str, ...],
    promise: Promise = _none,
    broken: bool = False,
) -> MechanismEntry:
    def build(values: Settings) -> Built:
        data = _votes(values)[""]
        return Built(make(values), data, _params(values, params))

    def pairs(values: Settings) -> tuple[Pair, ...]:
        sides = _votes(values)
        given = _params(values, params)
        return tuple(
            Pair(key, sides[""], sides[key], Relation.MONOTONE, given, why)
            for key, why in _WHY.items()
        )

    shown = {"histogram": _HISTOGRAM, **options, "precision": _PRECISION}
    return MechanismEntry(name, ids, summary, broken, shown, build, pairs, promise)


# --- Sizes ----------------------------------------------------------------------------


def _gap_params(values: Settings) -> dict[str, Any]:
    return _params(values, ("epsilon", "noise_scale"))


def _gap_promise(values: Settings, pair: Pair) -> tuple[str, float] | None:
    del pair
    noise = values["noise"]
    if noise == "gaussian":
        return None
    epsilon = 2.0 / largest_gap_scale(_gap_params(values), noise)
    return "ZW-Prop7-pure" if noise == "gumbel" else f"NM-{noise}-general", epsilon


_LARGEST_GAP = _entry(
    "largest_gap",
    ("ZW-Alg1",),
    "Select the size of a top-k set where the noisy gap is largest (Zhu & Wang 2022, "
    "Algorithm 1).",
    {
        "noise": Option("gumbel", "gumbel, gaussian, laplace or exponential"),
        "epsilon": Option("1", "privacy parameter; sets the noise scale 2/epsilon"),
        "noise_scale": Option("", "noise scale, instead of epsilon="),
        "max_size": Option("", "largest size that may be selected"),
        "method": Option("grouped", "grouped, literal or law"),
    },
    lambda values: largest_gap(
        values["noise"], method=values["method"], precision=values["precision"]
    ),
    ("epsilon", "noise_scale", "max_size"),
    _gap_promise,
)


# --- Sets -----------------------------------------------------------------------------


_STABLE = _entry(
    "stable_top_k",
    ("ZW-Alg2", "ZW-Ex14"),
    "Select a size by noisy gaps and release its top set if the gap passes a test "
    "(StableTopK; Zhu & Wang 2022, Algorithm 2).",
    {
        "rho": Option("0.5", "zCDP parameter; sets both noise scales to 1/sqrt(rho)"),
        "selection_scale": Option("", "scale of the selecting noise, with rho="),
        "test_scale": Option("", "scale of the testing noise, with rho="),
        "delta_t": _DELTA_T,
        "selection": Option("gumbel", "gumbel, gaussian, laplace or exponential"),
        "test": Option("gaussian", "gaussian or laplace"),
        "threshold": Option("printed", "printed or quantile"),
        "max_size": Option("", "largest size that may be selected"),
        "events": _EVENTS,
        "method": Option("grouped", "grouped, literal or law"),
    },
    lambda values: stable_top_k(
        selection=values["selection"], test=values["test"], method=values["method"],
        threshold=values["threshold"], events=values["events"],
        precision=values["precision"],
    ),
    ("rho", "selection_scale", "test_scale", "delta_t", "max_size"),
)  # fmt: skip

_TEST = _entry(
    "propose_test_release",
    ("ZW-Alg4", "ZW-Alg5"),
    "Release the top set of a given size if its gap passes a noisy test (Zhu & Wang "
    "2022, Algorithms 4 and 5).",
    {
        "k": _K,
        "test": Option("gaussian", "gaussian (Algorithm 4) or laplace (Algorithm 5)"),
        "noise_scale": Option("1", "standard deviation, or Laplace scale"),
        "delta_t": _DELTA_T,
        "threshold": Option("printed", "printed or quantile"),
        "events": _EVENTS,
        "method": Option("literal", "literal or law"),
    },
    lambda values: _only_literal(values)
    or propose_test_release(
        values["test"], threshold=values["threshold"], events=values["events"],
        precision=values["precision"],
    ),
    ("k", "noise_scale", "delta_t"),
)  # fmt: skip


def _only_literal(values: Settings) -> None:
    """Refuses other methods where there is one."""
    check_choice("method", values["method"], ("literal", "law"))


_FIXED = _entry(
    "fixed_top_k",
    ("ZW-Alg3",),
    "StableTopK for a given k: exponential mechanisms fill up, choose within or replace "
    "the tested set (Zhu & Wang 2022, Algorithm 3).",
    {
        "k": _K,
        "rho": Option("0.5", "zCDP parameter"),
        "delta_t": _DELTA_T,
        "weight": Option("0", "lambda of the regulariser -lambda |j - k|, >= 0"),
        "beyond": Option("fewer", "keep, drop or fewer"),
        "max_size": Option("", "largest size that may be selected"),
        "events": _EVENTS,
        "method": Option("literal", "literal, law, or arrivals (events=hits alone)"),
    },
    lambda values: fixed_top_k(
        method=values["method"], beyond=values["beyond"], events=values["events"],
        precision=values["precision"],
    ),
    ("k", "rho", "delta_t", "weight", "max_size"),
)  # fmt: skip


# --- Baselines ------------------------------------------------------------------------


def _exponential_promise(values: Settings, pair: Pair) -> tuple[str, float] | None:
    del pair
    given = _params(values, ("k", "rho", "noise_scale"))
    scale = peel_scale(given, given["k"], Relation(values["relation"]))
    return "BASE-EM-pure", given["k"] / scale


_EXPONENTIAL = _entry(
    "exponential_top_k",
    ("EM-CDP",),
    "Pick k candidates by exponential mechanisms, in one shot of Gumbel noise (EM-CDP).",
    {
        "k": _K,
        "rho": Option("0.5", "zCDP parameter of all picks; sets the noise scale"),
        "noise_scale": Option("", "Gumbel scale, with rho="),
        "relation": Option("monotone", "how counts may change: monotone or general"),
        "events": _EVENTS,
        "method": Option(
            "one_shot", "one_shot, peeling, law, or arrivals (events=hits alone)"
        ),
    },
    lambda values: exponential_top_k(
        method=values["method"], relation=values["relation"], events=values["events"],
        precision=values["precision"],
    ),
    ("k", "rho", "noise_scale"),
    _exponential_promise,
)  # fmt: skip

_LIMITED = _entry(
    "limited_domain",
    ("LD",),
    "Pick among the largest counts those above a noisy threshold, at most k (Durfee & "
    "Rogers 2019).",
    {
        "k": _K,
        "epsilon": Option("1", "privacy parameter of a pick"),
        "delta": Option("0.05", "of the restriction to the largest counts, in (0, 1)"),
        "domain": Option("", "how many counts compete (default k)"),
        "events": _EVENTS,
        "method": Option("literal", "literal or law"),
    },
    lambda values: (
        _only_literal(values)
        or limited_domain(events=values["events"], precision=values["precision"])
    ),
    ("k", "epsilon", "delta", "domain"),
)


def _top_stable_entry(
    name: str, ids: tuple[str, ...], summary: str, quirks: bool
) -> MechanismEntry:
    return _entry(
        name,
        ids,
        summary,
        {
            "k": _K,
            "epsilon": Option("3", "privacy parameter"),
            "delta": Option("0.05", "in (0, 1)"),
            "events": _EVENTS,
            "method": Option("literal", "literal or law"),
        },
        lambda values: (
            _only_literal(values)
            or top_stable_sets(
                reference_quirks=quirks,
                events=values["events"],
                precision=values["precision"],
            )
        ),
        ("k", "epsilon", "delta"),
        broken=quirks,
    )


_TOP_STABLE = _top_stable_entry(
    "top_stable",
    ("TS",),
    "Test the gaps at k, k - 1, ..., 1 and release the first stable set (Carvalho et al. "
    "2020).",
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


def _labels_data(values: Settings) -> dict[str, np.ndarray]:
    votes = np.array(read_numbers("votes", values["votes"]))
    return {"votes": votes, "truth": votes > votes.mean()}


def _make_labels(values: Settings) -> Built:
    _only_literal(values)
    mechanism = noisy_labels(events=values["events"], precision=values["precision"])
    params = _params(values, ("noise_scale", "threshold"))
    return Built(mechanism, _labels_data(values), params)


def _labels_pairs(values: Settings) -> tuple[Pair, ...]:
    data = _labels_data(values)
    params = _params(values, ("noise_scale", "threshold"))
    more = {"votes": data["votes"] + 1.0, "truth": data["truth"]}
    why = "one more teacher, who votes for every label"
    return (Pair("all-labels", data, more, Relation.MONOTONE, params, why),)


_LABELS = MechanismEntry(
    "noisy_labels",
    ("PATE-multi-label",),
    "Release every label whose noisy votes exceed a threshold (PATE on many labels).",
    False,
    {
        "votes": Option("6,5,2,1", "votes of the teachers for each label, >= 0"),
        "threshold": Option("4", "in votes"),
        "noise_scale": Option("2", "standard deviation of the noise, in votes"),
        "events": _EVENTS,
        "precision": _PRECISION,
        "method": Option("literal", "literal or law"),
    },
    _make_labels,
    _labels_pairs,
    _none,
)

ENTRIES: tuple[MechanismEntry, ...] = (
    _LARGEST_GAP,
    _STABLE,
    _FIXED,
    _TEST,
    _EXPONENTIAL,
    _LIMITED,
    _TOP_STABLE,
    _TOP_STABLE_CODE,
    _LABELS,
)
