"""The pictures of the README: ``python -m docs.make_pictures [NAME …]`` starts the app, drives it in headless Chromium
on the sample and writes docs/NAME.png. Needs ``pip install -e ".[test,neural]"`` and Debian's package chromium."""

from __future__ import annotations

import argparse
import io
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from benchmarks.app import CHROMIUM, served

FOLDER = Path(__file__).parent
WIDTH, HEIGHT = 1440, 1000
COLOURS = 192  # of a picture: more take space and show nothing
WAIT_MS = 240_000


def press(page: Page, name: str, sign: str) -> None:
    """A button, and what is on the page when it is done."""
    page.get_by_role("button", name=re.compile(f"^{name}")).first.click()
    page.wait_for_timeout(2_000)
    page.locator(".st-key-run button:enabled").wait_for(timeout=WAIT_MS)
    page.locator(sign).first.wait_for(timeout=WAIT_MS)


def choose(page: Page, label: str, option: str) -> None:
    """An entry of a box of choices."""
    page.get_by_role("combobox", name=re.compile(label)).click()
    page.get_by_role("option", name=option).click()
    page.wait_for_timeout(1_500)


def of_solver(page: Page) -> None:
    """A run to its end, and the film of its homotopy in the middle."""
    press(page, "Run", ".cfl-film dd b")
    page.get_by_role("slider", name=re.compile("^ζ")).evaluate(
        "node => { node.value = 5; node.dispatchEvent(new Event('input', { bubbles: true })); }"
    )


def of_tasks(page: Page) -> None:
    """Who wrote which review."""
    page.locator('[data-testid="stMultiSelect"] [aria-label*="Clear"], [title="Clear all"]').first.click()
    page.locator('[data-testid="stMultiSelect"] input').first.click()
    page.get_by_role("option", name=re.compile("^author")).click()
    page.keyboard.press("Escape")
    press(page, "Compare", ".cfl-figure .main-svg")


def of_losses(page: Page) -> None:
    """Two quantiles around the overall rating."""
    choose(page, "Predict", "overall (number)")
    page.get_by_text("A band of two quantiles").click()
    press(page, "Fit", "[role=tab]")
    page.get_by_role("tab", name="Predictions").click()


def of_embeddings(page: Page) -> None:
    """Positive against negative reviews, on the text."""
    press(page, "Compare", "[role=tab]")
    page.get_by_role("tab", name="On the text").click()


#: the picture, the page, what is done there, and how high it is
SCENES: dict[str, tuple[str, Callable[[Page], object], int]] = {
    "first": ("", lambda page: None, HEIGHT),
    "path": ("path", lambda page: page.locator(".cfl-path-cursor span").wait_for(), HEIGHT),
    "pointers": ("pointers", lambda page: page.locator(".lt .p").first.wait_for(), HEIGHT),
    "solve": ("solve", of_solver, 2060),
    "tasks": ("tasks", of_tasks, 1360),
    "sentences": ("sentences", lambda page: press(page, "Learn", "[role=tab]"), 1200),
    "losses": ("losses", of_losses, 1250),
    "embeddings": ("embeddings", of_embeddings, 1060),
    "clusters": ("clusters", lambda page: press(page, "Learn", ".cfl-figure .main-svg"), 1200),
}


def take(page: Page, name: str) -> None:
    """The page as it stands, with few colours."""
    page.mouse.move(WIDTH - 2, 2)
    page.wait_for_timeout(2_500)
    raw = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    file = FOLDER / f"{name}.png"
    raw.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB", flush=True)


def main() -> None:
    """Drive the app and write the pictures."""
    parser = argparse.ArgumentParser(prog="python -m docs.make_pictures", description="Pictures for the README.")
    parser.add_argument("names", nargs="*", choices=[*SCENES, []], help="which (default: all)")
    names = parser.parse_args().names or list(SCENES)
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (address, _), sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--headless"])
        for name in names:
            where, act, height = SCENES[name]
            page = browser.new_context(viewport={"width": WIDTH, "height": height}, color_scheme="light").new_page()
            page.set_default_timeout(120_000)
            page.goto(f"{address}/{where}")
            page.locator("h1").wait_for()
            page.wait_for_timeout(4_000)
            act(page)
            take(page, name)
            page.context.close()
        browser.close()


if __name__ == "__main__":
    main()
