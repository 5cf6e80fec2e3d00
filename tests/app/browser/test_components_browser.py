"""The components of our own in a real browser."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from browsing import ROOT, needs_browser, served

PLOT = ".cfl-live-plot"
pytestmark = needs_browser


@pytest.fixture(scope="module")
def demo_url(tmp_path_factory) -> Iterator[str]:
    with served(ROOT / "tests/app/browser/demo_components.py", tmp_path_factory.mktemp("demo") / "log.txt") as url:
        yield url


@pytest.fixture
def page(chromium):
    page = chromium.new_page()
    page.set_viewport_size({"width": 1000, "height": 1000})
    hosts, errors = set(), []
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    own = urlsplit(page.url).netloc
    page.close()
    assert not errors
    assert hosts - {""} <= {own}, "a request left this machine"


def test_the_chart_takes_rows_from_the_stream_and_keeps_its_node(page, demo_url):
    # The first connection breaks off half-way; the second starts over, and nothing may be drawn twice.
    page.goto(f"{demo_url}/?show=chart&pause=20&cut=once")
    page.locator(f"{PLOT} svg.main-svg").first.wait_for(timeout=60_000)
    page.locator(PLOT).evaluate("node => { window.before = [node, node.querySelector('svg.main-svg')]; }")
    hidden = "node => node._fullData.some((trace) => trace.visible === 'legendonly')"
    for _ in range(5):  # a redraw may replace the entry under the pointer, and a click waits for a second one
        page.locator(f"{PLOT} .legendtoggle").nth(2).click()
        page.wait_for_timeout(1000)
        if page.locator(PLOT).evaluate(hidden):
            break
    box = page.locator(PLOT).bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 120)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 200, steps=5)
    page.mouse.up()
    page.get_by_role("button", name="reset zoom").wait_for()
    zoomed = page.locator(PLOT).evaluate("node => node.layout.xaxis.range")

    page.get_by_role("button", name="rerun").click()
    page.locator(".cfl-live-status", has_text="finished: converged").wait_for(timeout=60_000)
    assert "iteration 1,499" in page.locator(".cfl-live-status").inner_text()
    assert "% proved" in page.locator(".cfl-live-status").inner_text()
    page.get_by_text("ends: 1").wait_for()

    state = page.locator(PLOT).evaluate("""node => ({
        same: window.before[0] === node && window.before[1] === node.querySelector("svg.main-svg"),
        range: node.layout.xaxis.range,
        hidden: node._fullData.filter((trace) => trace.visible === "legendonly").map((trace) => trace.name),
        points: node.data.map((trace) => trace.x.length),
        ordered: node.data.slice(1).every((trace) => trace.x.every((x, k) => k === 0 || x > trace.x[k - 1])),
        labels: node._fullLayout.annotations.map((note) => note.text),
    })""")
    assert state["same"] and state["range"] == zoomed and state["hidden"] == ["relaxation (estimate)"]
    assert state["ordered"] and max(state["points"]) <= 600 and state["points"][-2] > 100
    assert "ζ > 0 from here" in state["labels"][0]
    assert page.locator(PLOT).get_attribute("role") == "figure"

    page.get_by_role("button", name="reset zoom").click()
    page.get_by_label("iterations").check()
    plot = page.locator(PLOT).element_handle()
    page.wait_for_function("node => node.layout.xaxis.range[1] > 1000", arg=plot)


def test_an_end_that_the_page_knows_before_the_stream_is_shown(page, demo_url):
    page.goto(f"{demo_url}/?show=chart&pause=1000")
    page.wait_for_function(f"document.querySelector('{PLOT}')?.data?.some((trace) => trace.x.length > 0)")
    page.get_by_role("button", name="stop").click()
    page.locator(".cfl-live-status", has_text="finished: interrupted").wait_for()
    assert "gap 0." in page.locator(".cfl-live-status").inner_text(), "the last row's, where the end has none"


def test_a_race_tells_its_solvers_apart_without_colour(page, demo_url):
    page.goto(f"{demo_url}/?show=race")
    page.locator(f"{PLOT} svg.main-svg").first.wait_for(timeout=60_000)
    page.wait_for_function(f"document.querySelector('{PLOT}')?.data?.length === 12")
    best = page.locator(PLOT).evaluate("""node => node.data.filter((trace) => trace.showlegend).map(
        (trace) => [trace.name, trace.line.color, trace.line.dash, trace.marker.symbol, trace.x.at(-1)])""")
    assert [name for name, *_ in best] == ["guided", "<b>homotopy</b>", "c"]
    for distinct in list(zip(*best, strict=True))[1:]:
        assert len(set(distinct)) == 3
    axis = page.locator(PLOT).evaluate("node => [node.layout.xaxis.type, node.layout.shapes.length]")
    assert axis == ["log", 2], "two gaps are marked"
    begins = page.locator(PLOT).evaluate(
        "node => node.data.filter((t) => t.marker?.symbol === 'x-thin').map((t) => t.x[0])"
    )
    assert begins == [pytest.approx(mark, rel=0.01) for mark in (4.5, 18.0, 31.5)], "where each begins to search"
    assert page.locator(".cfl-live-status").inner_text() == ""

    page.get_by_label("logarithmic").uncheck()
    plot = page.locator(PLOT).element_handle()
    page.wait_for_function("node => node.layout.xaxis.type === 'linear'", arg=plot)
    page.get_by_label("zoom on the gap").uncheck()
    page.wait_for_function("node => node.layout.shapes.length === 0", arg=plot)


MOVES = """[...document.querySelectorAll('[data-testid=stText]')].map((node) => node.innerText).find(
    (text) => text.startsWith('moves: '))?.slice(7)"""


def moves_of(page) -> list[dict]:
    return ast.literal_eval(page.evaluate(MOVES))


@pytest.mark.parametrize("slow", ["0", "0.4"])
def test_the_slider_tells_of_every_move_it_can_and_of_its_end(page, demo_url, slow):
    page.goto(f"{demo_url}/?show=path&slow={slow}")
    slider = page.locator(".cfl-path-bar input")
    slider.wait_for(timeout=60_000)
    page.locator(".cfl-path-plot svg.main-svg").first.wait_for()
    assert page.locator(".cfl-path-bar output").inner_text() == "λ = 1"
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.8 * box["width"], y)
    page.mouse.down()
    for k in range(12):
        page.mouse.move(box["x"] + (0.8 - 0.05 * k) * box["width"], y)
        page.wait_for_timeout(40)
    page.wait_for_function(f"({MOVES}) !== '[]'")
    held = page.locator(".cfl-path-bar output").inner_text()
    page.mouse.up()
    page.wait_for_function(f"({MOVES}).endsWith(\"'held': False, 'n': \" + ({MOVES}).match(/\\d+(?=}}]$)/)[0] + '}}]')")
    moves = moves_of(page)
    assert all(move["held"] for move in moves[:-1]) and not moves[-1]["held"]
    assert [move["n"] for move in moves] == list(range(1, len(moves) + 1)), "one at a time, none lost"
    lams = [move["lam"] for move in moves]
    assert lams == sorted(lams, reverse=True) and f"λ = {lams[-1]:.3g}" == held
    if slow != "0":
        assert len(moves) <= 6, "a slow page is not flooded"

    # the chart is a slider, too, and the arrow keys move it
    plot = page.locator(".cfl-path-plot").bounding_box()
    page.mouse.click(plot["x"] + plot["width"] - 14, plot["y"] + 100)
    page.wait_for_function(f"({MOVES}).includes(\"'lam': 3.16\")")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"({MOVES}).split(\"'lam': 1.77\").length > 1")
    assert slider.get_attribute("aria-valuetext") == "λ = 1.78"
    track, line = slider.bounding_box(), page.locator(".cfl-path-cursor").bounding_box()
    share = float(slider.evaluate("node => node.value / node.max"))
    assert abs(track["x"] + 8 + share * (track["width"] - 16) - line["x"]) < 4, "the thumb is below the line"


def test_a_slider_that_was_let_go_says_so_again_where_the_message_is_lost(page, demo_url):
    page.goto(f"{demo_url}/?show=path&lost=")
    slider = page.locator(".cfl-path-bar input")
    slider.wait_for(timeout=60_000)
    page.locator(".cfl-path-plot svg.main-svg").first.wait_for()
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"({MOVES}).includes(\"'held': False\")", timeout=20_000)
    page.wait_for_timeout(5000)
    moves = moves_of(page)
    assert [move["held"] for move in moves].count(False) == 1, "once it was heard, it is not said again"
    assert f"λ = {moves[-1]['lam']:.3g}" == page.locator(".cfl-path-bar output").inner_text()


def test_play_goes_through_the_path_and_ends(page, demo_url):
    page.goto(f"{demo_url}/?show=path")
    play = page.locator(".cfl-path-bar button")
    play.wait_for(timeout=60_000)
    # What the button says is recorded in the page: from outside, a slow machine may miss all of the one second.
    play.evaluate("""button => {
        window.said = [];
        new MutationObserver(() => window.said.push(button.textContent)).observe(button, { childList: true });
    }""")
    play.click()
    page.wait_for_function("window.said.includes('❚❚ Pause') && window.said.at(-1) === '▶ Play'")
    page.wait_for_function(f"({MOVES}).includes(\"'held': False\")")
    lams = [move["lam"] for move in moves_of(page)]
    assert lams == sorted(lams) and lams[-1] == pytest.approx(3.162, rel=1e-3) and len(lams) >= 2
    # from the beginning, and paused by the same button
    play.evaluate("button => { button.click(); setTimeout(() => button.click(), 150); }")
    page.wait_for_function("document.querySelector('.cfl-path-bar input').valueAsNumber < 10")
    page.wait_for_function("window.said.at(-1) === '▶ Play'")
    text = page.locator(".cfl-path-plot").evaluate("node => node.layout.annotations.map((note) => note.text).join()")
    assert "&lt;script&gt;" in text and page.evaluate("window.pwned") is None


def test_bars_keep_their_elements_and_answer(page, demo_url):
    page.goto(f"{demo_url}/?show=path")
    bars = page.locator(".bars .bar")
    bars.first.wait_for(timeout=60_000)
    assert bars.count() == 10 and page.locator(".bars script").count() == 0
    places = "nodes => nodes.map((node) => [node.textContent, Number(node.style.getPropertyValue('--place'))])"
    before = dict(bars.evaluate_all(places))
    assert sorted(before.values()) == list(range(10)) and all(name.startswith("<script>") for name in before)
    bars.first.evaluate("node => { window.bar = node; }")
    kept = bars.first.inner_text()
    bars.first.click()
    page.get_by_text(re.compile(r"gram: \d+")).wait_for()
    assert page.locator(".bars .chosen").count() == 1 and page.locator(".bars .chosen").inner_text() == kept
    page.locator(".cfl-path-bar input").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("old => [...document.querySelectorAll('[data-testid=stText]')].length > 0 && old", arg=1)
    page.wait_for_function(f"({MOVES}) !== '[]'")
    deadline = time.monotonic() + 30
    while True:  # until the bars have settled
        page.wait_for_timeout(1200)
        after = bars.evaluate_all(places)
        if [place for _, place in after] == list(range(10)) and dict(after) != before:
            break
        assert time.monotonic() < deadline, f"the order of the keyboard is that of the eye: {after}"
    assert page.evaluate("window.bar.isConnected") == (kept.split("\n")[0] in "".join(name for name, _ in after))


def press(page, point) -> None:
    """Plotly lays a sheet over the points, which finds out what was meant."""
    box = point.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 1, y)
    page.mouse.click(x, y)


def test_a_figure_keeps_its_place_and_tells_which_point_was_clicked(page, demo_url):
    page.goto(f"{demo_url}/?show=figure")
    points = page.locator(".cfl-figure .scatterlayer .point")
    points.first.wait_for(timeout=60_000)
    figure = page.locator(".cfl-figure-plot")
    assert figure.get_attribute("aria-label").startswith("<script>") and figure.locator("script").count() == 0
    assert figure.evaluate("node => [node._fullLayout.height, node.clientWidth > 300]") == [300, True]
    figure.evaluate("node => { window.figure = node; }")
    press(page, points.nth(1))
    page.get_by_text("point: [8]").wait_for()
    page.get_by_text("twice as high").click()
    page.wait_for_function("figure._fullData[0].y[1] === 6")
    assert page.evaluate("window.figure.isConnected") and page.locator(".cfl-figure").count() == 1
    press(page, points.nth(2))
    page.get_by_text("point: [9]").wait_for()
    colours = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{demo_url}/?show=figure")
        points.first.wait_for()
        colours.append(page.locator(".xtick text").first.evaluate("node => getComputedStyle(node).fill"))
    assert colours[0] != colours[1]


def test_the_text_view_answers_with_the_right_pointer(page, demo_url):
    page.goto(f"{demo_url}/?show=text&words=800")
    rocket = page.locator(".scroller .p").filter(has_text="👩‍🚀")
    rocket.wait_for(timeout=60_000)
    rocket.hover()
    shown = rocket.inner_text()
    assert page.locator(".tip b").inner_text() == shown.lower()
    rocket.click()
    clicked = page.get_by_text(re.compile(r"clicked: \{"))
    clicked.wait_for()
    first = clicked.inner_text()

    text = (
        page.locator(".scroller article")
        .first.locator(".block")
        .evaluate_all("blocks => blocks.map((block) => block.textContent).join('')")
    )
    start, end = (int(n) for n in re.findall(r"(?:start|end)': (\d+)", first))
    assert text.startswith("<script>window.pwned = 1</script> <img")
    assert text[start:end] == shown, "offsets are code points"

    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("old => !document.body.innerText.includes(old)", arg=first)
    assert int(re.findall(r"start': (\d+)", clicked.inner_text())[0]) >= start

    assert (
        page.locator(".scroller article")
        .nth(1)
        .locator("[dir=auto]")
        .last.evaluate("node => getComputedStyle(node).direction")
        == "rtl"
    )
    assert page.evaluate("window.pwned") is None
    assert page.locator(".scroller script, .scroller img").count() == 0

    gram = 20
    page.get_by_label("selected").fill(str(gram))
    page.keyboard.press("Enter")
    page.locator(".scroller .chosen").first.wait_for()
    assert page.locator(".finder").is_visible()
    page.get_by_role("button", name="next occurrence").click()
    page.locator(".tip").wait_for()
    assert page.locator(".scroller .chosen[tabindex='0']").count() == 1


HEAT_DEMO = """
import re, sys
sys.path.insert(0, {root!r})
import streamlit as st
from pages.parts.components.text_view import HeatScale, text_view

text = "<img src=x onerror='window.pwned = 1'> 👩‍🚀 the 𝔘nicode cat\\n" + "the dear cat sat here. " * 300 + "The end."
text_of = [text, "שלום עולם"]
documents, words = [], {{}}
for text in text_of:
    spans = [m.span() for m in re.finditer(r"\\w+|[^\\w\\s]", text)]
    ids = [words.setdefault(text[a:b].lower(), len(words)) for a, b in spans]
    price = [2.5 if text[a:b] == "dear" else 0.5 if text[a:b] == "cat" else 0.0 for a, b in spans]
    pointers = {{"start": [a for a, _ in spans], "end": [b for _, b in spans], "gram": ids,
                 "length": [1] * len(spans), "price": price}}
    documents.append({{"title": "<b>t</b>", "text": text, "meta": "", "pointers": pointers}})
grams = {{w: {{"label": word, "count": 301, "cost": 0.5}} for word, w in words.items()}}
prices = st.toggle("Prices", True)
end = st.toggle("Mark the end")
if not prices:
    for document in documents:
        del document["pointers"]["price"]
scale = HeatScale(2.0, "<i>note</i>") if prices else None
n = len(text_of[0])
click = text_view(documents, grams=grams, key="text", height=300, scale=scale, marked=(0, n - 8, n) if end else None)
st.text(f"clicked: {{click}}")
"""


@pytest.fixture(scope="module")
def heat_url(tmp_path_factory) -> Iterator[str]:
    script = tmp_path_factory.mktemp("heat") / "demo.py"
    script.write_text(HEAT_DEMO.format(root=str(ROOT)), "utf-8")
    with served(script, script.with_name("log.txt")) as url:
        yield url


def test_the_heat_map_says_what_a_token_costs_in_three_ways(page, heat_url):
    page.goto(heat_url)
    tokens = page.locator(".heat .scroller .p")
    tokens.first.wait_for(timeout=60_000)
    look = """node => { const style = getComputedStyle(node);
        return [style.backgroundColor, parseFloat(style.borderBlockEndWidth)]; }"""
    by_price = [page.locator(f".scroller .q{level}").first.evaluate(look) for level in (0, 5, 20)]
    assert len({colour for colour, _ in by_price}) == 3, "the colour"
    assert [thickness for _, thickness in by_price] == [0, 1, 4], "the underline"
    dear = tokens.filter(has_text="dear").first
    dear.hover()
    assert page.locator(".tip").inner_text().split("\n") == ["dear", "price 2.5", "on average 0.5, 301 × in the corpus"]
    assert page.locator(".ticks span").all_inner_texts() == ["0", "0.5", "1", "1.5", "2 +"]
    assert page.locator(".steps .p").count() == 21 and page.locator(".note").inner_text() == "<i>note</i>"
    assert page.evaluate("window.pwned") is None and page.locator(".scroller img, .legend i").count() == 0

    cat = tokens.filter(has_text="cat").first  # behind characters of two UTF-16 units
    cat.click()
    clicked = page.get_by_text(re.compile(r"clicked: \{"))
    clicked.wait_for()
    start, end = (int(n) for n in re.findall(r"(?:start|end)': (\d+)", clicked.inner_text()))
    text = "".join(page.locator(".scroller article").first.locator(".block").all_text_contents())
    assert text[start:end] == "cat"


def test_the_heat_map_scrolls_to_what_is_marked_and_keeps_the_readers_place(page, heat_url):
    page.goto(heat_url)
    page.locator(".heat .scroller .p").first.wait_for(timeout=60_000)
    page.get_by_text("Mark the end").click()
    page.locator(".scroller .within").first.wait_for()
    assert page.locator(".scroller .within").all_inner_texts() == ["The", "end", "."]
    frame, mark = page.locator(".scroller").bounding_box(), page.locator(".scroller .within").first.bounding_box()
    assert frame["y"] <= mark["y"] <= frame["y"] + frame["height"]

    page.get_by_text("Prices", exact=True).click()
    page.locator(".view:not(.heat) .scroller .p").first.wait_for()
    page.wait_for_function(
        """y => {
            const find = (node) => [...node.querySelectorAll("*")].find((e) => e.shadowRoot?.querySelector(".view"));
            const spans = [...find(document).shadowRoot.querySelectorAll(".scroller .p")];
            const span = spans.findLast((e) => e.textContent === "end");
            return Math.abs(span.getBoundingClientRect().top - y) < 60; }""",
        arg=mark["y"],
    )


def test_sentences_say_without_colour_what_is_kept_and_for_whom(page, demo_url):
    page.goto(f"{demo_url}/?show=sentences")
    rows = page.locator(".sv-row")
    rows.first.wait_for(timeout=60_000)
    assert rows.count() == 3 and page.locator(".sv script, .sv img").count() == 0
    assert page.evaluate("window.pwned") is None
    assert rows.evaluate_all("nodes => nodes.map((node) => node.classList.contains('kept'))") == [True, False, True]
    said = page.locator(".sv-norm").all_inner_texts()
    assert said == ["kept, norm 2", "left out", "kept, norm 0.5"]
    # the bar of a norm is as long as its share of the strongest
    widths = page.locator(".sv-norm i").evaluate_all("nodes => nodes.map((node) => node.clientWidth)")
    assert len(widths) == 2 and widths[0] == pytest.approx(4 * widths[1], abs=2)
    # log-odds stand on the side of the class they speak for, small ones without a number, tiny ones not at all
    sides = page.locator(".sv-odd").evaluate_all(
        "nodes => nodes.map((node) => [...node.children].map((side) => side.innerText.trim() || side.children.length))"
    )
    assert sides == [[0, "0.5"], ["0.2", 0], [0, 0], [0, 0], [0, "0.25"], [0, 1]]
    assert "up →" in page.locator(".sv-sides").inner_text()
    lines = page.locator(".sv-text .sv-word").evaluate_all(
        "nodes => nodes.map((n) => getComputedStyle(n).borderBottomStyle)"
    )
    assert lines == ["solid", "dashed", "solid"]
    # one column where there is no room for two
    wide = rows.first.evaluate("node => getComputedStyle(node).gridTemplateColumns.split(' ').length")
    page.set_viewport_size({"width": 420, "height": 900})
    narrow = rows.first.evaluate("node => getComputedStyle(node).gridTemplateColumns.split(' ').length")
    assert (wide, narrow) == (2, 1)
