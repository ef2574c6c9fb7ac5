"""A figure as SVG inside an HTML page, without links and in the colours of the page."""

import io
import re

from matplotlib.figure import Figure

from jaxsel.pictures import style

_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def svg(figure: Figure, name: str, label: str, colours: dict[str, str]) -> str:
    """The figure as one <svg> element for HTML.

    Args:
      figure: the figure; its background is removed.
      name: prefix of every id, so that a page can contain several figures.
      label: a description for screen readers.
      colours: colours of the figure, as #rrggbb, and their replacements, such as
        "var(--proven)"; text has the page's ``fill``.
    """
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
    stream = io.StringIO()
    with style.applied():
        import matplotlib

        with matplotlib.rc_context({"svg.hashsalt": name}):
            figure.savefig(stream, format="svg", metadata=_METADATA)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    # Its style rules would apply to the whole page.
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.S)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"| version="[^"]*"', "", text)
    text = re.sub(r'(?<= id=")', f"{name}-", text)
    text = text.replace("url(#", f"url(#{name}-").replace('xlink:href="#', f'href="#{name}-')
    for colour, wanted in colours.items():
        text = re.sub(re.escape(colour), wanted, text, flags=re.I)
    # The page determines its width and fonts.
    for size in ("height", "width"):
        text = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", text, count=1)
    text = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", text)
    text = re.sub(r" ?font-family: [^;\"]*;?", "", text)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()
