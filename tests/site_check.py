"""``make site-check``: every page of the built site in a browser, as wide as a desk and a phone.

Reports addresses that are not found, requests that leave this machine, errors of scripts, pages
wider than the screen, and formulas that were not set. The exit status is 1 if there is any.
Chromium is the one that the variable CHROMIUM names, or the one that is installed.
"""

import functools
import http.server
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urldefrag, urljoin

from playwright.sync_api import Page, sync_playwright

SITE = Path(__file__).parent.parent / "docs" / "_build" / "html"
WIDTHS = (1280, 390)
_GENERATED = (
    "_modules/",
    "genindex",
    "search",
    "py-modindex",
)  # no text of ours; one width is enough

_LOOK = """() => {
  const screen = document.documentElement.clientWidth;
  const wide = document.documentElement.scrollWidth - screen;
  const boxes = [...document.querySelectorAll("body *")].filter((each) => {
    if (each.getBoundingClientRect().right <= screen + 1) return false;
    for (let up = each; up; up = up.parentElement)
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(up).overflowX)) return false;
    return true;
  });
  const text = [...document.querySelectorAll("article p, article li, article td, article dd")]
    .map((each) => {
      const copy = each.cloneNode(true);
      copy.querySelectorAll("code, pre, mjx-container").forEach((inner) => inner.remove());
      return copy.textContent;
    })
    .join("\\n");
  const maths = [...document.querySelectorAll(".math")];
  return {
    wide,
    boxes: boxes.slice(0, 3).map((each) => each.outerHTML.slice(0, 80)),
    raw: (text.match(/\\$[^$\\n]{0,40}|\\\\[a-zA-Z]{2,}[^\\n]{0,40}/g) || []).slice(0, 3),
    unset: maths.filter((each) => !each.querySelector("mjx-container svg")).length,
    wrong: document.querySelectorAll("[data-mml-node=merror], .problematic, .error").length,
    links: [...document.querySelectorAll("a[href]")].map((each) => each.href),
    anchors: [...document.querySelectorAll("[id], a[name]")].map((each) => each.id || each.name),
  };
}"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def _serve() -> str:
    handler = functools.partial(_Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/"


def _findings(page: Page, home: str, name: str, seen: dict[str, dict]) -> Iterator[str]:
    """What is wrong with a page at the width that the browser has."""
    errors: list[str] = []
    hear = {
        "pageerror": lambda error: errors.append(f"error: {error}"),
        "console": lambda said: (
            errors.append(f"console: {said.text}") if said.type in ("error", "warning") else None
        ),
        "request": lambda asked: (
            errors.append(f"leaves this machine: {asked.url}")
            if not asked.url.startswith((home, "data:", "blob:"))
            else None
        ),
        "response": lambda got: (
            errors.append(f"{got.status}: {got.url}") if got.status >= 400 else None
        ),
    }
    for event, listener in hear.items():
        page.on(event, listener)
    page.goto(home + name, wait_until="load")
    page.evaluate("() => window.MathJax?.startup?.promise")
    found = seen[name] = page.evaluate(_LOOK)
    for event, listener in hear.items():
        page.remove_listener(event, listener)
    yield from errors
    if found["wide"] > 0:
        yield f"{found['wide']} pixels too wide: {found['boxes']}"
    if found["unset"] or found["wrong"]:
        yield f"{found['unset']} formulas not set, {found['wrong']} with an error"
    if found["raw"]:
        yield f"raw formulas: {found['raw']}"


def _broken_links(home: str, seen: dict[str, dict]) -> Iterator[str]:
    """Links within the site whose page or place there is not; and all that leave it."""
    places = {name: set(found["anchors"]) for name, found in seen.items()}
    for name, found in seen.items():
        for link in sorted(set(found["links"])):
            address, place = urldefrag(urljoin(home + name, link))
            if not address.startswith(home):
                continue
            target = address.removeprefix(home).partition("?")[0] or "index.html"
            if not (SITE / target).exists():
                yield f"{name}: no page {target}"
            elif place and target in places and place not in places[target]:
                yield f"{name}: no place #{place} in {target}"


def main() -> int:
    browser = (
        os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    )
    names = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
    names = [name for name in names if not name.startswith("_static/")]
    findings, home = 0, _serve()
    seen: dict[str, dict] = {}
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for width in WIDTHS:
            page = started.new_page(viewport={"width": width, "height": 900})
            for name in names:
                if width != WIDTHS[0] and name.startswith(_GENERATED):
                    continue
                for finding in _findings(page, home, name, seen):
                    print(f"{name} at {width}: {finding}")
                    findings += 1
            page.close()
        started.close()
    for finding in _broken_links(home, seen):
        print(finding)
        findings += 1
    print(f"{len(names)} pages, {findings} findings")
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
