"""Small programs, wrong and right, of the kinds that people and code assistants write.

An auditor is judged by how many of the wrong ones it refutes and how many of the right ones it
does not. They were written before the auditor was tuned; tests show by a hand-made pair and
event that every wrong one can be refuted, and that every right one keeps its claim.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Program(NamedTuple):
    """A small program and its claim.

    Attributes:
      function: what is audited.
      relation: in what sense its inputs are neighbours.
      epsilon, delta: what it claims.
      data: an example of its input, which shows length and range.
      why: what is wrong with it, or why it is right.
    """

    function: Callable[..., Any]
    relation: str
    epsilon: float
    delta: float
    data: Any
    why: str


def programs() -> tuple[tuple[Program, ...], tuple[Program, ...]]:
    """The wrong ones and the right ones."""
    from benchmarks.audit_tables.small_programs import right, wrong

    return wrong.PROGRAMS, right.PROGRAMS
