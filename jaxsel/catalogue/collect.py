"""Finds claims: the statements that modules declare, and the software's self-checks."""

import functools

from jaxsel.host.errors import InputError
from jaxsel.language.base import Claim
from jaxsel.language.declared import find_published, published_claims
from jaxsel.language.domains import nearest
from jaxsel.language.subject import mechanisms


@functools.cache
def self_checks() -> tuple[Claim, ...]:
    """Claims of the software about its own mechanisms: audits, simulations and plans.

    They are not published statements, and are counted and listed separately.
    """
    from jaxsel.catalogue import checks
    from jaxsel.questions import mechanism_plan_checks

    return (
        *checks.audit_claims(mechanisms()),
        *checks.simulation_claims(mechanisms()),
        *mechanism_plan_checks.planning_claims(mechanisms()),
    )


def is_self_check(name: str) -> bool:
    """Whether an id is that of a self-check."""
    return name.lower().startswith(("audit-", "sim-", "plan-"))


def all_claims() -> tuple[Claim, ...]:
    """Published statements, then self-checks."""
    return (*published_claims(), *self_checks())


def find_claim(identity: str) -> Claim:
    """The claim with that id or alias, in any case.

    Raises:
      InputError: if there is none.
    """
    if not isinstance(identity, str):
        raise InputError(f"a claim is found by its id, a text, not by a {type(identity).__name__}")
    name = identity.lower()
    checks = self_checks() if is_self_check(name) else ()
    published = None if checks else find_published(name)
    if published is not None:
        return published
    for claim in checks:
        if claim.id.lower() == name:
            return claim
    known = [*(claim.id for claim in published_claims()), *(c.id for c in checks)]
    raise InputError(
        f"there is no claim {identity!r}{nearest(identity, known)} "
        "(jaxsel list claims names them all)"
    )
