"""The report of an audit of a function: enough for an issue on the page of its project."""

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxsel.auditing.functions.audit_function import FunctionAudit
from jaxsel.host.errors import InputError
from jaxsel.host.records import versions
from jaxsel.language.printing import Summary, plain, printed
from jaxsel.reports import markdown
from jaxsel.reports.contents import Contents

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SUFFIXES = {".md": "markdown", ".html": "html", ".json": "json"}


@printed
class AuditReport(NamedTuple):
    """What an audit of a function found, with all that is needed to repeat it.

    Attributes:
      audit: what was found.
      command: the command or the call that found it; empty if it is not known.
    """

    audit: FunctionAudit
    command: str = ""

    @property
    def contents(self) -> Contents:
        """The text of every format."""
        found = self.audit
        headline, *_ = found.summary().sentence.split(" That is no proof.")
        rows = [(str(name), str(value)) for name, value in found.summary().rows]
        rows += [
            ("upper limit of what the event shows", f"{found.upper:.4g}"),
            ("would have been refuted", f"{found.detectable:.4g} and more"),
            ("false-alarm rate", f"{found.false_alarm:g}"),
            ("seed", str(found.seed)),
            ("seconds of the search", f"{found.search_seconds:.1f}"),
            ("versions", _versions()),
            ("date", datetime.date.today().isoformat()),
        ]
        x, n, y, m = found.counts
        other = "neighbour" if found.likelier == "data" else "data"
        paragraph = (
            headline,
            f"The event is: {found.event}. On the {found.likelier} it happened in {x} of {n} "
            f"trials, on the {other} in {y} of {m}.",
            f"The two inputs are neighbours by {found.relation}: {found.why}.",
        )
        numbers = (
            ("claimed ε", f"{found.epsilon:g}"),
            ("at δ", f"{found.delta:g}"),
            ("lower bound on ε", f"{found.lower:.4g}"),
            ("upper limit of the event's ε", f"{found.upper:.4g}"),
            ("false-alarm rate", f"{found.false_alarm:g}"),
            ("trials a side", f"{found.trials}"),
        )
        return Contents(
            f"Audit of {found.function}",
            headline,
            numbers,
            paragraph,
            tuple(rows),
            (*_NOTES, _AS_BITS if found.bits else _AS_NUMBERS),
            (),
            ("What was audited, and what was found", "For an issue", "What the numbers mean"),
            self.command,
        )

    def markdown(self) -> str:
        """A heading, a paragraph, a table, and notes on the numbers."""
        return markdown.markdown(self.contents)

    def html(self) -> str:
        """A self-contained page with the event drawn."""
        from jaxsel.reports.page import Picture, page

        caption = (
            "How often the event happened on both inputs, with 95 % intervals, and what the claim "
            "allows, given the frequency on the other input."
        )
        pictures = [Picture("event", self.plot(), caption)]
        if self.audit.curve is not None and self.audit.curve.events:
            pictures.append(Picture("curve", self.audit.curve.plot(), _OF_CURVE))
        return page(self.contents, tuple(pictures))

    def json(self) -> str:
        """Names and numbers, the command and the versions."""
        record: dict[str, Any] = {
            "command": self.command,
            "versions": versions(),
            "date": datetime.date.today().isoformat(),
            "audit": plain(self.audit._asdict()),
        }
        return json.dumps(record, indent=2) + "\n"

    def plot(self) -> "Figure":
        """Draws the event on both inputs."""
        return self.audit.plot()

    def write(self, path: str | Path) -> Path:
        """Writes the report to a file, in the format of its suffix; a file there is replaced.

        Raises:
          InputError: for another suffix, or if it cannot be written.
        """
        place = Path(path).expanduser()
        if place.suffix not in _SUFFIXES:
            raise InputError(f"{place} ends in none of: {', '.join(_SUFFIXES)}")
        text = getattr(self, _SUFFIXES[place.suffix])()
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write to {place}: {error.strerror}") from None
        return place

    def summary(self) -> Summary:
        """That of the audit."""
        return self.audit.summary()


_NOTES = (
    "Pair and event were searched on other trials than those that are counted here.",
    "The lower bound exceeds the true epsilon with probability at most the false-alarm rate, "
    "whatever the search did.",
    "A claim that is not refuted is not proved: other pairs and events may show more.",
)
_OF_CURVE = (
    "What many events show together: bands of the privacy profile and of the trade-off. The line "
    "is a bound; the other end of the band is the most that these events may show."
)
_AS_NUMBERS = "Values are taken as real numbers: low bits of floats are not looked at."
_AS_BITS = "Values are taken as released bits: the lowest bit of each float is looked at, too."


def _versions() -> str:
    found = versions()
    return ", ".join(f"{name} {found[name]}" for name in ("jaxsel", "python", "numpy", "machine"))
