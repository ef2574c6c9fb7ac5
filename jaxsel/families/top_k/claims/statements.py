"""How claims of Zhu & Wang 2022 are written down."""

from collections.abc import Callable
from typing import Any

from jaxsel.base import Budget, Claim, Relation, Verdict

PAPER = "Zhu & Wang 2022"


def release_claim(
    identity: str,
    where: str,
    statement: str,
    evaluate: Callable[..., float],
    check: Callable[[Budget], Verdict],
    kind: str = "privacy",
    **more: Any,
) -> Claim:
    """A claim on a release: private for one user more or less, who may vote often."""
    return Claim(
        id=identity,
        source=f"{PAPER}, {where}",
        statement=statement,
        kind=kind,
        relation=Relation.MONOTONE if kind == "privacy" else None,
        evaluate=evaluate,
        check=check,
        **more,
    )
