"""The check of the site in a browser finds each fault that it is for, and nothing else."""

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright.sync_api")

from playwright.sync_api import Page, sync_playwright

from tests import site_check

_LONG = "ThisWordHasNoPlaceWhereItCouldBreak" * 3
_LINES = "<p>One line.</p>" * 9
_PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='900' height='90'/>"
_FORMULA = '<mjx-container><svg viewBox="0 0 10000 1000" style="width:{}px"></svg></mjx-container>'
# What is found -> how it comes about, and how it is mended.
FAULTS = {
    "scrolls sideways": (
        f'<pre style="overflow-x: auto; width: 90px">{_LONG}</pre>',
        f'<pre style="overflow-wrap: anywhere; white-space: pre-wrap; width: 90px">{_LONG}</pre>',
    ),
    "cut at the right": (
        f'<div style="overflow: hidden; width: 90px">{_LONG}</div>',
        f'<div style="overflow: hidden; width: 90px; overflow-wrap: anywhere">{_LONG}</div>',
    ),
    "cut at the bottom": (
        f'<div style="overflow: hidden; height: 40px">{_LINES}</div>',
        f'<div style="overflow: hidden">{_LINES}</div>',
    ),
    "scrolls inside the page": (
        f'<div style="overflow-y: auto; height: 40px">{_LINES}</div>',
        f'<div style="overflow-y: auto">{_LINES}</div>',
    ),
    "leaves its box": (
        f'<table><tr><td><div style="width: 90px">{_LONG}</div></td></tr></table>',
        f"<table><tr><td><div>{_LONG}</div></td></tr></table>",
    ),
    "shrunk, and no click shows it whole": (
        f'<img src="{_PICTURE}" style="width: 300px">',
        f'<a href="{_PICTURE}"><img src="{_PICTURE}" style="width: 300px"></a>',
    ),
    "too small to read": (_FORMULA.format(60), _FORMULA.format(160)),
    "told to maintainers": (
        "<p>Generated from the code by <code>make docs</code>; do not edit.</p>",
        "<!-- Generated from the code by make docs; do not edit. --><p>Two statements.</p>",
    ),
}
_MORE = {
    "scrolls sideways": [  # a formula with a bar of its own, a list of contents
        '<span style="display: inline-flex; overflow: auto; width: 20px">'
        '<svg style="min-width: 40px; height: 9px"></svg></span>',
        f'</article><nav style="overflow: auto; width: 90px">{_LONG}</nav><article>',
    ],
    "told to maintainers": ["<p>2 statements, 0 of them false; 0 errata.</p>"],
}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    if site_check.browser_path() is None:
        pytest.skip("there is no Chromium here")
    with sync_playwright() as playwright:
        browser = site_check.start(playwright)
        yield browser.new_page(viewport={"width": 1280, "height": 900})
        browser.close()


def _found(page: Page, text: str) -> set[str]:
    page.set_content(f"<!DOCTYPE html><body><article>{text}</article></body>")
    return {finding.kind for finding in site_check.look(page)}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_found_and_its_mending_is_none(page, kind):
    faulty, mended = FAULTS[kind]
    for text in (faulty, *_MORE.get(kind, ())):
        assert _found(page, text) == {kind}
    assert _found(page, mended) == set()


def test_what_only_opens_is_looked_at(page):
    """A list of contents shows its lower parts on the way down; details open by a click."""
    hidden = f'<pre style="overflow-x: auto; width: 90px">{_LONG}</pre>'
    assert _found(page, f"<details><summary>More</summary>{hidden}</details>") != set()


def test_a_drawer_of_a_phone_is_looked_at(page):
    page.set_viewport_size({"width": 390, "height": 900})
    drawer = (
        '<button class="primary-toggle" onclick="this.nextElementSibling.showModal()">List</button>'
        '<dialog id="pst-primary-sidebar-modal"><p style="overflow-x: auto; width: 90px">{}</p>'
        "</dialog>"
    )
    assert _found(page, drawer.format(_LONG)) == {"scrolls sideways"}
    assert _found(page, drawer.format("Short.")) == set()
