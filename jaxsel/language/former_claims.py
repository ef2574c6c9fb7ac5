"""Ids of claims of 0.2.0 that another claim says now; they are read for one release."""

import dataclasses
import functools
import inspect
import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jaxsel.host.former_names import warn
from jaxsel.language.base import Claim


class _Said(NamedTuple):
    """What says today what a claim said.

    Attributes:
      claim: its id.
      defaults: parameters that it was evaluated at where they are not given.
      share: its number over that of today's claim there.
    """

    claim: str
    defaults: Mapping[str, Any] = {}
    share: float = 1.0


_NOISY_MAX = [
    f"NM-{noise}-{moves}"
    for noise, moves in itertools.product(
        ("gumbel", "laplace", "exponential"), ("general", "monotone")
    )
]
FORMER = {
    **{f"{name}-made": _Said(name, {"epsilon": 1.0}) for name in _NOISY_MAX},
    **{f"{name}-tight": _Said(name, share=0.99) for name in _NOISY_MAX},
    "CL-Lem3-sharp": _Said("CL-Lem3", share=0.999),
    "CL-Thm1-calls-attained": _Said("CL-Thm1-calls", share=0.999),
    "CL-Thm2-attained": _Said("CL-Thm2", share=0.999),
    "KRW-Thm3.2-sharp-tight": _Said("KRW-Thm3.2-sharp", {"candidates": 2}),
    "LT-Thm4.1(a)-tight": _Said("LT-Thm4.1(a)", share=0.99),
    "SVT-LSL-Alg1-monotone-tight": _Said("SVT-LSL-Alg1-monotone", {"scale": 2.0}),
    **{
        f"{name}-tight": _Said(name)
        for name in (
            "SVT-AboveThreshold",
            "SVT-LSL-Alg1",
            "SVT-LSL-Alg4",
            "SVT-LSL-Alg4-monotone",
            "SVT-Sparse",
            "SVT-equal-noise-monotone",
        )
    },
}
_BY_NAME = {name.lower(): name for name in FORMER}


def former_claim(identity: str, find: Callable[[str], Claim | None]) -> Claim | None:
    """Today's claim with the former one's number; None if no claim was called so.

    Args:
      identity: a former id, upper or lower case. It warns, and names today's.
      find: finds a claim by its id.
    """
    former = _BY_NAME.get(identity.lower())
    if former is None:
        return None
    said = FORMER[former]
    claim = find(said.claim)
    assert claim is not None
    given = "".join(f" {name}={value:g}" for name, value in said.defaults.items())
    warn(former, said.claim + given, stacklevel=4)
    return dataclasses.replace(claim, evaluate=_evaluated(claim.evaluate, said))


def _evaluated(today: Callable[..., float], said: _Said) -> Callable[..., float]:
    @functools.wraps(today)
    def evaluate(**given: Any) -> float:
        return said.share * today(**{**said.defaults, **given})

    signature = inspect.signature(today)
    parameters = [
        one.replace(default=said.defaults.get(name, one.default))
        for name, one in signature.parameters.items()
    ]
    vars(evaluate)["__signature__"] = signature.replace(parameters=parameters)
    return evaluate
