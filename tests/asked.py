"""Doors for functions, asked by names alone: what the helpers of several tests pass on."""

import dataclasses
from typing import Any

from jaxsel.auditing.functions.how import How

_HOW = {one.name for one in dataclasses.fields(How)}


def ask(door: Any, subject: Any, **given: Any) -> Any:
    """A door's answer; ``pair``, ``data`` and the words of ``how`` may be among the names."""
    pair, data = given.pop("pair", ()), given.pop("data", None)
    how = {name: given.pop(name) for name in _HOW & set(given)}
    inputs = pair or (() if data is None else (data,))
    return door(subject, *inputs, **given, **({"how": how} if how else {}))
