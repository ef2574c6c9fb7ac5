"""Options of private searches by their names alone, as helpers of several tests pass them on."""

from typing import Any

from jaxsel.search.declarations import Declared, LedgerUse


def asked(**given: Any) -> dict[str, Any]:
    """The arguments of ``PrivateSearch``: what is declared, and the ledger's parts, together."""
    declared = {name: given.pop(name) for name in Declared._fields if name in given}
    ledger = {name: given.pop(name) for name in LedgerUse._fields if name in given}
    if ledger or given.get("ledger") is not None:
        given["ledger"] = {"path": given.get("ledger"), **ledger}
    return {**given, **({"declared": declared} if declared else {})}
