"""The whole app in a real browser: one server, hostile text, live chart, stop, reload, closed tabs."""

from __future__ import annotations

import csv
import io
import re
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest
from browsing import ROOT, needs_browser

PLOT = ".cfl-live-plot"
POINTS = f"document.querySelector('{PLOT}')?.data?.reduce((sum, trace) => sum + trace.x.length, 0) ?? 0"
REACHED = f"Math.max(0, ...(document.querySelector('{PLOT}')?.data ?? []).map(trace => trace.x.at(-1) ?? 0))"
PROVED = re.compile(r"gap [\d,.]+ % proved")
HOSTILE = [
    "<script>window.pwned=1</script> the malt <script>window.pwned=1</script> the malt",
    '<img src=x onerror="window.pwned=1"> the hops <img src=x onerror="window.pwned=1"> the hops',
    "👩‍🚀 loves 🍺 and 👩‍🚀 loves 🍺 and 👩‍🚀",
    "هذه البيرة جيدة جدا هذه البيرة جيدة جدا",
    "=1+1 is =1+1 and =1+1 is =1+1",
]

pytestmark = needs_browser


@pytest.fixture(scope="module")
def reviews() -> list[str]:
    return pd.read_csv(ROOT / "sample_data" / "reviews.csv")["text"].tolist()


@pytest.fixture(scope="module")
def long_corpus(reviews, tmp_path_factory) -> Path:
    """A file that takes the solver longer than a test."""
    texts = [f"{reviews[n % 2000]} {n} {reviews[(7 * n + 3) % 2000]}" for n in range(2500)]
    path = tmp_path_factory.mktemp("corpora") / "long.csv"
    pd.DataFrame({"text": texts}).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def short_corpus(reviews, tmp_path_factory) -> Path:
    """A file whose λ-path takes seconds."""
    path = tmp_path_factory.mktemp("corpora") / "short.csv"
    pd.DataFrame({"text": reviews[:60]}).to_csv(path, index=False)
    return path


def button(page, name: str):
    """By its name, whether or not a shortcut stands behind it."""
    return page.get_by_role("button", name=re.compile(rf"^{re.escape(name)}( Shortcut .*)?$"))


def go(page, name: str) -> None:
    page.locator("[data-testid=stSidebarNav]").get_by_role("link", name=name).click()


def heading(page, text: str):
    return page.get_by_role("heading", name=text).first


def metric(page, label: str) -> str:
    return (
        page.locator("[data-testid=stMetric]")
        .filter(has_text=label)
        .locator("[data-testid=stMetricValue]")
        .inner_text()
    )


def see_it_rest(page) -> None:
    """No run of the script is under way."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


def status(page, text: str | re.Pattern):
    return page.locator(".cfl-live-status").filter(has_text=text)


def run_and_see_rows(page, at_least: int = 20) -> None:
    button(page, "Run").click()
    page.wait_for_function(f"({POINTS}) >= {at_least}")


def use_path(page, path: Path) -> None:
    from playwright.sync_api import TimeoutError as NotThere

    there = page.locator("[data-testid=stSidebar]").get_by_text(path.name)
    box = page.get_by_role("textbox", name="File or folder")
    for _ in range(3):  # a page that is drawn anew between two keys may lose one
        with suppress(NotThere):
            if not box.is_visible():
                button(page, "A path on this computer").click()
            box.fill(str(path))
            box.press("Enter")
            there.wait_for(timeout=12_000)
            return
    there.wait_for()


def stop_exploring(page) -> None:
    """Stop the λ-path that a corpus begins with, unless it has ended; the button is drawn anew every second."""
    from playwright.sync_api import TimeoutError as NotThere

    # the first: while the page is drawn anew, the Stop of the reading that has just ended may stand there, too
    stop = page.locator("[data-testid=stSidebar]").get_by_role("button", name="Stop").first
    with suppress(NotThere):
        stop.wait_for(timeout=5_000)
    ends = time.monotonic() + 30
    while stop.count() and time.monotonic() < ends:
        with suppress(NotThere):  # it was drawn anew, or the machine is slow
            if not stop.is_enabled(timeout=2_000):
                break
            stop.evaluate("node => node.click()")  # at once: a click waits for a button to stand still
    stop.wait_for(state="detached")


def watch_it_live_and_stop(page) -> None:
    """Rows arrive by push, the chart keeps its DOM node, Stop answers at once and keeps a certified solution."""
    from playwright.sync_api import TimeoutError as NotThere

    assert page.watch.streams, "the trace comes as a stream"
    same = f"window.node === document.querySelector('{PLOT}') && window.svg === window.node.querySelector('svg')"
    page.evaluate(f"window.node = document.querySelector('{PLOT}'); window.svg = window.node.querySelector('svg')")
    page.wait_for_function(f"({REACHED}) > {page.evaluate(REACHED)}")
    status(page, PROVED).wait_for()
    assert page.evaluate(same)
    button(page, "Stop").first.click()
    page.get_by_text("Stopping").or_(status(page, "interrupted")).first.wait_for(timeout=3000)
    try:
        status(page, "finished: interrupted").wait_for()
    except NotThere:
        said = page.locator(".cfl-live-status").all_inner_texts()
        pytest.fail(f"{said}, {page.locator('[data-testid=stSidebar]').inner_text()[-300:]!r}")
    assert page.evaluate(same), "the finished chart is the live one"
    assert PROVED.search(page.locator(".cfl-live-status").inner_text())
    page.locator("[data-testid=stSidebar]").get_by_text("interrupted").wait_for()


def test_the_first_deep_link_after_a_start_goes_through_the_router(open_tab):
    page = open_tab("/pointers?lam=3")
    heading(page, "Read").wait_for()
    page.locator(".scroller .p").first.wait_for()
    sidebar = page.locator("[data-testid=stSidebar]")
    sidebar.get_by_text("2,000 documents").wait_for()
    assert sidebar.get_by_text("λ = 3 ·").count() == 1
    assert sidebar.get_by_role("link").all_inner_texts() != []
    assert page.locator("[data-testid=stMainBlockContainer]").bounding_box()["width"] > 1000, "the wide layout"
    assert page.title() == "Read" or "cflengine" in page.title()
    entries = page.evaluate("history.length")
    go(page, "Names")
    heading(page, "Names").wait_for()
    page.wait_for_url("**/tagger?lam=3")
    assert page.evaluate("history.length") == entries + 1, "a page is one step back, whatever stands in its address"
    page.go_back()
    heading(page, "Read").wait_for()
    icons, here = page.evaluate("window.icons"), f"http://{urlsplit(page.url).netloc}/"
    assert icons and all(icon.startswith(("data:", here)) for icon in icons), "nothing is fetched from elsewhere"


def test_keys_do_what_clicks_do_and_nothing_while_somebody_types(open_tab):
    page = open_tab("/")
    page.locator(".lt-line b").first.wait_for()
    page.keyboard.press("?")
    page.get_by_text("Play and pause").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("Play and pause").wait_for(state="hidden")
    page.keyboard.press(".")
    button(page, "❚❚ Pause").wait_for()
    page.keyboard.press(".")
    button(page, "▶ Play").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("r")
    heading(page, "Read").wait_for()
    document = page.get_by_role("spinbutton", name="Document")
    document.wait_for()
    page.keyboard.press("j")
    page.wait_for_function("document.querySelector('input[aria-label=Document]')?.value === '1'")
    page.keyboard.press("k")
    page.wait_for_function("document.querySelector('input[aria-label=Document]')?.value === '0'")
    page.keyboard.press("/")
    page.keyboard.type("gp?n")  # a box that is typed into
    assert page.get_by_role("textbox", name="Find in the corpus").input_value() == "gp?n" and document.is_visible()
    page.keyboard.press("Enter")
    page.get_by_text("No document holds").wait_for()
    links = page.locator("[data-testid=stSidebarNavLink]")
    assert all(link.get_attribute("title") for link in links.all()), "every page has a letter"
    page.locator("h1").first.click()
    see_it_rest(page)
    page.keyboard.press("n")
    heading(page, "Phrases").wait_for()


def test_hostile_text_from_upload_to_features(open_tab, reviews):
    page = open_tab("/?k=8")
    upload(page, reviews)

    see_it_solved_unasked(page)
    go(page, "Watch the solver")
    solve_to_the_end(page)
    scrub(page)

    go(page, "Read")
    look_at_pointers(page)
    go(page, "Export")
    take_features_away(page)
    assert page.evaluate("window.pwned") is None


def upload(page, reviews: list[str]) -> None:
    texts = HOSTILE + [f"{reviews[n]} {n} {reviews[(7 * n + 3) % 2000]}" for n in range(50)]
    data = io.StringIO(newline="")
    frame = pd.DataFrame({"text": texts, "note": ["=cmd()", "<b>bold</b>", *[""] * (len(texts) - 2)]})
    frame.to_csv(data, index=False, quoting=csv.QUOTE_ALL)
    name = "<img src=x onerror=window.pwned=1> a->b :material_home: www.x.org me@x.org.csv"
    page.locator("[data-testid=stFileUploader] input").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": data.getvalue().encode()}
    )
    title = page.locator("[data-testid=stSidebar] strong").first
    title.filter(has_text="onerror").wait_for()
    assert title.inner_text().replace("\u2060", "") == name, "shown as it is"
    assert title.locator("img, [href^=http], [href^=mailto]").count() == 0
    page.locator("[data-testid=stMetricValue]").get_by_text(f"{len(texts):,}").wait_for()
    assert "corpus=" in page.url


def see_it_solved_unasked(page) -> None:
    """Once a λ is certified the text is in pieces under the slider."""
    page.locator(".lt-line b").first.wait_for(timeout=90_000)
    assert "<script>window.pwned=1</script>" in page.locator(".lt").inner_text() or page.locator(".lt .p").count() > 20
    stop_exploring(page)
    page.get_by_text("Still improving").wait_for(state="hidden")


def test_the_first_screen_moves_under_the_slider(open_tab):
    page = open_tab("/")
    page.locator(".lt-line b").first.wait_for()
    pieces = "document.querySelector('.lt').getRootNode().querySelectorAll('.scroller .p.l1').length"
    pieces = pieces.replace("document.querySelector('.lt')", "window.lt")
    page.locator(".lt").evaluate("node => { window.lt = node }")
    before, line = page.evaluate(pieces), page.locator(".lt-line").inner_text()
    slider = page.locator(".lt-bar input")
    took = slider.evaluate(
        """node => { const began = performance.now(); node.value = 0;
        node.dispatchEvent(new Event("input", { bubbles: true })); return performance.now() - began; }"""
    )
    assert page.evaluate(pieces) > 2 * before, "more single words at once, unasked"
    assert took < 100 and page.locator(".lt-line").inner_text() != line
    slider.evaluate(
        "node => { node.value = +node.max - 2; node.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    above = page.evaluate(pieces)
    button(page, "▶ Play").click()
    page.wait_for_function(f"({pieces}) < {above}")
    assert above < before
    page.locator(".lt-top .bar").first.click()
    page.locator(".lt-top .chosen").wait_for()


def solve_to_the_end(page) -> None:
    slider = page.get_by_role("slider", name="K, words of the longest phrase")
    slider.wait_for()
    see_it_rest(page)  # keys pressed while the page was being drawn were lost once
    slider.press("Home")
    page.wait_for_url(re.compile(r"[?&]k=1\b"))
    see_it_rest(page)
    slider.press("ArrowRight")
    page.wait_for_url(re.compile(r"[?&]k=2\b"))
    page.get_by_text(re.compile("^Solver: ")).click()
    page.locator("[data-testid=stExpander]").get_by_text("homotopy", exact=True).click()
    page.get_by_text("Solver: homotopy", exact=True).wait_for()
    button(page, "Run").click()
    status(page, "finished: converged").wait_for(timeout=60_000)
    page.locator(".cfl-film dd b").first.wait_for()
    assert int(metric(page, "K-grams kept").replace(",", "")) > 100


def scrub(page) -> None:
    """The ζ slider changes numbers and text in the browser; at its end every pointer is in or out."""
    film, slider = page.locator(".cfl-film"), page.get_by_role("slider", name=re.compile("^ζ"))
    decided = film.locator("dd b").first
    first = decided.inner_text()
    took = slider.evaluate(
        """node => { const began = performance.now(); node.value = node.max;
        node.dispatchEvent(new Event("input", { bubbles: true })); return performance.now() - began; }"""
    )
    assert took < 100 and float(decided.inner_text().removesuffix(" %")) > float(first.removesuffix(" %"))
    film.get_by_text("At ζ = 1.0").wait_for()
    film.get_by_role("button", name="▶ Play").click()  # from the start, since it stood at the end
    assert decided.inner_text() == first
    film.get_by_text("At ζ = 0.1").wait_for()
    film.get_by_role("button", name="❚❚ Pause").click()
    now = film.locator(".cfl-film-now")
    now.locator(".scroller .p").first.click()
    now.locator(".scroller .chosen").first.wait_for()
    slider.press("ArrowRight")
    film.get_by_text("At ζ = 0.2").wait_for()
    stands = now.locator(".scroller .chosen").count() > 0
    assert now.locator(".finder").is_visible() == stands, "chosen where it still stands"
    film.locator(".js-plotly-plot .main-svg").first.wait_for()


def look_at_pointers(page) -> None:
    pieces = page.locator(".scroller .p")
    pieces.first.wait_for()
    article = page.locator(".scroller article")
    article.nth(0).locator(".p").first.wait_for()  # what is above comes in after what is in view
    assert "<script>window.pwned=1</script>" in article.nth(0).inner_text()
    assert page.locator(".scroller script, .scroller img").count() == 0
    arabic = article.nth(3).locator("[dir=auto]").last
    assert arabic.evaluate("node => getComputedStyle(node).direction") == "rtl"

    mark = pieces.filter(has_text="malt").first
    mark.hover()
    gram = page.locator(".tip b").inner_text()
    assert "malt" in gram
    mark.click()
    page.get_by_role("heading", name=f"“{gram}”").wait_for()
    page.get_by_text("stored once for").wait_for()

    # a row of the table (a canvas): its K-gram is chosen, and typing a filter afterwards does not choose another
    box = page.locator("[data-testid=stDataFrame]").first.bounding_box()
    page.mouse.click(box["x"] + 16, box["y"] + 52)
    page.wait_for_function("old => !document.querySelector('h2').innerText.includes(old)", arg=f"“{gram}”")
    chosen = page.locator("h2").first.inner_text()
    page.get_by_placeholder("part of a phrase").fill("pwned")
    page.keyboard.press("Enter")
    page.get_by_text(re.compile(r"^\d+ phrases?\. Choose a row")).wait_for()
    see_it_rest(page)
    assert page.locator("h2").first.inner_text() == chosen


def take_features_away(page) -> None:
    heading(page, "Export").wait_for()
    with page.expect_download() as download:
        button(page, "CSV").click()
    text = Path(download.value.path()).read_text("utf-8")
    head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert head == ["document", "feature", "count"] and download.value.suggested_filename == "features-count.csv"
    names = {name for _, name, _ in rows}
    assert not [name for name in names if name.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [name for name in names if name.startswith("'=")], "the formula is there, defused"
    assert len(rows) == int(metric(page, "Non-zero entries").replace(",", ""))


def test_a_slider_on_the_path_changes_the_text_and_is_solved_for(open_tab, short_corpus):
    page = open_tab("/")
    use_path(page, short_corpus)
    stop_exploring(page)
    go(page, "Words to phrases")
    button(page, "Run the path").click()
    page.get_by_text("of 12 λ certified").wait_for()
    page.get_by_text("of 12 λ certified").wait_for(state="detached", timeout=120_000)  # the slider moves before, too
    page.get_by_text("Solved and certified on the path.").wait_for()
    count = (
        "document.querySelectorAll('.cfl-path')[0] && [...document.querySelectorAll('*')].map((node) => node.shadowRoot"
    )
    count += "?.querySelectorAll('.scroller .p.l1').length ?? 0).reduce((a, b) => a + b)"
    page.wait_for_function(f"({count}) > 0")
    words = page.evaluate(count)
    slider = page.locator(".cfl-path-bar input")
    slider.hover()  # scrolls to it, and tries again where the page is just being drawn anew
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.455 * box["width"], box["y"] + box["height"] / 2, steps=4)
    page.get_by_text("Let go of the slider to solve here.").wait_for()
    page.wait_for_function(f"({count}) > {words}")  # cheaper pointers, more of them to single words
    assert page.locator("[data-testid=stText]").count() == 0
    page.mouse.up()
    # it may wait for what a test before has left in the queue
    page.get_by_text("Solved and certified at this λ.").wait_for(timeout=120_000)
    page.wait_for_function("document.querySelector('.cfl-path-status').innerText === ''")  # and refined
    bar = page.locator(".bars .bar").first
    gram = bar.locator(".name").inner_text()
    bar.click()
    page.locator(".bars .chosen").wait_for()
    page.wait_for_function(
        "gram => document.querySelector('.cfl-path-plot').layout.annotations.some((note) => note.text.includes(gram))",
        arg=gram,
    )


def test_a_reload_finds_its_solve_and_a_closed_tab_ends_it(open_tab, long_corpus):
    page = open_tab("/", apart=True)
    use_path(page, long_corpus)
    page.wait_for_function(f"({POINTS}) > 20")  # the homotopy runs over the text itself until a λ is certified
    go(page, "Watch the solver")
    stop_exploring(page)
    run_and_see_rows(page)
    job = parse_qs(urlsplit(page.url).query)["job"]

    page.reload()
    page.wait_for_function(f"({POINTS}) > 20")
    assert parse_qs(urlsplit(page.url).query)["job"] == job
    assert button(page, "Run").is_disabled() and button(page, "Stop").first.is_enabled()
    page.wait_for_function(f"({REACHED}) > {page.evaluate(REACHED)}")

    address = urlsplit(page.url)
    second = open_tab(f"/solve?{re.sub('&?job=[^&]*', '', address.query)}", apart=True)
    button(second, "Run").click()
    second.get_by_text("Queued: 1 solve before yours.").first.wait_for()
    page.context.close()
    # the grace is six seconds; by itself the first solve would take much longer
    second.wait_for_function(f"({POINTS}) > 0", timeout=45_000)
    watch_it_live_and_stop(second)
