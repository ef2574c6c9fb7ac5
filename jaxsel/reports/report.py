"""A statement in every format, in memory and as files."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxsel.host.errors import InputError
from jaxsel.language.printing import Summary, printed
from jaxsel.reports import latex, markdown
from jaxsel.reports.contents import Contents, contents
from jaxsel.reports.statement import Statement

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@printed
class Report(NamedTuple):
    """The proven guarantees of a release, ready for a paper.

    Attributes:
      statement: the numbers, each an upper bound.

    Example:
        >>> import jaxsel
        >>> cost = jaxsel.account("pure:epsilon=0.5", "geometric:mean=10", 1e-6)
        >>> report = jaxsel.report(cost)
        >>> print(report.markdown().splitlines()[0])
        # Privacy statement
    """

    statement: Statement

    @property
    def contents(self) -> Contents:
        """The text of every format."""
        return contents(self.statement)

    def markdown(self) -> str:
        """A heading, a paragraph, a table, and notes on the numbers."""
        return markdown.markdown(self.contents)

    def latex(self) -> str:
        """A paragraph and a table for the body of a document, without packages."""
        return latex.latex(self.contents)

    def html(self) -> str:
        """A self-contained page with figures."""
        from jaxsel.reports.page import page, pictures

        return page(self.contents, pictures(self.statement))

    def plot(self) -> "Figure":
        """Draws the proven privacy profile, with the stated guarantee marked."""
        from jaxsel.pictures.proof import draw_profile
        from jaxsel.reports.page import drawn_of

        return draw_profile(drawn_of(self.statement))

    def write(self, folder: str | Path) -> tuple[Path, ...]:
        """Writes report.md, report.tex and report.html; returns their paths.

        Args:
          folder: created if necessary; existing files of these names are replaced.

        Raises:
          InputError: if it cannot be written.
        """
        folder = Path(folder).expanduser()
        texts = {"md": self.markdown, "tex": self.latex, "html": self.html}
        written = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for ending, make in texts.items():
                path = folder / f"report.{ending}"
                path.write_text(make(), encoding="utf-8")
                written.append(path)
        except OSError as error:
            raise InputError(f"cannot write to {folder}: {error.strerror}") from None
        return tuple(written)

    def summary(self) -> Summary:
        """The paragraph, and the table."""
        found = self.contents
        return Summary(" ".join(found.paragraph), ("what", "value"), found.rows)
