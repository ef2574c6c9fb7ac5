"""``make site-check``: every page of the built site in a browser, as wide as a desk and a phone.

Reports what ``site_look.js`` sees (what is cut, scrolls sideways, leaves its box, cannot be read,
or is told to others than readers), pages wider than the screen, formulas that were not set,
addresses that are not found, requests that leave this machine, and errors of scripts. The exit
status is 1 if there is any. Chromium is the one that the variable CHROMIUM names, or the one that
is installed.
"""

import functools
import http.server
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin

from playwright.sync_api import Browser, Page, Playwright, sync_playwright

SITE = Path(__file__).parent.parent / "docs" / "_build" / "html"
WIDTHS = (1280, 390)
# Below it lists of contents are drawers, which a button opens.
_DESK = 1200
_DRAWERS = {
    "button.primary-toggle": "#pst-primary-sidebar-modal",
    "button.secondary-toggle": "#pst-secondary-sidebar-modal",
}
_QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


class Finding(NamedTuple):
    """What is wrong: of which kind, by how much (pixels, mostly), and where."""

    kind: str
    number: int
    where: str


# What the whole page holds, and whether it is wider than the screen.
_PAGE = """() => {
  const screen = document.documentElement.clientWidth;
  const text = [...document.querySelectorAll("article p, article li, article td, article dd")]
    .map((each) => {
      const copy = each.cloneNode(true);
      copy.querySelectorAll("code, pre, mjx-container").forEach((inner) => inner.remove());
      return copy.textContent;
    })
    .join("\\n");
  const maths = [...document.querySelectorAll(".math")];
  return {
    wide: document.documentElement.scrollWidth - screen,
    raw: (text.match(/\\$[^$\\n]{0,40}|\\\\[a-zA-Z]{2,}[^\\n]{0,40}/g) || []).slice(0, 3),
    unset: maths.filter((each) => !each.querySelector("mjx-container svg")).length,
    wrong: document.querySelectorAll("[data-mml-node=merror], .problematic, .error").length,
    links: [...document.querySelectorAll("a[href]")].map((each) => each.href),
    anchors: [...document.querySelectorAll("[id], a[name]")].map((each) => each.id || each.name),
  };
}"""
# What shows when a reader scrolls down, or opens it, is shown at once.
_UNFOLD = """() => {
  document.querySelectorAll("nav.page-toc ul").forEach((list) => (list.style.display = "block"));
  document.querySelectorAll("details").forEach((each) => (each.open = true));
}"""
_LOOK = (Path(__file__).parent / "site_look.js").read_text(encoding="utf-8")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def _serve() -> str:
    handler = functools.partial(_Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/"


def look(page: Page) -> Iterator[Finding]:
    """What a reader of the page that is open sees that is wrong, lists of contents included."""
    page.evaluate("() => window.MathJax?.startup?.promise")
    page.evaluate(_UNFOLD)
    page.evaluate("() => new Promise(requestAnimationFrame)")  # tables follow the formulas
    yield from (Finding(*each) for each in page.evaluate(_LOOK, "body"))
    for button, opened in _DRAWERS.items():
        if page.viewport_size["width"] < _DESK and page.locator(button).is_visible():
            page.locator(button).click()
            yield from (Finding(*each) for each in page.evaluate(_LOOK, opened))
            page.keyboard.press("Escape")


def _findings(page: Page, home: str, name: str, seen: dict[str, dict]) -> Iterator[Finding]:
    """What is wrong with a page at the width that the browser has."""
    errors: list[Finding] = []
    hear = {
        "pageerror": lambda error: errors.append(Finding("error", 0, str(error))),
        "console": lambda said: (
            errors.append(Finding("console", 0, said.text))
            if said.type in ("error", "warning")
            else None
        ),
        "request": lambda asked: (
            errors.append(Finding("leaves this machine", 0, asked.url))
            if not asked.url.startswith((home, "data:", "blob:"))
            else None
        ),
        "response": lambda got: (
            errors.append(Finding("no answer", got.status, got.url)) if got.status >= 400 else None
        ),
    }
    for event, listener in hear.items():
        page.on(event, listener)
    page.goto(home + name, wait_until="load")
    yield from look(page)
    found = seen[name] = page.evaluate(_PAGE)
    for event, listener in hear.items():
        page.remove_listener(event, listener)
    yield from errors
    if found["wide"] > 0:
        yield Finding("the page is too wide", found["wide"], "")
    if found["unset"]:
        yield Finding("formulas are not set", found["unset"], "")
    if found["wrong"]:
        yield Finding("formulas have an error", found["wrong"], "")
    for raw in found["raw"]:
        yield Finding("a raw formula", 0, raw)


def _broken_links(home: str, seen: dict[str, dict]) -> Iterator[tuple[str, Finding]]:
    """Links within the site whose page or place there is not."""
    places = {name: set(found["anchors"]) for name, found in seen.items()}
    for name, found in seen.items():
        for link in sorted(set(found["links"])):
            address, place = urldefrag(urljoin(home + name, link))
            if not address.startswith(home):
                continue
            target = address.removeprefix(home).partition("?")[0] or "index.html"
            if not (SITE / target).exists():
                yield name, Finding("a broken link", 0, target)
            elif place and target in places and place not in places[target]:
                yield name, Finding("a broken link", 0, f"#{place} in {target}")


def start(playwright: Playwright) -> Browser:
    """A browser as on a desk, whose scroll bars take room; without a network or a display."""
    return playwright.chromium.launch(
        executable_path=browser_path(), args=_QUIET, ignore_default_args=["--hide-scrollbars"]
    )


def browser_path() -> str | None:
    """Where the browser is; None if there is none."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def main() -> int:
    names = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    names = [name for name in names if not name.startswith("_static/")]
    home = _serve()
    seen: dict[str, dict] = {}
    pages: dict[tuple[str, int], set[str]] = {}
    with sync_playwright() as playwright:
        browser = start(playwright)
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900})
            for name in names:
                for kind, number, what in _findings(page, home, name, seen):
                    print(f"{name} at {width}: {kind} ({number}) {what}", flush=True)
                    pages.setdefault((kind, width), set()).add(name)
            page.close()
        browser.close()
    for name, (kind, _, what) in _broken_links(home, seen):
        print(f"{name}: {kind} {what}")
        pages.setdefault((kind, 0), set()).add(name)
    for (kind, width), having in sorted(pages.items()):
        print(f"{kind}, at {width}: {len(having)} pages")
    print(f"{len(names)} pages, {len(set().union(*pages.values()))} of them with something wrong")
    return int(bool(pages))


if __name__ == "__main__":
    sys.exit(main())
