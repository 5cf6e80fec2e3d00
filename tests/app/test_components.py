from __future__ import annotations

import ast
import gzip
import importlib.util
import json
import math
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pages.parts import live_chart, static_routes, text_view  # noqa: E402

CHROMIUM = Path("/usr/bin/chromium")
PLOT = ".cfl-live-plot"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


def document(text: str, spans: list[tuple[int, int]], weight: list[float] | None = None) -> dict:
    pointers = {
        "start": [a for a, _ in spans],
        "end": [b for _, b in spans],
        "gram": list(range(len(spans))),
        "length": [max(1, len(text[a:b].split())) for a, b in spans],
    }
    if weight is not None:
        pointers["weight"] = weight
    return {"title": "t", "text": text, "meta": "", "pointers": pointers}


def grams_of(*documents: dict) -> dict:
    ids = {gram for doc in documents for gram in doc["pointers"]["gram"]}
    return {gram: {"label": f"gram {gram}", "count": 1, "cost": 1.0, "length": 1} for gram in ids}


@st.composite
def covered_texts(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]], list[float]]:
    """A text with astral characters and line breaks, pointers that overlap as they like, and weights."""
    text = draw(st.text(st.sampled_from('ab \n\t"<é中👩🚀𝔘\u200d\u202e'), max_size=40))
    if not text:
        return text, [], []
    borders = st.integers(0, len(text))
    pairs = draw(st.lists(st.tuples(borders, borders).filter(lambda p: p[0] != p[1]), max_size=8))
    spans = sorted((min(pair), max(pair)) for pair in pairs)
    weights = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=len(spans), max_size=len(spans)))
    return text, spans, weights


def in_javascript(doc: dict) -> list[str]:
    """The pieces as the browser cuts them: by UTF-16 units."""
    data, position, pieces = doc["text"].encode("utf-16-le"), 0, []
    for length in doc["cut"]:
        pieces.append(data[position : position + 2 * length].decode("utf-16-le"))
        position += 2 * length
    return pieces


# ---- cutting


@given(covered_texts())
def test_the_pieces_are_the_text_and_know_who_covers_them(case):
    text, spans, weights = case
    doc = text_view.encode_document(document(text, spans, weights))
    pieces = in_javascript(doc)
    assert "".join(pieces) == text
    assert sum(doc["blocks"]) == len(pieces)

    position, before = 0, set()
    for k, piece in enumerate(pieces):
        covering = {p for p, (a, b) in enumerate(spans) if a < position + len(piece) and b > position}
        after = {p for p, (_, b) in enumerate(spans) if p in covering and b > position + len(piece)}
        assert all(spans[p][0] <= position and spans[p][1] >= position + len(piece) for p in covering)
        rank = sorted(covering, key=lambda p: (-weights[p], spans[p][0], spans[p][0] - spans[p][1], p))
        shown = [] if doc["who"][k] < 0 else [doc["who"][k], *doc["others"].get(k, [])]
        assert shown == rank
        joins = doc["joins"].get(k, 0)
        assert bool(joins & text_view.JOINS_PREVIOUS) == bool(covering & before)
        assert bool(joins & text_view.JOINS_NEXT) == bool(after)
        position, before = position + len(piece), covering


def test_neighbours_stay_two_and_an_overlap_is_marked():
    doc = text_view.encode_document(document("new york stock exchange", [(0, 8), (4, 14), (15, 23)]))
    assert in_javascript(doc) == ["new ", "york", " stock", " ", "exchange"]
    assert doc["who"] == [0, 0, 1, -1, 2]
    assert doc["others"] == {1: [1]}
    assert doc["joins"] == {0: text_view.JOINS_NEXT, 1: 3, 2: text_view.JOINS_PREVIOUS}


@given(
    st.text(st.sampled_from("ab \n"), max_size=300),
    st.lists(st.tuples(st.integers(0, 299), st.integers(1, 30)), max_size=30),
    st.integers(1, 40),
)
def test_blocks_are_of_the_asked_size_and_spare_the_pointers(text, pointers, size):
    n = len(text)
    spans = sorted((a, min(a + length, n)) for a, length in pointers if a < n)
    start, end = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    cuts = text_view.block_cuts(text, start, end, size)
    blocks = np.diff([0, *cuts, n])
    assert np.all(blocks[:-1] >= size)
    assert np.all(blocks <= 2 * size)
    last = 0
    for cut in cuts:
        free = [k for k in range(last + size, last + 2 * size + 1) if not np.any((start < k) & (end > k))]
        if free:
            assert cut in free
        if any(text[k - 1] == "\n" for k in free):
            assert text[cut - 1] == "\n"
        last = cut


def test_a_block_may_have_to_cut_a_pointer():
    text = "x" * (5 * text_view.BLOCK)
    doc = text_view.encode_document(document(text, [(0, len(text))]))
    assert "".join(in_javascript(doc)) == text
    assert set(doc["who"]) == {0}


@pytest.mark.parametrize("spans", [[(-1, 2)], [(2, 2)], [(3, 1)], [(0, 6)]])
def test_pointers_outside_the_text_are_refused(spans):
    with pytest.raises(ValueError, match="empty or reaches outside"):
        text_view.encode_document(document("abcde", spans))


@pytest.mark.parametrize(("weight", "message"), [([0.5, 0.5], "differ in length"), ([math.nan], "not a number")])
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        text_view.encode_document(document("abcde", [(0, 5)], weight))


# ---- payload


def test_the_payload_holds_what_is_used_and_nothing_else():
    doc = document("a 👩‍🚀 b c", [(0, 1), (2, 5), (6, 9)])
    doc["pointers"]["gram"] = [4, text_view.LITERAL, 9]
    doc["pointers"]["length"] = [1, 1, 12]
    entry = {"label": "b c", "count": np.int64(7), "cost": np.float32(2.5), "length": 2}
    view = json.loads(text_view.encode_view([doc], {4: {**entry, "label": "a"}, 9: entry, 11: entry}))
    assert view["grams"] == {"4": ["a", 7, 2.5], "9": ["b c", 7, 2.5]}
    assert view["counts"] == {"lengths": {"1": 1, "8": 1}, "literals": 1, "overlaps": 0, "weighted": False}
    assert view["documents"][0]["text"] == doc["text"]
    with pytest.raises(ValueError, match="no entry in grams for ids \\[9\\]"):
        text_view.encode_view([doc], {4: entry})


def test_empty_texts_and_no_documents():
    assert json.loads(text_view.encode_view([], {}))["documents"] == []
    doc = document("", [])
    assert json.loads(text_view.encode_view([doc], {}))["documents"][0]["cut"] == []


def test_a_lone_surrogate_travels_as_a_replacement_character():
    doc = document("a\ud83d b", [(0, 2), (3, 4)])
    encoded = json.loads(text_view.encode_view([doc], grams_of(doc)))["documents"][0]
    assert in_javascript(encoded) == ["a\ufffd", " ", "b"]


def test_weights_are_clipped_and_hostile_text_stays_text():
    hostile = "<script>alert(1)</script>\u2028"
    doc = document(hostile, [(0, 8), (8, 25)], [-0.001, 1.002])
    encoded = json.loads(text_view.encode_view([doc], grams_of(doc)))
    assert encoded["documents"][0]["weight"] == [0.0, 1.0]
    assert encoded["documents"][0]["text"] == hostile
    assert encoded["counts"]["weighted"] is True


# ---- heat map


def priced(text: str, spans: list[tuple[int, int]], price: list[float]) -> dict:
    doc = document(text, spans)
    doc["pointers"]["price"] = price
    return doc


@given(covered_texts(), st.integers(2, 9))
def test_the_browser_can_count_the_tokens_of_a_heat_map(case, size):
    text, spans, _ = case
    tokens: list[tuple[int, int]] = []
    for a, b in spans:
        if not tokens or a >= tokens[-1][1]:
            tokens.append((a, b))
    whole = text_view.encode_document(document(text, tokens))
    price = [0.25 * k for k in range(len(tokens))]
    doc = text_view.encode_prices(priced(text, tokens, price))
    assert in_javascript({"text": text, "cut": [abs(length) for length in doc["cut"]]}) == in_javascript(whole)
    who, token = [], -1
    for piece, length in enumerate(doc["cut"]):  # as in unpack() of text_view.js
        token += length > 0 and not doc["joins"].get(piece, 0) & text_view.JOINS_PREVIOUS
        who.append(token if length > 0 else -1)
    assert who == whole["who"]
    assert doc["price"] == [250_000 * k for k in range(len(tokens))] and doc["gram"] == list(range(len(tokens)))


def test_a_token_longer_than_a_block_is_one_token():
    text = "a " + "x" * (5 * text_view.BLOCK) + " b"
    doc = text_view.encode_prices(priced(text, [(0, 1), (2, len(text) - 2), (len(text) - 1, len(text))], [1, 2, 3]))
    goes_on = [piece for piece, joins in doc["joins"].items() if joins & text_view.JOINS_PREVIOUS]
    assert len([length for length in doc["cut"] if length > 0]) - len(goes_on) == 3 and goes_on


def test_a_heat_map_travels_with_its_scale_and_with_nothing_it_does_not_need():
    doc = priced("a b", [(0, 1), (2, 3)], [0.1234567, 2.0])
    scale = text_view.HeatScale(1.6, "<b>note</b>")
    view = json.loads(text_view.encode_view([doc], grams_of(doc), scale))
    assert view["scale"] == [1.6, "<b>note</b>"] and "counts" not in view
    assert view["documents"][0]["price"] == [123457, 2_000_000]
    assert set(view["documents"][0]) == {"title", "meta", "text", "cut", "blocks", "gram", "joins", "price"}
    assert text_view.encode_view([doc], grams_of(doc), scale) != text_view.encode_view(
        [doc], grams_of(doc), text_view.HeatScale(2.0, "<b>note</b>")
    )


@pytest.mark.parametrize(
    ("price", "message"),
    [([1.0], "needs a price"), ([1.0, -0.1], "at least 0"), ([1.0, math.nan], "a number"), ([math.inf, 1], "a number")],
)
def test_bad_prices_are_refused(price, message):
    with pytest.raises(ValueError, match=message):
        text_view.encode_prices(priced("ab cd", [(0, 2), (3, 5)], price))


def test_a_heat_map_of_pointers_is_refused():
    with pytest.raises(ValueError, match="needs a price"):
        text_view.encode_prices(document("abcde", [(0, 2)]))
    for spans in ([(0, 3), (2, 5)], [(3, 5), (0, 2)]):
        with pytest.raises(ValueError, match="must not overlap"):
            text_view.encode_prices(priced("abcde", spans, [1.0, 1.0]))


@given(st.text(st.sampled_from("ab 👩🚀𝔘\ud800"), max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_a_marked_span_is_counted_as_javascript_counts(text, a, length):
    a = min(a, len(text))
    b = min(a + length, len(text))
    offsets = text_view.utf16_offsets(text.replace("\ud800", "\ufffd"))
    assert text_view.utf16_span(text, 3, a, b) == [3, offsets[a], offsets[b]]


def test_scripts_never_write_html():
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\("
    for script in ROOT.joinpath("pages", "parts").glob("*.js"):
        assert not re.search(forbidden, script.read_text("utf-8")), script.name


# ---- live chart


def test_rows_become_plain_json_numbers():
    row = {"t": np.float32(0.5), "i": np.int64(3), "best": math.inf, "bound": math.nan, "zeta": None, "x": 1}
    (encoded,) = live_chart.encode_rows([row])
    assert encoded == dict.fromkeys(live_chart.FIELDS) | {"t": 0.5, "i": 3.0}


def test_python_and_the_browser_mean_the_same_fields():
    script = ROOT.joinpath("pages", "parts", "live_chart.js").read_text("utf-8")
    fields = re.search(r"const FIELDS = \[(.*?)\]", script)[1]
    assert tuple(json.loads(f"[{fields}]")) == live_chart.FIELDS


def test_events_are_well_formed():
    event = live_chart.sse_rows([{"t": 0, "i": 0, "gap": math.nan}])
    assert event.startswith("data: [") and event.endswith("\n\n") and event.count("\n") == 2
    assert json.loads(event.removeprefix("data: "))[0]["gap"] is None
    done = live_chart.sse_done("time\nlimit", objective=2.0, bound=math.nan, gap=0.1).splitlines()
    assert done[0] == "event: done"
    payload = json.loads(done[1].removeprefix("data: "))
    assert payload == {"reason": "time\nlimit", "objective": 2.0, "bound": None, "gap": 0.1}


@pytest.mark.parametrize("url", ["https://example.org/x", "//example.org/x", "/\\example.org", "x"])
def test_a_stream_comes_from_this_site(url):
    with pytest.raises(ValueError, match="not a path on this site"):
        live_chart.live_trace_chart(rows=None, stream_url=url, key="k")


def test_paths_follow_the_base_path(monkeypatch):
    assert static_routes.plotly_js_route().path == "/cfl/plotly.min.js"
    monkeypatch.setattr(static_routes.st, "get_option", {"server.baseUrlPath": "/tools/cfl/"}.get)
    assert static_routes.plotly_js_route().path == "/tools/cfl/cfl/plotly.min.js"
    assert static_routes.site_url("/events/3?x=1") == "/tools/cfl/events/3?x=1"


@pytest.mark.parametrize("zipped", [True, False])
def test_the_chart_library_is_that_of_the_installed_wheel(zipped):
    headers = [(b"accept-encoding", b"gzip, br")] if zipped else []
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": headers})
    response = static_routes.plotly_js_route().endpoint(request)
    assert "immutable" in response.headers["cache-control"]
    assert response.headers.get("content-encoding") == ("gzip" if zipped else None)
    body = gzip.decompress(response.body) if zipped else response.body
    assert body.startswith(b"/**\n* plotly.js v")


def test_the_demo_runs_without_a_browser():
    app = AppTest.from_file(str(ROOT / "tests/app/demo_components.py"), default_timeout=30).run()
    assert not app.exception
    assert [text.value for text in app.text] == ["ends: 0", "clicked: None"]


# ---- in the browser

in_browser = pytest.mark.skipif(
    importlib.util.find_spec("playwright") is None or not CHROMIUM.exists(),
    reason=f"needs playwright and {CHROMIUM}",
)


@contextmanager
def served(script: Path) -> Iterator[str]:
    """The address of a Streamlit script, started as a user starts it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {
        "server.port": port,
        "server.address": "localhost",
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
        "runner.postScriptGC": "false",
    }
    command = [sys.executable, "-m", "streamlit", "run", str(script)]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONUTF8": "1"}
    )
    url = f"http://localhost:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
                break
            except OSError:  # not listening yet
                assert server.poll() is None, "the demo app stopped"
                time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait(timeout=20)


@pytest.fixture(scope="module")
def demo_url() -> Iterator[str]:
    with served(ROOT / "tests/app/demo_components.py") as url:
        yield url


@pytest.fixture
def page():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS.split())
        page = browser.new_page(viewport={"width": 1000, "height": 1000})
        hosts, errors = set(), []
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        own = urlsplit(page.url).netloc
        browser.close()
    assert not errors
    assert hosts - {""} <= {own}, "a request left this machine"


@in_browser
@pytest.mark.browser
def test_the_chart_takes_rows_from_the_stream_and_keeps_its_node(page, demo_url):
    # The first connection breaks off half-way; the second starts over, and nothing may be drawn twice.
    page.goto(f"{demo_url}/?show=chart&pause=20&cut=once")
    page.locator(f"{PLOT} svg.main-svg").first.wait_for(timeout=60_000)
    page.locator(PLOT).evaluate("node => { window.before = [node, node.querySelector('svg.main-svg')]; }")
    page.locator(f"{PLOT} .legendtoggle").nth(2).click()
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
    assert page.locator(PLOT).get_attribute("role") == "img"

    page.get_by_role("button", name="reset zoom").click()
    page.get_by_label("iterations").check()
    plot = page.locator(PLOT).element_handle()
    page.wait_for_function("node => node.layout.xaxis.range[1] > 1000", arg=plot)


@in_browser
@pytest.mark.browser
def test_a_race_tells_its_contestants_apart_without_colour(page, demo_url):
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
    marks = page.locator(PLOT).evaluate(
        "node => node.data.filter((t) => t.marker?.symbol === 'x-thin').map((t) => t.x[0])"
    )
    assert marks == [pytest.approx(mark, rel=0.01) for mark in (4.5, 18.0, 31.5)], "where each begins to search"
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


@in_browser
@pytest.mark.browser
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


@in_browser
@pytest.mark.browser
def test_play_goes_through_the_path_and_ends(page, demo_url):
    page.goto(f"{demo_url}/?show=path")
    play = page.get_by_role("button", name="▶ Play")
    play.wait_for(timeout=60_000)
    play.click()
    page.get_by_role("button", name="❚❚ Pause").wait_for()
    page.get_by_role("button", name="▶ Play").wait_for(timeout=10_000)
    page.wait_for_function(f"({MOVES}).includes(\"'held': False\")")
    lams = [move["lam"] for move in moves_of(page)]
    assert lams == sorted(lams) and lams[-1] == pytest.approx(3.162, rel=1e-3) and len(lams) >= 2
    play.click()  # from the beginning
    page.get_by_role("button", name="❚❚ Pause").click()
    page.wait_for_function("document.querySelector('.cfl-path-bar input').valueAsNumber < 10")
    text = page.locator(".cfl-path-plot").evaluate("node => node.layout.annotations.map((note) => note.text).join()")
    assert "&lt;script&gt;" in text and page.evaluate("window.pwned") is None


@in_browser
@pytest.mark.browser
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
    page.wait_for_timeout(1200)  # until the bars have settled
    after = bars.evaluate_all(places)
    assert [place for _, place in after] == list(range(10)), "the order of the keyboard is that of the eye"
    assert dict(after) != before
    assert page.evaluate("window.bar.isConnected") == (kept.split("\n")[0] in "".join(name for name, _ in after))


@in_browser
@pytest.mark.browser
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
from pages.parts.text_view import HeatScale, text_view

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
    with served(script) as url:
        yield url


@in_browser
@pytest.mark.browser
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


@in_browser
@pytest.mark.browser
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
