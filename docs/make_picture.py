"""The moving picture of the README: ``python -m docs.make_picture [--out FILE]`` starts the app, drives it in headless
Chromium and writes docs/first.webp. Needs ``pip install -e ".[test]"`` and Debian's package chromium."""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from benchmarks.app import CHROMIUM, served

PICTURE = Path(__file__).parent / "first.webp"
SIZE = {"width": 1500, "height": 1500}
PART, SHOWN = {"width": 1060, "height": 640}, (900, 543)  # of the page, from the element that a scene is about
FRAME_MS, PAUSE_MS = 110, 1400


class Film:
    """Frames and how long each is shown, in ms."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.times: list[int] = []
        self.part: dict[str, float] = {}

    def look_at(self, selector: str, above: int = 16) -> None:
        """Frames begin a little above this element."""
        box = self.page.locator(selector).first.bounding_box()
        assert box is not None
        self.part = {"x": max(0.0, box["x"] - 16), "y": max(0.0, box["y"] - above)} | PART

    def take(self, shown_ms: int = FRAME_MS) -> None:
        """What that part of the page shows now."""
        shot = self.page.screenshot(animations="allow", clip=self.part)  # type: ignore[arg-type]
        raw = Image.open(io.BytesIO(shot)).convert("RGB")
        self.frames.append(raw.resize(SHOWN, Image.Resampling.LANCZOS))
        self.times.append(shown_ms)

    def save(self, path: Path) -> None:
        """As an animated WebP."""
        first, *others = self.frames
        first.save(path, save_all=True, append_images=others, duration=self.times, loop=0, quality=72, method=6)


def drag_lambda(film: Film) -> None:
    """The slider of the first screen, from single words to long phrases and back to the middle."""
    film.look_at(".lt-line")
    slider = film.page.locator(".lt-bar input")
    last = int(slider.get_attribute("max") or 0)
    for value in [*range(last + 1), *range(last, last // 2 - 1, -1)]:
        slider.evaluate(
            "(node, value) => { node.value = value; node.dispatchEvent(new Event('input', { bubbles: true })); }", value
        )
        film.page.wait_for_timeout(60)
        film.take(PAUSE_MS if value in (0, last) else 2 * FRAME_MS)


def run_homotopy(film: Film) -> None:
    """A run on the solver's page, from the first row to the proved end."""
    film.page.get_by_role("button", name="Run").first.click()
    film.page.locator(".cfl-live-status").first.wait_for()
    film.page.wait_for_timeout(300)
    film.look_at("[data-testid=stMetric]")
    for _ in range(160):
        film.take()
        if "finished" in film.page.locator(".cfl-live-status").first.inner_text():
            break
    film.page.wait_for_timeout(1500)
    film.take(2 * PAUSE_MS)


def main() -> None:
    """Drive the app and write the picture."""
    parser = argparse.ArgumentParser(prog="python -m docs.make_picture", description="Film the app for the README.")
    parser.add_argument("--out", type=Path, default=PICTURE, help="an animated WebP (default: docs/first.webp)")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (address, _), sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--headless"])
        page = browser.new_context(viewport=SIZE, color_scheme="light").new_page()  # type: ignore[arg-type]
        film = Film(page)
        page.goto(address)
        page.locator(".lt-line b").first.wait_for(timeout=120_000)
        page.wait_for_timeout(2000)
        drag_lambda(film)
        page.goto(f"{address}/solve")
        page.get_by_role("button", name="Run").first.wait_for()
        page.wait_for_timeout(60_000)  # the engine is compiled once after an installation
        run_homotopy(film)
        film.save(out)
        browser.close()
    print(f"{out.name}: {len(film.frames)} frames, {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
