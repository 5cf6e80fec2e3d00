"""How the app feels, in a real browser: first screen, slider, page switches, Stop, memory over minutes of use.

Needs Chromium and playwright. A server is started, visited, and used as a person would: the slider is dragged, pages
are switched, a corpus is solved and stopped, a classifier learnt, for as many minutes as asked. Memory is the resident
set of the server and the JavaScript heap of the tab; both are taken at the end of every round, and their growth is the
slope over the second half of the rounds. The larger corpus is made of the sample's reviews, two to a document, until it
has --tokens tokens. Chromium draws in software here, so frames a second are those of a machine without a graphics card.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.report import machine, machine_line, say, write_json

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"
PAGES = ("Read", "Phrases", "Words to phrases", "Boilerplate", "Export", "Corpus")
_IMPROVING = re.compile("^Still improving")  # of the path, not the word in the bar
_DRAG = """async node => {
  const last = Number(node.max), took = [], frames = [];
  let before = performance.now(), going = true;
  const tick = now => { frames.push(now - before); before = now; if (going) requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  for (let k = 0; k <= 3 * last; k++) {
    const began = performance.now();
    node.value = Math.abs(last - k % (2 * last));
    node.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
    took.push(performance.now() - began);
  }
  going = false;
  return [took, frames.slice(1)];
}"""

# What is timed is looked for once a frame: Playwright's own waits look every half a second in the end.
# Within the roots that components keep to themselves, too:
_STANDS = """() => {
  const seek = root => root.querySelector(".lt-line b")
    || [...root.querySelectorAll("*")].some(node => node.shadowRoot && seek(node.shadowRoot));
  return Boolean(seek(document));
}"""
_WHOLE = """title => {
  const state = document.querySelector("[data-testid=stApp]")?.getAttribute("data-test-script-state");
  return state === "notRunning" && [...document.querySelectorAll("h1, h2")].some(
    head => head.textContent.trim() === title && head.checkVisibility());
}"""
_STOPPED = """() => document.evaluate("//*[starts-with(normalize-space(text()), 'Still improving')]", document, null,
  XPathResult.BOOLEAN_TYPE).booleanValue === false"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside the common ones."""
    parser.add_argument("--minutes", type=float, default=60.0, metavar="M", help="of use (default: %(default)g)")
    parser.add_argument("--tokens", type=int, default=2_000_000, metavar="N", help="of the larger corpus")


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; 2 where there is no browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        say("needs playwright")
        return 2
    if not Path(CHROMIUM).exists():
        say("needs Chromium")
        return 2
    facts = machine(arguments.threads or os.cpu_count() or 1)
    print(machine_line(facts), flush=True)
    minutes = 0.5 if arguments.quick else arguments.minutes
    tokens = 50_000 if arguments.quick else arguments.tokens
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (url, process), sync_playwright() as play:
        large = _larger(Path(folder), tokens)
        browser = play.chromium.launch(
            executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--enable-precise-memory-info"]
        )
        page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
        page.set_default_timeout(120_000)
        results["first screen"] = _first(browser, url)
        page.goto(url)
        page.locator(".lt-line b").first.wait_for()
        results["sample"] = _feel(page)
        results["larger"] = _solve(page, large) | _feel(page)
        results["memory"] = _use(page, process.pid, minutes)
        browser.close()
    for name, values in results.items():
        print(f"\n{name}")
        for key, value in values.items():
            if not isinstance(value, list):
                print(f"  {key:<42} {value:,.3g}")
    if arguments.json:
        write_json(arguments.json, "app", facts, {"minutes": minutes, "tokens": tokens}, results)
    return 0


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, subprocess.Popen]]:
    """The app's address and process, as long as the block lasts; what it prints goes into ``folder``."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.headless",
        "true",
        "--server.port",
        str(port),
    ]
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        try:
            url = f"http://localhost:{port}"
            while process.poll() is None:
                try:
                    urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            else:
                raise RuntimeError(f"the app did not start: {(folder / 'log.txt').read_text(errors='replace')[-500:]}")
            yield url, process
        finally:
            process.terminate()
            process.wait(timeout=30)


def _larger(folder: Path, tokens: int) -> Path:
    """The reviews again and again, each with another behind it, so that no document repeats."""
    texts = pd.read_csv(ROOT / "sample_data" / "reviews.csv")["text"].tolist()
    count, rng = max(1, tokens // 110), np.random.default_rng(0)
    first, second = rng.integers(0, len(texts), (2, count))
    path = folder / "larger.csv"
    pd.DataFrame(
        {"text": [f"{texts[a]} {k} {texts[b]}" for k, (a, b) in enumerate(zip(first, second, strict=True))]}
    ).to_csv(path, index=False)
    return path


def _first(browser: Any, url: str) -> dict[str, Any]:
    """Seconds from the address to the proved sentence: of the first visit to the server, and of five more, each with an
    empty cache."""
    took = []
    for _ in range(6):
        context = browser.new_context(viewport={"width": 1440, "height": 1000})
        page = context.new_page()
        began = time.perf_counter()
        page.goto(url)
        page.wait_for_function(_STANDS, polling="raf", timeout=120_000)
        took.append(time.perf_counter() - began)
        context.close()
    return {"first visit, s": took[0], "median of five more, s": float(np.median(took[1:]))}


def _feel(page: Any) -> dict[str, Any]:
    """The slider from end to end and back, and pages that are switched."""
    _go(page, "Corpus")
    slider = page.locator(".lt-bar input").first
    slider.wait_for()
    took, frames = slider.evaluate(_DRAG)
    switches = []
    for name in PAGES * 2:
        began = time.perf_counter()
        _go(page, name)
        switches.append(time.perf_counter() - began)
    return {
        "slider to new text, median ms": float(np.median(took)),
        "slider to new text, 95 % ms": float(np.percentile(took, 95)),
        "frames a second while dragging, median": 1000.0 / float(np.median(frames)),
        "page switch, median s": float(np.median(switches)),
        "page switch, 95 % s": float(np.percentile(switches, 95)),
    }


def _go(page: Any, name: str) -> None:
    """Another page, until it is whole."""
    page.locator("[data-testid=stSidebarNav]").get_by_role("link", name=name, exact=True).click()
    title = "See what your text is made of" if name == "Corpus" else name
    page.wait_for_function(_WHOLE, arg=title, polling="raf")


def _button(page: Any, name: str) -> Any:
    """A button, whether or not it says its shortcut beside its name."""
    return page.get_by_role("button", name=re.compile(rf"^{name}( Shortcut .*)?$"))


def _solve(page: Any, file: Path) -> dict[str, Any]:
    """A larger corpus: until its first λ can be read, and how soon Stop is heard."""
    _go(page, "Corpus")
    began = time.perf_counter()
    page.set_input_files("input[type=file]", str(file))
    page.get_by_text(_IMPROVING).wait_for(timeout=900_000)
    readable = time.perf_counter() - began
    page.locator(".lt-bar input").first.wait_for(timeout=900_000)  # two λ are there
    moving = time.perf_counter() - began
    page.wait_for_timeout(20_000)  # a few more
    found = {"first text, s": readable, "slider moves, s": moving}
    stop = _button(page, "Stop").first
    if not stop.count():
        return found  # it is all done, in a corpus of a few tokens
    began = time.perf_counter()
    stop.click()
    page.wait_for_function(_STOPPED, polling="raf", timeout=120_000)
    return found | {"Stop, s": time.perf_counter() - began}


def _use(page: Any, pid: int, minutes: float) -> dict[str, Any]:
    """Memory at the end of every round."""
    server, heap, ends = [], [], time.monotonic() + 60 * minutes
    rounds = 0
    while time.monotonic() < ends or rounds < 4:
        rounds += 1
        _go(page, "Corpus")
        sample = page.get_by_role("button", name="Sample reviews", exact=True)
        if sample.count():
            sample.click()
            page.locator(".lt-line b").first.wait_for()
        page.locator(".lt-bar input").first.evaluate(_DRAG)
        _go(page, "Telling sentences")
        _button(page, "Learn").click()
        page.locator(".tl li").first.wait_for()
        for name in PAGES:
            _go(page, name)
        server.append(_resident(pid) / 2**20)
        heap.append(page.evaluate("performance.memory.usedJSHeapSize") / 2**20)
        say(f"round {rounds}: server {server[-1]:,.0f} MiB, tab {heap[-1]:,.0f} MiB")
    half = len(server) // 2
    return {
        "rounds": rounds, "minutes": minutes, "server at the end, MiB": server[-1], "tab at the end, MiB": heap[-1],
        "server grows, MiB a round": _growth(server[half:]), "tab grows, MiB a round": _growth(heap[half:]),
        "server": server, "tab": heap,
    }  # fmt: skip


def _resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _growth(values: list[float]) -> float:
    return float(np.polyfit(np.arange(len(values)), values, 1)[0]) if len(values) > 1 else 0.0
