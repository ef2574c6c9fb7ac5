"""DP-SGD by name: settings, and a person who is in the data or not."""

from typing import Any

from jaxsel.host.errors import check_interval
from jaxsel.language.base import Pair, Relation
from jaxsel.language.domains import choice, number, whole
from jaxsel.language.entry import Built, MechanismEntry, Values

_NAMES = ("examples", "batch_size", "clip_norm", "noise_multiplier", "steps", "clipping")


def _given(values: Values) -> dict[str, Any]:
    check_interval("batch_size", values["batch_size"], 0.0, values["examples"], high_open=False)
    return {name: values[name] for name in _NAMES}


def _make(values: Values) -> Built:
    from jaxsel.families.private_training.dp_sgd import dp_sgd

    return Built(dp_sgd(**_given(values)), values["canary"], {})


def _pairs(values: Values) -> tuple[Pair, ...]:
    _given(values)
    why = "a person whose clipped gradient is C in a direction of its own, or nobody"
    return (Pair("canary", "in", "out", Relation.BASE, {}, why),)


# No pure epsilon: the promise is an (epsilon, delta), claim JX-DP-SGD.
ENTRIES = (
    MechanismEntry(
        "dp_sgd",
        ("JX-DP-SGD",),
        "DP-SGD with Poisson batches, on one person among blanks: the log-likelihood "
        "ratio of all noisy sums; (epsilon, delta) by JX-DP-SGD, no pure epsilon.",
        False,
        {
            "canary": choice(("in", "out"), "whether the person is there", default="in"),
            "examples": whole("n, the person included", at_least=1, at_most=1000, default=4),
            "batch_size": number("expected, at most n", above=0.0, at_most=1000, default=1.5),
            "clip_norm": number("C, in l2", at_least=1e-3, at_most=1e3, default=0.5),
            "noise_multiplier": number(
                "sigma, noise over C", at_least=0.2, at_most=50.0, default=1.0
            ),
            "steps": whole("T", at_least=1, at_most=64, default=2),
            "clipping": choice(
                ("microbatch", "plain"), "how sums are clipped", default="microbatch"
            ),
            "method": choice(("literal", "law"), "how trials are drawn", default="literal"),
        },
        _make,
        _pairs,
        generic={
            "examples": 9,
            "batch_size": 6.0,
            "clip_norm": 3.0,
            "noise_multiplier": 1.3,
            "steps": 4,
            "clipping": "plain",
        },
    ),
)
