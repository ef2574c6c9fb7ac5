"""A report that is quick to make, and checks of what is written."""

import functools
import html.parser

import jaxsel
from jaxsel.reports.report import Report


@functools.cache
def quick() -> Report:
    cost = jaxsel.account("gaussian:noise_multiplier=4", "geometric:mean=5", 1e-6, attain=False)
    return jaxsel.report(cost)


EMPTY = {"meta", "link", "img", "br", "hr", "input", "use", "path", "rect", "circle"}


class Page(html.parser.HTMLParser):
    """Parses a page: checks that every element is closed, and collects what could be loaded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src", "xlink:href", "srcset", "data", "action"):
                self.loads.append(value)
            if name == "id":
                self.ids.append(value)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
