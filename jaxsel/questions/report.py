"""``jaxsel.report``: a statement of what is proved, for a paper."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, overload, runtime_checkable

from jaxsel.auditing.functions.audit_function import FunctionAudit
from jaxsel.host.blas_threads import one_blas_thread
from jaxsel.host.errors import InputError
from jaxsel.questions.released import Released
from jaxsel.reports.audit_report import AuditReport
from jaxsel.reports.reading import plan_subject, read_json, read_search, search_subject
from jaxsel.reports.report import Report
from jaxsel.reports.statement import Subject, state
from jaxsel.tuning.planning.planned import Plan


@runtime_checkable
class HasSubject(Protocol):
    """What knows how a report describes it: the cost of a search, the guarantee of one."""

    def subject(self) -> Subject:
        """What a report describes."""
        ...


@overload
def report(of: FunctionAudit) -> AuditReport: ...
@overload
def report(of: object) -> Report: ...
@one_blas_thread()
def report(of: object) -> Report | AuditReport:
    """What is proved of a search, and what any attack can still do, ready for a paper.

    Args:
      of: what ``search_cost``, ``release``, ``account``, ``compose`` or ``plan`` returned, or the
        guarantee of a private search; or a file with what ``jaxsel plan --json`` or
        ``jaxsel tune --json`` printed, or that as a mapping; or the folder of a search that
        ``jaxsel tune`` finished; or the audit of a function, for an issue on its project's page.

    Returns:
      A report with ``markdown()``, ``latex()``, ``html()`` and ``write(folder)``; its
      ``statement`` has the numbers, each an upper bound.

    Raises:
      InputError: if it is none of these, or no epsilon is proved.

    Example:
        >>> import jaxsel
        >>> cost = jaxsel.account("pure:epsilon=0.5", "geometric:mean=3", delta=0)
        >>> print(jaxsel.report(cost).markdown()[:52])
        # Privacy statement
        <BLANKLINE>
        Released: the best of K runs of
    """
    if isinstance(of, FunctionAudit):
        return AuditReport(of)
    return Report(state(_subject(of)))


def _subject(of: object) -> Subject:
    if isinstance(of, Released):
        of = of.cost(attain=False)
    if isinstance(of, HasSubject):
        return of.subject()
    if isinstance(of, Plan):
        return plan_subject(of.as_record())
    if isinstance(of, str | Path):
        path = Path(of).expanduser()
        if path.is_dir():
            return search_subject(read_search(path))
        return _record_subject(
            read_json(path, "what jaxsel plan --json or jaxsel tune --json printed")
        )
    if isinstance(of, Mapping):
        return _record_subject(of)
    raise InputError(
        f"a report is made of an account, a composition, a plan, a file or the folder of a "
        f"search, not of a {type(of).__name__}"
    )


def _record_subject(record: Mapping[str, Any]) -> Subject:
    if "winner" in record:
        return search_subject(record)
    if "law" in record:
        return plan_subject(record)
    raise InputError(
        "that is neither a plan (jaxsel plan --json) nor a finished search (jaxsel tune --json)"
    )
