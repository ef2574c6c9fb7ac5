"""Small programs, wrong and right: how many of the wrong ones fall, and of the right ones none.

The auditor is given what a person would give: the function, its relation, its claim and an
example of the input; 30,000 trials a side and two seconds by default.
"""

from collections.abc import Iterator, Sequence

from benchmarks.audit_tables import Row
from benchmarks.audit_tables.small_programs import Program, programs
from jaxsel.auditing.functions.audit_function import FunctionAudit
from jaxsel.auditing.functions.how import How
from jaxsel.host.intervals import binomial_p_value
from jaxsel.questions.function_audit import function_audit

TRIALS, SECONDS, RUNS = 30_000, 2.0, 1
"""Of each audit, where nothing else is asked."""

FALSE_ALARM = 1e-3
_BAR = 24  # of thirty
_SURPRISING = 1e-6


def audited(
    program: Program,
    trials: int,
    seconds: float | None = None,
    seed: int = 0,
    false_alarm: float = FALSE_ALARM,
) -> FunctionAudit:
    """The audit of a program, given what a person would give."""
    return function_audit(
        program.function,
        program.data,
        relation=program.relation,
        claim=program.epsilon,
        delta=program.delta,
        trials=trials,
        how=How(seconds=seconds),
        false_alarm=false_alarm,
        seed=seed,
    )


def _row(program: Program, wrong: bool, trials: int, seeds: range, seconds: float | None) -> Row:
    found = [audited(program, trials, seconds, seed) for seed in seeds]
    most = max(found, key=lambda one: one.lower - one.epsilon)
    return {
        "program": program.function.__name__,
        "kind": "wrong" if wrong else "right",
        "refuted": sum(one.refuted for one in found),
        "runs": len(found),
        "verdict": most.verdict,
        "claim": most.epsilon,
        "bound": most.lower,
        "event": most.event,
        "pair": most.why,
        "seconds": sum(one.seconds for one in found) / len(found),
    }


def rows(trials: int, seed: int, seconds: float | None, runs: int) -> Iterator[Row]:
    """Audits each program; a program counts as refuted by its first run.

    Args:
      trials: on each side.
      seed: of the first run; each later one has the next.
      seconds: at most, for each audit.
      runs: of each right program; a wrong one is audited once.
    """
    wrong, right = programs()
    for program in wrong:
        yield _row(program, True, trials, range(seed, seed + 1), seconds)
    for program in right:
        yield _row(program, False, trials, range(seed, seed + runs), seconds)


def judged(found: Sequence[Row]) -> tuple[str, bool]:
    """What the table shows, in a sentence, and whether the bar is reached."""
    wrong = [row for row in found if row["kind"] == "wrong"]
    right = [row for row in found if row["kind"] == "right"]
    caught = sum(row["refuted"] > 0 for row in wrong)
    false, runs = (sum(row[name] for row in right) for name in ("refuted", "runs"))
    fair = not runs or binomial_p_value(false, runs, FALSE_ALARM, "greater") >= _SURPRISING
    return (
        f"{caught} of {len(wrong)} wrong programs refuted; {false} of {runs} audits of right ones "
        f"(false-alarm rate {FALSE_ALARM:g} an audit).",
        caught >= _BAR and bool(fair),
    )
