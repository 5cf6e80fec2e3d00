"""Every page in a real browser: nothing that axe-core objects to, in light and in dark, nothing that does not fit into
a phone; charts that can be saved."""

from __future__ import annotations

import importlib.util

import pytest
from browsing import needs_browser
from test_pages import PAGES

pytestmark = needs_browser

#: pages that are asked for results, and what is seen once they are there
RESULTS = {
    "Compare": "clearly more often than the others", "Boilerplate": "Different passages",
    "Word groups": "F1 of guessing", "Losses": "Gap, proved", "Embeddings": "The classes use words",
}  # fmt: skip
LABELS = ("Tasks", "Telling sentences", "Word groups", "Names", "Losses", "Embeddings")

FOUND = {"resultTypes": ["violations"]}  # nodes that pass are not described
# all but the colours is the same in the dark
APPEARANCES = {"light": FOUND, "dark": FOUND | {"runOnly": ["color-contrast", "link-in-text-block"]}}
WIDTHS = (390, 2200)
SIDEBAR = "[data-testid=stSidebar]"
APPEARS = "theme => getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme === theme"

AT_REST = """() => new Promise((done) => {
  let waiting = setTimeout(done, 100);
  new MutationObserver(() => { clearTimeout(waiting); waiting = setTimeout(done, 100); }).observe(
    document, {subtree: true, childList: true, attributes: true});
  setTimeout(done, 3000);
})"""

needs_axe = pytest.mark.skipif(
    importlib.util.find_spec("axe_playwright_python") is None, reason="needs axe-playwright-python"
)


@needs_axe
def test_axe_finds_nothing(open_tab):
    from axe_playwright_python.sync_playwright import Axe

    page, found = open_tab("/"), []
    page.get_by_role("heading", name="See what your text is made of").wait_for()
    page.locator(".lt-shares .p").first.wait_for()  # its text comes once the sample is solved
    page.evaluate(Axe().axe_script)  # once: pages change within the document
    # colours that fade are not yet those to look at, nor is what a run under way will draw anew
    page.add_style_tag(content="* { transition: none !important } [data-stale=true] { opacity: 1 !important }")
    for k, title in enumerate((*PAGES.values(), *LABELS)):
        link = page.locator("[data-testid=stSidebarNav]").get_by_role("link", name=title, exact=True)
        if title not in ("See what your text is made of", "Saved models") or link.count():
            link.click()
        page.get_by_role("heading", name=title, exact=True).first.wait_for()
        # beside the first page the sidebar is as it was
        found += objections(page, title, {"exclude": [[SIDEBAR]]} if k else {"include": [["html"]]})
    for title, result in RESULTS.items():
        page.locator("[data-testid=stSidebarNav]").get_by_role("link", name=title, exact=True).click()
        page.get_by_role("heading", name=title, exact=True).first.wait_for()
        page.locator("[data-testid=stMainBlockContainer] .st-key-run button").click()
        page.locator("[data-testid=stMain]").get_by_text(result).first.wait_for(timeout=120_000)
        page.locator("[data-testid=stMainBlockContainer] .st-key-run button:not([disabled])").first.wait_for(
            timeout=120_000
        )
        found += objections(page, f"{title}, with results", {"exclude": [[SIDEBAR]]})
    assert not found


def objections(page, title: str, where: dict) -> list[tuple]:
    """What axe-core says against a page as it stands, in both appearances."""
    found = []
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.emulate_media(color_scheme="light")
    page.evaluate(AT_REST)  # what is put there in the browser
    for theme, options in APPEARANCES.items():
        page.emulate_media(color_scheme=theme)
        if not page.evaluate(APPEARS, theme):
            page.wait_for_function(APPEARS, arg=theme)
        found_here = page.evaluate("([where, options]) => axe.run(where, options)", [where, options])
        for violation in found_here["violations"]:
            nodes = [str(node["target"]) for node in violation["nodes"][:3]]
            found.append((title, theme, violation["id"], violation["impact"], nodes))
    return found + [(title, width, "reaches beyond the window") for width in WIDTHS if not fits(page, width)]


def fits(page, width: int) -> bool:
    """Whether nothing has to be scrolled to from the side at that width of the window."""
    before = page.viewport_size
    page.set_viewport_size({"width": width, "height": before["height"]})
    page.evaluate(AT_REST)
    found = page.evaluate("() => { const { scrollWidth, clientWidth } = document.querySelector('[data-testid=stMain]');"
                          " return scrollWidth <= clientWidth + 1; }")  # fmt: skip
    page.set_viewport_size(before)
    return found


def test_roles_are_right_as_soon_as_the_page_changes(open_tab):
    page = open_tab("/")
    page.locator("[data-testid=stFileUploaderDropzone][role=group]").first.wait_for()
    role = page.evaluate(
        """async () => {
          const zone = document.createElement("section");
          zone.dataset.testid = "stFileUploaderDropzone";
          zone.setAttribute("role", "presentation");
          document.body.append(zone);
          await undefined;
          zone.remove();
          return zone.getAttribute("role");
        }"""
    )
    assert role == "group"


def test_every_chart_can_be_saved(open_tab):
    page = open_tab("/path")
    page.locator(".cfl-save > button").first.wait_for()
    files = {}
    for kind in ("CSV", "SVG", "PNG"):
        page.locator(".cfl-save > button").first.click()
        with page.expect_download() as download:
            page.locator(".cfl-save div button", has_text=kind).first.click()
        with open(download.value.path(), "rb") as file:
            files[kind] = file.read()
    lines = files["CSV"].decode().splitlines()
    assert lines[0] == '"series","x","y"' and len(lines) > 20
    assert files["SVG"].startswith(b"<svg") and files["PNG"].startswith(b"\x89PNG")
    page.keyboard.press("Tab")
    page.locator(".cfl-save > button").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".cfl-save > button").first.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert page.locator(".cfl-save > button").first.get_attribute("aria-expanded") == "false"
